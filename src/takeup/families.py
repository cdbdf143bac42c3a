"""Families of distributions that outcomes other than levels may have: what a world and an environment are made of.

The parameters of a family have the axes (.., X, Ka); those over (a) alone are taken as those of a single context.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc, log_ndtr, ndtr

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError, MismatchError
from takeup.outcomes import Count, Number, Outcome, Time

Kind = TypeVar("Kind", bound=Outcome)


def numeric(outcome: Outcome, kind: type[Kind]) -> Kind:
    """The outcome, if it is of this kind."""
    if not isinstance(outcome, kind):
        raise MismatchError(f"a distribution of a {kind.kind} does not fit an outcome that is a {outcome.kind}")
    return outcome


class Family(ABC):
    """A distribution for each action in each context."""

    __slots__ = ()

    def __post_init__(self) -> None:
        given = [checks.real(each.name, getattr(self, each.name)) for each in fields(self)]  # type: ignore[arg-type]
        try:
            arrays = np.broadcast_arrays(*given)
        except ValueError:
            names = ", ".join(each.name for each in fields(self))  # type: ignore[arg-type]
            raise InputError(names, "arrays of different shapes", "arrays over (a) or (x, a)") from None
        for each, array in zip(fields(self), arrays, strict=True):  # type: ignore[arg-type]
            full = np.array(array if array.ndim > 1 else np.atleast_1d(array)[np.newaxis])
            full.setflags(write=False)
            object.__setattr__(self, each.name, full)

    @property
    def shape(self) -> tuple[int, ...]:
        """(.., X, Ka)."""
        first: FloatArray = getattr(self, fields(self)[0].name)  # type: ignore[arg-type]
        return first.shape

    @abstractmethod
    def mean_worth(self, outcome: Outcome) -> FloatArray:
        """What an outcome is worth on average; shape (.., X, Ka)."""

    @abstractmethod
    def table(self, outcome: Outcome) -> FloatArray:
        """The probability of each outcome by its code; shape (.., X, Ka, Y)."""


class Continuous(Family):
    """A family of numbers, kept on a grid: each is taken for the nearest point, also beyond the ends."""

    __slots__ = ()

    @abstractmethod
    def below(self, number: FloatArray) -> FloatArray:
        """P(outcome <= number), along a new last axis."""

    @abstractmethod
    def limited(self, number: float) -> FloatArray:
        """E[min(outcome, number)]."""

    @abstractmethod
    def mean(self) -> FloatArray:
        """E[outcome]."""

    def mean_worth(self, outcome: Outcome) -> FloatArray:
        """The mean, or its negative; with a utility, what its straight lines make of the distribution.

        A line from (t, u) to (t', u') adds (u' - u) / (t' - t) times E[min(y, t')] - E[min(y, t)].
        """
        number = numeric(outcome, Number)
        if not number.utility:
            return self.mean() if number.better == "higher" else -self.mean()
        knots, worths = np.array(number.utility).T
        slopes = np.diff(worths) / np.diff(knots)
        below = [self.limited(knot) for knot in knots]
        risen = [slope * (b - a) for slope, a, b in zip(slopes, below[:-1], below[1:], strict=True)]
        return np.asarray(worths[0] + np.sum(risen, axis=0))

    def table(self, outcome: Outcome) -> FloatArray:
        """Differences of the distribution function half a step around each point."""
        grid = numeric(outcome, Number).grid
        cumulative = self.below(grid.points[:-1] + grid.step / 2)
        ends = np.zeros((*self.shape, 1)), np.ones((*self.shape, 1))
        return np.diff(np.concatenate([ends[0], cumulative, ends[1]], axis=-1), axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class Normals(Continuous):
    """Normal numbers.

    Attributes:
        centre: the mean of each action's outcomes.
        deviation: their standard deviation.
    """

    centre: FloatArray
    deviation: FloatArray

    def __init__(self, mean: ArrayLike, sd: ArrayLike) -> None:
        object.__setattr__(self, "centre", mean)
        object.__setattr__(self, "deviation", checks.positive("sd", sd))
        self.__post_init__()

    def mean(self) -> FloatArray:
        """The mean."""
        return self.centre

    def below(self, number: FloatArray) -> FloatArray:
        """Φ((number - mean) / sd)."""
        return np.asarray(ndtr((number - self.centre[..., np.newaxis]) / self.deviation[..., np.newaxis]))

    def limited(self, number: float) -> FloatArray:
        """With h = (t - mean) / sd: t - sd (h Φ(h) + φ(h))."""
        h = (number - self.centre) / self.deviation
        density = np.exp(-(h**2) / 2) / np.sqrt(2 * np.pi)
        return np.asarray(number - self.deviation * (h * ndtr(h) + density))


@dataclass(frozen=True, slots=True, eq=False)
class LogNormals(Continuous):
    """Numbers whose logarithms are normal, as money often is.

    Attributes:
        median: of each action's outcomes.
        spread: the factor of one standard deviation: two thirds are from median / spread to median * spread.
    """

    median: FloatArray
    spread: FloatArray

    def __post_init__(self) -> None:
        checks.positive("median", self.median)
        if (checks.real("spread", self.spread) <= 1).any():
            raise InputError("spread", self.spread, "numbers above 1")
        Family.__post_init__(self)

    def mean(self) -> FloatArray:
        """Median times exp(log(spread)^2 / 2)."""
        with np.errstate(over="ignore"):
            return np.asarray(self.median * np.exp(np.log(self.spread) ** 2 / 2))

    def mean_worth(self, outcome: Outcome) -> FloatArray:
        """As of any number; but what is above the greatest number counts as that, as it would be refused."""
        number = numeric(outcome, Number)
        if number.utility:
            return Continuous.mean_worth(self, outcome)
        limited = self.limited(number.high)
        return limited if number.better == "higher" else -limited

    def below(self, number: FloatArray) -> FloatArray:
        """Φ(log(number / median) / log spread)."""
        return np.asarray(ndtr(np.log(number / self.median[..., np.newaxis]) / np.log(self.spread)[..., np.newaxis]))

    def limited(self, number: float) -> FloatArray:
        """With h = log(t / median) / s and s = log spread: mean Φ(h - s) + t (1 - Φ(h)), on the log scale."""
        s = np.log(self.spread)
        h = np.log(number / self.median) / s
        # the first factor may overflow where the second underflows
        tail = np.exp(np.log(self.median) + s**2 / 2 + log_ndtr(h - s))
        return np.asarray(tail + number * ndtr(-h))


@dataclass(frozen=True, slots=True, eq=False)
class Poissons(Family):
    """Poisson counts; where exposures differ, all are equally probable.

    Attributes:
        rate: the events by unit of exposure.
    """

    rate: FloatArray

    def __post_init__(self) -> None:
        checks.positive("rate", self.rate)
        Family.__post_init__(self)

    def mean_worth(self, outcome: Outcome) -> FloatArray:
        """The rate, or its negative."""
        return self.rate if numeric(outcome, Count).better == "higher" else -self.rate

    def table(self, outcome: Outcome) -> FloatArray:
        """Counts above the greatest count as that."""
        count = numeric(outcome, Count)
        exposures = count.time.points[1:] if count.exposure else np.ones(1)
        mean = self.rate[..., np.newaxis, np.newaxis] * exposures
        below = gammaincc(np.arange(1.0, count.most + 1)[:, np.newaxis], mean)  # P(events < 1, 2, .., most)
        ends = np.zeros_like(mean), np.ones_like(mean)
        each = np.diff(np.concatenate([ends[0], below, ends[1]], axis=-2), axis=-2) / exposures.size
        return np.asarray(each.reshape(*self.rate.shape, -1))


@dataclass(frozen=True, slots=True, eq=False)
class Exponentials(Family):
    """Exponential times; whoever has had no event by the longest watch is censored then.

    Attributes:
        average: the mean time to the event.
    """

    average: FloatArray

    def __init__(self, mean: ArrayLike) -> None:
        object.__setattr__(self, "average", checks.positive("mean", mean))
        self.__post_init__()

    def mean_worth(self, outcome: Outcome) -> FloatArray:
        """The mean time within the longest watch L, mean (1 - exp(-L / mean)), or its negative."""
        time = numeric(outcome, Time)
        within = -self.average * np.expm1(-time.longest / self.average)
        return np.asarray(within if time.better == "higher" else -within)

    def table(self, outcome: Outcome) -> FloatArray:
        """An event in the step around each time, and nobody censored before the longest watch."""
        time = numeric(outcome, Time)
        edges = np.append(time.grid.points[:-1] + time.step / 2, time.longest)
        after = np.exp(-np.concatenate([[0.0], edges]) / self.average[..., np.newaxis])
        both = np.zeros((*self.average.shape, 2 * time.grid.size))
        both[..., ::2] = -np.diff(after, axis=-1)
        both[..., -1] = after[..., -1]
        return both


@dataclass(frozen=True, slots=True, eq=False)
class Samples(Family):
    """The outcomes of real people, each as probable as the others.

    Attributes:
        shares: the share of each outcome by its code; shape (.., X, Ka, Y). `of` makes it from values.
    """

    shares: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", checks.probabilities("shares", self.shares))

    @classmethod
    def of(cls, outcome: Outcome, values: "list[list[object]]") -> "Samples":
        """From a list of outcomes for each action, in a single context."""
        shares = np.zeros((1, len(values), outcome.size))
        for a, some in enumerate(values):
            if not len(some):
                raise InputError("values", f"none of action {a}", "at least one outcome of each action")
            np.add.at(shares[0, a], [outcome.code(each) for each in some], 1 / len(some))
        return cls(shares)

    @property
    def shape(self) -> tuple[int, ...]:
        """(.., X, Ka)."""
        return self.shares.shape[:-1]

    def mean_worth(self, outcome: Outcome) -> FloatArray:
        """The mean over the people."""
        return np.asarray(self.shares @ outcome.worths)

    def table(self, outcome: Outcome) -> FloatArray:
        """The shares."""
        checks.shaped("shares", self.shares, (outcome.size,), "outcome")
        return self.shares
