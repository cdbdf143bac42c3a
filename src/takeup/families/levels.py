"""Distributions over levels."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from takeup.checks import FloatArray
from takeup.families.base import Family


@dataclass(frozen=True, slots=True, eq=False)
class Categories(Family):
    """A distribution over levels.

    Attributes:
        probability: μ[x, a, y]; shape (.., X, Ka, Y).
        utility: the reward of each level.
    """

    probability: FloatArray
    utility: FloatArray
    outcome: None = None

    def __post_init__(self) -> None:
        for array in (self.probability, self.utility):
            array.setflags(write=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """(.., X, Ka)."""
        return self.probability.shape[:-1]

    def worth(self, outcome: object) -> Self:
        """Itself: it has its utilities."""
        return self

    def mean_worth(self) -> FloatArray:
        """Σ_y μ_y utility_y."""
        return np.asarray(self.probability @ self.utility)

    def table(self) -> FloatArray:
        """The probabilities."""
        return self.probability
