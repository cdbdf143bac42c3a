"""Outcomes without levels: how many units of each proposal there are, and sums of what their outcomes add.

Every unit is drawn by itself, from the table of what proposing leads to; what an outcome adds are whole numbers, such
as k and k^2 of a number on its grid, or events and exposure. `look_numbers` and `look_events` say how they are read.
"""

from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.driver import pick
from takeup.simulation.kernels.look_rates import units_of
from takeup.simulation.kernels.look_tables import LookInput, LookMemory
from takeup.simulation.kernels.machine import Array, Number
from takeup.simulation.kernels.streams import words

WORDS = 4
"""Units that share a block of random words, one each."""


class Sums(NamedTuple):
    """The truth, as alias tables over the M outcomes that there are.

    Attributes:
        threshold: of each proposal, (E, K M).
        alias: likewise.
        amounts: what each outcome adds, (M, columns - 1).
    """

    threshold: Array
    alias: Array
    amounts: Array


def draw(piece: Number, scenario: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """The units of a piece on each proposal, and what their outcomes add."""
    moment = (given.key[scenario, 0], given.key[scenario, 1], np.uint32(number), np.uint32(piece))
    known, left, rest = given.schedule.known[piece], given.schedule.size[piece], 1.0
    for k in range(memory.known.shape[0]):
        units = units_of(k, left, rest, moment, memory)
        left -= units
        rest -= memory.share[k]
        memory.waiting[known, k, 0] += units
        add(k, units, known, scenario, moment, given.truth, memory.waiting)


def add(k: Number, units: Number, known: Number, scenario: Number, moment: Number, truth: Sums, waiting: Array) -> None:
    """Draw the outcomes of so many units of a proposal, and add them up."""
    size, columns = truth.amounts.shape
    for block in range((units + WORDS - 1) // WORDS):
        four = words(moment, np.uint32(k), np.uint32(block))
        for i in range(min(WORDS, units - WORDS * block)):
            outcome = pick(four[i], truth.threshold, truth.alias, scenario, k * size, size)
            for column in range(columns):
                waiting[known, k, column + 1] += truth.amounts[outcome, column]
