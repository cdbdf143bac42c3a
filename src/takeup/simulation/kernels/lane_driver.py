"""The driver for 32 replications side by side: `driver.replicate`, without waiting.

`cpu` binds `propose_lanes`, and `learn_lanes` where a kernel has its own; the policy's `begin` and `learn` work on a
lane's column.
"""

from typing import Any

import numpy as np

from takeup.simulation.kernels.driver import KEEPING, pick, tally
from takeup.simulation.kernels.lane_gammas import STOCK, moment_of
from takeup.simulation.kernels.lane_late import BATCH, ROWS
from takeup.simulation.kernels.lane_streams import ROW_1, draw_words, open_at, opened, round_keys
from takeup.simulation.kernels.lanes import LaneDraws, Lanes
from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, either, inlined, maker
from takeup.simulation.kernels.proposed import propose_lanes
from takeup.simulation.kernels.streams import PATIENT
from takeup.simulation.kernels.tables import KernelInput, KernelMemory, KernelOutput, Observation, Replication, State
from takeup.simulation.kernels.uniform import begin, learn

__all__ = ["answer_four", "answer_lanes", "four_table", "learn_lanes", "propose_lanes", "replicate_lanes", "table_of"]


def gather(real: Array, x: Array, slots: Number, contexts: Number, here: Array) -> None:
    """D and c of each lane's own context, in the rows that those of a single context would have."""
    every = slots * contexts
    for slot in range(slots):
        for lane in range(LANES):
            here[slot * LANES + lane] = real[x[lane] * slots + slot, lane]
            here[(slots + slot) * LANES + lane] = real[every + x[lane] * slots + slot, lane]


@maker
def table_of(threshold: Array, alias: Array) -> Number:
    """What `answer_lanes` looks up."""
    return threshold, alias


@inlined
def answer_lanes(lanes: Lanes, table: Number, proposals: Number, joint: Number) -> None:
    """What happens in each lane, by the alias table of its context and proposal: `driver.pick` in three loops.

    The first and the last are SIMD instructions; the look-up between them holds nothing that could be mispredicted.
    """
    x, z, answer, words, (place, entry, limit) = lanes.x, lanes.z, lanes.answer, lanes.patients, lanes.room
    threshold, alias = table
    for i in range(LANES):
        lane = np.uintp(i)
        cell = np.uint32(np.uint32(x[lane]) * np.uint32(proposals)) + np.uint32(z[lane])
        product = np.uint64(words[lane + ROW_1]) * np.uint64(joint)
        j = np.uint32(product >> np.uint64(32))
        place[lane] = np.int32(np.uint32(cell) * np.uint32(joint) + j)
        entry[lane] = np.int32(j)
    for i in range(LANES):
        lane = np.uintp(i)
        at = np.uintp(place[lane])
        answer[lane] = alias[at]
        limit[lane] = np.int32(threshold[at])
    for i in range(LANES):
        lane = np.uintp(i)
        fraction = np.uint32(np.uint64(words[lane + ROW_1]) * np.uint64(joint))
        own = np.int32(fraction < np.uint32(limit[lane]))
        answer[lane] = np.int32(answer[lane] + own * np.int32(entry[lane] - answer[lane]))


def four_table(threshold: Array, alias: Array) -> Number:
    """The tables of two proposals with four responses, as ten words: thresholds, and aliases of two bits each."""
    return (
        threshold[0], threshold[1], threshold[2], threshold[3], threshold[4], threshold[5], threshold[6], threshold[7],
        np.uint32(alias[0] | alias[1] << 2 | alias[2] << 4 | alias[3] << 6),
        np.uint32(alias[4] | alias[5] << 2 | alias[6] << 4 | alias[7] << 6),
    )  # fmt: skip


def answer_four(lanes: Lanes, table: Number, proposals: Number, joint: Number) -> None:
    """`answer_lanes` for one context, two proposals and four responses: the tables are selected from, not looked up.

    A quarter of the words belongs to each entry: its two upper bits say which, and the others are the fraction's.
    """
    z, answer, words = lanes.z, lanes.answer, lanes.patients
    t_0, t_1, t_2, t_3, s_0, s_1, s_2, s_3, aliases_0, aliases_1 = table
    for i in range(LANES):
        lane = np.uintp(i)
        word, second = words[lane + ROW_1], z[lane] != 0
        odd, upper = (word & np.uint32(1 << 30)) != 0, (word & np.uint32(1 << 31)) != 0
        lower_half = either(odd, either(second, s_1, t_1), either(second, s_0, t_0))
        upper_half = either(odd, either(second, s_3, t_3), either(second, s_2, t_2))
        own = np.uint32(word << np.uint32(2)) < np.uint32(either(upper, upper_half, lower_half))
        j = np.uint32(word >> np.uint32(30))
        other = np.uint32(either(second, aliases_1, aliases_0) >> np.uint32(2 * j)) & np.uint32(3)
        answer[lane] = np.int32(either(own, j, other))


