"""Distributions of numbers: normal, and log-normal."""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.families.base import Parametric, known, set_parameters
from takeup.outcomes import Number, Outcome


class Continuous(Parametric):
    """A family of numbers, kept on a grid: each is taken for the nearest point, also beyond the ends."""

    __slots__ = ()
    of: ClassVar[type[Outcome]] = Number

    outcome: Number | None

    @abstractmethod
    def below(self, number: FloatArray) -> FloatArray:
        """P(outcome <= number), along a new last axis."""

    @abstractmethod
    def limited(self, number: float) -> FloatArray:
        """E[min(outcome, number)]."""

    @abstractmethod
    def expected(self) -> FloatArray:
        """E[outcome]."""

    def mean_worth(self) -> FloatArray:
        """The mean, or its negative; with a utility, what its straight lines make of the distribution.

        A line from (t, u) to (t', u') adds (u' - u) / (t' - t) times E[min(y, t')] - E[min(y, t)], which is from 0 to
        t' - t.
        """
        number = known(self.outcome)
        if not number.utility:
            return self.expected() if number.better == "higher" else -self.expected()
        knots, worths = np.array(number.utility).T
        below = [self.limited(knot) for knot in knots]
        share = [np.clip((b - a) / apart, 0, 1) for apart, (a, b) in zip(np.diff(knots), pairwise(below), strict=True)]
        return np.asarray(worths[0] + np.tensordot(np.diff(worths), share, axes=1))

    def table(self) -> FloatArray:
        """Differences of the distribution function half a step around each point."""
        grid = known(self.outcome).grid
        cumulative = self.below(grid.points[:-1] + grid.step / 2)
        ends = np.zeros((*self.shape, 1)), np.ones((*self.shape, 1))
        return np.diff(np.concatenate([ends[0], cumulative, ends[1]], axis=-1), axis=-1)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Normals(Continuous):
    """Normal numbers.

    Attributes:
        mean: of each action's outcomes.
        sd: their standard deviation.
        outcome: what they are; a World fills it in.
    """

    mean: FloatArray
    sd: FloatArray
    outcome: Number | None

    def __init__(self, mean: ArrayLike, sd: ArrayLike, outcome: Number | None = None) -> None:
        set_parameters(self, outcome, mean=checks.real("mean", mean), sd=checks.positive("sd", sd))

    def expected(self) -> FloatArray:
        """The mean."""
        return self.mean

    def below(self, number: FloatArray) -> FloatArray:
        """Φ((number - mean) / sd)."""
        return np.asarray(ndtr((number - self.mean[..., np.newaxis]) / self.sd[..., np.newaxis]))

    def limited(self, number: float) -> FloatArray:
        """With h = |t - mean| / sd: min(t, mean) - sd (φ(h) - h Φ(-h))."""
        h = np.abs(number - self.mean) / self.sd
        density = np.exp(-(h**2) / 2) / np.sqrt(2 * np.pi)
        return np.asarray(np.minimum(number, self.mean) - self.sd * (density - h * ndtr(-h)))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class LogNormals(Continuous):
    """Numbers whose logarithms are normal, as money often is.

    Attributes:
        median: of each action's outcomes.
        spread: the factor of one standard deviation: two thirds are from median / spread to median * spread.
        outcome: what they are; a World fills it in.
    """

    median: FloatArray
    spread: FloatArray
    outcome: Number | None

    def __init__(self, median: ArrayLike, spread: ArrayLike, outcome: Number | None = None) -> None:
        factor = checks.real("spread", spread)
        if (factor <= 1).any():
            raise InputError("spread", spread, "numbers above 1")
        set_parameters(self, outcome, median=checks.positive("median", median), spread=factor)

    def expected(self) -> FloatArray:
        """E[min(outcome, the greatest number)]: what is above would be taken for that."""
        return self.limited(known(self.outcome).high)

    def below(self, number: FloatArray) -> FloatArray:
        """Φ(log(number / median) / log spread)."""
        return np.asarray(ndtr(np.log(number / self.median[..., np.newaxis]) / np.log(self.spread)[..., np.newaxis]))

    def limited(self, number: float) -> FloatArray:
        """With h = log(t / median) / s and s = log spread: median exp(s^2 / 2) Φ(h - s) + t Φ(-h)."""
        s = np.log(self.spread)
        h = np.log(number / self.median) / s
        # together, as the first factor may overflow where the second underflows
        return np.asarray(np.exp(np.log(self.median) + s**2 / 2 + log_ndtr(h - s)) + number * ndtr(-h))
