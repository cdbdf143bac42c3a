"""Policies made of bandits: Hierarchical, and ThompsonBounded around it or around a Protocol.

The same words as in takeup.policies.hierarchical and takeup.policies.bounded; `composite_state` says where all lies.
"""

import numpy as np

from takeup.policies.exp3 import LEAST
from takeup.simulation.kernels.arms import (
    ACTUAL,
    CHOSEN,
    COMPLY,
    THOMPSON,
    absorb,
    chance,
    choose,
    mass,
    mean_of,
    pick,
    probability,
    rows,
)
from takeup.simulation.kernels.composite_state import (
    BANDITS,
    LENT,
    UNDRAWN,
    cached,
    parameters,
    pending,
    size,
    table,
    top,
    turns,
)
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined

__all__ = ["begin", "learn", "parameters", "propose", "reveal", "size"]


def begin(counts: Array, real: Array, column: Number, shape: Number, parameters: Number) -> None:
    """Nothing learnt, and no turn drawn."""
    for row in range(cached(shape, 2 * shape[0], 0, False)):
        counts[row, column] = 0
    for x in range(2 * shape[0]):
        counts[turns(shape, x, False), column] = UNDRAWN
    cells = shape[0] * rows(shape)
    for cell in range(cells):
        for which in range(BANDITS):
            real[which * cells + cell, column] = parameters.table[cell]
        real[BANDITS * cells + cell, column] = parameters.certified[cell]
    for x in range(shape[0]):
        for i in range(BANDITS):
            real[top(shape, x) + i, column] = 0.0


def propose(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    shape: Number,
    parameters: Number,
    moment: Number,
    chance: Number,
) -> Number:
    """The certified sampler's arm, or what the bandit proposes whose turn it is."""
    if parameters.bounded:
        arm = lending(counts, real, column, x, shape, parameters, moment)
        if arm != LENT:
            return arm
    which = parameters.credit
    if parameters.hierarchical:
        which = turn(counts, real, column, x, shape, parameters, moment)
    row = table(shape, x, which)
    return choose(parameters.rule, counts, real, column, row, x, shape, parameters, moment)


def turn(
    counts: Array, real: Array, column: Number, x: Number, shape: Number, parameters: Number, moment: Number
) -> Number:
    """Whose turn it is among the three, drawn where it has not been."""
    kept = np.int64(counts[turns(shape, x, False), column])
    if kept == UNDRAWN:
        kept = pick(counts, real, column, top(shape, x), BANDITS, 1, parameters.mixing, moment)
    return kept


def lending(
    counts: Array, real: Array, column: Number, x: Number, shape: Number, parameters: Number, moment: Number
) -> Number:
    """LENT or the certified sampler's arm, drawn where it has not been."""
    kept = np.int64(counts[turns(shape, x, True), column])
    if kept == UNDRAWN:
        kept = certified_turn(counts, real, column, x, shape, parameters, moment)
    return kept


def certified_turn(
    counts: Array, real: Array, column: Number, x: Number, shape: Number, parameters: Number, moment: Number
) -> Number:
    """Two draws of the certified sampler, and a third where they agree; else LENT."""
    row = table(shape, x, BANDITS)
    arm, before = np.int64(0), np.int64(0)
    for i in range(3):
        arm = choose(np.int64(THOMPSON), counts, real, column, row, x, shape, parameters, moment)
        if i == 0:
            before = arm
        elif i == 1 and arm != before:
            return LENT
    return arm


def learn(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    z: Number,
    a: Number,
    y: Number,
    shape: Number,
    parameters: Number,
    moment: Number,
) -> None:
    """Whoever's turn it was learns, or waits for the outcome; then the next turns are drawn."""
    lent, which = True, np.int64(-1)
    if parameters.bounded:
        lent = lending(counts, real, column, x, shape, parameters, moment) == LENT
        if y == UNSEEN:
            counts[pending(shape, x, z, True) + (1 if lent else 0), column] += 1
    if parameters.hierarchical and lent:
        which = turn(counts, real, column, x, shape, parameters, moment)
        if y == UNSEEN:
            counts[pending(shape, x, z, False) + which, column] += 1
    settle(counts, real, column, x, z, a, y, lent, which, shape, parameters, moment)


def reveal(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    z: Number,
    a: Number,
    y: Number,
    shape: Number,
    parameters: Number,
    moment: Number,
) -> None:
    """Whose turn it was is drawn among those of this context and proposal that wait."""
    lent, which = True, np.int64(-1)
    if parameters.bounded:
        row = pending(shape, x, z, True)
        i = one_of(counts, column, row, np.int64(2), moment)
        counts[row + i, column] -= 1
        lent = i == 1
    if parameters.hierarchical and lent:
        row = pending(shape, x, z, False)
        which = one_of(counts, column, row, np.int64(BANDITS), moment)
        counts[row + which, column] -= 1
    settle(counts, real, column, x, z, a, y, lent, which, shape, parameters, moment)


