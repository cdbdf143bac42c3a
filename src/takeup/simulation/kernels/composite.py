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
    Player,
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
from takeup.simulation.kernels.machine import UNSEEN, Number, inlined
from takeup.simulation.kernels.tables import Observation, State

__all__ = ["begin", "learn", "parameters", "propose", "reveal", "size"]

REAL = np.float64


def begin(state: State, shape: Number, parameters: Number) -> None:
    """Nothing learnt, and no turn drawn."""
    counts, real, column = state
    for row in range(cached(shape, 2 * shape[0], 0, False)):
        counts[row, column] = 0
    for x in range(2 * shape[0]):
        counts[turns(shape, x, False), column] = UNDRAWN
    cells = shape[0] * rows(shape)
    for cell in range(cells):
        for which in range(BANDITS):
            real[which * cells + cell, column] = parameters.bandit.table[cell]
        real[BANDITS * cells + cell, column] = parameters.certified[cell]
    for x in range(shape[0]):
        for i in range(BANDITS):
            real[top(shape, x) + i, column] = 0.0


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """The certified sampler's arm, or what the bandit proposes whose turn it is."""
    if parameters.bounded:
        arm = lending(state, x, shape, parameters, moment)
        if arm != LENT:
            return arm
    which = parameters.bandit.credit
    if parameters.hierarchical:
        which = turn(state, x, shape, parameters, moment)
    return choose(state, player(x, which, shape, parameters), shape, parameters.bandit, moment)


@inlined
def player(x: Number, which: Number, shape: Number, parameters: Number) -> Player:
    """The bandit of a credit in a context."""
    return Player(parameters.bandit.rule, which, table(shape, x, which), x)


def turn(state: State, x: Number, shape: Number, parameters: Number, moment: Number) -> Number:
    """Whose turn it is among the three, drawn where it has not been."""
    counts, column = state.counts, state.column
    kept = np.int64(counts[turns(shape, x, False), column])
    if kept == UNDRAWN:
        kept = pick(state, top(shape, x), BANDITS, 1, parameters.mixing, moment)
    return kept


def lending(state: State, x: Number, shape: Number, parameters: Number, moment: Number) -> Number:
    """LENT or the certified sampler's arm, drawn where it has not been."""
    counts, column = state.counts, state.column
    kept = np.int64(counts[turns(shape, x, True), column])
    if kept == UNDRAWN:
        kept = certified_turn(state, x, shape, parameters, moment)
    return kept


def certified_turn(state: State, x: Number, shape: Number, parameters: Number, moment: Number) -> Number:
    """Two draws of the certified sampler, and a third where they agree; else LENT."""
    sampler = Player(np.int64(THOMPSON), np.int64(CHOSEN), table(shape, x, BANDITS), x)
    arm, before = np.int64(0), np.int64(0)
    for i in range(3):
        arm = choose(state, sampler, shape, parameters.bandit, moment)
        if i == 0:
            before = arm
        elif i == 1 and arm != before:
            return LENT
    return arm


def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """Whoever's turn it was learns, or waits for the outcome; then the next turns are drawn."""
    counts, column = state.counts, state.column
    x, z, y = event.x, event.z, event.y
    lent, which = True, np.int64(-1)
    if parameters.bounded:
        lent = lending(state, x, shape, parameters, moment) == LENT
        if y == UNSEEN:
            counts[pending(shape, x, z, True) + (1 if lent else 0), column] += 1
    if parameters.hierarchical and lent:
        which = turn(state, x, shape, parameters, moment)
        if y == UNSEEN:
            counts[pending(shape, x, z, False) + which, column] += 1
    settle(state, event, lent, which, shape, parameters, moment)


def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """Whose turn it was is drawn among those of this context and proposal that wait."""
    counts, column = state.counts, state.column
    x, z = event.x, event.z
    lent, which = True, np.int64(-1)
    if parameters.bounded:
        row = pending(shape, x, z, True)
        i = one_of(state, row, np.int64(2), moment)
        counts[row + i, column] -= 1
        lent = i == 1
    if parameters.hierarchical and lent:
        row = pending(shape, x, z, False)
        which = one_of(state, row, np.int64(BANDITS), moment)
        counts[row + which, column] -= 1
    settle(state, event, lent, which, shape, parameters, moment)


def one_of(state: State, row: Number, many: Number, moment: Number) -> Number:
    """One of several by their counts."""
    counts, column = state.counts, state.column
    total = 0
    for i in range(many):
        total += counts[row + i, column]
    mark = chance(state, moment) * total
    for i in range(many - 1):
        mark -= counts[row + i, column]
        if mark < 0.0:
            return np.int64(i)
    return np.int64(many - 1)


