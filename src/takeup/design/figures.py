"""A number with its Monte Carlo error."""

from dataclasses import dataclass

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

    def plain(self) -> dict[str, float]:
        """For machines."""
        return {"mean": self.mean, "error": self.error}