def one_of(counts: Array, column: Number, row: Number, many: Number, moment: Number) -> Number:
    """One of several by their counts."""
    total = 0
    for i in range(many):
        total += counts[row + i, column]
    mark = chance(counts, column, moment) * total
    for i in range(many - 1):
        mark -= counts[row + i, column]
        if mark < 0.0:
            return np.int64(i)
    return np.int64(many - 1)


def settle(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    z: Number,
    a: Number,
    y: Number,
    lent: Number,
    which: Number,
    shape: Number,
    parameters: Number,
    moment: Number,
) -> None:
    """Everyone learns what is theirs from a decision whose turn is known, and the next turns are drawn."""
    if parameters.hierarchical:
        if y != UNSEEN:
            share_out(counts, real, column, x, z, a, y, which, shape, parameters)
        next_turn(counts, real, column, x, shape, parameters, moment)
    elif y != UNSEEN:
        row = table(shape, x, parameters.credit)
        absorb(parameters.rule, parameters.credit, real, column, row, z, a, y, 1.0, shape, parameters)
    if parameters.bounded:
        if y != UNSEEN:
            if lent:
                counts[cached(shape, x, z, True) + y, column] += 1
            else:
                certify(real, column, x, z, y, shape, parameters)
        next_loan(counts, real, column, x, shape, parameters, moment)


def share_out(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    z: Number,
    a: Number,
    y: Number,
    which: Number,
    shape: Number,
    parameters: Number,
) -> None:
    """The three bandits, the one above them, and the cache, after an outcome."""
    largest, total = mass(real, column, top(shape, x), BANDITS, 1)
    rule = parameters.rule
    for credit in (CHOSEN, ACTUAL, COMPLY):
        if credit != CHOSEN or which == CHOSEN:
            weight = 1.0
            if credit == CHOSEN:
                log = real[top(shape, x), column]
                weight /= max(probability(log, largest, total, BANDITS, parameters.mixing), LEAST)
            row = table(shape, x, credit)
            absorb(rule, credit, real, column, row, z, a, y, weight, shape, parameters)
    if which >= 0:
        log = real[top(shape, x) + which, column]
        p = max(probability(log, largest, total, BANDITS, parameters.mixing), LEAST)
        real[top(shape, x) + which, column] = log + parameters.step * parameters.gain[y] / p
    if which != CHOSEN:
        counts[cached(shape, x, z, False) + y, column] += 1


def next_turn(
    counts: Array, real: Array, column: Number, x: Number, shape: Number, parameters: Number, moment: Number
) -> None:
    """Whose turn it is next; in another's the first bandit gets a reward from the cache, if every arm has one."""
    which = pick(counts, real, column, top(shape, x), BANDITS, 1, parameters.mixing, moment)
    counts[turns(shape, x, False), column] = which
    if which == CHOSEN or not parameters.recycling:
        return
    levels = shape[3]
    for z in range(shape[1]):
        if in_cache(counts, column, cached(shape, x, z, False), levels) == 0:
            return
    row = table(shape, x, CHOSEN)
    arm = choose(parameters.rule, counts, real, column, row, x, shape, parameters, moment)
    place = cached(shape, x, arm, False)
    y = one_of(counts, column, place, levels, moment)
    counts[place + y, column] -= 1
    largest, total = mass(real, column, top(shape, x), BANDITS, 1)
    p = max(probability(real[top(shape, x), column], largest, total, BANDITS, parameters.mixing), LEAST)
    absorb(parameters.rule, np.int64(CHOSEN), real, column, row, arm, np.int64(UNSEEN), y, 1.0 / p, shape, parameters)


@inlined
def in_cache(counts: Array, column: Number, row: Number, levels: Number) -> Number:
    """How many outcomes a cache holds of an arm."""
    total = 0
    for y in range(levels):
        total += counts[row + y, column]
    return total


def next_loan(
    counts: Array, real: Array, column: Number, x: Number, shape: Number, parameters: Number, moment: Number
) -> None:
    """What the certified sampler does next; a reward from the cache stands in for a round, which is then lent."""
    arm = certified_turn(counts, real, column, x, shape, parameters, moment)
    if arm != LENT and parameters.feeding:
        place = cached(shape, x, arm, True)
        if in_cache(counts, column, place, shape[3]) > 0:
            y = one_of(counts, column, place, shape[3], moment)
            counts[place + y, column] -= 1
            certify(real, column, x, arm, y, shape, parameters)
            arm = LENT
    counts[turns(shape, x, True), column] = arm


def certify(real: Array, column: Number, x: Number, arm: Number, y: Number, shape: Number, parameters: Number) -> None:
    """The certified sampler's table after an outcome of an arm."""
    row, levels = table(shape, x, BANDITS), shape[3]
    weight = 1.0
    if parameters.by_means:
        squares = 0.0
        for other in range(shape[1]):
            mean = mean_of(real, column, row + other * levels, levels, parameters.gain)[1]
            squares += mean * mean
        weight = 1.0 / squares
    real[row + arm * levels + y, column] += weight
