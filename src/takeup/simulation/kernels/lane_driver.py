"""The driver for 32 replications side by side: `driver.replicate`, without waiting.

`propose_lanes` and `learn_lanes` are bound by `lanes`; the policy's own `begin` and `learn` work on a lane's column.
"""

import numpy as np

from takeup.simulation.kernels.driver import KEEPING, pick, tally
from takeup.simulation.kernels.lane_gammas import ROW_1, ROW_2, ROW_3, draw_words
from takeup.simulation.kernels.lane_proposed import propose_lanes
from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, inlined
from takeup.simulation.kernels.streams import PATIENT
from takeup.simulation.kernels.uniform import begin, learn

_FEW = 4
"""Up to how many proposals it is faster to add to all counts than to look one up."""


def gather(real: Array, x: Array, slots: Number, contexts: Number, here: Array) -> None:
    """D and c of each lane's own context, in the rows that those of a single context would have."""
    every = slots * contexts
    for slot in range(slots):
        for lane in range(LANES):
            here[slot * LANES + lane] = real[x[lane] * slots + slot, lane]
            here[(slots + slot) * LANES + lane] = real[every + x[lane] * slots + slot, lane]


def answer_lanes(
    words: Array, x: Array, z: Array, threshold: Array, alias: Array, proposals: Number, joint: Number, room: Array
) -> None:
    """What happens in each lane, by the alias table of its context and proposal: `driver.pick` in three loops.

    The first and the last are SIMD instructions; the look-up between them holds nothing that could be mispredicted.
    The answer is left in row 0 of `room`, which has four.
    """
    for i in range(LANES):
        lane = np.uintp(i)
        cell = np.uint32(np.uint32(x[lane]) * np.uint32(proposals)) + np.uint32(z[lane])
        product = np.uint64(words[lane + ROW_1]) * np.uint64(joint)
        j = np.uint32(product >> np.uint64(32))
        room[lane + ROW_1] = np.int32(np.uint32(cell) * np.uint32(joint) + j)
        room[lane + ROW_2] = np.int32(j)
    for i in range(LANES):
        lane = np.uintp(i)
        at = np.uintp(room[lane + ROW_1])
        room[lane] = alias[at]
        room[lane + ROW_3] = np.int32(threshold[at])
    for i in range(LANES):
        lane = np.uintp(i)
        fraction = np.uint32(np.uint64(words[lane + ROW_1]) * np.uint64(joint))
        own = np.int32(fraction < np.uint32(room[lane + ROW_3]))
        room[lane] = np.int32(room[lane] + own * np.int32(room[lane + ROW_2] - room[lane]))


def count_lanes(pulls: Array, x: Array, z: Array, contexts: Number, proposals: Number) -> None:
    """One more pull in each lane: of few proposals in one context, by adding 0 or 1 to the counts of all."""
    if contexts == 1 and proposals <= _FEW:
        for proposal in range(proposals):
            row, number = np.uintp(proposal * LANES), np.int32(proposal)
            for i in range(LANES):
                lane = np.uintp(i)
                pulls[row + lane] += np.int32(z[lane] == number)
    else:
        for i in range(LANES):
            lane = np.uintp(i)
            cell = np.uintp(x[lane]) * np.uintp(proposals) + np.uintp(z[lane])
            pulls[cell * ROW_1 + lane] += 1


@inlined
def learn_lanes(
    memory: Number,
    x: Array,
    z: Array,
    answer: Array,
    patients: Array,
    shape: Number,
    report: Number,
    parameters: Number,
    key: Number,
    number: Number,
    step: Number,
) -> None:
    """What each lane saw, one after the other."""
    for lane in range(LANES):
        a = answer[lane] // shape[3]
        y = answer[lane] - a * shape[3]
        seen = np.uint64(patients[2 * LANES + lane]) < report.threshold
        moment = (key[0], key[1], np.uint32(number + np.uint32(lane)), np.uint32(step))
        learn(memory.counts, memory.real, lane, x[lane], z[lane], a if seen else UNSEEN, y, shape, parameters, moment)


def _group(
    scenario: Number,
    row: Number,
    number: Number,
    count: Number,
    horizon: Number,
    shape: Number,
    scenarios: Number,
    report: Number,
    parameters: Number,
    memory: Number,
    record: Number,
) -> None:
    """Up to 32 replications; lanes beyond `count` run along and are not recorded."""
    contexts, proposals = shape[0], shape[1]
    cells, joint = contexts * proposals, shape[2] * shape[3]
    first = memory.counts.shape[0] - cells
    memory.counts[:] = 0
    for lane in range(LANES):
        begin(memory.counts, memory.real, lane, shape, parameters)
    slots = first // contexts
    patients, words = np.empty(4 * LANES, np.uint32), np.empty(4 * LANES, np.uint32)
    work = np.zeros((8 + 2 * (shape[2] + 1)) * LANES, np.float32)
    x, z, answer = np.zeros(LANES, np.int32), np.zeros(LANES, np.int32), np.zeros(4 * LANES, np.int32)
    late = np.zeros(LANES, np.uint8)
    here = memory.real.reshape(-1)
    if contexts > 1:
        here = np.empty(2 * slots * LANES, memory.real.dtype)
    key = (scenarios.key[scenario, 0], scenarios.key[scenario, 1])
    threshold, alias = scenarios.response_threshold[scenario], scenarios.response_alias[scenario]
    pulls = memory.counts.reshape(-1)[first * LANES :]
    recorded = 0
    for step in range(horizon):
        draw_words(patients, key, number, step, PATIENT)
        if contexts > 1:
            for lane in range(LANES):
                x[lane] = pick(
                    patients[lane], scenarios.context_threshold, scenarios.context_alias, scenario, 0, contexts
                )
            gather(memory.real, x, slots, contexts, here)
        propose_lanes(here, slots, patients, words, work, late, z, shape, parameters, key, number, step)
        answer_lanes(patients, x, z, threshold, alias, proposals, joint, answer)
        count_lanes(pulls, x, z, contexts, proposals)
        if KEEPING:
            for lane in range(count):
                cell = np.int64(x[lane]) * proposals + z[lane]
                record.decisions[scenario, row + lane, step] = cell * joint + answer[lane]
        learn_lanes(memory, x, z, answer, patients, shape, report, parameters, key, number, step)
        if recorded < record.steps.size and record.steps[recorded] == step + 1:
            for lane in range(count):
                record.regret[scenario, row + lane, recorded] = tally(
                    memory, lane, first, cells, scenarios.gap, scenario
                )
            recorded += 1
    for lane in range(count):
        for cell in range(cells):
            record.pulls[scenario, row + lane, cell] = memory.counts[first + cell, lane]


def replicate_lanes(
    scenario: Number,
    row: Number,
    number: Number,
    count: Number,
    horizon: Number,
    shape: Number,
    scenarios: Number,
    report: Number,
    parameters: Number,
    memory: Number,
    record: Number,
) -> None:
    """Run `count` replications from `number` on, 32 at a time; the CPU's entry."""
    for start in range(0, count, LANES):
        _group(
            scenario,
            row + start,
            np.uint32(number + start),
            min(LANES, count - start),
            horizon,
            shape,
            scenarios,
            report,
            parameters,
            memory,
            record,
        )
