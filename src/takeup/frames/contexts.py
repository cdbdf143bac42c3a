"""What people were told apart by before: one column, or several that are crossed."""

from collections.abc import Sequence

import numpy as np

from takeup.checks import IntArray
from takeup.errors import NOTHING, InputError
from takeup.frames import labels
from takeup.frames.columns import Column, Frame, column, text_of
from takeup.frames.spelling import alike
from takeup.outcomes import UNSEEN

MOST_CONTEXTS = 20
"""So many contexts there may be, however few rows."""

NOT_RECORDED = "not recorded"
"""The context of those of whom it is not known."""


def crossed(
    frame: Frame, context: str | Sequence[str] | None, known: Sequence[str] = ()
) -> tuple[Column | None, list[str]]:
    """The column of the context; several are one, whose labels name the columns, and none where one of them is none.

    With a sentence for each label that was spelled in several ways.

    Args:
        frame: the table.
        context: the name of the column, or names of several.
        known: what contexts there are, as far as somebody said.
    """
    if context is None:
        return None, []
    names = [context] if isinstance(context, str) else list(context)
    if not names:
        raise InputError("context", "no columns", "at least one")
    parts, said = [], []
    for name in names:
        (part,), more = alike([column(frame, "context", name)], known if name == context else ())
        parts.append(part)
        said += more
    if isinstance(context, str):
        return parts[0], said
    together: IntArray = np.stack([part.codes for part in parts])
    found, codes = np.unique(together, axis=1, return_inverse=True)
    labelled = [
        ", ".join(f"{part.name} {text_of(part.values[k])}" for part, k in zip(parts, each, strict=True))
        for each in found.T
        if UNSEEN not in each
    ]
    place = np.full(found.shape[1], UNSEEN)
    place[(found != UNSEEN).all(axis=0)] = np.arange(len(labelled))
    return Column("context", " x ".join(context), tuple(labelled), place[codes.reshape(-1)]), said


def known_contexts(met: Column) -> list[str]:
    """The contexts, if they are not nearly as many as rows: in one of a person or two nothing can be compared."""
    known = labels.ordered(met.values)
    if len(known) > MOST_CONTEXTS and 2 * len(known) > met.codes.size:
        value = f"{len(known):,} different values in {met.codes.size:,} rows of the column {met.name!r}"
        hint = "a column of identifiers is named with unit="
        raise InputError("context", value, "a column of few values, each of many people, such as the site", hint)
    return known


def context_indices(met: Column, contexts: Sequence[str]) -> IntArray:
    """The index of each row's context."""
    found = labels.indices(met, contexts)
    if met.missing and NOT_RECORDED not in contexts:
        raise InputError(met.place(UNSEEN), NOTHING, f"one of {', '.join(contexts)}")
    return np.where(found == UNSEEN, len(contexts) - 1, found) if met.missing else found
