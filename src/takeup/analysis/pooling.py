"""Effects of several groups, each drawn towards the others by as much as they are alike.

With estimates y_g and their errors s_g the effects are taken to be like draws from one bell curve,

    y_g ~ N(θ_g, s_g²),    θ_g ~ N(μ, τ²),

with nothing known of μ, and of τ that it is small or not, by a half-Cauchy distribution of a given scale. All of it is
integrated over a grid of τ, so that an interval says, too, that τ is not known (Gelman 2006; Röver 2020).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtr

from takeup.checks import FloatArray

POINTS = 200
"""How many values of τ there are on the grid."""

FARTHEST = 30.0
"""Up to how many times the scale τ is looked for, or as far as the estimates are apart."""

STEPS = 60
"""How often a search for an end is halved."""


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """Effects of groups, drawn towards each other.

    Attributes:
        value: the mean of each, (G,).
        low: the lower ends.
        high: the upper ends.
        between: the median of τ, and the ends of its interval from nought.
        p: of the test that all effects are the same, by Cochran's Q.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    between: tuple[float, float, float]
    p: float


def pooled(estimate: FloatArray, error: FloatArray, scale: float, level: float) -> Pooled:
    """Draw the estimates of at least two groups towards each other.

    Args:
        estimate: of each group, (G,).
        error: the standard error of each, above nought.
        scale: the median of τ before anything is known.
        level: of intervals.
    """
    tau, weight = _grid(estimate, error, scale)
    precision = 1.0 / (error**2 + tau[:, np.newaxis] ** 2)  # (T, G)
    total = precision.sum(axis=-1, keepdims=True)
    middle = (precision * estimate).sum(axis=-1, keepdims=True) / total
    kept = tau[:, np.newaxis] ** 2 * precision  # the part of an estimate that is its own
    mean = kept * estimate + (1.0 - kept) * middle
    variance = kept * error**2 + (1.0 - kept) ** 2 / total
    value = weight @ mean
    tails = (1.0 - level) / 2.0, (1.0 + level) / 2.0
    low, high = (_quantile(mean, np.sqrt(variance), weight, q) for q in tails)
    least, middle_tau, most = (float(tau[np.searchsorted(np.cumsum(weight), q)]) for q in (tails[0], 0.5, tails[1]))
    return Pooled(value, low, high, (middle_tau, least, most), heterogeneity(estimate, error))


def heterogeneity(estimate: FloatArray, error: FloatArray) -> float:
    """The p-value of Cochran's Q: whether the effects of groups are all the same."""
    precision = 1.0 / error**2
    middle = (precision * estimate).sum() / precision.sum()
    return float(chdtrc(estimate.size - 1, (precision * (estimate - middle) ** 2).sum()))


def holm(p: FloatArray) -> FloatArray:
    """p-values that are right for all of them together, whatever they have to do with each other (Holm 1979)."""
    order = np.argsort(p)
    found = np.empty_like(p)
    found[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return found


def _grid(estimate: FloatArray, error: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
    """Values of τ, and how likely each is after the estimates; finer near nought."""
    most = max(FARTHEST * scale, 3.0 * float(np.ptp(estimate)))
    edges = most * np.linspace(0.0, 1.0, POINTS + 1) ** 3
    tau = (edges[1:] + edges[:-1]) / 2.0
    precision = 1.0 / (error**2 + tau[:, np.newaxis] ** 2)
    total = precision.sum(axis=-1)
    middle = (precision * estimate).sum(axis=-1) / total
    apart = (precision * (estimate - middle[:, np.newaxis]) ** 2).sum(axis=-1)
    likelihood = 0.5 * np.log(precision).sum(axis=-1) - 0.5 * np.log(total) - 0.5 * apart
    logarithm = likelihood - np.log1p((tau / scale) ** 2) + np.log(np.diff(edges))
    weight = np.exp(logarithm - logarithm.max())
    return tau, weight / weight.sum()


def _quantile(mean: FloatArray, sd: FloatArray, weight: FloatArray, q: float) -> FloatArray:
    """Of mixtures of bell curves, (T, G), by halving."""
    low, high = (mean - 40.0 * sd).min(axis=0), (mean + 40.0 * sd).max(axis=0)
    for _ in range(STEPS):
        at = (low + high) / 2.0
        below = weight @ ndtr((at - mean) / sd) < q
        low, high = np.where(below, at, low), np.where(below, high, at)
    return np.asarray((low + high) / 2.0)
