"""What a linear model of the reward reads of the evidence."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from takeup.checks import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class LeastSquares:
    """Sums over decisions, with features v from 0 to 1 and gains g, rewards that are rescaled to [0, 1].

    A gain of g is a reward of lowest + g (highest - lowest), as `Outcome` has them.

    Attributes:
        count: n, how many outcomes have been seen; shape (..).
        gram: Σ v v' of those whose outcome was seen; shape (.., d, d).
        pending: Σ v v' of the others; shape (.., d, d).
        product: Σ v g; shape (.., d).
        square: Σ g^2; shape (..).
    """

    count: FloatArray
    gram: FloatArray
    pending: FloatArray
    product: FloatArray
    square: FloatArray

    @property
    def everybody(self) -> FloatArray:
        """Σ v v' of all decisions, whether their outcome was seen or not: what models of compliance learn from.

        Its first row is Σ v, as the intercept is 1.
        """
        return self.gram + self.pending

    def __add__(self, other: "LeastSquares") -> "LeastSquares":
        return LeastSquares(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(LeastSquares)))

    def summed(self, axis: int | tuple[int, ...]) -> "LeastSquares":
        """The sums over some of the leading axes, counted from the front or from the last of them backwards."""
        leading = self.count.ndim
        axes = tuple(each % leading for each in ((axis,) if isinstance(axis, int) else axis))
        return self._each(lambda array: np.asarray(array.sum(axis=axes)))

    def __getitem__(self, place: Any) -> "LeastSquares":
        """Those at an index of the leading axes."""
        return self._each(lambda array: array[place])

    def _each(self, function: Callable[[FloatArray], FloatArray]) -> "LeastSquares":
        return LeastSquares(*(function(getattr(self, each.name)) for each in fields(LeastSquares)))
