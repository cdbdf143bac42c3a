"""Columns of anybody's table: polars, pandas, or a mapping from names to lists; missing values are nothing."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from takeup.checks import FloatArray, IntArray, shown
from takeup.errors import InputError
from takeup.outcomes import UNSEEN

Frame: TypeAlias = Any
"""A polars or a pandas data frame, or a mapping from the names of columns to their values."""

MOST_NAMED = 20
"""So many names are listed by an error."""

_NOTHING = ("NAType", "NaTType")
"""What pandas calls the types of its missing values."""
_WHOLE = re.compile(r"(-?\d+)\.0+")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column, each different value once.

    Attributes:
        argument: what the column was named for.
        name: what it is called.
        values: the different values, as they first come.
        codes: which of them each row has; UNSEEN where it has none.
    """

    argument: str
    name: str
    values: tuple[Any, ...]
    codes: IntArray

    @property
    def missing(self) -> int:
        """How many rows have none."""
        return int((self.codes == UNSEEN).sum())

    def each(self, of: Callable[[Any], int]) -> IntArray:
        """What each row's value comes to; UNSEEN where there is none. Errors say in which row it was."""
        found = np.full(len(self.values) + 1, UNSEEN, dtype=np.int64)
        for k, value in enumerate(self.values):
            try:
                found[k] = of(value)
            except InputError as error:
                raise type(error)(self.place(k), error.value, error.allowed, error.hint) from None
        return found[self.codes]

    def numbers(self, allowed: str = "a number") -> FloatArray:
        """The values as numbers; NaN where there is none."""
        found = numbers_of(self.values)
        if np.isnan(found).any():
            k = int(np.isnan(found).argmax())
            raise InputError(self.place(k), shown(self.values[k]), allowed)
        return np.append(found, np.nan)[self.codes]

    def place(self, which: int) -> str:
        """Where a value, or UNSEEN, is first met, as errors say it."""
        row = int((self.codes == which).argmax()) + 1
        return f"{self.argument}: row {row}, column {self.name!r}"


def names_of(frame: Frame) -> list[str]:
    """What a table's columns are called."""
    return [str(name) for name in (frame.columns if hasattr(frame, "columns") else frame)]


def column(frame: Frame, argument: str, name: str) -> Column:
    """A column by its name."""
    given = values_of(frame, argument, name)
    places: dict[Any, int] = {}
    try:
        codes = [UNSEEN if _missing(value) else places.setdefault(value, len(places)) for value in given]
    except TypeError:
        raise InputError(argument, f"lists in the column {name!r}", "a value in each row") from None
    return Column(argument, name, tuple(places), np.array(codes, dtype=np.int64))


def values_of(frame: Frame, argument: str, name: str) -> Sequence[Any]:
    """The values of a column as they are."""
    known = names_of(frame)
    if not isinstance(name, str) or name not in known:
        raise InputError(argument, shown(name), f"one of the columns {named(known)}", meant(name, known))
    if known.count(name) > 1:
        raise InputError(argument, shown(name), "the name of one column", f"{known.count(name)} are called so")
    found = frame[name]
    for how in ("to_list", "tolist"):
        if hasattr(found, how):
            listed: list[Any] = getattr(found, how)()
            return listed
    return list(found)


def named(names: Sequence[str], between: str = ", ") -> str:
    """Names of columns, as errors list them."""
    few = [name or "(one without a name)" for name in names[:MOST_NAMED]]
    return between.join(few) + (f"{between}and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def meant(name: object, names: Sequence[str]) -> str:
    """The question whether a name like this one was meant; empty where there is none."""
    folded = {each.strip().casefold(): each for each in reversed(names)}
    close = get_close_matches(str(name).strip().casefold(), folded, n=1)
    return f"did you mean {folded[close[0]]}?" if close else ""


def text_of(value: object) -> str:
    """A value as a label: 1.0 is 1, as a column of whole numbers with gaps has it."""
    text = str(value).strip()
    if isinstance(value, bool | np.bool_):
        return text.lower()
    whole = _WHOLE.fullmatch(text) if text[-1:] == "0" and "." in text else None
    return whole[1] if whole else text


def numbers_of(values: Sequence[Any]) -> FloatArray:
    """Values as numbers; NaN where one is none, or is not finite."""
    if all(type(value) is float for value in values):
        found = np.array(values, dtype=np.float64)
        return np.where(np.isfinite(found), found, np.nan)
    return np.array([np.nan if (number := number_of(value)) is None else number for value in values])


def number_of(value: object) -> float | None:
    """A value as a number; None where it is none, or is not finite."""
    if not isinstance(value, int | float | str | Decimal | np.number | np.bool_):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _missing(value: object) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        return not value or value.isspace()
    if isinstance(value, float | np.floating):
        return bool(value != value)
    return type(value).__name__ in _NOTHING
