"""The two kinds of covariates: a measure on a scale, and a category.

Each turns a value into a few *features*, whole numbers from 0 to 1,000 that stand for 0 to 1. In whole numbers sums of
them, and of their products, are the same in every order.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from takeup import checks
from takeup.checks import IntArray
from takeup.errors import NOTHING, InputError, LabelError
from takeup.outcomes.grid import Grid, grid

ONE = 1_000
"""The feature that stands for 1: features are whole thousandths."""

Missing: TypeAlias = Literal["refused", "kept"]
"""What becomes of a missing value: an error, or a feature of its own that says that it is missing."""

MISSING = "missing"
"""What people are told of a value that is missing."""

Steps = TypeVar("Steps", int, IntArray)

Value: TypeAlias = str | int | float | None
"""A covariate's value as JSON has it; None where it is missing."""

GIVE_NONE = 'give None where it is not known, of a covariate with missing="kept"'


class Covariate(ABC):
    """A kind of covariate.

    Attributes:
        kind: what a spec calls it.
        missing: what becomes of a missing value.
    """

    __slots__ = ()
    kind: ClassVar[str]
    missing: Missing

    @property
    @abstractmethod
    def parts(self) -> tuple[str, ...]:
        """What its features are called, after the covariate's own name; the last is "missing" where that is kept."""

    @abstractmethod
    def known(self, name: str, value: object) -> tuple[int, ...]:
        """The features of a value that is known; an InputError that names the covariate where it is not allowed."""

    @property
    @abstractmethod
    def unknown(self) -> tuple[int, ...]:
        """The features of a value that is missing, without the one that says so."""

    @abstractmethod
    def value(self, features: Sequence[int]) -> Value:
        """The value that has these features; the nearest, where several have the same."""

    @abstractmethod
    def rounded(self, value: object) -> Value:
        """An allowed value that is known, as it is kept."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """What a value may be, for people."""

    @abstractmethod
    def points(self) -> IntArray:
        """The features of every value that is known, one row each: from the low end on, or level by level."""

    def table(self) -> IntArray:
        """The features of every value, one row each; the last row is of a missing one, where that is kept."""
        known = self.points()
        if self.missing == "refused":
            return known
        return np.vstack([np.pad(known, ((0, 0), (0, 1))), [*self.unknown, ONE]])

    def features(self, name: str, value: object) -> tuple[int, ...]:
        """The features of a value; an InputError or a LabelError that names the covariate and what is allowed."""
        if value is not None:
            return (*self.known(name, value), *((0,) if self.missing == "kept" else ()))
        if self.missing == "refused":
            raise InputError(name, "None", self.allowed, 'missing="kept" of the covariate would allow it')
        return (*self.unknown, ONE)

    def plain(self, features: Sequence[int]) -> Value:
        """The value that has these features, None where it is missing."""
        return None if self.missing == "kept" and features[-1] else self.value(features)

    def described(self) -> dict[str, Any]:
        """The covariate as plain data."""
        return {"kind": self.kind, **{name: _plain(each) for name, each in asdict(self).items()}}  # type: ignore[call-overload]  # its kinds are dataclasses


@dataclass(frozen=True, slots=True)
class Measure(Covariate):
    """A number on a scale: age, blood pressure, a score. Values are rounded to the grid, and then to a feature.

    Its feature is 0 at the low end and 1 at the high end, in steps of a thousandth. One that is missing is at the
    middle, 0.5.

    Attributes:
        low: the least that it can be; what is below is refused.
        high: the most that it can be.
        step: how finely it is kept.
        unit: what it is measured in.
        missing: what becomes of a missing value.
    """

    kind: ClassVar[str] = "measure"
    low: float
    high: float
    step: float = 1.0
    unit: str = ""
    missing: Missing = "refused"

    def __post_init__(self) -> None:
        points = Grid(self.low, self.high, self.step)
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, getattr(points, name))
        checks.label("unit", self.unit)
        checks.one_of("missing", self.missing, get_args(Missing))

    @property
    def parts(self) -> tuple[str, ...]:
        """The number itself, and whether it is missing."""
        return ("", MISSING) if self.missing == "kept" else ("",)

    @property
    def allowed(self) -> str:
        """The range."""
        return f"a number from {self.low:g} to {self.high:g} {self.unit}".rstrip()

    def known(self, name: str, value: object) -> tuple[int, ...]:
        """How far along the scale it is."""
        try:
            steps = grid(self.low, self.high, self.step, name, self.unit).index(value)
        except InputError as error:
            text = str(value).strip().lower() if isinstance(value, float | str) else ""
            blank = text in ("", "nan", "na") and isinstance(value, float | str)
            raise InputError(name, error.value, self.allowed, GIVE_NONE if blank else error.hint) from None
        return (self.scaled(steps),)

    def rounded(self, value: object) -> int | float:
        """The nearest point of the grid."""
        points = grid(self.low, self.high, self.step)
        return points.point(points.index(value))

    def scaled(self, steps: Steps) -> Steps:
        """The feature of the point so many steps from the low end: the nearest thousandth, the upper of two."""
        many = self._steps
        return (2 * ONE * steps + many) // (2 * many)

    def points(self) -> IntArray:
        """The features of every point of the grid."""
        return self.scaled(np.arange(self._steps + 1))[:, np.newaxis]

    @property
    def unknown(self) -> tuple[int, ...]:
        """The middle."""
        return (ONE // 2,)

    def value(self, features: Sequence[int]) -> int | float:
        """The point of the grid; the nearest, where it has more than a thousand steps."""
        return grid(self.low, self.high, self.step).point((2 * features[0] * self._steps + ONE) // (2 * ONE))

    @property
    def _steps(self) -> int:
        return grid(self.low, self.high, self.step).size - 1


@dataclass(frozen=True, slots=True)
class Category(Covariate):
    """One of a few names, in no order: consciousness, sex, site.

    It has a feature for each level but the first, 1 where the value is that level. One that is missing has none of
    them.

    Attributes:
        levels: the names; what the others are compared with comes first.
        missing: what becomes of a missing value.
    """

    kind: ClassVar[str] = "category"
    levels: Sequence[str]
    missing: Missing = "refused"

    def __post_init__(self) -> None:
        checks.one_of("missing", self.missing, get_args(Missing))
        given = self.levels
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise InputError("levels", checks.shown(given), "a list of names")
        for name in given:
            if not isinstance(name, str) or not name.strip():
                raise InputError("levels", checks.shown(name), "names that are strings and not blank")
            checks.label("levels", name)
        if len(given) < 2 or len(set(given)) != len(given):
            raise InputError("levels", checks.shown(list(given)), "at least 2 names, all different")
        if self.missing == "kept" and MISSING in given:
            hint = "give None for those; or leave missing out, and it is a level like any other"
            raise InputError("levels", repr(MISSING), 'other names where missing="kept"', hint)
        object.__setattr__(self, "levels", tuple(given))

    @property
    def parts(self) -> tuple[str, ...]:
        """The levels but the first, and whether it is missing."""
        return (*self.levels[1:], *((MISSING,) if self.missing == "kept" else ()))

    @property
    def allowed(self) -> str:
        """The levels."""
        return f"one of {', '.join(self.levels)}"

    def known(self, name: str, value: object) -> tuple[int, ...]:
        """1 for its level."""
        if not isinstance(value, str) or value not in self.levels:
            blank = value != value or (isinstance(value, str) and not value.strip())
            raise LabelError(name, checks.shown(value), self.allowed, GIVE_NONE if blank else "")
        return tuple(ONE * (value == level) for level in self.levels[1:])

    def rounded(self, value: object) -> str:
        """The level."""
        return str(value)

    def points(self) -> IntArray:
        """The features of every level."""
        return ONE * np.eye(len(self.levels), dtype=np.int64)[:, 1:]

    @property
    def unknown(self) -> tuple[int, ...]:
        """None of the levels."""
        return (0,) * (len(self.levels) - 1)

    def value(self, features: Sequence[int]) -> str:
        """The level."""
        own = list(features[: len(self.levels) - 1])
        return self.levels[1 + own.index(ONE) if ONE in own else 0]


KINDS: Mapping[str, type[Any]] = {kind.kind: kind for kind in (Measure, Category)}
"""By the name that a spec gives them."""


def covariate_of(description: Mapping[str, Any]) -> Covariate:
    """The covariate that a table such as `{"kind": "measure", "low": 18, "high": 100}` describes."""
    given = dict(description)
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError("kind", NOTHING if kind is None else checks.shown(kind), f"one of {', '.join(KINDS)}")
    known = inspect.signature(KINDS[kind]).parameters
    checks.keys(given, known)
    for name, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            raise InputError(name, NOTHING, "a list of names" if name == "levels" else "a number")
    made: Covariate = KINDS[kind](**given)
    return made


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
