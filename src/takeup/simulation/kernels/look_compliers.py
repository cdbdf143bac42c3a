"""The effect of an action among those who comply, with margins of its own: `takeup.policies.compliers` that compiles.

Without a margin it is intention to treat, as `look_rates` reads it. With a margin m the effect of one proposal against
another is above it where v_1 - v_0 - m (S_1 - S_0) is above zero, with S_z = (π[z, i] - π[z, j]) / 2 of the actions i
and j that they intend; the sum is taken to be normal.
"""

import math
from typing import NamedTuple

from takeup.simulation.kernels.comparing import Grids
from takeup.simulation.kernels.look_cells import outcomes_of
from takeup.simulation.kernels.look_tables import LookInput, LookMemory
from takeup.simulation.kernels.machine import Array, Number


class Effects(NamedTuple):
    """What is believed before any data.

    Attributes:
        prior: (a, b) of each proposal, (K, 2), of which each action has its share.
        equivalence: grids, whose margin is not used.
        margins: of equivalence and of futility, as shares of what outcomes can differ by.
        intended: the action that each proposal intends, (K,).
    """

    prior: Array
    equivalence: Grids
    margins: Array
    intended: Array


def normal(deviations: Number) -> Number:
    """The probability that a normal variable is below so many deviations."""
    return 0.5 * math.erfc(-deviations / math.sqrt(2.0))


def less_of(one: Number, other: Number, which: Number, given: LookInput, memory: LookMemory) -> Number:
    """P(effect < margin), of EQUIVALENCE (0) or of FUTILITY (1)."""
    return effect_exceeds(other, one, -given.reading.margins[which], given, memory)


def close_of(one: Number, other: Number, given: LookInput, memory: LookMemory) -> Number:
    """P(-margin < effect < margin)."""
    margin = given.reading.margins[0]
    above, below = (
        effect_exceeds(one, other, -margin, given, memory),
        effect_exceeds(one, other, margin, given, memory),
    )
    return max(above - below, 0.0)


def effect_exceeds(one: Number, other: Number, margin: Number, given: LookInput, memory: LookMemory) -> Number:
    """P(effect of one against the other > margin)."""
    mean_1, variance_1 = moved(one, one, other, margin, given, memory)
    mean_0, variance_0 = moved(other, one, other, margin, given, memory)
    return normal((mean_1 - mean_0) / math.sqrt(variance_1 + variance_0))


def moved(z: Number, one: Number, other: Number, margin: Number, given: LookInput, memory: LookMemory) -> Number:
    """Mean and variance of v_z - margin S_z = Σ_a π[a] (μ[a] - margin g[a]), with g of 1/2 for i and -1/2 for j.

    With c the mean of π, B the sum of its parameters and f[a] = M[a] - margin g[a] the variance is
    (Σ c f² - (Σ c f)²) / (B + 1) + Σ (c² + c (1 - c) / (B + 1)) V.
    """
    prior, intended = given.reading.prior, given.reading.intended
    actions = memory.known.shape[1] // 2
    total = prior[z, 0] + prior[z, 1]
    for column in range(memory.known.shape[1]):
        total += memory.known[z, column]
    first, second, within = 0.0, 0.0, 0.0
    for a in range(actions):
        better, worse = outcomes_of(z, a, given, memory)
        alpha, beta = prior[z, 0] / actions + better, prior[z, 1] / actions + worse
        weight = alpha + beta
        c, mean = weight / total, alpha / weight
        toward = (0.5 if a == intended[one] else 0.0) - (0.5 if a == intended[other] else 0.0)
        f = mean - margin * toward
        first += c * f
        second += c * f * f
        within += (c * c + c * (1.0 - c) / (total + 1.0)) * mean * (1.0 - mean) / (weight + 1.0)
    return first, (second - first * first) / (total + 1.0) + within
