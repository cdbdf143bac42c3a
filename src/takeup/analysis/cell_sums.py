"""Intervals for weighted sums of the means of cells: every value is kept that a test of it does not reject.

For each value the means that fit it best are found, and the estimate's distance from it is held against its variance
if they were true, and against its skewness: Wilson's interval, for sums of scores.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from takeup.analysis.cell_scores import CellScores
from takeup.checks import FloatArray

STEPS = 45
"""How often a search is halved: ends are exact to 10 digits."""
MOST_SKEWNESS = 1.0
"""Beyond this a correction for skewness is no correction."""
INSIDE = 1e-6
"""No mean is nearer to the ends of the range than this part of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """A weighted sum; leading axes are trials side by side.

    Attributes:
        value: the estimate.
        error: its standard error, if the means are those that fit it best.
        low: the lower end of the interval.
        high: the upper end.
    """

    value: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray


def summed(cells: CellScores, of_value: FloatArray, of_mean: FloatArray, level: float) -> Summed:
    """The sum of the values of proposals and the means of cells with these weights, (z,) and (.., z, a).

    Means that fit best lie on one path, along which the sum rises: the estimate and both ends are looked for on it, by
    halving. Skewness makes an interval longer where it has to be, and never shorter.
    """
    value = cells.estimate(of_value, of_mean)
    weight = of_value[:, np.newaxis] * cells.share + of_mean
    z, side = deviations(level), np.array([-1.0, 0.0, 1.0]).reshape(3, *(1 for _ in value.shape))
    low, high = (np.full((3, *value.shape), end) for end in (-1.0, 1.0))
    for _ in range(STEPS):
        middle = (low + high) / 2
        mean = fitted(cells, weight, middle)
        second, third = cells.cumulants(of_value, of_mean, mean)
        error = np.sqrt(np.maximum(second, 0.0))
        skewness = np.clip(third / np.where(error > 0, error, 1.0) ** 3, -MOST_SKEWNESS, MOST_SKEWNESS)
        reach = side * (z + np.maximum(-side * skewness, 0.0) * (z * z - 1) / 6)
        up = (weight * mean).sum(axis=(-2, -1)) - value < error * reach
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    mean = fitted(cells, weight, (low + high) / 2)
    error = np.sqrt(np.maximum(cells.cumulants(of_value, of_mean, mean)[0][1], 0.0))
    ends = (weight * mean).sum(axis=(-2, -1))
    return Summed(value, error, np.minimum(ends[0], value), np.maximum(ends[2], value))


def fitted(cells: CellScores, weight: FloatArray, place: FloatArray) -> FloatArray:
    """The means of cells that fit the log best, (.., z, a), at a place from -1 to 1 on the path of their weighted sum.

    Most likely are those at which n (rate - μ) / (μ (1 - μ)) = -λ weight in each, of n people and one more, for a λ
    that rises along the path from -∞ to ∞: a quadratic in μ.
    """
    width, each = cells.high - cells.low, weight / (cells.counts + 1.0)
    steepest = np.abs(each).max(axis=(-2, -1))
    times = place / np.maximum(1 - np.abs(place), 1e-300) / np.where(steepest > 0, steepest, 1.0)
    k, rate = times[..., np.newaxis, np.newaxis] * each, (cells.rate - cells.low) / width
    root = np.sqrt((1 - k) ** 2 + 4 * k * rate)
    most = np.maximum(k, 1.0)
    below = np.maximum(1 - np.minimum(k, 1.0) + root, 1e-300)  # 0 where k is 1 and the rate 0, as the mean is then
    found = np.where(k > 1, (k - 1 + root) / (2 * most), 2 * rate / below)
    return np.asarray(cells.low + width * np.clip(found, INSIDE, 1 - INSIDE))


def deviations(level: float) -> float:
    """How many errors an interval of this level reaches to either side, about."""
    return float(ndtri((1 + level) / 2))