def settle(
    state: State, event: Observation, lent: Number, which: Number, shape: Number, parameters: Number, moment: Number
) -> None:
    """Everyone learns what is theirs from a decision whose turn is known, and the next turns are drawn."""
    counts, column = state.counts, state.column
    x, z, y = event.x, event.z, event.y
    if parameters.hierarchical:
        if y != UNSEEN:
            share_out(state, event, which, shape, parameters)
        next_turn(state, x, shape, parameters, moment)
    elif y != UNSEEN:
        absorb(state, player(x, parameters.bandit.credit, shape, parameters), event, 1.0, shape, parameters.bandit)
    if parameters.bounded:
        if y != UNSEEN:
            if lent:
                counts[cached(shape, x, z, True) + y, column] += 1
            else:
                certify(state, x, z, y, shape, parameters)
        next_loan(state, x, shape, parameters, moment)


def share_out(state: State, event: Observation, which: Number, shape: Number, parameters: Number) -> None:
    """The three bandits, the one above them, and the cache, after an outcome."""
    counts, real, column = state
    x, z, y = event.x, event.z, event.y
    largest, total = mass(state, top(shape, x), BANDITS, 1)
    for credit in (CHOSEN, ACTUAL, COMPLY):
        if credit != CHOSEN or which == CHOSEN:
            weight = 1.0
            if credit == CHOSEN:
                log = real[top(shape, x), column]
                weight /= max(probability(log, largest, total, BANDITS, parameters.mixing), LEAST)
            absorb(state, player(x, credit, shape, parameters), event, weight, shape, parameters.bandit)
    if which >= 0:
        log = real[top(shape, x) + which, column]
        p = max(probability(log, largest, total, BANDITS, parameters.mixing), LEAST)
        real[top(shape, x) + which, column] = log + parameters.step * parameters.bandit.gain[y] / p
    if which != CHOSEN:
        counts[cached(shape, x, z, False) + y, column] += 1


def next_turn(state: State, x: Number, shape: Number, parameters: Number, moment: Number) -> None:
    """Whose turn it is next; in another's the first bandit gets a reward from the cache, if every arm has one."""
    counts, real, column = state
    which = pick(state, top(shape, x), BANDITS, 1, parameters.mixing, moment)
    counts[turns(shape, x, False), column] = which
    if which == CHOSEN or not parameters.recycling:
        return
    levels = shape[3]
    for z in range(shape[1]):
        if in_cache(state, cached(shape, x, z, False), levels) == 0:
            return
    first = player(x, np.int64(CHOSEN), shape, parameters)
    arm = choose(state, first, shape, parameters.bandit, moment)
    place = cached(shape, x, arm, False)
    y = one_of(state, place, levels, moment)
    counts[place + y, column] -= 1
    largest, total = mass(state, top(shape, x), BANDITS, 1)
    p = max(probability(real[top(shape, x), column], largest, total, BANDITS, parameters.mixing), LEAST)
    absorb(state, first, Observation(x, arm, np.int64(UNSEEN), y), 1.0 / p, shape, parameters.bandit)


@inlined
def in_cache(state: State, row: Number, levels: Number) -> Number:
    """How many outcomes a cache holds of an arm."""
    counts, column = state.counts, state.column
    total = 0
    for y in range(levels):
        total += counts[row + y, column]
    return total


def next_loan(state: State, x: Number, shape: Number, parameters: Number, moment: Number) -> None:
    """What the certified sampler does next; a reward from the cache stands in for a round, which is then lent."""
    counts, column = state.counts, state.column
    arm = certified_turn(state, x, shape, parameters, moment)
    if arm != LENT and parameters.feeding:
        place = cached(shape, x, arm, True)
        if in_cache(state, place, shape[3]) > 0:
            y = one_of(state, place, shape[3], moment)
            counts[place + y, column] -= 1
            certify(state, x, arm, y, shape, parameters)
            arm = LENT
    counts[turns(shape, x, True), column] = arm


def certify(state: State, x: Number, arm: Number, y: Number, shape: Number, parameters: Number) -> None:
    """The certified sampler's table after an outcome of an arm."""
    real, column = state.real, state.column
    row, levels = table(shape, x, BANDITS), shape[3]
    weight = 1.0
    if parameters.by_means:
        squares = 0.0
        for other in range(shape[1]):
            mean = mean_of(state, row + other * levels, levels, parameters.bandit.gain)[1]
            squares += mean * mean
        weight = 1.0 / squares
    real[row + arm * levels + y, column] += weight
