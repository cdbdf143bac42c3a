"""Counts over an exposure in somebody else's table: "3/1.37", "3 in 1.37 years", or a column of each."""

import re

import numpy as np

from takeup.errors import InputError
from takeup.frames.columns import Column, text_of
from takeup.frames.grids import grid_of
from takeup.outcomes import UNSEEN, Better, Count, Outcome
from takeup.outcomes.base import MOST_CODES

_COUNT = re.compile(r"(\d+)\s*(?:/|\bin\b)\s*(\d*\.?\d+)\s*(.*)")
FEWEST_STEPS = 10.0
"""So many steps an exposure has at least."""


def over(events: Column, exposure: Column) -> Column:
    """Counts by their exposures, as texts such as 3/1.37; nothing where either of them is missing."""
    numbers = exposure.numbers("an exposure, as a number")
    wrong = (events.codes != UNSEEN) & (numbers <= 0)
    if wrong.any():
        row = int(wrong.argmax())
        where = f"exposure: row {row + 1}, column {exposure.name!r}"
        raise InputError(where, f"{numbers[row]:g}", "an exposure above 0", "leave it empty where nobody was watched")
    pairs, place = np.unique(np.stack([events.codes, exposure.codes]), axis=1, return_inverse=True)
    known = (pairs != UNSEEN).all(axis=0)
    kept = pairs[:, known].T
    values = [f"{text_of(events.values[i])}/{text_of(exposure.values[j])}" for i, j in kept]
    codes = np.full(known.size, UNSEEN)
    codes[known] = np.arange(len(values))
    return Column(events.argument, events.name, tuple(values), codes[place.reshape(-1)])


def counts_in(column: Column) -> tuple[Column, str] | None:
    """A column whose every value is a count over an exposure, each as 3/1.37, and its unit; None where it is none."""
    found = [_COUNT.fullmatch(value.strip()) if isinstance(value, str) else None for value in column.values]
    units = {each[3].strip() for each in found if each is not None}
    if not found or None in found or len(units) > 1:
        return None
    each = tuple(f"{each[1]}/{each[2]}" for each in found if each is not None)
    places = {value: i for i, value in enumerate(dict.fromkeys(each))}
    moved = np.array([*(places[value] for value in each), UNSEEN], dtype=np.int64)
    return Column(column.argument, column.name, tuple(places), moved[column.codes]), units.pop()


def count_from(column: Column, unit: str, better: Better | None) -> tuple[Outcome, str]:
    """The kind of outcome of counts such as 3/1.37, fewer being better where nobody says, and the sentence about it."""
    parts = [str(value).split("/") for value in column.values]
    most, exposures = max(1, *(int(float(events)) for events, _ in parts)), [float(each) for _, each in parts]
    _, longest, step = grid_of(np.array([0.0, *exposures]))
    if longest < FEWEST_STEPS * step:
        step = longest / FEWEST_STEPS
    while (most + 1) * longest / step > MOST_CODES:
        step *= 10
    end = better or "lower"
    found = Count(most, exposure=unit or "units", longest=longest, step=step, better=end)
    good = "fewer" if end == "lower" else "more"
    most_of = f"counts of at most {most} over exposures of at most {longest:g} {unit or 'units'}"
    return found, f"Outcomes are {most_of}, kept in steps of {step:g}, and {good} are better."
