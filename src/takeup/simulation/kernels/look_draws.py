"""What proposing is worth by a model that has no closed form: joint draws of the values, counted.

Draws are made 32 at a time, side by side. Those of a look have a key of their own, two words of the trial's stream, so
that the counter is free for their numbers. `prepare` and `draw_values` are those of TS-Obs in this file as it stands;
`compile` binds them to those of TS-Robust. A probability p that is counted has an error of sqrt(p (1 - p) / draws).
"""

from typing import Any, NamedTuple

import numpy as np

from takeup.simulation.kernels.lane_streams import round_keys
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.look_observed import draw_values, prepare
from takeup.simulation.kernels.look_tables import NONE, LookInput, LookMemory
from takeup.simulation.kernels.machine import LANES, Array, Number
from takeup.simulation.kernels.streams import ATTEMPT, PATIENT, words


class Margins(NamedTuple):
    """Of equivalence and of futility, as shares of what outcomes can differ by."""

    equivalence: Number
    futility: Number


class DrawsMemory(NamedTuple):
    """Where values are drawn.

    Attributes:
        lanes: of 32 draws.
        values: of the proposals in these draws, (K, 32).
        table: those of all draws, (K, draws); without draws where nobody reads them.
        model: what the policy works with beside these.
    """

    lanes: LaneDraws
    values: Array
    table: Array
    model: Any


def look_keys(look: Number, scenario: Number, number: Number, given: LookInput) -> Number:
    """The round keys of the draws of a look."""
    moment = (given.key[scenario, 0], given.key[scenario, 1], np.uint32(number), np.uint32(look))
    block = words(moment, PATIENT, ATTEMPT)
    return round_keys((block[0], block[1]))


def wish(look: Number, scenario: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """As often as each is best in the draws."""
    keys, draws, values = look_keys(look, scenario, number, given), given.policy.draws, memory.policy.values
    prepare(given, memory)
    for k in range(memory.wish.size):
        memory.wish[k] = 0.0
    for first in range(0, draws, LANES):
        draw_values(first, keys, given, memory)
        for lane in range(min(LANES, draws - first)):
            memory.wish[highest(values, lane, memory.offered)] += 1.0
    for k in range(memory.wish.size):
        memory.wish[k] /= draws


def highest(values: Array, draw: Number, offered: Array) -> Number:
    """The proposal that is worth the most in a draw, of those that are offered."""
    best = NONE
    for k in range(offered.size):
        if offered[k] and (best == NONE or values[k, draw] > values[best, draw]):
            best = k
    return best


def read(look: Number, scenario: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """Draw what each proposal is worth, for all that the look asks."""
    keys, table, values = look_keys(look, scenario, number, given), memory.policy.table, memory.policy.values
    prepare(given, memory)
    for first in range(0, table.shape[1], LANES):
        draw_values(first, keys, given, memory)
        for k in range(table.shape[0]):
            for lane in range(min(LANES, table.shape[1] - first)):
                table[k, first + lane] = values[k, lane]


def largest_of(given: LookInput, memory: LookMemory) -> None:
    """How often each of those that are offered is the best of them."""
    table = memory.policy.table
    for k in range(memory.best.size):
        memory.best[k] = 0.0
    for draw in range(table.shape[1]):
        memory.best[highest(table, draw, memory.offered)] += 1.0
    for k in range(memory.best.size):
        memory.best[k] /= table.shape[1]


def exceeds_of(one: Number, other: Number, given: LookInput, memory: LookMemory) -> Number:
    """P(V_one > V_other)."""
    table, count = memory.policy.table, 0
    for draw in range(table.shape[1]):
        count += table[one, draw] > table[other, draw]
    return count / table.shape[1]


def less_of(one: Number, other: Number, which: Number, given: LookInput, memory: LookMemory) -> Number:
    """P(V_one - V_other < margin), of EQUIVALENCE (0) or of FUTILITY (1)."""
    margin = given.reading.futility if which else given.reading.equivalence
    table, count = memory.policy.table, 0
    for draw in range(table.shape[1]):
        count += table[one, draw] - table[other, draw] < margin
    return count / table.shape[1]


def close_of(one: Number, other: Number, given: LookInput, memory: LookMemory) -> Number:
    """The probability that two are within the margin of equivalence."""
    table, count = memory.policy.table, 0
    for draw in range(table.shape[1]):
        count += abs(table[one, draw] - table[other, draw]) < given.reading.equivalence
    return count / table.shape[1]


def within_of(given: LookInput, memory: LookMemory) -> Number:
    """The probability that all that are offered are within the margin of equivalence."""
    table, offered, count = memory.policy.table, memory.offered, 0
    for draw in range(table.shape[1]):
        low, high = 1.0, 0.0
        for k in range(offered.size):
            if offered[k]:
                low, high = min(low, table[k, draw]), max(high, table[k, draw])
        count += high - low < given.reading.equivalence
    return count / table.shape[1]
