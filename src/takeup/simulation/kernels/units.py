"""Units with covariates, in kernels: who comes, what each proposal is worth to them, and what becomes of one.

A unit is a function of the moment alone, so that one whose outcome comes late is met again when it does, and nobody has
to remember its features. `populations` makes the tables.

What is known of the unit that is at hand lies one after the other in `room`, float64:

    v, from 0 to 1; v in whole thousandths; cells of compliance; cells of outcomes; what each z is worth; what each
    group of outcomes is worth

where the first four are padded with zeros to a multiple of four. Cells are scores β v first, and become probabilities
where they are needed. They lie in groups (u, z) and (u, z, a); of an axis that does not matter there is one.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.covariates.kinds import ONE
from takeup.simulation.kernels.gammas import normal_pair
from takeup.simulation.kernels.machine import Array, Number, inlined
from takeup.simulation.kernels.streams import ATTEMPT, below, uniform, words
from takeup.simulation.kernels.vectors import BLOCK, column_sums, exp_below, padded, put

TABLE, LOGIT, RATE, NORMAL = 0, 1, 2, 3
"""Kinds of models: probabilities, a multinomial logit, the rate of the second of two levels, a number with noise."""

FATE, VALUES = np.uint32(1), np.uint32(2)
"""Slots of a unit's words: outcome, its angle, who it is; and from here on its covariates, four a slot."""

TAIL = 9.0
"""How many standard deviations of a normal variable there are: what is beyond has a probability of 1e-19."""

ROOT_HALF = math.sqrt(0.5)


class Population(NamedTuple):
    """Who comes, in each scenario: one of a list, or by chance.

    Attributes:
        many: how many are in its list, (E,); 0 where covariates are independent.
        first: where they begin in the arrays that follow, (E,).
        context: of everybody in a list, (N,).
        features: in whole thousandths, (N, d).
        value: what each proposal is worth, (N, Kz).
        context_threshold: the alias table of contexts, (E, X).
        context_alias: see above.
        value_threshold: alias tables of the values of covariates, one after the other, (E, W).
        value_alias: see above.
        block: the features of each value, (W, most of them).
        start: where the values of each covariate begin, (C + 1,).
        width: how many features it has, (C,).
        pairs: features that interact, (P, 2).
    """

    many: Array
    first: Array
    context: Array
    features: Array
    value: Array
    context_threshold: Array
    context_alias: Array
    value_threshold: Array
    value_alias: Array
    block: Array
    start: Array
    width: Array
    pairs: Array


class Model(NamedTuple):
    """Compliance or outcomes, in each scenario.

    Attributes:
        kind: TABLE, LOGIT, RATE or NORMAL, (E,).
        classes: how many cells a group has, (E,).
        groups: how many groups there are, (E,).
        stride: how many groups further the next u, z and a are, (E, 3); 0 where they do not matter.
        width: how many cells there is room for.
        number: coefficients or probabilities, (E, X, d, width), flat.
    """

    kind: Array
    classes: Array
    groups: Array
    stride: Array
    width: Number
    number: Array


class Truths(NamedTuple):
    """Environments with covariates, side by side along the first axis.

    Attributes:
        key: of each one's streams, (E, 2).
        population: who comes.
        share: p(u given x), (E, X, U).
        compliance: p(a given u, x, z, v).
        outcome: p(y given u, x, z, a, v).
        reward: of each outcome, (Y,).
        noise: the standard deviation of a number, the low end of its grid and its step, (E, 3).
    """

    key: Array
    population: Population
    share: Array
    compliance: Model
    outcome: Model
    reward: Array
    noise: Array


class Unit(NamedTuple):
    """Who is at hand, for policies that learn from covariates.

    Attributes:
        x: its context.
        room: v, from 0 to 1, and then v in whole thousandths, both padded.
    """

    x: Number
    room: Array


class UnitMemory(NamedTuple):
    """Where a kernel works on one replication.

    Attributes:
        counts: the policy's whole numbers, in the only column of an array.
        real: its real numbers; of policies that learn from covariates one after the other, else in a column too.
        ring: decisions of which something has yet to reach the policy.
        room: what is known of the unit that is at hand.
    """

    counts: Array
    real: Array
    ring: Array
    room: Array


@inlined
def chosen(word: Number, threshold: Array, alias: Array, scenario: Number, start: Number, size: Number) -> Number:
    """The entry of an alias table that a word stands for."""
    j, fraction = below(word, size)
    own = np.int64(fraction < threshold[scenario, np.uintp(start + j)])  # as a factor: a branch would be a coin toss
    other = np.int64(alias[scenario, np.uintp(start + j)])
    return other + own * (j - other)


