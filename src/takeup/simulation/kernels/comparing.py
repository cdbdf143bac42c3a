"""Which of several variables is the largest, and by how much one exceeds another, for kernels.

All densities are laid out on one grid of a scale t on which values rise and densities are smooth: the logit for betas,
plus or minus the logarithm for gammas, whose step is a power of two, and another for Student's t (`look_numbers`). The
step is at most a quarter of the narrowest one's spread. On their scales the density of Beta(a, b) is proportional to
exp(a t - (a + b) log(1 + e^t)) and that of Gamma(s, r) to exp(s t - r e^t); the function of t that is no line comes
from a table. F is the trapezoidal sum with the first correction of Euler and Maclaurin, h^2 f' / 12, and
integrals of f_j F_i .. are plain sums, which converge faster than any power of h for functions that vanish at both
ends. Probabilities are right to 1e-5 where no parameter is below one half and none above 100,000, and mostly to 1e-6
(`takeup.conjugates.quadrature` is right to 1e-11, and takes a hundred times as long). Where values are narrower, as of
counts of many events, there are tables of finer grids, up to parameters that sum to `RESOLVED`.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from takeup.checks import FloatArray
from takeup.conjugates import GammaRate
from takeup.conjugates.quadrature import Function
from takeup.simulation.kernels.machine import Array, Number

REACH = 24.0
"""How far the grid goes to both sides of zero: beyond it lies e^-24 of a uniform distribution."""
COARSEST, FINEST = 1, 9
"""Steps go from 2^-1 to 2^-9."""
LIMIT = 12
"""Where values are narrower, to 2^-12."""
DEVIATIONS = 6.0
"""How many spreads of a density are looked at, and how much of its tails."""
TAIL = 15.0
QUARTER = 0.25
RESOLVED = (2 * QUARTER * 2**LIMIT) ** 2
"""The most that a + b may be of a beta that the finest of all grids resolves: four million."""


class Grids(NamedTuple):
    """Tables of all grids, one behind the other.

    Attributes:
        start: where each grid begins, and at last where they end.
        bend: what the logarithm of a density has beside a line, times a parameter: log(1 + e^t) for betas.
        slope: its derivative, e^t / (1 + e^t) for betas.
        up: at which place of its grid, counted from 0, the variable is larger by the margin; beyond the end for ever.
    """

    start: Array
    bend: Array
    slope: Array
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


def grids(margin: float = 0.0, finest: int = FINEST) -> Grids:
    """The tables of betas, for one margin."""

    def larger(t: FloatArray) -> FloatArray:
        return np.asarray(logit(np.minimum(expit(t) + margin, 1.0)))

    return _grids(lambda t: np.logaddexp(0.0, t), expit, larger if margin else None, finest)


def gamma_grids(block: GammaRate, margin: float = 0.0, finest: int = FINEST) -> Grids:
    """The tables of what gammas are worth, for one margin: of log(rate longest), or its negative where less is more."""
    longest = np.log(block.outcome.longest)
    variables = GammaRate(np.ones((1, 1)), np.ones((1, 1)), block.outcome).variables()
    assert variables is not None  # so few have one
    sign = 1.0 if rises(block) else -1.0

    def larger(t: FloatArray) -> FloatArray:
        return np.asarray(sign * (variables.scale(variables.value(sign * t - longest) + margin) + longest))

    return _grids(lambda t: np.exp(sign * t), lambda t: sign * np.exp(sign * t), larger if margin else None, finest)


def rises(block: GammaRate) -> bool:
    """Whether what is worth more comes at a higher rate."""
    return (block.outcome.better == "higher") == (block.outcome.kind == "count")


def _grids(bend: Function, slope: Function, larger: Function | None, finest: int) -> Grids:
    """Tables of these functions of t; `larger` is t where the variable is larger by the margin."""
    levels = np.arange(COARSEST, finest + 1)
    points = [np.arange(round(2 * REACH * 2.0**level) + 1) * 2.0**-level - REACH for level in levels]
    t, start = np.concatenate(points), np.concatenate([[0], np.cumsum([each.size for each in points])])
    scale = np.repeat(2.0**levels, [each.size for each in points])
    with np.errstate(divide="ignore"):
        up = t if larger is None else np.minimum(larger(t), 2 * REACH)
    return Grids(start.astype(np.int64), bend(t), slope(t), (up + REACH) * scale)


def finest_for(total: float) -> int:
    """The finest grid for betas whose parameters sum to this, at most: a usual one, or a finer one where it has to."""
    return max(FINEST, int(level_for(2.0 / math.sqrt(total), LIMIT)))


def room(variables: int, total: float = math.inf, finest: int = FINEST) -> Densities:
    """Room for so many variables, of which none has parameters that sum to more than `total`."""
    size = round(2 * REACH * 2 ** level_for(2.0 / math.sqrt(total), finest)) + 1
    return Densities(
        np.zeros((variables, size)),
        np.zeros((variables, size)),
        np.zeros(variables, dtype=np.int64),
        np.zeros(variables, dtype=np.int64),
    )


def finest_of(grids: Grids) -> Number:
    """The finest grid that there is."""
    return COARSEST + grids.start.size - 2


def level_for(spread: Number, finest: Number) -> Number:
    """The grid for densities of which the narrowest has this spread: 2 / sqrt(a + b) at least."""
    level = COARSEST
    while level < finest and 2.0**-level > QUARTER * spread:
        level += 1
    return level


def lay_out(densities: Densities, k: Number, a: Number, b: Number, level: Number, grids: Grids) -> None:
    """Lay out the density of Beta(a, b) and its distribution function."""
    mode, spread, total = math.log(a / b), math.sqrt(1.0 / a + 1.0 / b), a + b
    ends = (mode - DEVIATIONS * spread - TAIL / a, mode + DEVIATIONS * spread + TAIL / b)
    lay_out_between(densities, k, a, total, a * mode - total * math.log1p(a / b), ends, level, grids)


def lay_out_gamma(
    densities: Densities, k: Number, shape: Number, rate: Number, sign: Number, level: Number, grids: Grids
) -> None:
    """The same of Gamma(shape, rate), on the scale of its logarithm, or of its negative where `sign` is -1."""
    mode, near, far = math.log(shape / rate), DEVIATIONS / math.sqrt(shape), TAIL / shape
    low, high = mode - near - far, mode + near
    ends = (low, high) if sign > 0.0 else (-high, -low)
    lay_out_between(densities, k, sign * shape, rate, shape * mode - shape, ends, level, grids)


def lay_out_between(
    densities: Densities,
    k: Number,
    a: Number,
    total: Number,
    peak: Number,
    ends: Number,
    level: Number,
    grids: Grids,
) -> None:
    """Lay out the density that is proportional to exp(a t - total bend(t)) between two ends; `peak` is the greatest."""
    f, below = densities.f, densities.below
    h = 2.0**-level
    at = grids.start[level - COARSEST]
    size = grids.start[level - COARSEST + 1] - at
    first = max(np.int64(0), np.int64(math.floor((ends[0] + REACH) / h)))
    last = min(size - 1, np.int64(math.ceil((ends[1] + REACH) / h)))
    norm = 0.0
    for j in range(first, last + 1):
        value = math.exp(a * (j * h - REACH) - total * grids.bend[at + j] - peak)
        f[k, j] = value
        norm += value
    before, factor, correction = 0.0, 1.0 / norm, h / 12.0
    for j in range(first, last + 1):
        value = f[k, j] * factor
        slope = a - total * grids.slope[at + j]
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
    level = level_for(spread, finest_of(grids))
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
    left, one, other = 0, 0, 0
    for k in range(count):
        if offered[k]:
            left += 1
            one, other = other, k
    if left == 2:
        for k in range(count):
            probability[k] = 0.0
        probability[one] = min(exceeds(densities, one, other), 1.0)
        probability[other] = 1.0 - probability[one]
        return
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
    f, below, chance = densities.f, densities.below, 0.0
    last, beyond = densities.last[one], densities.last[other] + 1
    for j in range(max(densities.first[one], densities.first[other]), min(last + 1, beyond)):
        chance += f[one, j] * below[other, j]
    for j in range(max(densities.first[one], beyond), last + 1):
        chance += f[one, j]
    return chance


def exceeds_less(densities: Densities, one: Number, other: Number, level: Number, grids: Grids) -> Number:
    """P(V_one - V_other < margin), where both are laid out on a grid of these."""
    return exceeds_less_at(densities, one, other, grids.up, grids.start[level - COARSEST])


def within(densities: Densities, offered: Array, level: Number, grids: Grids) -> Number:
    """The probability that the largest and the smallest of those that are offered differ by less than the margin."""
    return within_at(densities, offered, grids.up, grids.start[level - COARSEST])


def exceeds_less_at(densities: Densities, one: Number, other: Number, up: Array, at: Number) -> Number:
    """P(V_one - V_other < margin), where `up` has the place for each point, from `at` on."""
    chance = 0.0
    for j in range(densities.first[other], densities.last[other] + 1):
        chance += densities.f[other, j] * at_or_below_between(densities, one, up[at + j])
    return chance


def within_at(densities: Densities, offered: Array, up: Array, at: Number) -> Number:
    """The probability that all that are offered are within the margin, likewise."""
    chance = 0.0
    for k in range(offered.size):
        if offered[k]:
            for j in range(densities.first[k], densities.last[k] + 1):
                place, product = up[at + j], densities.f[k, j]
                for i in range(offered.size):
                    if i != k and offered[i]:
                        product *= at_or_below_between(densities, i, place) - at_or_below(densities, i, j)
                chance += product
    return chance
