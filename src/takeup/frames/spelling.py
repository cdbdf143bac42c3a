"""Labels that differ in nothing but case and blanks are one label: "Drug", "drug " and "DRUG"."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any
from unicodedata import normalize

import numpy as np

from takeup.frames.columns import Column, number_of, text_of
from takeup.outcomes import UNSEEN

CLOSE = 0.8
"""How alike two labels are, of 1, for one to be called nearly the other."""
RARE = 10
"""A label is rare beside another that has so many times as many rows."""
SHORT = 2
"""Words that are no longer name arms, such as A and B."""
MOST_COMPARED = 200
"""Where there are more labels they are no names that anybody would misspell."""


def alike(columns: Sequence[Column], known: Sequence[str] = ()) -> tuple[list[Column], list[str]]:
    """Columns in which each label is spelled in one way, and a sentence a label that was not.

    A label is spelled as it is among the known ones, or else as in most rows of the first column that has it. Known
    ones that differ in case alone stay apart.

    Args:
        columns: that share their labels.
        known: what labels there are, as far as somebody said.
    """
    spelled, apart = _known(known)
    made, said = [], []
    for column in columns:
        rows = np.bincount(column.codes[column.codes != UNSEEN], minlength=len(column.values))
        order = np.argsort(-rows, kind="stable")
        for k in order:
            if (key := _key(column.values[k])) is not None:
                spelled.setdefault(key, text_of(column.values[k]))
        new = [_as(value, spelled, apart) for value in column.values]
        said += _said(column, new, rows)
        made.append(_with(column, new))
    return made, said


def near(columns: Sequence[Column]) -> list[str]:
    """A sentence for each rare label that is spelled nearly like a common one: perhaps a slip, and not mended."""
    return [sentence for column in columns for sentence in _near(column)]


def _near(column: Column) -> Iterator[str]:
    rows = np.bincount(column.codes[column.codes != UNSEEN], minlength=len(column.values)).tolist()
    many = {text_of(value): n for value, n in zip(column.values, rows, strict=True) if _key(value) is not None}
    for label, n in many.items() if len(many) <= MOST_COMPARED else ():
        common = [other for other, more in many.items() if more >= RARE * n and _slip(label, other)]
        if close := get_close_matches(label, common, n=1, cutoff=CLOSE):
            told = f"{label!r} ({n:,}) is a label of its own, and spelled nearly like {close[0]} ({many[close[0]]:,})"
            yield f"In the column {column.name}, {told}: if that is a slip, mend it in the file."


def _slip(one: str, other: str) -> bool:
    """Whether two labels may be one: they do not differ in numbers, or in words as short as those of arm A and B."""
    words = [each.casefold().split() for each in (one, other)]
    apart = set(words[0]) ^ set(words[1])
    return any(len(word) > SHORT for word in apart) and not any(map(str.isdigit, "".join(apart)))


def _known(names: Sequence[str]) -> tuple[dict[str, str], set[str]]:
    """How each known label is spelled, and which of them are several that differ in case alone."""
    spelled: dict[str, str] = {}
    apart = set()
    for name in names:
        key = _key(name) or name
        if spelled.setdefault(key, name) != name:
            apart.add(key)
    return spelled, apart


def _key(value: object) -> str | None:
    """What two spellings of a label share; None of what is no word."""
    if not isinstance(value, str) or number_of(value) is not None:
        return None
    return normalize("NFC", " ".join(value.split())).casefold()


def _as(value: Any, spelled: dict[str, str], apart: set[str]) -> Any:
    key = _key(value)
    return value if key is None or key in apart else spelled[key]


def _with(column: Column, values: Sequence[Any]) -> Column:
    places: dict[Any, int] = {}
    moved = np.array([*(places.setdefault(value, len(places)) for value in values), UNSEEN], dtype=np.int64)
    return replace(column, values=tuple(places), codes=moved[column.codes])


def _said(column: Column, values: Sequence[Any], rows: "np.ndarray[Any, Any]") -> list[str]:
    """Which spellings were read as which label, and of how many rows."""
    others: dict[str, list[str]] = {}
    for value, new, many in zip(column.values, values, rows, strict=True):
        if value != new:
            others.setdefault(new, []).append(f"{value!r} ({many:,})")
    return [f"In the column {column.name}, {' and '.join(each)} is read as {new}." for new, each in others.items()]