@inlined
def meet(room: Array, population: Population, scenario: Number, moment: Number) -> Number:
    """Who comes at a moment: context, place in its list and words for its outcome; features go into the room."""
    fate, angle, who, _ = words(moment, FATE, ATTEMPT)
    many = population.many[scenario]
    if many > 0:
        place = population.first[scenario] + below(who, many)[0]
        for i in range(population.features.shape[1]):
            put_feature(room, population, i, np.float64(population.features[place, i]))
        x = np.int64(population.context[place])
    else:
        place = np.int64(0)
        contexts = population.context_threshold.shape[1]
        x = chosen(who, population.context_threshold, population.context_alias, scenario, 0, contexts)
        draw_features(room, population, scenario, moment)
    return x, place, fate, angle


@inlined
def put_feature(room: Array, population: Population, i: Number, whole: Number) -> None:
    """Store a feature in both forms."""
    room[np.uintp(i)] = whole / ONE
    room[np.uintp(padded(population.features.shape[1]) + i)] = whole


@inlined
def draw_features(room: Array, population: Population, scenario: Number, moment: Number) -> None:
    """Covariates that do not depend on each other: one, their features, and the products of those that interact."""
    put_feature(room, population, 0, float(ONE))
    at = 1
    block = words(moment, VALUES, ATTEMPT)
    for c in range(population.width.size):
        if c > 0 and c & 3 == 0:
            block = words(moment, VALUES + np.uint32(c >> 2), ATTEMPT)
        word = block[c & 3]
        start = population.start[c]
        value = start + chosen(
            word, population.value_threshold, population.value_alias, scenario, start, population.start[c + 1] - start
        )
        for i in range(population.width[c]):
            put_feature(room, population, at, np.float64(population.block[value, i]))
            at += 1
    wholes = padded(population.features.shape[1])
    for p in range(population.pairs.shape[0]):
        product = room[np.uintp(wholes + population.pairs[p, 0])] * room[np.uintp(wholes + population.pairs[p, 1])]
        put_feature(room, population, at, np.float64(math.floor((2.0 * product + ONE) / (2 * ONE))))
        at += 1


@inlined
def score(room: Array, at: Number, model: Model, scenario: Number, x: Number, d: Number) -> None:
    """β v of all cells; of a table, its probabilities."""
    contexts = model.number.size // (model.kind.size * d * model.width)
    first = ((scenario * contexts + x) * d) * model.width
    rows = 1 if model.kind[scenario] == TABLE else d
    for m in range(0, padded(model.classes[scenario] * model.groups[scenario]), BLOCK):
        put(room, at + m, column_sums(model.number, first + m, model.width, room, rows))


@inlined
def settle(room: Array, start: Number, kind: Number, classes: Number, groups: Number) -> None:
    """Make probabilities of the scores of groups that lie one after the other."""
    if kind == LOGIT:
        for g in range(groups):
            at = start + g * classes
            highest = room[np.uintp(at)]
            for k in range(1, classes):
                highest = max(highest, room[np.uintp(at + k)])
            for k in range(classes):
                room[np.uintp(at + k)] -= highest
        for m in range(groups * classes):
            room[np.uintp(start + m)] = exp_below(room[np.uintp(start + m)])
        for g in range(groups):
            at, total = start + g * classes, 0.0
            for k in range(classes):
                total += room[np.uintp(at + k)]
            part = 1.0 / total
            for k in range(classes):
                room[np.uintp(at + k)] *= part
    elif kind == RATE:
        for g in range(groups):
            at = start + 2 * g
            rate = min(max(room[np.uintp(at + 1)], 0.0), 1.0)
            room[np.uintp(at)] = 1.0 - rate
            room[np.uintp(at + 1)] = rate


def mean_reward(mean: Number, scenario: Number, noise: Array, reward: Array) -> Number:
    """The expected reward of a number with normal noise that is rounded to its grid and ends at its ends."""
    sd, low, step = noise[scenario, 0], noise[scenario, 1], noise[scenario, 2]
    last = reward.size - 1
    least = min(max(np.int64(math.floor((mean - TAIL * sd - low) / step)), 0), last)
    most = min(max(np.int64(math.ceil((mean + TAIL * sd - low) / step)), 0), last)
    total, before = 0.0, 0.0
    for k in range(least, most + 1):
        until = 1.0
        if k < most:
            until = 0.5 * math.erfc(-(low + step * k + step / 2 - mean) / sd * ROOT_HALF)
        total += reward[k] * (until - before)
        before = until
    return total


