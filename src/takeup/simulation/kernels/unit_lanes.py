"""Units with covariates in 32 replications side by side: `units` and `unit_driver`, without waiting, to the bit.

It is for one context, a single type and covariates that do not depend on each other, where what proposals are worth has
to be worked out for every unit; `able` says so. A room has the rows of `units`, and a number a lane in every row.
"""

from typing import Any, NamedTuple

import numpy as np

from takeup.covariates.kinds import ONE
from takeup.simulation.kernels.lane_streams import ROW_1, ROW_2, ROW_3, draw_words, opened, round_keys
from takeup.simulation.kernels.machine import LANES, Array, Number, inlined, maker
from takeup.simulation.kernels.streams import PATIENT, uniform
from takeup.simulation.kernels.tables import KernelInput, KernelOutput, Replication
from takeup.simulation.kernels.units import (
    FATE,
    LOGIT,
    NORMAL,
    RATE,
    TABLE,
    VALUES,
    Model,
    Population,
    Truths,
    UnitMemory,
    chosen,
    group_of,
    places,
)
from takeup.simulation.kernels.vectors import exp_below, padded


class UnitLanes(NamedTuple):
    """One decision in every lane.

    Attributes:
        words: room for a block of random words, and what is known of the lanes.
        room: what is known of the unit that is at hand.
        z: what is proposed.
        gain: what comes of it, as the policy has it.
        chance: a random word of the policy's own.
        top: the highest value.
        work: room to work in.
        w: likewise, for as many numbers as there can be features.
    """

    words: Array
    room: Array
    z: Array
    gain: Array
    chance: Array
    top: Array
    work: Array
    w: Array


def able(shape: tuple[int, int, int, int], truths: Truths) -> bool:
    """Whether there is a form in lanes of these environments."""
    listed, numbers = (truths.population.many > 0).any(), (truths.outcome.kind == NORMAL).any()
    return not (listed or numbers) and shape[0] == 1 and truths.share.shape[2] == 1


def propose_lanes(lanes: UnitLanes, real: Array, shape: Number, parameters: Any, moment: Number) -> None:
    """What the policy does; its own stands in for this."""


def learn_lanes(lanes: UnitLanes, real: Array, shape: Number, parameters: Any) -> None:
    """Likewise."""


def begin_lanes(real: Array, shape: Number, parameters: Any) -> None:
    """Likewise."""


def draw_units(lanes: UnitLanes, population: Population, scenario: Number, moment: Number) -> None:
    """`units.draw_features`."""
    keys, step = moment
    room, words, d = lanes.room, lanes.words, population.features.shape[1]
    wholes = padded(d)
    at = wholes + 1
    for c in range(population.width.size):
        if c & 3 == 0:
            draw_words(words, keys, step, VALUES + np.uint32(c >> 2))
        start, row = population.start[c], np.uintp((c & 3) * LANES)
        many, wide = population.start[c + 1] - start, population.width[c]
        for i in range(LANES):
            lane = np.uintp(i)
            value = start + chosen(
                words[row + lane], population.value_threshold, population.value_alias, scenario, start, many
            )
            for f in range(wide):
                room[np.uintp((at + f) * LANES) + lane] = population.block[value, f]
        at += wide
    for p in range(population.pairs.shape[0]):
        one = np.uintp((wholes + population.pairs[p, 0]) * LANES)
        other, into = np.uintp((wholes + population.pairs[p, 1]) * LANES), np.uintp(at * LANES)
        for i in range(LANES):
            lane = np.uintp(i)
            product = room[one + lane] * room[other + lane]
            room[into + lane] = np.floor((2.0 * product + ONE) / (2 * ONE))
        at += 1
    for f in range(d):
        into, whole = np.uintp(f * LANES), np.uintp((wholes + f) * LANES)
        for i in range(LANES):
            lane = np.uintp(i)
            room[into + lane] = room[whole + lane] / ONE


