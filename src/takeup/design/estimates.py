"""What a trial will report of its arms: naive differences of means, and how far they are from the truth."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.design.figures import Figure
from takeup.design.statistics import Statistic

WALD = 1.959963984540054
"""Standard errors on each side of a 95 % interval."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """The difference of each proposal's mean from that of one of them, by what was proposed, in each trial.

    Naive: as if the allocation had been fixed and the trial had not been looked at. The interval is Wald's, of 95 %.

    Attributes:
        difference: nan where a trial has no unit on one of the two; shape (R, K).
        error: its standard error.
        truth: by how much proposing each is worth more; shape (K,).
        against: the proposal that the others are compared with.
    """

    difference: FloatArray
    error: FloatArray
    truth: FloatArray
    against: int

    @classmethod
    def of(cls, statistic: Statistic, table: IntArray, values: FloatArray, against: int) -> "Estimates":
        """From what was kept of trials, in a scenario where proposing is worth this."""
        units = statistic.units(table)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean, variance = statistic.rewards(table) / units, statistic.variances(table) / units
        difference = mean - mean[:, [against]]
        error = np.sqrt(variance + variance[:, [against]])
        return cls(difference, error, values - values[against], against)

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether the interval holds the truth; never where there is none."""
        return np.asarray(np.abs(self.difference - self.truth) <= WALD * self.error)

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """Whether the interval lies above zero."""
        return np.asarray(self.difference - WALD * self.error > 0)

    def metrics(self, proposal: int) -> dict[str, Any]:
        """Bias, RMSE, coverage and how often the interval lies above zero, for machines.

        The first two are of the trials that have an estimate, `estimated` of all; the others are of all trials.
        """
        some = np.isfinite(self.difference[:, proposal])
        off = (self.difference - self.truth)[some, proposal]
        return {
            "truth": float(self.truth[proposal]),
            "estimated": Figure.of(some).plain(),
            "bias": Figure.of(off).plain() if off.size else None,
            "rmse": _root(Figure.of(off**2)).plain() if off.size else None,
            "coverage": Figure.of(self.covered[:, proposal]).plain(),
            "reject": Figure.of(self.rejected[:, proposal]).plain(),
        }


def _root(square: Figure) -> Figure:
    """The root of a mean, with the error that it has then."""
    root = float(np.sqrt(square.mean))
    return Figure(root, square.error / (2 * root) if root > 0 else 0.0)
