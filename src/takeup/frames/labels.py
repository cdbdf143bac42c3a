"""Labels of somebody else's trial: which there are where nobody says, and the index of each row's."""

import re
from collections.abc import Iterable, Sequence
from itertools import permutations

import numpy as np

from takeup.checks import IntArray, shown
from takeup.errors import NOTHING, InputError, LabelError
from takeup.frames.columns import Column, meant, number_of, text_of
from takeup.outcomes import UNSEEN

CONTROLS = {"control", "placebo", "usual", "standard", "sham", "untreated"}
"""Words in the name of what others are compared with."""

MOST_MATCHED = 7
"""Up to so many actions are matched with proposals that go by other names."""

CODE = "it is a text, and no code for one of these: put the labels in the table, or make the codes the labels"

_WORD = re.compile(r"[^\W_]+")


def ordered(labels: Iterable[object]) -> list[str]:
    """In the order of numbers where all are numbers, else of the alphabet; never as they come, which is chance."""
    texts = set(map(text_of, labels))
    numbers = {text: number_of(text) for text in texts}
    if all(number is not None for number in numbers.values()):
        return sorted(texts, key=lambda text: (numbers[text], text))
    return sorted(texts, key=lambda text: (text.casefold(), text))


def control_in(names: Sequence[str]) -> int | None:
    """The one name that says that it is the control, such as "usual care"; None where there is none, or several."""
    found = [i for i, name in enumerate(names) if CONTROLS.intersection(_WORD.findall(name.casefold()))]
    return found[0] if len(found) == 1 else None


def indices(column: Column, names: Sequence[str]) -> IntArray:
    """The index of each row's label among the names; UNSEEN where it has none.

    Numbers are the same however they are written. Where no name is a number, whole numbers may be indices.
    """
    places = {name: i for i, name in enumerate(names)}
    known = {number: i for i, name in enumerate(names) if (number := number_of(name)) is not None}
    numbers = known or {float(i): i for i in range(len(names))}

    def index(value: object) -> int:
        text = text_of(value)
        for written in (value, text):
            if isinstance(written, str) and written in places:
                return places[written]
        number = None if isinstance(value, str) and not known else number_of(value)
        if number is not None and number in numbers:
            return numbers[number]
        code = number_of(text) in range(len(names)) if isinstance(value, str) else False
        raise LabelError(column.name, shown(value), _one_of(names), CODE if code else meant(text, names))

    return column.each(index)


def required(column: Column) -> Column:
    """The column, if no row lacks a value."""
    if column.missing:
        raise InputError(column.place(UNSEEN), NOTHING, "a label in every row", "leave out who was never assigned")
    return column


def several(proposals: Sequence[str], column: Column) -> list[str]:
    """What was proposed, if it is more than one thing."""
    if len(proposals) < 2:
        allowed = "at least two different labels"
        raise InputError(column.argument, f"{_one_of(proposals)} alone in the column {column.name!r}", allowed)
    return list(proposals)


def actions(taken: Column, proposals: Sequence[str]) -> list[str]:
    """What could be implemented: the proposals and what else was, or, where names differ altogether, what was."""
    found = ordered(taken.values)
    others = [label for label in found if label not in proposals]
    if len(others) < len(found) or not found:
        return [*proposals, *others]
    if len(found) < 2:
        raise InputError(taken.argument, f"{found[0]} alone in the column {taken.name!r}", "at least two actions")
    return found


def intended(
    proposals: Sequence[str], implemented: Sequence[str], z: IntArray, a: IntArray
) -> tuple[list[int] | None, str]:
    """What complying means where no names are shared: the actions that most did, each of one proposal.

    With the sentence that says so; None where there are more of one than of the other.
    """
    many = len(proposals)
    if set(proposals) & set(implemented) or many != len(implemented) or many > MOST_MATCHED:
        return None, ""
    seen = a != UNSEEN
    table = np.zeros((many, many))
    np.add.at(table, (z[seen], a[seen]), 1)
    share = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    best = max(permutations(range(many)), key=lambda each: share[range(many), each].sum())
    pairs = ", ".join(f"{proposals[i]}: {implemented[k]}" for i, k in enumerate(best))
    return list(best), f"What complying means was taken from what most did ({pairs})."


def _one_of(names: Sequence[str]) -> str:
    few = ", ".join(names[:20]) + (f", and {len(names) - 20} more" if len(names) > 20 else "")
    return f"one of {few}" if len(names) > 1 else few
