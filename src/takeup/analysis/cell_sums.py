"""Intervals for weighted sums of the means of cells: every value is kept that a test of it does not reject.

For each value the means that fit it best are found, and the estimate's distance from it is held against its variance
if they were true, and against its skewness: Wilson's interval, for sums of scores.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from takeup.analysis.cell_scores import CellScores
from takeup.checks import FloatArray

STEPS = 40
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
    """The sum of the values of proposals and the means of cells with these weights, (z,) and (.., z, a)."""
    value = cells.estimate(of_value, of_mean)
    weight = of_value[:, np.newaxis] * cells.share + of_mean
    room = (np.abs(weight).sum(axis=(-2, -1)) + 1.0) * (cells.high - cells.low)
    variance, _ = cells.cumulants(of_value, of_mean, fitted(cells, weight, value))
    z = deviations(level)
    ends = []
    for sign in (-1.0, 1.0):
        inside, outside = np.zeros(value.shape), room
        for _ in range(STEPS):
            middle = (inside + outside) / 2
            at = value + sign * middle
            second, third = cells.cumulants(of_value, of_mean, fitted(cells, weight, at))
            error = np.sqrt(np.maximum(second, 0.0))
            skewness = np.clip(third / np.where(error > 0, error, 1.0) ** 3, -MOST_SKEWNESS, MOST_SKEWNESS)
            keeps = middle <= error * (z - sign * skewness * (z * z - 1) / 6)
            inside, outside = np.where(keeps, middle, inside), np.where(keeps, outside, middle)
        ends.append(value + sign * (inside + outside) / 2)
    return Summed(value, np.sqrt(np.maximum(variance, 0.0)), *ends)


def fitted(cells: CellScores, weight: FloatArray, at: FloatArray) -> FloatArray:
    """The means of cells that fit the log best if their weighted sum is this, (.., z, a)."""
    step = weight * cells.variance(cells.rate) / (cells.counts + 1.0)
    along = (weight * step).sum(axis=(-2, -1))
    lacking = (at - (weight * cells.rate).sum(axis=(-2, -1))) / np.where(along > 0, along, 1.0)
    inset = INSIDE * (cells.high - cells.low)
    found = cells.rate + lacking[..., np.newaxis, np.newaxis] * step
    return np.asarray(np.clip(found, cells.low + inset, cells.high - inset))


def deviations(level: float) -> float:
    """How many errors an interval of this level reaches to either side, about."""
    return float(ndtri((1 + level) / 2))
