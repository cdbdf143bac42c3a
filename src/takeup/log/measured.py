"""Outcomes of somebody else's trial: what kind they are where nobody says, and the code of each row's."""

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from takeup.checks import FloatArray, IntArray, shown
from takeup.errors import InputError
from takeup.log.columns import Column, number_of, numbers_of, text_of
from takeup.log.labels import indices, ordered
from takeup.outcomes import Levels, Number, Outcome, Time
from takeup.space import UNSEEN

FEW = 10
"""So many different whole numbers are levels, more are a number."""

MOST_STEPS = 1_000_000
MOST_DECIMALS = 6
_HALF_WAY = 1e-6

WORST_BEST = (
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("failure", "success"),
    ("failed", "succeeded"),
    ("dead", "alive"),
    ("died", "survived"),
    ("died", "lived"),
    ("ill", "well"),
)
"""Pairs of words of which everybody knows which one is good, or counts as one; in any case of letters."""


def outcome_from(column: Column, levels: Sequence[str] | None) -> tuple[Outcome, str]:
    """What kind of outcome a column holds, and the sentence that says so."""
    if not column.values:
        raise InputError(column.argument, f"nothing in the column {column.name!r}", "at least two different outcomes")
    if levels is not None:
        return _levels(list(levels))
    numbers = np.unique(numbers_of(column.values))
    if numbers.size > FEW and not np.isnan(numbers).any():
        return _number(numbers)
    texts = ordered(column.values)
    lower = {text.casefold(): text for text in texts}
    for pair in WORST_BEST:
        if set(lower) <= set(pair) and len(lower) == len(texts):
            return _levels([lower.get(word, word) for word in pair])
    if any(text.endswith("+") for text in texts):
        return _times(column, texts)
    if np.isnan(numbers).any():
        few = ", ".join(texts[:5]) + (", .." if len(texts) > 5 else "")
        hint = 'name them from worst to best, as in levels=["worst", "best"], or give space='
        raise InputError(column.argument, f"{few} in the column {column.name!r}", "numbers, or yes and no", hint)
    if set(numbers) <= {0.0, 1.0}:
        return _levels(["0", "1"])
    if numbers.size < 2:
        raise InputError(column.argument, f"{texts[0]} alone in the column {column.name!r}", "different outcomes")
    if numbers.size == 2 or (numbers.size <= FEW and np.all(numbers == np.floor(numbers))):
        return _levels([text_of(float(number)) for number in numbers])
    return _number(numbers)


def codes_of(column: Column, outcome: Outcome) -> IntArray:
    """The code of each row's outcome; UNSEEN where it has none."""
    if isinstance(outcome, Levels):
        return indices(column, outcome.names)
    if not isinstance(outcome, Number):
        return column.each(lambda value: outcome.code(value.strip() if isinstance(value, str) else value))
    steps = (numbers_of(column.values) - outcome.low) / outcome.step
    near = np.rint(steps)
    plain = (np.abs(steps - near) < 0.5 - _HALF_WAY) & (near >= 0) & (near < outcome.size)
    points = dict(zip(column.values, np.where(plain, near, UNSEEN).astype(np.int64).tolist(), strict=True))
    # What is outside is refused by the outcome itself, and half-way between two points it says which.
    return column.each(lambda value: outcome.code(value) if points[value] == UNSEEN else points[value])


def _levels(names: list[str]) -> tuple[Outcome, str]:
    numbers = [number_of(name) for name in names]
    known = [number for number in numbers if number is not None]
    worth = known if len(known) == len(names) else [float(i) for i in range(len(names))]
    pairs = ", ".join(f"{name} counts as {value:g}" for name, value in zip(names, worth, strict=True))
    return Levels(tuple(names), tuple(worth)), f"Outcomes are levels: {pairs}."


def _number(numbers: FloatArray) -> tuple[Outcome, str]:
    low, high, step = _grid(numbers)
    found = Number(low, high, step)
    return found, (
        f"Outcomes are numbers from {low:g} to {high:g}, in steps of {step:g}; that range is what was seen, and what"
        " needs one that was known before the trial is only as good as it."
    )


def _times(column: Column, texts: Sequence[str]) -> tuple[Outcome, str]:
    numbers = [number_of(text.removesuffix("+")) for text in texts]
    for value in column.values:
        if number_of(text_of(value).removesuffix("+")) is None:
            where = column.place(column.values.index(value))
            raise InputError(where, shown(value), "a time, with a plus where it is censored")
    _, high, step = _grid(np.array([0.0, *(number for number in numbers if number is not None)]))
    found = Time(high, step=step)
    return found, f"Outcomes are times to an event, censored where they end in a plus, watched for {high:g} at most."


def _grid(numbers: FloatArray) -> tuple[float, float, float]:
    """The least range and the step of a grid that holds these numbers, or nearly where they have too many digits."""
    decimals = next((d for d in range(MOST_DECIMALS) if _whole(numbers * 10.0**d)), MOST_DECIMALS)
    least = (numbers.max() - numbers.min()) / MOST_STEPS
    while 10.0**-decimals < least:
        decimals -= 1
    step = Decimal(1).scaleb(-decimals)
    low = (Decimal(repr(float(numbers.min()))) / step).to_integral_value("ROUND_FLOOR") * step
    high = (Decimal(repr(float(numbers.max()))) / step).to_integral_value("ROUND_CEILING") * step
    return float(low), float(high), float(step)


def _whole(numbers: FloatArray) -> bool:
    return bool(np.all(np.abs(numbers - np.rint(numbers)) <= 1e-9 * np.maximum(1.0, np.abs(numbers))))