def score_lanes(room: Array, at: Number, model: Model, scenario: Number, d: Number) -> None:
    """`units.score`."""
    number, width = model.number, model.width
    first = scenario * d * width
    features = 1 if model.kind[scenario] == TABLE else d
    for m in range(model.classes[scenario] * model.groups[scenario]):
        into = np.uintp((at + m) * LANES)
        for i in range(LANES):
            room[into + np.uintp(i)] = 0.0
        f = 0
        while f + 4 <= features:
            begin, v = first + f * width + m, np.uintp(f * LANES)
            b_0, b_1 = number[begin], number[begin + width]
            b_2, b_3 = number[begin + 2 * width], number[begin + 3 * width]
            for i in range(LANES):
                lane = np.uintp(i)
                total = room[into + lane] + room[v + lane] * b_0
                total += room[v + lane + ROW_1] * b_1
                total += room[v + lane + ROW_2] * b_2
                room[into + lane] = total + room[v + lane + ROW_3] * b_3
            f += 4
        while f < features:
            b, v = number[first + f * width + m], np.uintp(f * LANES)
            for i in range(LANES):
                lane = np.uintp(i)
                room[into + lane] += room[v + lane] * b
            f += 1


def settle_lanes(room: Array, at: Number, kind: Number, classes: Number, groups: Number, work: Array) -> None:
    """`units.settle`."""
    for g in range(groups):
        first = at + g * classes
        start = np.uintp(first * LANES)
        if kind == LOGIT:
            for i in range(LANES):
                work[np.uintp(i)] = room[start + np.uintp(i)]
            for k in range(1, classes):
                row = np.uintp((first + k) * LANES)
                for i in range(LANES):
                    lane = np.uintp(i)
                    work[lane] = max(work[lane], room[row + lane])
            for k in range(classes):
                row = np.uintp((first + k) * LANES)
                for i in range(LANES):
                    lane = np.uintp(i)
                    room[row + lane] = exp_below(room[row + lane] - work[lane])
            for i in range(LANES):
                work[np.uintp(i)] = 0.0
            for k in range(classes):
                row = np.uintp((first + k) * LANES)
                for i in range(LANES):
                    lane = np.uintp(i)
                    work[lane] += room[row + lane]
            for i in range(LANES):
                work[np.uintp(i)] = 1.0 / work[np.uintp(i)]
            for k in range(classes):
                row = np.uintp((first + k) * LANES)
                for i in range(LANES):
                    lane = np.uintp(i)
                    room[row + lane] *= work[lane]
        elif kind == RATE:
            for i in range(LANES):
                lane = np.uintp(i)
                rate = min(max(room[start + lane + ROW_1], 0.0), 1.0)
                room[start + lane] = 1.0 - rate
                room[start + lane + ROW_1] = rate


def appraise_lanes(lanes: UnitLanes, shape: Number, scenario: Number, truths: Truths) -> None:
    """`units.appraise`, without the best of them."""
    room, compliance, outcome = lanes.room, truths.compliance, truths.outcome
    d, actions = truths.population.features.shape[1], shape[2]
    cells, fates, values, worth = places(shape, truths)
    score_lanes(room, cells, compliance, scenario, d)
    score_lanes(room, fates, outcome, scenario, d)
    settle_lanes(room, cells, compliance.kind[scenario], actions, compliance.groups[scenario], lanes.work)
    classes, groups = outcome.classes[scenario], outcome.groups[scenario]
    settle_lanes(room, fates, outcome.kind[scenario], classes, groups, lanes.work)
    for g in range(groups):
        into = np.uintp((worth + g) * LANES)
        for i in range(LANES):
            room[into + np.uintp(i)] = 0.0
        for y in range(classes):
            row, reward = np.uintp((fates + g * classes + y) * LANES), truths.reward[y]
            for i in range(LANES):
                lane = np.uintp(i)
                room[into + lane] += room[row + lane] * reward
    for z in range(shape[1]):
        into = np.uintp((values + z) * LANES)
        for i in range(LANES):
            room[into + np.uintp(i)] = 0.0
        for a in range(actions):
            row = np.uintp((cells + group_of(compliance, scenario, 0, z, 0) * actions + a) * LANES)
            other = np.uintp((worth + group_of(outcome, scenario, 0, z, a)) * LANES)
            for i in range(LANES):
                lane = np.uintp(i)
                room[into + lane] += room[row + lane] * room[other + lane]


@inlined
def taken_lane(room: Array, row: Number, classes: Number, mark: Number, lane: Number) -> Number:
    """`units.taken`, without a branch that nobody could foresee."""
    k, at = np.int64(0), np.uintp(row * LANES) + lane
    for _ in range(classes - 1):
        mark -= room[at]
        k += np.int64(mark >= 0.0)
        at += ROW_1
    return k


