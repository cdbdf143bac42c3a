"""All covariates of a space: their order, and which of them interact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import IntArray
from takeup.covariates.kinds import ONE, Covariate, Value, covariate_of
from takeup.errors import NOTHING, InputError, LabelError

Pair: TypeAlias = tuple[str, str]
"""Two covariates of which one matters the more, or the less, the higher the other is."""

MOST_FEATURES = 50
"""How many features a unit may have: what is kept of them grows with their square."""

INTERCEPT = "intercept"

TAKEN = ("context", "proposal", "implemented", "outcome")
"""What a covariate cannot be called."""


@dataclass(frozen=True, slots=True, init=False)
class Covariates:
    """Covariates by name, in their order, and the pairs of them that interact.

    A unit's *features* are whole thousandths from 0 to 1,000, in this order: the intercept, which is 1; those of each
    covariate; and for each pair that interacts the products of the features of the one with those of the other,
    rounded to the nearest thousandth, the upper of two.

    Args:
        kinds: what each covariate is, by its name: a Measure or a Category, or a table that describes one.
        interactions: pairs of names.

    Attributes:
        names: of the covariates.
        kinds: what each is.
        interactions: pairs of names.
    """

    names: tuple[str, ...]
    kinds: tuple[Covariate, ...]
    interactions: tuple[Pair, ...]

    def __init__(
        self, kinds: Mapping[str, Covariate | Mapping[str, Any]], interactions: Sequence[Sequence[str]] = ()
    ) -> None:
        if not isinstance(kinds, Mapping) or not kinds:
            allowed = "a table of them by name, such as {'age': Measure(18, 100)}"
            raise InputError("covariates", checks.shown(kinds), allowed)
        found = {_name(name): _kind(name, given) for name, given in kinds.items()}
        object.__setattr__(self, "names", tuple(found))
        object.__setattr__(self, "kinds", tuple(found.values()))
        object.__setattr__(self, "interactions", self._pairs(interactions))
        if self.size > MOST_FEATURES:
            hint = "a category has one for each level but the first, an interaction the product of two numbers of them"
            raise InputError("covariates", f"{self.size} features", f"at most {MOST_FEATURES}", hint)

    def _pairs(self, given: Sequence[Sequence[str]]) -> tuple[Pair, ...]:
        allowed = f"pairs of two different covariates out of {', '.join(self.names)}, each pair once"
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise InputError("interactions", checks.shown(given), allowed)
        pairs: list[Pair] = []
        for each in given:
            good = isinstance(each, Sequence) and not isinstance(each, str) and len(each) == 2
            if not good or not all(name in self.names for name in each) or each[0] == each[1]:
                raise InputError("interactions", checks.shown(each), allowed)
            if {*each} in [{*pair} for pair in pairs]:
                raise InputError("interactions", f"{checks.shown(each)} twice", allowed)
            pairs.append((each[0], each[1]))
        return tuple(pairs)

    @property
    def size(self) -> int:
        """D, how many features a unit has."""
        widths = dict(zip(self.names, (len(kind.parts) for kind in self.kinds), strict=True))
        return 1 + sum(widths.values()) + sum(widths[one] * widths[other] for one, other in self.interactions)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the features are called, for people."""
        return _labels(self)

    def features(self, values: Mapping[str, object]) -> tuple[int, ...]:
        """The features of a unit with these values; every covariate has one, None where it is missing.

        Raises:
            InputError: a covariate that there is not, one that was left out, or a value that is not allowed; a
                LabelError where it is no level of a category.
        """
        if not isinstance(values, Mapping):
            raise InputError("covariates", checks.shown(values), f"a table with {', '.join(self.names)}")
        checks.keys(values, self.names, "covariates.")
        own: dict[str, tuple[int, ...]] = {}
        with checks.inside("covariates"):
            for name, kind in zip(self.names, self.kinds, strict=True):
                if name not in values:
                    raise InputError(name, NOTHING, kind.allowed)
                own[name] = kind.features(name, values[name])
        return (ONE, *self._joined(own))

    def kept(self, values: Mapping[str, object]) -> dict[str, Value]:
        """The same values as they are kept: measures at the nearest point of their grid, which has the same features.

        Raises:
            InputError: as `features` does.
        """
        self.features(values)
        pairs = zip(self.names, self.kinds, strict=True)
        return {name: None if values[name] is None else kind.rounded(values[name]) for name, kind in pairs}

    def combined(self, blocks: Sequence[IntArray]) -> IntArray:
        """The features of many units, (.., d), from those of each covariate, (.., how many it has), in their order."""
        own = {name: list(np.moveaxis(block, -1, 0)) for name, block in zip(self.names, blocks, strict=True)}
        columns = self._joined(own)
        return np.stack([np.full_like(columns[0], ONE), *columns], axis=-1)

    def _joined(self, own: Mapping[str, Sequence[Any]]) -> list[Any]:
        """The features of each covariate, and after them the products of those that interact."""
        crossed = (
            multiplied(one, other)
            for first, second in self.interactions
            for one, other in product(own[first], own[second])
        )
        return [*(each for features in own.values() for each in features), *crossed]

    def values(self, features: Sequence[int]) -> dict[str, Value]:
        """The values that have these features, by name; the nearest of a measure with more than a thousand steps."""
        self.check(features)
        found, place = {}, 1
        for name, kind in zip(self.names, self.kinds, strict=True):
            found[name] = kind.plain([int(each) for each in features[place : place + len(kind.parts)]])
            place += len(kind.parts)
        return found

    def check(self, features: ArrayLike) -> IntArray:
        """Features of one unit or of many, (.., d), as whole numbers from 0 to 1,000; an InputError if they are not."""
        given = np.asarray(features)
        if given.dtype.kind not in "iu" or given.shape[-1:] != (self.size,):
            told = f"{given.dtype} of shape {given.shape}"
            hint = "Covariates.features makes them of values"
            raise InputError("features", told, f"whole numbers, {self.size} along the last axis", hint)
        if given.size and (given.min() < 0 or given.max() > ONE):
            raise InputError("features", f"{given.min()} to {given.max()}", f"whole numbers from 0 to {ONE}")
        return np.asarray(given, dtype=np.int64)

    def kind(self, name: str) -> Covariate:
        """What a covariate is."""
        if name not in self.names:
            raise LabelError("covariate", checks.shown(name), f"one of {', '.join(self.names)}")
        return self.kinds[self.names.index(name)]

    def described(self) -> dict[str, Any]:
        """The covariates by name as plain data, which makes them again; without the interactions."""
        return {name: kind.described() for name, kind in zip(self.names, self.kinds, strict=True)}


