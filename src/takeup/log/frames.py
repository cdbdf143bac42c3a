"""Logs from data frames of somebody else's trial: polars or pandas, a row a decision."""

from collections.abc import Sequence

import numpy as np

from takeup.checks import IntArray, shown
from takeup.errors import NOTHING, InputError
from takeup.log import labels, measured
from takeup.log.columns import Column, Frame, column, text_of
from takeup.log.shares import Probability, probabilities
from takeup.log.table import Log
from takeup.space import UNSEEN, Space

NOT_RECORDED = "not recorded"
"""The context of those of whom it is not known."""


def log_of(
    frame: Frame,
    *,
    assigned: str,
    outcome: str,
    taken: str | None = None,
    context: str | Sequence[str] | None = None,
    probability: Probability = None,
    unit: str | None = None,
    space: Space | None = None,
    levels: Sequence[str] | None = None,
) -> Log:
    """The log of a frame, a row a decision, in the order of the rows.

    Missing values (null, NaN, None and blank texts) of what was taken and of the outcome are UNSEEN. What is inferred
    where `space` is left out is in the log's `inferred`, a sentence each: labels are in the order of numbers, or of the
    alphabet; an outcome of at most ten whole numbers is one of levels, each worth itself, of more a `Number` over the
    range that was seen, of texts such as "90+" a `Time`. What is taken is known by the next decision.

    Args:
        frame: a polars or pandas frame, or a mapping from the names of columns to lists.
        assigned: the column of what was proposed.
        outcome: the column of what came of it.
        taken: the column of what was implemented; UNSEEN of all where left out.
        context: the column, or several that are crossed, that people were told apart by before.
        probability: the column of the probability of what was assigned, which is enough for two proposals or where it
            was the same throughout a context; a mapping from labels to columns, or columns in the order of the
            proposals; a mapping from labels to shares of fixed randomisation. Estimated as such shares where left out:
            the log is then `estimated`.
        unit: the column of whom each row is about.
        space: what labels there are; inferred where left out.
        levels: the labels of the outcome from worst to best, where they are texts and no space is given.

    Raises:
        LabelError: a label that is not known; names row, column and what is.
        InputError: a column that is not there, or holds what it should not.
    """
    if space is not None and levels is not None:
        raise InputError("levels", shown(levels), "nothing beside a space, which has them")
    proposed = labels.required(column(frame, "assigned", assigned))
    if not proposed.codes.size:
        raise InputError("frame", "no rows", "a row for each decision")
    came = column(frame, "outcome", outcome)
    did = None if taken is None else column(frame, "taken", taken)
    met = _crossed(frame, context)
    said: list[str] = []
    if space is None:
        space, said = _space(proposed, did, came, met, probability, levels)
    x = np.zeros(proposed.codes.size, dtype=np.int64) if met is None else _contexts(met, space)
    z = labels.indices(proposed, space.proposals)
    p, estimated, how = probabilities(frame, probability, space.proposals, z, x)
    return Log.of(
        space,
        z,
        p,
        outcome=measured.codes_of(came, space.outcome),
        implemented=None if did is None else labels.indices(did, space.implemented),
        context=x,
        unit=None if unit is None else _units(column(frame, "unit", unit)),
        estimated=estimated,
        inferred=[*said, how] if how else said,
    )


def _space(
    proposed: Column,
    did: Column | None,
    came: Column,
    met: Column | None,
    probability: Probability,
    levels: Sequence[str] | None,
) -> tuple[Space, list[str]]:
    """What there is, as far as the columns tell, and what was taken to be so."""
    if isinstance(probability, str | Sequence) or probability is None:
        proposals = labels.several(labels.ordered(proposed.values), proposed)
        said = [f"Proposals, in the order of their labels: {', '.join(proposals)}."]
    else:
        proposals, said = [text_of(label) for label in probability], []
    implemented, intended = proposals, None
    if did is not None:
        implemented = labels.actions(did, proposals)
        codes = labels.indices(proposed, proposals), labels.indices(did, implemented)
        intended, how = labels.intended(proposals, implemented, *codes)
        if implemented != proposals:
            said.append(f"Actions: {', '.join(implemented)}.")
        said += [how] if how else []
    kind, sentence = measured.outcome_from(came, levels)
    contexts: list[str] | int = 1
    if met is not None:
        known = labels.ordered(met.values)
        contexts = [*known, *([NOT_RECORDED] if met.missing else [])]
        lost = f"; those of {met.missing} are not recorded, which is a context of its own" if met.missing else ""
        said.append(f"Contexts: {', '.join(known)}{lost}.")
    space = Space(proposals, implemented, contexts=contexts, outcomes=kind, intended=intended)
    return space, [*said, sentence]


def _crossed(frame: Frame, context: str | Sequence[str] | None) -> Column | None:
    """The column of the context; several are one, whose labels name the columns, and none where one of them is none."""
    if context is None or isinstance(context, str):
        return None if context is None else column(frame, "context", context)
    parts = [column(frame, "context", name) for name in context]
    if not parts:
        raise InputError("context", "no columns", "at least one")
    together: IntArray = np.stack([part.codes for part in parts])
    found, codes = np.unique(together, axis=1, return_inverse=True)
    names = [
        ", ".join(f"{part.name} {text_of(part.values[k])}" for part, k in zip(parts, each, strict=True))
        for each in found.T
        if UNSEEN not in each
    ]
    place = np.full(found.shape[1], UNSEEN)
    place[(found != UNSEEN).all(axis=0)] = np.arange(len(names))
    return Column("context", " x ".join(context), tuple(names), place[codes.reshape(-1)])


def _contexts(met: Column, space: Space) -> IntArray:
    found = labels.indices(met, space.contexts)
    if met.missing and NOT_RECORDED not in space.contexts:
        raise InputError(met.place(UNSEEN), NOTHING, f"one of {', '.join(space.contexts)}")
    return np.where(found == UNSEEN, len(space.contexts) - 1, found) if met.missing else found


def _units(who: Column) -> "np.ndarray[tuple[int, ...], np.dtype[np.str_]]":
    return np.array([*map(text_of, who.values), ""])[who.codes]