@inlined
def weigh_groups(room: Array, at: Number, worth: Number, scenario: Number, truths: Truths) -> None:
    """Settle the outcomes of every group, and what each is worth."""
    model = truths.outcome
    kind, classes, groups = model.kind[scenario], model.classes[scenario], model.groups[scenario]
    settle(room, at, kind, classes, groups)
    for g in range(groups):
        start, total = at + g * classes, 0.0
        if kind == NORMAL:
            total = mean_reward(room[np.uintp(start)], scenario, truths.noise, truths.reward)
        else:
            for y in range(classes):
                total += room[np.uintp(start + y)] * truths.reward[y]
        room[np.uintp(worth + g)] = total


@inlined
def appraise(room: Array, shape: Number, met: Number, scenario: Number, truths: Truths) -> Number:
    """What each proposal is worth to who was met, into the room; returns the most of it."""
    x, place, _, _ = met
    proposals, actions = shape[1], shape[2]
    compliance, outcome = truths.compliance, truths.outcome
    cells, fates, values, worth = places(shape, truths)
    d = truths.population.features.shape[1]
    score(room, cells, compliance, scenario, x, d)
    score(room, fates, outcome, scenario, x, d)
    best = -math.inf
    if truths.population.many[scenario] > 0:
        for z in range(proposals):
            value = truths.population.value[place, z]
            room[np.uintp(values + z)] = value
            best = max(best, value)
        return best
    settle(room, cells, compliance.kind[scenario], actions, compliance.groups[scenario])
    weigh_groups(room, fates, worth, scenario, truths)
    for z in range(proposals):
        value = 0.0
        for u in range(truths.share.shape[2]):
            row = cells + group_of(compliance, scenario, u, z, 0) * actions
            part = 0.0
            for a in range(actions):
                part += room[np.uintp(row + a)] * room[np.uintp(worth + group_of(outcome, scenario, u, z, a))]
            value += truths.share[scenario, x, u] * part
        room[np.uintp(values + z)] = value
        best = max(best, value)
    return best


@inlined
def places(shape: Number, truths: Truths) -> Number:
    """Where cells of compliance, cells of outcomes, values, and what groups are worth begin in the room."""
    cells = 2 * padded(truths.population.features.shape[1])
    fates = cells + truths.compliance.width
    values = fates + truths.outcome.width
    return cells, fates, values, values + shape[1]


@inlined
def group_of(model: Model, scenario: Number, u: Number, z: Number, a: Number) -> Number:
    """The group of a type, a proposal and an action."""
    stride = model.stride
    return u * stride[scenario, 0] + z * stride[scenario, 1] + a * stride[scenario, 2]


@inlined
def taken(room: Array, start: Number, classes: Number, mark: Number) -> Number:
    """The class that a number between 0 and 1 stands for."""
    for k in range(classes - 1):
        mark -= room[np.uintp(start + k)]
        if mark < 0.0:
            return k
    return classes - 1


@inlined
def respond(room: Array, shape: Number, met: Number, scenario: Number, chance: Number, truths: Truths) -> Number:
    """The action and the outcome of who was met, where `chance` is (z, word for the type, word for the action)."""
    x, _, fate, angle = met
    z, hidden, action = chance
    actions, types = shape[2], truths.share.shape[2]
    sampled = truths.population.many[scenario] > 0
    cells, fates, _, _ = places(shape, truths)
    u = 0
    if types > 1:
        mark = uniform(hidden) - truths.share[scenario, x, 0]
        while mark >= 0.0 and u < types - 1:
            u += 1
            mark -= truths.share[scenario, x, u]
    row = cells + group_of(truths.compliance, scenario, u, z, 0) * actions
    if sampled:
        settle(room, row, truths.compliance.kind[scenario], actions, 1)
    a = taken(room, row, actions, uniform(action))
    kind, classes = truths.outcome.kind[scenario], truths.outcome.classes[scenario]
    start = fates + group_of(truths.outcome, scenario, u, z, a) * classes
    if kind == NORMAL:
        noise = truths.noise
        number = room[np.uintp(start)] + noise[scenario, 0] * np.float64(normal_pair(fate, angle)[0])
        code = math.floor((number - noise[scenario, 1]) / noise[scenario, 2] + 0.5)
        return a, np.int64(min(max(code, 0), truths.reward.size - 1))
    if sampled:
        settle(room, start, kind, classes, 1)
    return a, taken(room, start, classes, uniform(fate))
