"""What covariates add to the evidence: whole numbers that add, in any order, to the bit.

With v the features of a unit, and y its outcome, a decision adds to its (x, z, a)

- v v', once its outcome is seen, and before that in a place of its own: what is above the diagonal is enough;
- v for its level, where outcomes are levels; else v k and k^2, where its reward is a whole number k of steps.

That is what a linear model of the reward needs, by proposal or by implemented action, and a linear model of compliance,
which learns from those whose outcome is pending too. What needs more, as a logistic model does, keeps `Rows`.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.covariates.covariates import Covariates
from takeup.covariates.features import Features
from takeup.covariates.kinds import ONE
from takeup.covariates.least_squares import LeastSquares
from takeup.errors import UnsuitableError
from takeup.outcomes import Levels, Outcome
from takeup.outcomes.base import Statistic


@dataclass(frozen=True, slots=True)
class Sums:
    """The places of these sums, one after the other.

    Attributes:
        outcome: what comes of a decision.
        covariates: what is known before it.
    """

    outcome: Outcome
    covariates: Covariates

    def __post_init__(self) -> None:
        if not isinstance(self.outcome, Levels) and self.outcome.gain_line is None:
            raise UnsuitableError(
                f"covariates go with outcomes that are levels, numbers or counts without an exposure, and this is"
                f" {self.outcome.sentence}; leave covariates= out, or report the outcome as a Number"
            )

    @property
    def triangle(self) -> int:
        """How many products of two features there are."""
        return self.covariates.size * (self.covariates.size + 1) // 2

    @property
    def width(self) -> int:
        """How many whole numbers there are."""
        return 2 * self.triangle + self._scored

    @property
    def _scored(self) -> int:
        d = self.covariates.size
        return self.outcome.size * d if isinstance(self.outcome, Levels) else d + 1

    def amounts(self, codes: IntArray, features: Features) -> IntArray:
        """What decisions with these outcomes and features add, along a new last axis; UNSEEN outcomes are pending."""
        v = self.covariates.check(features)
        batch = np.broadcast_shapes(codes.shape, v.shape[:-1])
        codes, v = np.broadcast_to(codes, batch), np.broadcast_to(v, (*batch, v.shape[-1]))
        seen = (codes >= 0)[..., np.newaxis]
        row, column = _upper(self.covariates.size)
        products = v[..., row] * v[..., column]
        code = np.where(codes >= 0, codes, 0)
        if isinstance(self.outcome, Levels):
            level = code[..., np.newaxis] == np.arange(self.outcome.size)
            scored = (level[..., np.newaxis] * v[..., np.newaxis, :]).reshape(*batch, self._scored)
        else:
            k = self.outcome.score(code)[..., np.newaxis]
            scored = np.concatenate([v * k, k**2], axis=-1)
        return np.concatenate([products * seen, products * ~seen, scored * seen], axis=-1)

    def possible(self, statistic: IntArray, seen: Statistic, pending: IntArray) -> bool:
        """Whether so many decisions can have come to these sums: the intercept of each is one."""
        many = statistic[..., [0, self.triangle]]
        return bool(np.array_equal(many, np.stack([seen, pending], axis=-1) * ONE**2))

    def least_squares(self, statistic: Statistic, seen: Statistic) -> LeastSquares:
        """What a linear model reads of the sums along the last axis, `seen` being how many outcomes there are."""
        d, triangle = self.covariates.size, self.triangle
        first, second, scored = (
            statistic[..., part] for part in (slice(triangle), slice(triangle, 2 * triangle), slice(2 * triangle, None))
        )
        if isinstance(self.outcome, Levels):
            by_level = scored.reshape(*scored.shape[:-1], self.outcome.size, d) / ONE
            gain = self.outcome.gains()
            product = np.einsum("...yd,y->...d", by_level, gain)
            square = by_level[..., 0] @ gain**2
        else:
            offset, unit = self.outcome.gain_line or (0.0, 1.0)
            total, k = _full(first, d)[..., 0, :] / ONE**2, scored[..., :-1] / ONE
            product = offset * total + unit * k
            square = offset**2 * seen + 2 * offset * unit * k[..., 0] + unit**2 * scored[..., -1]
        return LeastSquares(
            count=np.asarray(seen, dtype=np.float64),
            gram=_full(first, d) / ONE**2,
            pending=_full(second, d) / ONE**2,
            product=np.asarray(product),
            square=np.asarray(square, dtype=np.float64),
        )


@lru_cache(maxsize=256)
def sums_of(outcome: Outcome, covariates: Covariates) -> Sums:
    """The places, kept for the next time."""
    return Sums(outcome, covariates)


@lru_cache(maxsize=64)
def _upper(size: int) -> tuple[IntArray, IntArray]:
    row, column = np.triu_indices(size)
    return row, column


def _full(triangle: Statistic, size: int) -> FloatArray:
    """The symmetric matrix of what is on and above its diagonal."""
    row, column = _upper(size)
    matrix = np.zeros((*triangle.shape[:-1], size, size))
    matrix[..., row, column] = triangle
    matrix[..., column, row] = triangle
    return matrix
