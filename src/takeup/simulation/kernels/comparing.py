"""Which of several beta variables is the largest, and by how much one exceeds another, for kernels.

All densities are laid out on one grid of the logit scale t, whose step is a power of two and at most a quarter of the
narrowest one's spread. There a Beta(a, b) density is proportional to exp(a t - (a + b) log(1 + e^t)); the logarithm
comes from a table. F is the trapezoidal sum with the first correction of Euler and Maclaurin, h^2 f' / 12, and
integrals of f_j F_i .. are plain sums, which converge faster than any power of h for functions that vanish at both
ends. Probabilities are right to 1e-5 where no parameter is below one half and none above 100,000, and mostly to 1e-6
(`takeup.conjugates.quadrature` is right to 1e-11, and takes a hundred times as long).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from takeup.simulation.kernels.machine import Array, Number

REACH = 24.0
"""How far the grid goes to both sides of zero: beyond it lies e^-24 of a uniform distribution."""
COARSEST, FINEST = 1, 9
"""Steps go from 2^-1 to 2^-9."""
DEVIATIONS = 6.0
"""How many spreads of a density are looked at, and how much of its tails."""
TAIL = 15.0
QUARTER = 0.25


class Grids(NamedTuple):
    """Tables of all grids, one behind the other.

    Attributes:
        start: where each grid begins, and at last where they end.
        log: log(1 + e^t).
        share: e^t / (1 + e^t).
        up: t where the variable is larger by the margin; beyond 1 REACH and more.
    """

    start: Array
    log: Array
    share: Array
    up: Array


class Densities(NamedTuple):
    """Where densities and distribution functions are laid out, an array a variable.

    Attributes:
        f: h f(t), which sums to one; (K, N).
        below: F(t).
        first: the first point of each at which there is anything, (K,).
        last: the last.
    """

    f: Array
    below: Array
    first: Array
    last: Array


def grids(margin: float = 0.0) -> Grids:
    """The tables for one margin."""
    points = [np.arange(round(2 * REACH * 2**level) + 1) * 2.0**-level - REACH for level in range(COARSEST, FINEST + 1)]
    t = np.concatenate(points)
    start = np.concatenate([[0], np.cumsum([each.size for each in points])])
    share = expit(t)
    larger = np.minimum(share + margin, 1.0)
    with np.errstate(divide="ignore"):
        up = np.minimum(logit(larger), 2 * REACH) if margin else t
    return Grids(start.astype(np.int64), np.logaddexp(0.0, t), share, up)


def room(variables: int, total: float = math.inf) -> Densities:
    """Room for so many variables, of which none has parameters that sum to more than `total`."""
    size = round(2 * REACH * 2 ** level_for(2.0 / math.sqrt(total))) + 1
    return Densities(
        np.zeros((variables, size)),
        np.zeros((variables, size)),
        np.zeros(variables, dtype=np.int64),
        np.zeros(variables, dtype=np.int64),
    )


def level_for(spread: Number) -> Number:
    """The grid for densities of which the narrowest has this spread: 2 / sqrt(a + b) at least."""
    level = COARSEST
    while level < FINEST and 2.0**-level > QUARTER * spread:
        level += 1
    return level


def lay_out(densities: Densities, k: Number, a: Number, b: Number, level: Number, grids: Grids) -> None:
    """Lay out the density of Beta(a, b) and its distribution function."""
    f, below = densities.f, densities.below
    h = 2.0**-level
    at = grids.start[level - COARSEST]
    size = grids.start[level - COARSEST + 1] - at
    mode, spread, total = math.log(a / b), math.sqrt(1.0 / a + 1.0 / b), a + b
    first = max(np.int64(0), np.int64(math.floor((mode - DEVIATIONS * spread - TAIL / a + REACH) / h)))
    last = min(size - 1, np.int64(math.ceil((mode + DEVIATIONS * spread + TAIL / b + REACH) / h)))
    peak = a * mode - total * math.log1p(a / b)
    norm = 0.0
    for j in range(first, last + 1):
        value = math.exp(a * (j * h - REACH) - total * grids.log[at + j] - peak)
        f[k, j] = value
        norm += value
    before, factor, correction = 0.0, 1.0 / norm, h / 12.0
    for j in range(first, last + 1):
        value = f[k, j] * factor
        slope = a - total * grids.share[at + j]
        below[k, j] = min(max(before + value * (0.5 - correction * slope), 0.0), 1.0)
        before += value
        f[k, j] = value
    densities.first[k], densities.last[k] = first, last


def lay_out_all(densities: Densities, shapes: Array, offered: Array, grids: Grids) -> Number:
    """Lay out the densities of those that are offered, Beta(a, b) with (a, b) in the rows of `shapes`; the level."""
    spread = math.inf
    for k in range(offered.size):
        if offered[k]:
            spread = min(spread, math.sqrt(1.0 / shapes[k, 0] + 1.0 / shapes[k, 1]))
    level = level_for(spread)
    for k in range(offered.size):
        if offered[k]:
            lay_out(densities, k, shapes[k, 0], shapes[k, 1], level, grids)
    return level


def at_or_below(densities: Densities, k: Number, j: Number) -> Number:
    """F_k at a point of the grid."""
    if j < densities.first[k]:
        return 0.0
    if j > densities.last[k]:
        return 1.0
    return densities.below[k, j]


def at_or_below_between(densities: Densities, k: Number, place: Number) -> Number:
    """F_k between two points, by the cubic through both values with both slopes."""
    j = np.int64(math.floor(place))  # CUDA has floats for both
    if j < densities.first[k]:
        return 0.0
    if j >= densities.last[k]:
        return 1.0
    u = place - j
    low, high = densities.below[k, j], densities.below[k, j + 1]
    rise, left, right = high - low, densities.f[k, j], densities.f[k, j + 1]
    return low + u * (left + u * (3.0 * rise - 2.0 * left - right + u * (left + right - 2.0 * rise)))


def largest(densities: Densities, offered: Array, probability: Array) -> None:
    """The probability that each of those that are offered is the largest of them; 0 for the others."""
    count, total = offered.size, 0.0
    for k in range(count):
        probability[k] = 0.0
        if offered[k]:
            chance = 0.0
            for j in range(densities.first[k], densities.last[k] + 1):
                product = densities.f[k, j]
                for i in range(count):
                    if i != k and offered[i]:
                        product *= at_or_below(densities, i, j)
                chance += product
            probability[k] = chance
            total += chance
    for k in range(count):
        probability[k] /= total


def exceeds(densities: Densities, one: Number, other: Number) -> Number:
    """P(V_one > V_other)."""
    chance = 0.0
    for j in range(densities.first[one], densities.last[one] + 1):
        chance += densities.f[one, j] * at_or_below(densities, other, j)
    return chance


def exceeds_less(densities: Densities, one: Number, other: Number, level: Number, grids: Grids) -> Number:
    """P(V_one - V_other < margin)."""
    scale, at, chance = 2.0**level, grids.start[level - COARSEST], 0.0
    for j in range(densities.first[other], densities.last[other] + 1):
        place = (grids.up[at + j] + REACH) * scale
        chance += densities.f[other, j] * at_or_below_between(densities, one, place)
    return chance


def within(densities: Densities, offered: Array, level: Number, grids: Grids) -> Number:
    """The probability that the largest and the smallest of those that are offered differ by less than the margin."""
    scale, at, chance = 2.0**level, grids.start[level - COARSEST], 0.0
    for k in range(offered.size):
        if offered[k]:
            for j in range(densities.first[k], densities.last[k] + 1):
                place, product = (grids.up[at + j] + REACH) * scale, densities.f[k, j]
                for i in range(offered.size):
                    if i != k and offered[i]:
                        product *= at_or_below_between(densities, i, place) - at_or_below(densities, i, j)
                chance += product
    return chance