@inlined
def count_lanes(pulls: Array, x: Array, z: Array, contexts: Number, proposals: Number) -> None:
    """One more pull in each lane: of two proposals in one context without looking anything up."""
    if contexts == 1 and proposals == 2:
        for i in range(LANES):
            lane = np.uintp(i)
            pulls[lane] += np.int32(1) - z[lane]
            pulls[lane + ROW_1] += z[lane]
    else:
        for i in range(LANES):
            lane = np.uintp(i)
            cell = np.uintp(x[lane]) * np.uintp(proposals) + np.uintp(z[lane])
            pulls[cell * ROW_1 + lane] += 1


@inlined
def learn_lanes(lanes: Lanes, memory: KernelMemory, table: Array, given: KernelInput, moment: Number) -> None:
    """What each lane saw, one after the other."""
    shape, (keys, number, step) = given.shape, moment
    for lane in range(LANES):
        a = lanes.answer[lane] // shape[3]
        y = lanes.answer[lane] - a * shape[3]
        seen = np.uint64(lanes.patients[2 * LANES + lane]) < given.visibility.threshold
        event = Observation(lanes.x[lane], lanes.z[lane], a if seen else UNSEEN, y)
        state = State(memory.counts, memory.real, lane)
        learn(state, event, shape, given.parameters, moment_of(keys, number, lane, step))


@maker
def lanes_for(memory: Any, keys: Number, number: Number) -> Lanes:
    """Room for one decision in every lane, the first of which has this number."""
    x, z, answer = np.zeros(LANES, np.int32), np.zeros(LANES, np.int32), np.zeros(LANES, np.int32)
    room = (np.zeros(LANES, np.int32), np.zeros(LANES, np.int32), np.zeros(LANES, np.int32))
    numbers, counts, real = np.zeros(2 * LANES, np.float32), memory.counts.reshape(-1), memory.real.reshape(-1)
    return Lanes(x, z, answer, opened(keys, number), room, numbers, counts, real)


@maker
def draws_for(here: Array, shape: Number, keys: Number, number: Number) -> LaneDraws:
    """Room for the draws of a policy."""
    words, gammas = np.empty((11 + 2 * STOCK) * LANES, np.uint32), np.empty(2 * STOCK * LANES, np.float32)
    open_at(words, keys, number)
    work = np.zeros((5 + 2 * (shape[2] + 1)) * LANES, np.float32)
    late, batch = np.zeros(LANES, np.uint32), np.zeros(ROWS * BATCH, np.uint32)
    return LaneDraws(here, words, gammas, work, late, batch)


@maker
def _group(start: Replication, count: Number, given: KernelInput, memory: KernelMemory, output: KernelOutput) -> None:
    """Up to 32 replications; lanes beyond `count` run along and are not recorded."""
    scenario, row, number = start
    shape, scenarios, parameters = given.shape, given.scenarios, given.parameters
    contexts, proposals = shape[0], shape[1]
    cells, joint = contexts * proposals, shape[2] * shape[3]
    first = memory.counts.shape[0] - cells
    memory.counts[:] = 0
    for lane in range(LANES):
        begin(State(memory.counts, memory.real, lane), shape, parameters)
    slots = first // contexts
    keys = round_keys((scenarios.key[scenario, 0], scenarios.key[scenario, 1]))
    lanes = lanes_for(memory, keys, number)
    x, z, answer, patients, here = lanes.x, lanes.z, lanes.answer, lanes.patients, lanes.real
    if contexts > 1:
        here = np.empty(memory.real.size, memory.real.dtype)
    draws = draws_for(here, shape, keys, number)
    table = table_of(scenarios.response_threshold[scenario], scenarios.response_alias[scenario])
    pulls = lanes.counts[first * LANES :]
    recorded = 0
    for step in range(given.horizon):
        moment = (keys, number, step)
        draw_words(patients, keys, step, PATIENT)
        if contexts > 1:
            for lane in range(LANES):
                word = patients[lane]
                x[lane] = pick(word, scenarios.context_threshold, scenarios.context_alias, scenario, 0, contexts)
            gather(memory.real, x, slots, contexts, here)
        propose_lanes(lanes, draws, shape, parameters, moment)
        answer_lanes(lanes, table, proposals, joint)
        count_lanes(pulls, x, z, contexts, proposals)
        if KEEPING:
            for lane in range(count):
                cell = np.int64(x[lane]) * proposals + z[lane]
                output.decisions[scenario, row + lane, step] = cell * joint + answer[lane]
        learn_lanes(lanes, memory, here, given, moment)
        if recorded < output.steps.size and output.steps[recorded] == step + 1:
            for lane in range(count):
                state = State(memory.counts, memory.real, lane)
                output.regret[scenario, row + lane, recorded] = tally(state, first, cells, scenarios.gap, scenario)
            recorded += 1
    for lane in range(count):
        for cell in range(cells):
            output.pulls[scenario, row + lane, cell] = memory.counts[first + cell, lane]


def replicate_lanes(
    start: Replication, count: Number, given: KernelInput, memory: KernelMemory, output: KernelOutput
) -> None:
    """Run `count` replications from `start` on, 32 at a time; the CPU's entry."""
    for done in range(0, count, LANES):
        group = Replication(start.scenario, start.row + done, np.uint32(start.number + done))
        _group(group, min(LANES, count - done), given, memory, output)