def respond_lanes(
    lanes: UnitLanes, words: Number, shape: Number, scenario: Number, truths: Truths, gain: Array
) -> None:
    """`units.respond`, by words for the action and for the outcome; all that is kept of it is its gain."""
    room, actions, outcome = lanes.room, shape[2], truths.outcome
    action, fate = words
    cells, fates, _, _ = places(shape, truths)
    classes = outcome.classes[scenario]
    for i in range(LANES):
        lane, z = np.uintp(i), np.int64(lanes.z[i])
        row = cells + group_of(truths.compliance, scenario, 0, z, 0) * actions
        a = taken_lane(room, row, actions, uniform(action[lane]), lane)
        start = fates + group_of(outcome, scenario, 0, z, a) * classes
        lanes.gain[lane] = gain[taken_lane(room, start, classes, uniform(fate[lane]), lane)]


def add_regret(lanes: UnitLanes, regret: Array, values: Number, proposals: Number) -> None:
    """What each lane's proposal costs."""
    room, top = lanes.room, lanes.top
    start = np.uintp(values * LANES)
    for i in range(LANES):
        top[np.uintp(i)] = room[start + np.uintp(i)]
    for z in range(1, proposals):
        at = np.uintp((values + z) * LANES)
        for i in range(LANES):
            lane = np.uintp(i)
            top[lane] = max(top[lane], room[at + lane])
    for i in range(LANES):
        lane = np.uintp(i)
        regret[lane] += top[lane] - room[np.uintp((values + lanes.z[lane]) * LANES) + lane]


@maker
def _group(start: Replication, count: Number, given: KernelInput, memory: UnitMemory, output: KernelOutput) -> None:
    """Up to 32 replications; lanes beyond `count` run along and are not recorded."""
    scenario, row, number = start
    shape, truths, parameters = given.shape, given.scenarios, given.parameters
    keys = round_keys((truths.key[scenario, 0], truths.key[scenario, 1]))
    real, values, first = memory.real, places(shape, truths)[2], np.uintp(padded(parameters.features) * LANES)
    lanes = UnitLanes(
        opened(keys, number),
        memory.room,
        np.zeros(LANES, np.int32),
        np.zeros(LANES),
        np.zeros(LANES, np.uint32),
        np.zeros(LANES),
        np.zeros(LANES),
        np.zeros(parameters.features),
    )
    action, fate, regret = np.zeros(LANES, np.uint32), np.zeros(LANES, np.uint32), np.zeros(LANES)
    for i in range(LANES):
        memory.room[first + np.uintp(i)] = ONE
    begin_lanes(real, shape, parameters)
    recorded = 0
    for step in range(given.horizon):
        moment = (keys, step)
        draw_words(lanes.words, keys, step, PATIENT)
        for i in range(LANES):
            lane = np.uintp(i)
            action[lane] = lanes.words[lane + ROW_1]
            lanes.chance[lane] = lanes.words[lane + ROW_3]
        draw_words(lanes.words, keys, step, FATE)
        for i in range(LANES):
            fate[np.uintp(i)] = lanes.words[np.uintp(i)]
        draw_units(lanes, truths.population, scenario, moment)
        appraise_lanes(lanes, shape, scenario, truths)
        propose_lanes(lanes, real, shape, parameters, moment)
        respond_lanes(lanes, (action, fate), shape, scenario, truths, parameters.gain)
        learn_lanes(lanes, real, shape, parameters)
        for i in range(count):
            output.pulls[scenario, row + i, lanes.z[i]] += 1
        add_regret(lanes, regret, values, shape[1])
        if recorded < output.steps.size and output.steps[recorded] == step + 1:
            for i in range(count):
                output.regret[scenario, row + i, recorded] = regret[i]
            recorded += 1


def replicate_lanes(
    start: Replication, count: Number, given: KernelInput, memory: UnitMemory, output: KernelOutput
) -> None:
    """Run `count` replications from `start` on, 32 at a time; the CPU's entry."""
    for done in range(0, count, LANES):
        group = Replication(start.scenario, start.row + done, np.uint32(start.number + done))
        _group(group, min(LANES, count - done), given, memory, output)
