"""The driver for 32 replications side by side: `driver.replicate`, without waiting.

`propose_lanes` and `learn_lanes` are bound by `lanes`; the policy's own `begin` and `learn` work on a lane's column.
"""

import numpy as np

from takeup.simulation.kernels.driver import KEEPING, pick, tally
from takeup.simulation.kernels.lane_proposed import propose_lanes
from takeup.simulation.kernels.lane_streams import ROW_1, draw_words, opened, round_keys
from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, either, inlined
from takeup.simulation.kernels.streams import PATIENT
from takeup.simulation.kernels.uniform import begin, learn


def gather(real: Array, x: Array, slots: Number, contexts: Number, here: Array) -> None:
    """D and c of each lane's own context, in the rows that those of a single context would have."""
    every = slots * contexts
    for slot in range(slots):
        for lane in range(LANES):
            here[slot * LANES + lane] = real[x[lane] * slots + slot, lane]
            here[(slots + slot) * LANES + lane] = real[every + x[lane] * slots + slot, lane]


def table_of(threshold: Array, alias: Array) -> Number:
    """What `answer_lanes` looks up."""
    return threshold, alias


def answer_lanes(
    words: Array,
    x: Array,
    z: Array,
    table: Number,
    proposals: Number,
    joint: Number,
    answer: Array,
    room: Number,
) -> None:
    """What happens in each lane, by the alias table of its context and proposal: `driver.pick` in three loops.

    The first and the last are SIMD instructions; the look-up between them holds nothing that could be mispredicted.
    """
    threshold, alias = table
    place, entry, limit = room
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


def answer_four(
    words: Array,
    x: Array,
    z: Array,
    table: Number,
    proposals: Number,
    joint: Number,
    answer: Array,
    room: Number,
) -> None:
    """`answer_lanes` for one context, two proposals and four responses: the tables are selected from, not looked up.

    A quarter of the words belongs to each entry: its two upper bits say which, and the others are the fraction's.
    """
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
def learn_lanes(
    memory: Number,
    table: Array,
    x: Array,
    z: Array,
    answer: Array,
    room: Number,
    patients: Array,
    shape: Number,
    report: Number,
    parameters: Number,
    keys: Number,
    number: Number,
    step: Number,
) -> None:
    """What each lane saw, one after the other."""
    for lane in range(LANES):
        a = answer[lane] // shape[3]
        y = answer[lane] - a * shape[3]
        seen = np.uint64(patients[2 * LANES + lane]) < report.threshold
        moment = (np.uint32(keys[0]), np.uint32(keys[1]), np.uint32(number + np.uint32(lane)), np.uint32(step))
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
    work = np.zeros((8 + 2 * (shape[2] + 1)) * LANES, np.float32)
    x, z, answer = np.zeros(LANES, np.int32), np.zeros(LANES, np.int32), np.zeros(LANES, np.int32)
    room = (np.zeros(LANES, np.int32), np.zeros(LANES, np.int32), np.zeros(LANES, np.int32))
    late = np.zeros(LANES, np.uint8)
    here = memory.real.reshape(-1)
    if contexts > 1:
        here = np.empty(2 * slots * LANES, memory.real.dtype)
    keys = round_keys((scenarios.key[scenario, 0], scenarios.key[scenario, 1]))
    patients, words = opened(keys, number), opened(keys, number)
    table = table_of(scenarios.response_threshold[scenario], scenarios.response_alias[scenario])
    pulls = memory.counts.reshape(-1)[first * LANES :]
    recorded = 0
    for step in range(horizon):
        draw_words(patients, keys, step, PATIENT)
        if contexts > 1:
            for lane in range(LANES):
                x[lane] = pick(
                    patients[lane], scenarios.context_threshold, scenarios.context_alias, scenario, 0, contexts
                )
            gather(memory.real, x, slots, contexts, here)
        propose_lanes(here, slots, patients, words, work, late, z, shape, parameters, keys, number, step)
        answer_lanes(patients, x, z, table, proposals, joint, answer, room)
        count_lanes(pulls, x, z, contexts, proposals)
        if KEEPING:
            for lane in range(count):
                cell = np.int64(x[lane]) * proposals + z[lane]
                record.decisions[scenario, row + lane, step] = cell * joint + answer[lane]
        learn_lanes(memory, here, x, z, answer, room, patients, shape, report, parameters, keys, number, step)
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
