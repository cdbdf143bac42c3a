"""Outcomes that are numbers: normal, with unknown mean and variance; on a log scale, log-normal."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from takeup.checks import FloatArray
from takeup.conjugates.base import Conjugate
from takeup.conjugates.quadrature import Variables, students
from takeup.evidence import Index, at_context
from takeup.families import LogNormals, Normals
from takeup.outcomes.base import Statistic
from takeup.outcomes.number import LOG_STEPS, Number
from takeup.randomness import Random

_GREATEST = 500.0
"""A logarithm that is greater is as good as infinite; few draws of a spread of which little is known are."""


@dataclass(frozen=True, slots=True, eq=False)
class NormalGamma(Conjugate):
    """A normal-inverse-gamma distribution of the mean and the variance of each action's outcomes.

    σ^2 ~ InverseGamma(ν / 2, ν s^2 / 2) and μ given σ^2 ~ N(m, σ^2 / κ), in the units of the outcome, or of its
    logarithm where `logarithmic`. After n outcomes of mean ȳ and sum of squares around it S:

        κ' = κ + n,  m' = (κ m + n ȳ) / κ',  ν' = ν + n,  ν' s'^2 = ν s^2 + S + κ n (ȳ - m)^2 / κ'.

    Attributes:
        centre: m[x, a].
        weight: κ[x, a], how many outcomes m is worth.
        freedom: ν[x, a], how many outcomes s is worth.
        square: s^2[x, a].
        outcome: what the numbers are, and what they are worth.
        logarithmic: whether logarithms are normal.
    """

    centre: FloatArray
    weight: FloatArray
    freedom: FloatArray
    square: FloatArray
    outcome: Number
    logarithmic: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """(.., X, K)."""
        return self.centre.shape

    def at(self, context: Index) -> "NormalGamma":
        """The parameters of one context."""
        blocks = self.centre, self.weight, self.freedom, self.square
        centre, weight, freedom, square = (at_context(each, context, trailing=2) for each in blocks)
        return replace(self, centre=centre, weight=weight, freedom=freedom, square=square)

    def apart(self, groups: int) -> "NormalGamma":
        """The same parameters for each of several groups."""
        blocks = self.centre, self.weight, self.freedom, self.square
        centre, weight, freedom, square = (np.repeat(each[..., np.newaxis, :], groups, axis=-2) for each in blocks)
        return replace(self, centre=centre, weight=weight, freedom=freedom, square=square)

    def plus(self, statistic: Statistic) -> "NormalGamma":
        """What the number of outcomes, their mean and their sum of squares make of it."""
        n, above, squares = _above(self.outcome, statistic, logarithmic=self.logarithmic)
        low = np.log(self.outcome.low) if self.logarithmic else self.outcome.low
        gap = above - (self.centre - low)  # of numbers that may be far from zero themselves
        weight, freedom = self.weight + n, self.freedom + n
        centre = self.centre + n / weight * gap
        between = self.weight * n / weight * gap**2
        square = (self.freedom * self.square + squares + between) / freedom
        return replace(self, centre=centre, weight=weight, freedom=freedom, square=square)

    def sample(self, rng: Random, repeat: tuple[int, ...] = ()) -> Normals | LogNormals:
        """A mean and a standard deviation for each action."""
        return self.family(*self.draw(rng, repeat))

    def draw(self, rng: Random, repeat: tuple[int, ...] = ()) -> tuple[FloatArray, FloatArray]:
        """Means and standard deviations, of numbers or of their logarithms."""
        shape = (*repeat, *self.shape)
        variance = self.freedom * self.square / (2 * rng.standard_gamma(self.freedom / 2, size=shape))
        return self.centre + np.sqrt(variance / self.weight) * rng.standard_normal(shape), np.sqrt(variance)

    def mean(self) -> Normals | LogNormals:
        """At m and s."""
        return self.family(self.centre, np.sqrt(self.square))

    def sample_rewards(self, rng: Random, repeat: tuple[int, ...] = ()) -> FloatArray:
        """What an outcome is worth on average, in draws of mean and variance."""
        return self.sample(rng, repeat).mean_worth()

    def log_evidence(self, statistic: Statistic) -> FloatArray:
        """Of the ratio of the normalising constants of prior and posterior."""
        after = self.plus(statistic)
        n = after.weight - self.weight
        return np.asarray(_log_constant(after) - _log_constant(self) - n / 2 * np.log(np.pi))

    def variables(self) -> Variables | None:
        """Of Student's t, where a number is worth itself or its negative."""
        if self.outcome.utility or self.logarithmic:
            return None
        scale = np.sqrt(self.square / self.weight)[..., 0, :]
        sign = 1.0 if self.outcome.better == "higher" else -1.0
        return students(sign * self.centre[..., 0, :], scale, self.freedom[..., 0, :])

    def family(self, mean: FloatArray, deviation: FloatArray) -> Normals | LogNormals:
        """The distributions with these means and standard deviations, of numbers or of their logarithms."""
        if self.logarithmic:
            mean, deviation = np.clip(mean, -_GREATEST, _GREATEST), np.clip(deviation, 1e-9, _GREATEST)
            return LogNormals(np.exp(mean), np.exp(deviation), self.outcome)
        return Normals(mean, deviation, self.outcome)


def moments(
    outcome: Number, statistic: Statistic, *, logarithmic: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """How many outcomes there are, their mean and their sum of squares around it, in their units or in logarithms."""
    n, above, squares = _above(outcome, statistic, logarithmic=logarithmic)
    return n, np.asarray((np.log(outcome.low) if logarithmic else outcome.low) + above), squares


def _above(outcome: Number, statistic: Statistic, *, logarithmic: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same, with the mean as how far it is above the low end.

    Sums are of whole numbers: they are taken around the whole number next to the mean, exactly, before anything is
    divided, so that nothing cancels.
    """
    n = outcome.seen(statistic)
    first = outcome.cells + (2 if logarithmic else 0)
    total, squares = statistic[..., first], statistic[..., first + 1]
    _, step = scale(outcome, logarithmic=logarithmic)
    some = np.maximum(n, 1e-300) if n.dtype.kind == "f" else np.maximum(n, 1)
    near = np.rint(total / some)
    if n.dtype.kind == "i":
        near = near.astype(np.int64)
    apart = total - n * near
    around = squares - 2 * near * total + n * near**2
    left = np.maximum(around - apart / some * apart, 0.0)
    return np.asarray(n, dtype=np.float64), np.asarray(step * (near + apart / some)), np.asarray(step**2 * left)


def scale(outcome: Number, *, logarithmic: bool) -> tuple[float, float]:
    """Where the steps that sums are of begin, and how far they are apart."""
    return (float(np.log(outcome.low)), 1 / LOG_STEPS) if logarithmic else (outcome.low, outcome.step)


def _log_constant(block: NormalGamma) -> FloatArray:
    half = block.freedom / 2
    return np.asarray(gammaln(half) - half * np.log(block.freedom * block.square) - np.log(block.weight) / 2)