def covariates_of(
    given: Covariates | Mapping[str, Covariate | Mapping[str, Any]] | None, interactions: Sequence[Sequence[str]] = ()
) -> Covariates | None:
    """The covariates that a space is given, in whatever form; None where there are none."""
    if isinstance(given, Covariates):
        if len(interactions):
            hint = "Covariates(.., interactions) has them"
            raise InputError("interactions", checks.shown(interactions), "none beside such covariates", hint)
        return given
    if given is None or given == {}:
        if len(interactions):
            raise InputError("interactions", checks.shown(interactions), "none where there are no covariates")
        return None
    return Covariates(given, interactions)


def multiplied(one: Any, other: Any) -> Any:
    """The product of two features, or arrays of them, as features: the nearest thousandth, the upper of two."""
    return (2 * one * other + ONE) // (2 * ONE)


@lru_cache(maxsize=256)
def _labels(covariates: Covariates) -> tuple[str, ...]:
    own = {
        name: [f"{name}: {part}" if part else name for part in kind.parts]
        for name, kind in zip(covariates.names, covariates.kinds, strict=True)
    }
    crossed = (
        f"{one} x {other}"
        for first, second in covariates.interactions
        for one, other in product(own[first], own[second])
    )
    return (INTERCEPT, *(each for labels in own.values() for each in labels), *crossed)


def _name(given: object) -> str:
    if not isinstance(given, str) or not given.strip():
        raise InputError("covariates", checks.shown(given), "names that are strings and not blank")
    if given in TAKEN:
        raise InputError("covariates", repr(given), f"another name than {', '.join(TAKEN)}", "tables have such columns")
    return checks.label("covariates", given)


def _kind(name: str, given: object) -> Covariate:
    if isinstance(given, Covariate):
        return given
    if not isinstance(given, Mapping):
        allowed = 'a Measure(..), a Category(..) or a table, as {"kind": "measure", "low": 18, "high": 100}'
        raise InputError(f"covariates.{name}", checks.shown(given), allowed)
    with checks.inside(f"covariates.{name}"):
        return covariate_of(given)
