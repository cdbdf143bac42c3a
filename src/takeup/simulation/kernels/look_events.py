"""Counts and times, read by what was proposed: the rate of each proposal has a gamma distribution.

Time is in units of the longest watch or exposure. Densities are laid out on the scale of log(rate), or of its negative
where a higher rate is worth less, on the grids of `comparing`; the tables of what is larger by a margin know what a
rate is worth.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.conjugates import GammaRate
from takeup.simulation.kernels.comparing import Grids, finest_of, gamma_grids, lay_out_gamma, level_for, rises
from takeup.simulation.kernels.look_tables import LookInput, LookMemory
from takeup.simulation.kernels.machine import Array, Number


class Gammas(NamedTuple):
    """What is believed before any data.

    Attributes:
        prior: events and exposure of each proposal, (K, 2).
        step: of exposure or time, of which there are sums.
        sign: 1, or -1 where a higher rate is worth less.
        equivalence: grids with its margin.
        futility: grids with its margin.
    """

    prior: Array
    step: Number
    sign: Number
    equivalence: Grids
    futility: Grids


def gammas(block: GammaRate, equivalence: float, futility: float, finest: int) -> Gammas:
    """The block of one context, the margins in units of what an outcome is worth, and the finest grid."""
    longest = block.outcome.longest
    return Gammas(
        np.stack([block.events[0], block.exposure[0] / longest], axis=1),
        block.outcome.step / longest,
        1.0 if rises(block) else -1.0,
        gamma_grids(block, equivalence, finest),
        gamma_grids(block, futility, finest),
    )


def read(look: Number, scenario: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """Lay out what is believed of the value of each proposal that is offered."""
    reading, most = given.reading, 0.0
    for k in range(memory.known.shape[0]):
        if memory.offered[k]:
            most = max(most, reading.prior[k, 0] + memory.known[k, 1])
    level = level_for(1.0 / math.sqrt(most), finest_of(reading.equivalence))
    memory.reading.level[0] = level
    for k in range(memory.known.shape[0]):
        if memory.offered[k]:
            events = reading.prior[k, 0] + memory.known[k, 1]
            exposure = reading.prior[k, 1] + memory.known[k, 2] * reading.step
            lay_out_gamma(memory.reading.densities, k, events, exposure, reading.sign, level, reading.equivalence)
