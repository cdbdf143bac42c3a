"""Families of distributions that outcomes may have: what a world and an environment are made of.

The parameters of a family have the axes (.., X, Ka); those over (a) alone are taken as those of a single context.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc, log_ndtr, ndtr

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import NOTHING, InputError
from takeup.outcomes import Count, Number, Outcome, Time


class Family(ABC):
    """A distribution of the outcome for each action in each context."""

    __slots__ = ()

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """(.., X, Ka)."""

    outcome: Outcome | None
    """What the distributions are of, where it is known and no level."""

    @abstractmethod
    def worth(self, outcome: object) -> Self:
        """The family, of this outcome, by which the worth of what comes out is known."""

    @abstractmethod
    def mean_worth(self) -> FloatArray:
        """What an outcome is worth on average; shape (.., X, Ka)."""

    @abstractmethod
    def table(self) -> FloatArray:
        """The probability of each outcome by its code; shape (.., X, Ka, Y)."""


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


class Parametric(Family):
    """A family with parameters, of one kind of outcome.

    Attributes:
        of: the kind.
    """

    __slots__ = ()
    of: ClassVar[type[Outcome]]

    @property
    @abstractmethod
    def parameters(self) -> tuple[FloatArray, ...]:
        """Arrays of the shape (.., X, Ka)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(.., X, Ka)."""
        return self.parameters[0].shape

    def worth(self, outcome: object) -> Self:
        """The family, of this outcome; an InputError where it is of another kind."""
        if not isinstance(outcome, self.of):
            given = NOTHING if outcome is None else getattr(outcome, "kind", repr(outcome))
            allowed = f"the {self.of.kind} that these distributions are of, such as {_EXAMPLES[self.of.kind]}"
            raise InputError("utility", given, allowed)
        return replace(self, outcome=outcome)  # type: ignore[type-var]  # every subclass is a dataclass


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
        number = _known(self.outcome)
        if not number.utility:
            return self.expected() if number.better == "higher" else -self.expected()
        knots, worths = np.array(number.utility).T
        below = [self.limited(knot) for knot in knots]
        share = [np.clip((b - a) / apart, 0, 1) for apart, (a, b) in zip(np.diff(knots), pairwise(below), strict=True)]
        return np.asarray(worths[0] + np.tensordot(np.diff(worths), share, axes=1))

    def table(self) -> FloatArray:
        """Differences of the distribution function half a step around each point."""
        grid = _known(self.outcome).grid
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
        _set(self, outcome, mean=checks.real("mean", mean), sd=checks.positive("sd", sd))

    @property
    def parameters(self) -> tuple[FloatArray, ...]:
        """Mean and standard deviation."""
        return self.mean, self.sd

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
        _set(self, outcome, median=checks.positive("median", median), spread=factor)

    @property
    def parameters(self) -> tuple[FloatArray, ...]:
        """Median and spread."""
        return self.median, self.spread

    def expected(self) -> FloatArray:
        """E[min(outcome, the greatest number)]: what is above would be taken for that."""
        return self.limited(_known(self.outcome).high)

    def below(self, number: FloatArray) -> FloatArray:
        """Φ(log(number / median) / log spread)."""
        return np.asarray(ndtr(np.log(number / self.median[..., np.newaxis]) / np.log(self.spread)[..., np.newaxis]))

    def limited(self, number: float) -> FloatArray:
        """With h = log(t / median) / s and s = log spread: median exp(s^2 / 2) Φ(h - s) + t Φ(-h)."""
        s = np.log(self.spread)
        h = np.log(number / self.median) / s
        # together, as the first factor may overflow where the second underflows
        return np.asarray(np.exp(np.log(self.median) + s**2 / 2 + log_ndtr(h - s)) + number * ndtr(-h))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Poissons(Parametric):
    """Poisson counts; where exposures differ, all are equally probable.

    Attributes:
        rate: the events by unit of exposure.
        outcome: what is counted; a World fills it in.
    """

    of: ClassVar[type[Outcome]] = Count
    rate: FloatArray
    outcome: Count | None

    def __init__(self, rate: ArrayLike, outcome: Count | None = None) -> None:
        _set(self, outcome, rate=checks.positive("rate", rate))

    @property
    def parameters(self) -> tuple[FloatArray, ...]:
        """The rate."""
        return (self.rate,)

    def mean_worth(self) -> FloatArray:
        """The rate, or its negative."""
        return self.rate if _known(self.outcome).better == "higher" else -self.rate

    def table(self) -> FloatArray:
        """Counts above the greatest count as that."""
        count = _known(self.outcome)
        exposures = count.time.points[1:] if count.exposure else np.ones(1)
        mean = self.rate[..., np.newaxis, np.newaxis] * exposures
        below = gammaincc(np.arange(1.0, count.most + 1)[:, np.newaxis], mean)  # P(events < 1, 2, .., most)
        ends = np.zeros_like(mean), np.ones_like(mean)
        each = np.diff(np.concatenate([ends[0], below, ends[1]], axis=-2), axis=-2) / exposures.size
        return np.asarray(each.reshape(*self.shape, -1))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Exponentials(Parametric):
    """Exponential times; whoever has had no event by the longest watch is censored then.

    Attributes:
        mean: the mean time to the event.
        outcome: what comes then; a World fills it in.
    """

    of: ClassVar[type[Outcome]] = Time
    mean: FloatArray
    outcome: Time | None

    def __init__(self, mean: ArrayLike, outcome: Time | None = None) -> None:
        _set(self, outcome, mean=checks.positive("mean", mean))

    @property
    def parameters(self) -> tuple[FloatArray, ...]:
        """The mean."""
        return (self.mean,)

    def mean_worth(self) -> FloatArray:
        """The mean time within the longest watch L, mean (1 - exp(-L / mean)), or its negative."""
        time = _known(self.outcome)
        within = -self.mean * np.expm1(-time.longest / self.mean)
        return np.asarray(within if time.better == "higher" else -within)

    def table(self) -> FloatArray:
        """An event in the step around each time, and nobody censored before the longest watch."""
        time = _known(self.outcome)
        edges = np.append(time.grid.points[:-1] + time.step / 2, time.longest)
        after = np.exp(-np.concatenate([[0.0], edges]) / self.mean[..., np.newaxis])
        both = np.zeros((*self.shape, 2 * time.grid.size))
        both[..., ::2] = -np.diff(after, axis=-1)
        both[..., -1] = after[..., -1]
        return both


@dataclass(frozen=True, slots=True, eq=False)
class Samples(Family):
    """The outcomes of real people, each as probable as the others.

    Args:
        values: a list of outcomes for each action, in a single context.
        outcome: what they are; a World fills it in.
    """

    values: tuple[tuple[object, ...], ...]
    outcome: Outcome | None = None

    def __init__(self, values: Sequence[Sequence[object]], outcome: Outcome | None = None) -> None:
        object.__setattr__(self, "values", tuple(tuple(each) for each in values))
        object.__setattr__(self, "outcome", outcome)
        for a, some in enumerate(self.values):
            if not some:
                raise InputError("values", f"none of action {a}", "at least one outcome of each action")

    @property
    def shape(self) -> tuple[int, ...]:
        """(1, Ka)."""
        return 1, len(self.values)

    def worth(self, outcome: object) -> "Samples":
        """The family, of this outcome."""
        if not isinstance(outcome, Outcome):
            raise InputError("utility", NOTHING if outcome is None else repr(outcome), "the outcome that these are of")
        return Samples(self.values, outcome)

    def mean_worth(self) -> FloatArray:
        """The mean over the people."""
        return np.asarray(self.table() @ _known(self.outcome).worths)

    def table(self) -> FloatArray:
        """The share of each outcome."""
        outcome = _known(self.outcome)
        shares = np.zeros((*self.shape, outcome.size))
        for a, some in enumerate(self.values):
            np.add.at(shares[0, a], [outcome.code(each) for each in some], 1 / len(some))
        return shares


Kind = TypeVar("Kind", bound=Outcome)
_EXAMPLES = {"number": "Number(60, 220)", "count": "Count(100)", "time": "Time(90)"}


def _known(outcome: Kind | None) -> Kind:
    """The outcome that a family is of."""
    if outcome is None:
        raise InputError("outcome", NOTHING, "the outcome that the distributions are of", "give them to a World")
    return outcome


def _set(family: object, outcome: Outcome | None, **arrays: FloatArray) -> None:
    """Set the outcome and parameters, all of one shape (.., X, Ka)."""
    object.__setattr__(family, "outcome", outcome)
    try:
        together = np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in arrays.values())
        raise InputError(", ".join(arrays), f"shapes {shapes}", "arrays over (a) or (x, a), or numbers") from None
    for name, array in zip(arrays, together, strict=True):
        full = np.array(array if array.ndim > 1 else np.atleast_1d(array)[np.newaxis])
        full.setflags(write=False)
        object.__setattr__(family, name, full)
