"""Outcomes without levels: how many units of each proposal there are, and sums of what their outcomes add.

Every unit is drawn by itself, from the table of what proposing leads to; what an outcome adds are whole numbers, such
as k and k^2 of a number on its grid, or events and exposure. `look_numbers` and `look_events` say how they are read.
"""

from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.driver import pick
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


def respond(
    k: Number, units: Number, known: Number, scenario: Number, moment: Number, given: LookInput, memory: LookMemory
) -> None:
    """Draw the outcomes of the units that are offered proposal k, known from a look on, and add them up."""
    waiting, truth = memory.waiting, given.truth
    size, columns = truth.amounts.shape
    waiting[known, k, 0] += units
    for block in range((units + WORDS - 1) // WORDS):
        four = words(moment, np.uint32(k), np.uint32(block))
        for i in range(min(WORDS, units - WORDS * block)):
            outcome = pick(four[i], truth.threshold, truth.alias, scenario, k * size, size)
            for column in range(columns):
                waiting[known, k, column + 1] += truth.amounts[outcome, column]
