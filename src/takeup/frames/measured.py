"""Outcomes of somebody else's trial: what kind they are where nobody says, and the code of each row's."""

from collections.abc import Sequence
from typing import get_args

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray, shown
from takeup.errors import InputError
from takeup.frames.columns import Column, number_of, numbers_of, text_of
from takeup.frames.exposures import count_from, counts_in
from takeup.frames.grids import grid_of
from takeup.frames.labels import indices, ordered
from takeup.outcomes import UNSEEN, Better, Count, Levels, Number, Outcome, Time

FEW = 10
"""So many different whole numbers are levels, more are a number."""

HALF = 0.5
"""Where less of the different values are texts, the others are numbers, and not names."""

_HALF_WAY = 1e-6

NO_YES = (("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"))
"""Pairs of words for 0 and 1, in any case of letters; which one is good depends on what was asked."""

WORST_BEST = (
    ("failure", "success"),
    ("failed", "succeeded"),
    ("dead", "alive"),
    ("died", "survived"),
    ("died", "lived"),
    ("ill", "well"),
)
"""Pairs of words of which everybody knows which one is good; in any case of letters."""


def outcome_from(
    column: Column, levels: Sequence[str] | None, better: Better | None = None, unit: str = ""
) -> tuple[Outcome, str]:
    """What kind of outcome a column holds, and the sentence that says so.

    Args:
        column: of outcomes.
        levels: their names from worst to best, where somebody said.
        better: which end of numbers is the good one, and of no and yes, which are 0 and 1; higher where left out,
            and of counts over an exposure lower.
        unit: what exposures are measured in, where there are such.
    """
    if not column.values:
        raise InputError(column.argument, f"nothing in the column {column.name!r}", "at least two different outcomes")
    if better is not None:
        checks.one_of("better", better, get_args(Better))
    if levels is not None:
        return _named(levels, better)
    if (counts := counts_in(column)) is not None:
        return count_from(counts[0], counts[1] or unit, better)
    texts = ordered(column.values)
    if (names := _pair(texts, WORST_BEST)) is not None:
        return _named(names, better)
    end = better or "higher"
    if (names := _pair(texts, NO_YES)) is not None:
        return _levels(names if end == "higher" else names[::-1])
    if any(text.endswith("+") for text in texts):
        return _times(column, texts, end)
    numbers = np.unique(numbers_of(column.values))
    if np.isnan(numbers).any():
        _only_numbers(column)
        few = ", ".join(texts[:5]) + (", .." if len(texts) > 5 else "")
        hint = "give levels=, from worst to best, or space="
        raise InputError(column.argument, f"{few} in the column {column.name!r}", "numbers, or yes and no", hint)
    if numbers.size < 2 and not set(numbers) <= {0.0, 1.0}:
        raise InputError(column.argument, f"{texts[0]} alone in the column {column.name!r}", "different outcomes")
    few_whole = numbers.size <= FEW and bool(np.all(numbers == np.floor(numbers)))
    if numbers.size > 2 and not few_whole:
        return _number(numbers, end)
    rising = [0.0, 1.0] if set(numbers) <= {0.0, 1.0} else numbers.tolist()
    return _levels([text_of(each) for each in (rising if end == "higher" else rising[::-1])])


def codes_of(column: Column, outcome: Outcome) -> IntArray:
    """The code of each row's outcome; UNSEEN where it has none."""
    if isinstance(outcome, Levels):
        return indices(column, outcome.names)
    if isinstance(outcome, Count) and (counts := counts_in(column)) is not None:
        column = counts[0]
    if not isinstance(outcome, Number):
        return column.each(lambda value: outcome.code(value.strip() if isinstance(value, str) else value))
    steps = (numbers_of(column.values) - outcome.low) / outcome.step
    near = np.rint(steps)
    plain = (np.abs(steps - near) < 0.5 - _HALF_WAY) & (near >= 0) & (near < outcome.size)
    points = dict(zip(column.values, np.where(plain, near, UNSEEN).astype(np.int64).tolist(), strict=True))
    # What is outside is refused by the outcome itself, and half-way between two points it says which.
    return column.each(lambda value: outcome.code(value) if points[value] == UNSEEN else points[value])


def _only_numbers(column: Column) -> None:
    """Raise an error for a text among what are numbers else, or are but for their commas."""
    numbers = numbers_of(column.values)
    for k in np.flatnonzero(np.isnan(numbers)):
        text = text_of(column.values[k])
        comma = "," in text and number_of(text.replace(",", ".")) is not None
        if comma or np.isnan(numbers).mean() < HALF:
            hint = f"write {text.replace(',', '.')}" if comma else "leave it empty where it is not known"
            raise InputError(column.place(int(k)), shown(column.values[k]), "a number", hint)


def _pair(texts: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str] | None:
    """The pair of words that these are, as they are written; None where they are none."""
    lower = {text.casefold(): text for text in texts}
    for pair in pairs:
        if set(lower) <= set(pair) and len(lower) == len(texts):
            return [lower.get(word, word) for word in pair]
    return None


def _named(names: Sequence[str], better: Better | None) -> tuple[Outcome, str]:
    """Levels whose order says which is good."""
    if better is not None:
        hint = f"the levels are {', '.join(names)}, from worst to best; levels= says another order"
        raise InputError("better", repr(better), "nothing beside levels in words", hint)
    if isinstance(names, str) or len(names) < 2 or len(set(names)) < len(names):
        raise InputError("levels", shown(names), "at least two different levels, from worst to best")
    return _levels(list(names))


def _levels(names: list[str]) -> tuple[Outcome, str]:
    """Levels from worst to best: numbers are worth themselves, or their negatives where lower is better."""
    numbers = [number for name in names if (number := number_of(name)) is not None]
    worth = [float(i) for i in range(len(names))]
    if len(numbers) == len(names) and set(numbers) != {0.0, 1.0}:
        rising, negative = sorted(numbers), [-number for number in numbers]
        worth = numbers if numbers == rising else negative if numbers == rising[::-1] else worth
    pairs = ", ".join(f"{name} counts as {value:g}" for name, value in zip(names, worth, strict=True))
    return Levels(tuple(names), tuple(worth)), f"Outcomes are levels, from worst to best: {pairs}."


def _number(numbers: FloatArray, better: Better) -> tuple[Outcome, str]:
    low, high, step = grid_of(numbers)
    found = Number(low, high, step, better=better)
    return found, (
        f"Outcomes are numbers from {low:g} to {high:g}, in steps of {step:g}, and {better} is better; that range is"
        " what was seen, and what needs one that was known before the trial is only as good as it."
    )


def _times(column: Column, texts: Sequence[str], better: Better) -> tuple[Outcome, str]:
    numbers = [number_of(text.removesuffix("+")) for text in texts]
    for value in column.values:
        if number_of(text_of(value).removesuffix("+")) is None:
            where = column.place(column.values.index(value))
            raise InputError(where, shown(value), "a time, with a plus where it is censored")
    _, high, step = grid_of(np.array([0.0, *(number for number in numbers if number is not None)]))
    found = Time(high, step=step, better=better)
    good = "late" if better == "higher" else "soon"
    return found, (
        f"Outcomes are times to an event, censored where they end in a plus, watched for {high:g} at most, and {good}"
        " is better."
    )
