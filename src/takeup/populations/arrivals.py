"""Who comes: the distribution of contexts and covariates, drawn by uniform numbers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.covariates import Covariates, Measure, Profile
from takeup.errors import NOTHING, InputError, UnsuitableError
from takeup.populations.settling import settled
from takeup.rows import Rows
from takeup.space import Space

MOST_ATOMS = 1_000_000
"""How many different units can be gone through one by one."""


class Population(ABC):
    """Who comes. Equal numbers are equal units, whatever is proposed to them."""

    __slots__ = ()

    @property
    @abstractmethod
    def uniforms(self) -> int:
        """How many uniform numbers make a unit."""

    @abstractmethod
    def meet(self, uniform: FloatArray) -> Profile:
        """The units that these uniform numbers of [0, 1) stand for, (.., uniforms), by inversion."""

    @abstractmethod
    def atoms(self) -> tuple[FloatArray, Profile]:
        """The probability of every unit that there can be, and all of them; for sums over the population."""

    @abstractmethod
    def check(self, space: Space) -> None:
        """An InputError where it is of another space."""

    @abstractmethod
    def described(self) -> list[Any]:
        """What it is, and its arguments as plain data, but for the covariates."""


@dataclass(frozen=True, slots=True, eq=False)
class Independent(Population):
    """Contexts and covariates that do not depend on each other.

    Attributes:
        covariates: what they are.
        shares: the probability of every value of each covariate, by name: of every point of a measure's grid, or of
            every level; where missing values are kept, of a missing one at the end. Of those that are left out every
            value is as likely, and none is missing. `normal_shares` has those of a bell curve.
        context: the probability of each context; one context where left out.
    """

    covariates: Covariates
    shares: Mapping[str, ArrayLike]
    context: ArrayLike = (1.0,)

    def __post_init__(self) -> None:
        names = self.covariates.names
        checks.keys(self.shares, names, "shares.")
        found = {}
        for name, kind in zip(names, self.covariates.kinds, strict=True):
            size, kept = len(kind.table()), kind.missing == "kept"
            even = np.append(np.full(size - kept, 1 / (size - kept)), np.zeros(int(kept)))
            given = checks.probabilities(f"shares.{name}", self.shares.get(name, even))
            checks.shaped(f"shares.{name}", given, (size,), "value" + (", the last being missing" if kept else ""))
            found[name] = given
        object.__setattr__(self, "shares", found)
        object.__setattr__(self, "context", checks.probabilities("context", self.context))

    @property
    def uniforms(self) -> int:
        """One for the context, and one for each covariate."""
        return 1 + len(self.covariates.names)

    def meet(self, uniform: FloatArray) -> Profile:
        """The units that these numbers stand for, by inversion of one after the other."""
        context, *each = np.moveaxis(uniform, -1, 0)
        pairs = zip(self.shares.values(), self.covariates.kinds, each, strict=True)
        blocks = [kind.table()[inverted(np.asarray(share), u)] for share, kind, u in pairs]
        return Profile(inverted(np.asarray(self.context), context), self.covariates.combined(blocks))

    def atoms(self) -> tuple[FloatArray, Profile]:
        """Every combination of a context and values."""
        shares = [np.asarray(self.context), *(np.asarray(share) for share in self.shares.values())]
        many = int(np.prod([float(share.size) for share in shares]))
        if many > MOST_ATOMS:
            hint = "a larger step has fewer; or draw units, as simulate does"
            raise InputError("population", f"{many:,} different units", f"at most {MOST_ATOMS:,} to sum over", hint)
        probability = reduce(np.multiply.outer, shares).ravel()
        context, *places = (index.ravel() for index in np.indices([share.size for share in shares]))
        blocks = [kind.table()[place] for kind, place in zip(self.covariates.kinds, places, strict=True)]
        return probability, Profile(context, self.covariates.combined(blocks))

    def check(self, space: Space) -> None:
        """An InputError where it is of another space."""
        if self.covariates != space.covariates:
            raise InputError(
                "population", "other covariates", "those of the space", "Independent(space.covariates, ..)"
            )
        checks.shaped("context", np.asarray(self.context), (len(space.contexts),), "context")

    def described(self) -> list[Any]:
        """Shares and context."""
        shares = {name: np.asarray(share).tolist() for name, share in self.shares.items()}
        return [type(self).__name__, shares, np.asarray(self.context).tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class Resampled(Population):
    """Units that are drawn again and again from a list of real ones, each as likely as any other.

    Attributes:
        features: of each, (n, d).
        context: of each, (n,).
    """

    features: IntArray
    context: IntArray

    def __post_init__(self) -> None:
        features, context = checks.counts("features", self.features), checks.counts("context", self.context)
        if features.ndim != 2 or not len(features):
            raise InputError("features", f"shape {features.shape}", "a row for each unit, and at least one")
        checks.shaped("context", context, features.shape[:1], "unit")
        for name, array in (("features", features), ("context", context)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def rows(cls, rows: Rows) -> "Resampled":
        """The units of a trial's decisions."""
        return cls(rows.features.astype(np.int64), rows.context.astype(np.int64))

    @classmethod
    def of(cls, space: Space, columns: Mapping[str, Sequence[object]]) -> "Resampled":
        """The units of a data frame, or of any table of columns by name; see `Rows.of`."""
        if space.covariates is None:
            raise UnsuitableError("the space has no covariates; give it covariates={'age': Measure(18, 100)}")
        names = space.covariates.names
        for name in names:
            if name not in columns:
                raise InputError(name, NOTHING, f"a column for each of {', '.join(names)}")
        wanted = {name: columns[name] for name in ("context", *names) if name in columns}
        many = len(columns[names[0]])
        rows = Rows.of(space, {**wanted, "proposal": [0] * many})
        return cls.rows(rows)

    @property
    def uniforms(self) -> int:
        """One, for which of them."""
        return 1

    def meet(self, uniform: FloatArray) -> Profile:
        """Those that these numbers stand for."""
        return self.at(self.places(uniform))

    def places(self, uniform: FloatArray) -> IntArray:
        """Which of them these numbers stand for."""
        return np.asarray((uniform[..., 0] * len(self.context)).astype(np.int64))

    def at(self, place: IntArray) -> Profile:
        """Some of them."""
        return Profile(self.context[place], self.features[place])

    def atoms(self) -> tuple[FloatArray, Profile]:
        """All of them."""
        return np.full(len(self.context), 1 / len(self.context)), Profile(self.context, self.features)

    def check(self, space: Space) -> None:
        """An InputError where it is of another space."""
        assert space.covariates is not None
        space.covariates.check(self.features)
        if self.context.max() >= len(space.contexts):
            raise InputError("context", f"{self.context.max()}", f"indices from 0 to {len(space.contexts) - 1}")

    def described(self) -> list[Any]:
        """The units."""
        return [type(self).__name__, self.features.tolist(), self.context.tolist()]


def normal_shares(measure: Measure, mean: float, sd: float) -> FloatArray:
    """The shares of a bell curve on a measure's grid, without what is beyond its ends; none is missing."""
    points = measure.low + measure.step * np.arange(len(measure.points()))
    height = [settled(each, max(each, 1e-290)) for each in np.exp(-(((points - mean) / sd) ** 2) / 2).tolist()]
    return np.append(np.array(height) / math.fsum(height), np.zeros(int(measure.missing == "kept")))


def inverted(probability: FloatArray, uniform: FloatArray) -> IntArray:
    """The index at which one cumulative distribution passes each of these numbers; never one of probability zero."""
    cumulative = np.cumsum(probability)
    return np.asarray(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
