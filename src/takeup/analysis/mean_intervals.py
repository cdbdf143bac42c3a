"""Estimates and intervals of means and of how two compare, of many trials side by side."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from takeup.analysis.estimate import Measure
from takeup.analysis.intervals import Comparison, normal_interval, score_interval
from takeup.analysis.moments import moments
from takeup.analysis.scores import Scores
from takeup.analysis.weights import Weights
from takeup.checks import FloatArray

LEAST = 5.0
"""How many people each proposal must have had, effectively, for an interval to be shown.

With stabilised weights u the variance of a proposal's mean is σ² Σ u² / p, as if it had been offered to 1 / Σ u² / p.
Below five a normal limit, and what is known of the mean, are not to be relied upon: docs/intervals.md has the figures.
"""

EVEN = 20.0
"""How many would be offered a proposal if its probability were the smallest that was logged, for even weights alone.

Below that a few decisions can decide an evenly weighted mean, and whether they do depends on how the trial went: its
interval is then widened to hold the stabilised one too.
"""

Method: TypeAlias = Literal["score", "normal"]
"""How an interval is found: by the score test, or as 1.96 errors to either side, which is known to be too short."""


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Estimates of many trials side by side; arrays have the shape of the log's leading axes.

    Attributes:
        value: the estimates.
        low: the lower ends.
        high: the upper ends.
        effective: how many people each proposal had, effectively, (.., J).
        possible: whether each could have been offered to everybody whom the estimate is about; whether it was, in
            every batch.
        alike: whether all values are, so that it cannot be told how they vary.
        n: how many decisions have a value.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    effective: FloatArray
    possible: NDArray[np.bool_]
    alike: NDArray[np.bool_]
    n: FloatArray

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Whether the interval is to be relied upon."""
        return np.asarray(self.possible & ~self.alike & (self.effective.min(axis=-1) >= LEAST - 1e-9))

    def covers(self, truth: float | FloatArray) -> NDArray[np.bool_]:
        """Whether the interval holds the truth."""
        return np.asarray((self.low <= truth) & (truth <= self.high))


def intervals(
    of: Scores,
    proposals: tuple[int, ...],
    measure: Measure,
    *,
    weights: Weights = "uniform",
    level: float = 0.95,
    context: int | None = None,
    method: Method = "score",
) -> Intervals:
    """Estimates and intervals for one proposal's mean, or for how the second of two compares with the first."""
    low, high = of.target.low, of.target.high
    comparison = Comparison(measure, -low / (high - low))
    known = moments(of, proposals, weights, context)
    used = of.counted(proposals, context)
    n = (used & of.known).sum(axis=-1).astype(np.float64)
    chance = np.where(used[..., np.newaxis], of.chance[..., list(proposals)], 1.0)
    least = chance.min(axis=(-1, -2), initial=1.0)
    if method == "normal":
        found = normal_interval(known, comparison, level)
    else:
        found = score_interval(known, comparison, level)
    effective, possible = known.effective, known.complete
    if weights == "uniform" and not of.plain:
        possible = least > 0
        stable = moments(of, proposals, "stabilised", context)
        effective = stable.effective
        few = n * least < EVEN - 1e-9
        if method == "score" and few.any():
            _, below, above = score_interval(stable, comparison, level)
            value, left, right = found
            found = value, np.where(few, np.fmin(left, below), left), np.where(few, np.fmax(right, above), right)
    if measure in ("mean", "difference"):
        zero = low if measure == "mean" else 0.0
        value, left, right = (zero + (high - low) * each for each in found)
        found = value, left, right
    weighed = (n > 0) & (known.share.sum(axis=(-1, -2)) > 0)
    found = np.where(weighed, found[0], np.nan), *found[1:]
    alike = np.asarray((known.spread == 0).any(axis=-1))
    return Intervals(*found, np.nan_to_num(effective, nan=0.0, posinf=0.0), possible, alike, n)
