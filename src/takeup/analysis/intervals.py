"""Intervals that keep their level at trial sizes: every value is kept that a test of it does not reject.

For a hypothesis about how two means compare, the means that fit it best are found, and the estimate's distance from
them is held against its variance *if they were true*, which the log gives exactly (`takeup.analysis.moments`). That is
Wilson's interval and Miettinen and Nurminen's, for martingales. The plain method, the estimate plus or minus 1.96
errors estimated from the squares of scores, is there to be compared with.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri

from takeup.analysis.estimate import Measure
from takeup.analysis.moments import Moments
from takeup.checks import FloatArray
from takeup.errors import InputError

STEPS = 45
"""How often a search is halved: ends are exact to 10 digits or more."""

WIDEST = 20.0
"""Ratios are looked for up to e^20, beyond which an interval has no end."""

ROUNDING = 1e-12
"""What a mean that is at an end of its range may miss it by."""

MOST_SKEWNESS = 1.0
"""Beyond this a correction for skewness is no correction."""

Interval: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""The estimate and the two ends of the interval, (..) each."""

Curve: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""The means that a hypothesis allows: the second for each first, and by how much it rises with it."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How means are compared, in units in which they lie between 0 and 1.

    Attributes:
        measure: how.
        zero: where nought is in these units, for ratios: 0 unless the least that the target may be is another.
    """

    measure: Measure
    zero: float = 0.0

    @property
    def domain(self) -> tuple[float, float]:
        """Where to look, on the scale of the search: the logarithm of ratios."""
        return {"mean": (0.0, 1.0), "difference": (-1.0, 1.0)}.get(self.measure, (-WIDEST, WIDEST))

    def shown(self, at: FloatArray) -> FloatArray:
        """From the scale of the search to that of the measure."""
        if self.measure in ("mean", "difference"):
            return at
        ends = np.where(at <= -WIDEST, 0.0, np.where(at >= WIDEST, np.inf, np.exp(at)))
        return np.asarray(ends)

    def estimate(self, mean: FloatArray) -> FloatArray:
        """The measure of these estimates, (.., J); NaN where it has none."""
        if self.measure == "mean":
            return np.clip(mean[..., 0], 0.0, 1.0)
        other, one = mean[..., 0], mean[..., 1]
        if self.measure == "difference":
            return np.clip(one - other, -1.0, 1.0)
        one, other = (_within(each) - self.zero for each in (one, other))
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.measure == "ratio":
                return np.asarray(one / other)
            return np.asarray((one / (1.0 - one)) / (other / (1.0 - other)))

    def curve(self, at: FloatArray) -> tuple[FloatArray, FloatArray, Curve]:
        """The first means that the hypothesis allows, from least to most, and the curve above them."""
        if self.measure == "difference":
            return np.maximum(0.0, -at), np.minimum(1.0, 1.0 - at), lambda mean: (mean + at, np.ones_like(mean))
        ratio = np.exp(at)
        if self.measure == "ratio":
            off = self.zero * (1.0 - ratio)
            least, most = np.clip(-off / ratio, 0.0, 1.0), np.clip((1.0 - off) / ratio, 0.0, 1.0)
            return least, most, lambda mean: (ratio * mean + off, np.broadcast_to(ratio, mean.shape))

        def odds(mean: FloatArray) -> tuple[FloatArray, FloatArray]:
            under = 1.0 - mean + ratio * mean
            return ratio * mean / under, ratio / under**2

        return np.zeros_like(at), np.ones_like(at), odds

    def along(self, slope: FloatArray) -> FloatArray:
        """The direction in which a hypothesis is left fastest, (.., 2): across the curve."""
        return np.stack([-slope, np.ones_like(slope)], axis=-1)


def _within(mean: FloatArray) -> FloatArray:
    """Means between 0 and 1, and at an end where rounding alone keeps them from it: ratios would show it."""
    return np.where(mean < ROUNDING, 0.0, np.where(mean > 1.0 - ROUNDING, 1.0, mean))


def fitted(known: Moments, comparison: Comparison, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The means that fit the log best under a hypothesis, and the direction in which to test it, (.., J) each.

    Most likely given as many values of each proposal as were seen, with the means that are known.
    """
    if comparison.measure == "mean":
        return at[..., np.newaxis], np.ones((*at.shape, 1))
    low, high, curve = comparison.curve(at)
    n, m = known.seen + 1.0, known.mean

    def steep(mean: FloatArray, given: int) -> FloatArray:
        most = np.maximum(mean * (1.0 - mean), 1e-12)
        return np.asarray(n[..., given] * (m[..., given] - mean) / most)

    for _ in range(30):
        middle = (low + high) / 2.0
        other, slope = curve(middle)
        rises = steep(middle, 0) + slope * steep(other, 1) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    middle = (low + high) / 2.0
    other, slope = curve(middle)
    return np.stack([middle, other], axis=-1), comparison.along(slope)


def distance(known: Moments, comparison: Comparison, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How many errors the estimates are from a hypothesis, and how skewed that is if it is true, (..) each."""
    mean, along = fitted(known, comparison, at)
    variance, third = known.cumulants(mean, along)
    off = np.sum(along * (known.estimate - mean), axis=-1)
    variance = np.maximum(variance, 1e-30)
    skewness = np.clip(third / variance**1.5, -MOST_SKEWNESS, MOST_SKEWNESS)
    return np.asarray(off / np.sqrt(variance)), np.asarray(skewness)


def kept(known: Moments, comparison: Comparison, at: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """By how much a hypothesis is below the upper limit of what is kept, and above the lower: both positive inside."""
    t, skewness = distance(known, comparison, at)
    z, shift = known.quantile(level), known.shift(skewness, level)
    return t + z - np.minimum(shift, 0.0), z + np.maximum(shift, 0.0) - t


def score_interval(known: Moments, comparison: Comparison, level: float) -> Interval:
    """The interval of all that is not rejected.

    The distance falls as the hypothesis rises, so that the ends are found by halving, both at once.
    """
    least, most = comparison.domain
    low, high = (np.full((2, *known.estimate.shape[:-1]), bound) for bound in (least, most))
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        below, above = kept(known, comparison, middle, level)
        up = np.stack([above[0] < 0, below[1] > 0])
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    width = (most - least) * 1e-9
    ends = np.where(low - least < width, least, np.where(most - high < width, most, (low + high) / 2.0))
    return comparison.estimate(known.estimate), comparison.shown(ends[0]), comparison.shown(ends[1])


def normal_interval(known: Moments, comparison: Comparison, level: float) -> Interval:
    """The estimate plus or minus 1.96 errors estimated from the squares of scores: the plain method, of differences."""
    if comparison.measure not in ("mean", "difference"):
        raise InputError("measure", repr(comparison.measure), "mean or difference with the plain method")
    along = np.array([1.0]) if comparison.measure == "mean" else np.array([-1.0, 1.0])
    value = known.estimate @ along
    error = np.sqrt(np.einsum("i,...ij,j->...", along, known.empirical, along))
    z = float(ndtri((1.0 + level) / 2.0))
    return value, value - z * error, value + z * error
