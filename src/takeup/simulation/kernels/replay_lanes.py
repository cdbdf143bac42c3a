"""Replays of a policy's kernel 32 at a time: `replay.replay_drawn`, with the same numbers, for one context.

`replay_cpu` binds `propose_lanes`; the policy's other functions work on a lane's column.
"""

import numpy as np

from takeup.simulation.kernels.lane_driver import draws_for, lanes_for
from takeup.simulation.kernels.lane_gammas import moment_of
from takeup.simulation.kernels.lane_streams import draw_words, round_keys
from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, maker
from takeup.simulation.kernels.proposed import propose_lanes
from takeup.simulation.kernels.replay import ASKED, Recorded, ReplayMemory, difference, fixed_proposal
from takeup.simulation.kernels.streams import PATIENT
from takeup.simulation.kernels.tables import Observation, Replication, State
from takeup.simulation.kernels.uniform import begin, learn, reveal

__all__ = ["propose_lanes", "replay_lanes"]


@maker
def _group(start: Replication, recorded: Recorded, shape: Number, parameters: Number, memory: ReplayMemory) -> Array:
    """The proposals of 32 replays, (n, 32)."""
    keys, number = round_keys((recorded.key[0], recorded.key[1])), start.number
    proposal = np.zeros((recorded.context.size, LANES), np.int8)
    lanes = lanes_for(memory, keys, number)
    z, patients = lanes.z, lanes.patients
    draws = draws_for(lanes.real, shape, keys, number)
    memory.counts[:] = 0
    for lane in range(LANES):
        begin(State(memory.counts, memory.real, lane), shape, parameters)
    learned = 0
    for t in range(recorded.context.size):
        while learned < recorded.known[t]:
            i = recorded.order[learned]
            for lane in range(LANES):
                seen = Observation(0, np.int64(proposal[i, lane]), UNSEEN, recorded.outcome[i])
                state = State(memory.counts, memory.real, lane)
                reveal(state, seen, shape, parameters, moment_of(keys, number, lane, t))
            learned += 1
        draw_words(patients, keys, t, PATIENT)
        if recorded.fixed[t, 0] == ASKED:
            propose_lanes(lanes, draws, shape, parameters, (keys, number, t))
        else:
            for lane in range(LANES):
                z[lane] = fixed_proposal(t, patients[3 * LANES + lane], recorded)
        for lane in range(LANES):
            proposal[t, lane] = z[lane]
            state, seen = State(memory.counts, memory.real, lane), Observation(0, np.int64(z[lane]), UNSEEN, UNSEEN)
            learn(state, seen, shape, parameters, moment_of(keys, number, lane, t))
    return proposal


@maker
def replay_lanes(
    start: Replication,
    count: Number,
    recorded: Recorded,
    shape: Number,
    parameters: Number,
    memory: ReplayMemory,
    output: Array,
) -> None:
    """`replay.replay_drawn_many`, 32 at a time."""
    for done in range(0, count, LANES):
        group = Replication(start.scenario, start.row + done, np.uint32(start.number + done))
        proposal = _group(group, recorded, shape, parameters, memory)
        for lane in range(min(LANES, count - done)):
            for t in range(recorded.context.size):
                memory.proposal[t] = proposal[t, lane]
            output[start.row + done + lane, 0] = difference(recorded, memory)
