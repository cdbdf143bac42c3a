"""A number with its Monte Carlo error."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its Monte Carlo error, the standard deviation that it has over other seeds."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: ArrayLike) -> "Figure":
        """The mean of what every trial has."""
        each = np.asarray(values, dtype=np.float64)
        return cls(float(each.mean()), float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else float("nan"))

    def plain(self) -> dict[str, Any]:
        """For machines; what one value is the mean of has no error."""
        return {"mean": self.mean, "error": or_none(self.error)}


def or_none(value: float) -> float | None:
    """A number that JSON can say; nothing where there is none."""
    return value if np.isfinite(value) else None
