"""Two outcomes, read by what was proposed: how many units of each proposal there are, and how many succeed.

A file like this one says how the units of a piece are drawn and what is believed once they are known. `draw` adds to
the statistic of the units that become known, `read` prepares what is asked of the reading at a look, and the others
answer: P(best) of those that are offered, P(V_one > V_other), P(V_one - V_other < margin), P(two, or all, within it).
`wish` says with which probability the policy would propose each: here the one with which it is best.
"""

from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.binomials import binomial
from takeup.simulation.kernels.comparing import (
    Densities,
    Grids,
    exceeds,
    exceeds_less,
    largest,
    lay_out_all,
    within,
)
from takeup.simulation.kernels.look_tables import LookInput, LookMemory
from takeup.simulation.kernels.machine import Array, Number

COLUMNS = 2
"""Units and successes of each proposal."""


class Rates(NamedTuple):
    """The truth: the rate of each proposal, (F, K)."""

    success: Array


class Betas(NamedTuple):
    """What is believed before any data.

    Attributes:
        prior: (a, b) of each proposal, (K, 2).
        equivalence: grids with its margin.
        futility: grids with its margin.
    """

    prior: Array
    equivalence: Grids
    futility: Grids


class BetasMemory(NamedTuple):
    """Where values are compared.

    Attributes:
        shapes: (a, b) of each proposal's beta distribution, (K, 2).
        level: of the grid, (1,).
        densities: of the values.
    """

    shapes: Array
    level: Array
    densities: Densities


def draw(piece: Number, row: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """The units of a piece on each proposal, and what becomes of them; `row` is that of the truth."""
    moment = (given.key[row, 0], given.key[row, 1], np.uint32(number), np.uint32(piece))
    known, left, rest = given.schedule.known[piece], given.schedule.size[piece], 1.0
    for k in range(memory.known.shape[0]):
        share = memory.share[k]
        units = left if share >= rest else binomial(left, share / rest, moment, 2 * k)
        left -= units
        rest -= share
        respond(k, units, known, row, moment, given, memory)


def respond(
    k: Number, units: Number, known: Number, row: Number, moment: Number, given: LookInput, memory: LookMemory
) -> None:
    """How many of the units that are offered proposal k succeed, which is known from a look on."""
    memory.waiting[known, k, 0] += units
    memory.waiting[known, k, 1] += binomial(units, given.truth.success[row, k], moment, 2 * k + 1)


def read(look: Number, scenario: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """Lay out what is believed of the value of each proposal that is offered."""
    reading = memory.reading
    for k in range(memory.known.shape[0]):
        reading.shapes[k, 0], reading.shapes[k, 1] = parameters(k, given, memory)
    reading.level[0] = lay_out_all(reading.densities, reading.shapes, memory.offered, given.reading.equivalence)


def parameters(k: Number, given: LookInput, memory: LookMemory) -> Number:
    """Of the beta distribution of the value of a proposal."""
    successes, prior = memory.known[k, 1], given.reading.prior
    return prior[k, 0] + successes, prior[k, 1] + memory.known[k, 0] - successes


def largest_of(given: LookInput, memory: LookMemory) -> None:
    """The probability that each of those that are offered is the best of them."""
    largest(memory.reading.densities, memory.offered, memory.best)


def exceeds_of(one: Number, other: Number, given: LookInput, memory: LookMemory) -> Number:
    """P(V_one > V_other)."""
    return exceeds(memory.reading.densities, one, other)


def most_of(one: Number, other: Number, least: Number, given: LookInput, memory: LookMemory) -> Number:
    """The most that P(V_one > V_other) may be, where a reading leaves it open; else what `exceeds_of` said."""
    return least


def less_of(one: Number, other: Number, which: Number, given: LookInput, memory: LookMemory) -> Number:
    """P(V_one - V_other < margin), of EQUIVALENCE (0) or of FUTILITY (1)."""
    grids = given.reading.futility if which else given.reading.equivalence
    return exceeds_less(memory.reading.densities, one, other, memory.reading.level[0], grids)


def close_of(one: Number, other: Number, given: LookInput, memory: LookMemory) -> Number:
    """The probability that two are within the margin of equivalence."""
    return less_of(one, other, 0, given, memory) - 1.0 + less_of(other, one, 0, given, memory)


def within_of(given: LookInput, memory: LookMemory) -> Number:
    """The probability that all that are offered are within the margin of equivalence."""
    reading = memory.reading
    return within(reading.densities, memory.offered, reading.level[0], given.reading.equivalence)


def wish(look: Number, scenario: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """As probable as each is best, which the look has found."""
    for k in range(memory.best.size):
        memory.wish[k] = memory.best[k]
