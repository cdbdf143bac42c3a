"""What was known of each before, in anybody's table: measures and categories, and the features of each row."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from takeup import checks
from takeup.checks import IntArray, shown
from takeup.covariates import Category, Covariate, Covariates, Measure, covariate_of
from takeup.errors import NOTHING, InputError, LabelError
from takeup.frames.columns import Column, Frame, column, named, number_of, numbers_of, text_of
from takeup.frames.grids import grid_of
from takeup.frames.labels import ordered
from takeup.frames.spelling import alike
from takeup.outcomes import UNSEEN

Kind: TypeAlias = "Covariate | Mapping[str, Any] | None"
"""What a covariate is, a table that describes it, or None where that is to be inferred."""

Asked: TypeAlias = "str | Sequence[str] | Mapping[str, Kind] | None"
"""The columns of covariates, or what each of them is."""

FEW = 10
"""So many different values are levels of a category, more numbers are a measure."""

MOST_LEVELS = 20
"""So many levels a category may have, however few rows."""

_HALF_WAY = 1e-6

KEPT = "missing of {missing:,}, which is kept as a feature of its own"


def names_asked(asked: Asked) -> list[str]:
    """The columns that are asked for."""
    return [] if asked is None else [asked] if isinstance(asked, str) else list(asked)


def kinds_in(
    frame: Frame, asked: Asked, columns: Mapping[str, str] | None = None
) -> tuple[Covariates | None, list[str]]:
    """What covariates there are, in the order in which they are asked for, and a sentence about those inferred.

    Args:
        frame: the table.
        asked: the covariates.
        columns: the column of each, where it is not called like it.
    """
    told = asked if isinstance(asked, Mapping) else dict.fromkeys(names_asked(asked))
    if not told:
        return None, []
    found: dict[str, Covariate] = {}
    said, more = [], []
    for name, kind in told.items():
        given = column(frame, "covariates", (columns or {}).get(name, name))
        if kind is None:
            (given,), spelled = alike([given])
            found[name], words = _inferred(given)
            said.append(f"{name} {words}")
            more += spelled
        elif isinstance(kind, Mapping):
            with checks.inside(f"covariates.{name}"):
                found[name] = covariate_of(kind)
        else:
            found[name] = kind
    return Covariates(found), [*([f"Covariates: {'; '.join(said)}."] if said else []), *more]


def features_in(
    frame: Frame, covariates: Covariates | None, columns: Mapping[str, str] | None = None
) -> IntArray | None:
    """The features of each row, (n, d); None where there are no covariates.

    Raises:
        InputError: a value that is not allowed, or is missing where that is refused; names row and column.
    """
    if covariates is None:
        return None
    blocks = []
    for name, kind in zip(covariates.names, covariates.kinds, strict=True):
        given = column(frame, "covariates", (columns or {}).get(name, name))
        if isinstance(kind, Category):
            (given,), _ = alike([given], kind.levels)
        if given.missing and kind.missing == "refused":
            hint = 'missing="kept" of the covariate would allow it'
            raise InputError(given.place(UNSEEN), NOTHING, kind.allowed, hint)
        blocks.append(_table(given, kind)[given.codes])
    return covariates.combined(blocks)


def _table(given: Column, kind: Covariate) -> IntArray:
    """The features of each different value of a column, and in the last row those of a missing one."""
    found = np.zeros((len(given.values) + 1, len(kind.parts)), dtype=np.int64)
    plain = np.zeros(len(given.values), dtype=np.bool_)
    if isinstance(kind, Measure):  # of which there may be as many as rows
        steps = (numbers_of(given.values) - kind.low) / kind.step
        near = np.rint(steps)
        plain = (np.abs(steps - near) < 0.5 - _HALF_WAY) & (near >= 0) & (kind.low + near * kind.step <= kind.high)
        found[:-1, 0] = kind.scaled(np.where(plain, near, 0).astype(np.int64))
    for k in np.flatnonzero(~plain):  # what is outside is refused by the kind itself
        found[k] = _features(given, int(k), kind, given.values[k])
    if given.missing:
        found[-1] = kind.features(given.name, None)
    return found


def _features(given: Column, k: int, kind: Covariate, value: object) -> tuple[int, ...]:
    """Of one of the different values of a column; texts of a table of texts are the numbers that they say."""
    plain: object = text_of(value)
    if isinstance(kind, Measure):
        number = number_of(value)
        plain = value if number is None else number
    try:
        return kind.features(given.name, plain)
    except InputError as error:
        sort = LabelError if isinstance(error, LabelError) else InputError
        raise sort(given.place(k), error.value, error.allowed, error.hint) from None


def _inferred(given: Column) -> tuple[Covariate, str]:
    """What a column is taken to be, and the words for it."""
    if len(given.values) < 2:
        value = f"{len(given.values)} different values in the column {given.name!r}"
        raise InputError("covariates", value, "columns in which people differ")
    lost = f"; {KEPT.format(missing=given.missing)}" if given.missing else ""
    missing: Any = "kept" if given.missing else "refused"
    numbers = np.unique(numbers_of(given.values))
    if len(given.values) > FEW and not np.isnan(numbers).any() and numbers.size > 1:
        low, high, step = grid_of(numbers)
        words = f"is a measure from {low:g} to {high:g} in steps of {step:g}, which is what was seen{lost}"
        return Measure(low, high, step, missing=missing), words
    levels = ordered(given.values)
    if (len(levels) > MOST_LEVELS and 2 * len(levels) > given.codes.size) or len(levels) > MOST_LEVELS * 2:
        value = f"{len(levels):,} different values in {given.codes.size:,} rows of the column {given.name!r}"
        text = next((text_of(each) for each in given.values if number_of(each) is None), "")
        hint = f"{shown(text)} is no number" if np.isnan(numbers).mean() < 0.5 and text else ""
        raise InputError("covariates", value, "a column of numbers, or of few names, each of many people", hint)
    if len(levels) < 2:
        raise InputError(
            "covariates", f"{levels[0]} alone in the column {given.name!r}", "columns in which people differ"
        )
    words = f"is one of {named(levels)}, {levels[0]} being what the others are compared with{lost}"
    return Category(levels, missing=missing), words
