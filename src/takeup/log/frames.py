"""Logs from data frames of somebody else's trial: polars or pandas, a row a decision."""

from collections.abc import Mapping, Sequence

import numpy as np

from takeup.checks import IntArray, shown
from takeup.errors import NOTHING, InputError
from takeup.log import labels, measured
from takeup.log.columns import Column, Frame, column, named, text_of
from takeup.log.exposures import over
from takeup.log.shares import Probability, probabilities
from takeup.log.spelling import alike, near
from takeup.log.table import Log
from takeup.outcomes import Better, Levels
from takeup.space import UNSEEN, Space

MOST_CONTEXTS = 20
"""So many contexts there may be, however few rows."""

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
    exposure: str | None = None,
    space: Space | None = None,
    levels: Sequence[str] | None = None,
    better: Better | None = None,
) -> Log:
    """The log of a frame, a row a decision, in the order of the rows.

    Missing values (null, NaN, None and blank texts) of what was taken and of the outcome are UNSEEN. What is inferred
    where `space` is left out is in the log's `inferred`, a sentence each: labels are in the order of numbers, or of the
    alphabet; an outcome of at most ten whole numbers is one of levels, each worth itself, of more a `Number` over the
    range that was seen, of texts such as "90+" a `Time`. Labels that differ in case or blanks alone are one. What is
    taken is known by the next decision.

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
        exposure: the column of how long, or over how much, events were counted, where the outcome is a count; texts
            such as "3/1.37" and "3 in 1.37 years" have it in the outcome's own column.
        space: what labels there are; inferred where left out.
        levels: the labels of the outcome from worst to best, where no space is given.
        better: "lower" where low numbers are good, or no of no and yes; "higher" where left out.

    Raises:
        LabelError: a label that is not known; names row, column and what is.
        InputError: a column that is not there, or holds what it should not.
    """
    for name, given in (("levels", levels), ("better", better)):
        if space is not None and given is not None:
            raise InputError(name, shown(given), "nothing beside space=, which says it")
    _once(
        assigned=assigned,
        outcome=outcome,
        taken=taken,
        context=context,
        probability=probability,
        unit=unit,
        exposure=exposure,
    )
    proposed = labels.required(column(frame, "assigned", assigned))
    if not proposed.codes.size:
        raise InputError("frame", "no rows", "a row for each decision")
    offers = [proposed] if taken is None else [proposed, column(frame, "taken", taken)]
    offers, said = alike(offers, () if space is None else (*space.proposals, *space.implemented))
    (proposed, did) = (offers[0], None) if taken is None else offers
    happened = column(frame, "outcome", outcome)
    if exposure is not None:
        happened = over(happened, column(frame, "exposure", exposure))
    (came,), more = alike([happened], _levels_of(space, levels))
    met, others = _crossed(frame, context, space)
    said += [*more, *others]
    if space is None:
        space, found = _space(proposed, did, came, met, probability, levels, better, exposure or "")
        said = [*found, *said, *near([*offers, *([] if met is None else [met])])]
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
    better: Better | None,
    exposure: str,
) -> tuple[Space, list[str]]:
    """What there is, as far as the columns tell, and what was taken to be so."""
    proposals, said = _proposals(proposed, probability)
    implemented, intended = proposals, None
    if did is not None:
        implemented = labels.actions(did, proposals)
        codes = labels.indices(proposed, proposals), labels.indices(did, implemented)
        intended, how = labels.intended(proposals, implemented, *codes)
        if implemented != proposals:
            said.append(f"Actions: {', '.join(implemented)}.")
        said += [how] if how else []
    kind, sentence = measured.outcome_from(came, levels, better, exposure)
    contexts: list[str] | int = 1
    if met is not None:
        known = _few_enough(labels.ordered(met.values), met)
        contexts = [*known, *([NOT_RECORDED] if met.missing else [])]
        lost = f"; those of {met.missing} are not recorded, which is a context of its own" if met.missing else ""
        said.append(f"Contexts: {named(known)}{lost}.")
    space = Space(proposals, implemented, contexts=contexts, outcomes=kind, intended=intended)
    return space, [*said, sentence]


def _few_enough(known: list[str], met: Column) -> list[str]:
    """The contexts, if they are not nearly as many as rows: in one of a person or two nothing can be compared."""
    if len(known) > MOST_CONTEXTS and 2 * len(known) > met.codes.size:
        value = f"{len(known):,} different values in {met.codes.size:,} rows of the column {met.name!r}"
        hint = "a column of identifiers is named with unit="
        raise InputError("context", value, "a column of few values, each of many people, such as the site", hint)
    return known


def _proposals(proposed: Column, probability: Probability) -> tuple[list[str], list[str]]:
    """What was proposed, the control first where one name says that it is, and what was taken to be so."""
    if isinstance(probability, Mapping):
        names, order = [text_of(label) for label in probability], "in the order of their probabilities"
    else:
        names, order = labels.several(labels.ordered(proposed.values), proposed), "in the order of their labels"
    control = labels.control_in(names)
    in_columns = probability is not None and not isinstance(probability, str | Mapping)
    if control is not None and not in_columns:  # columns are in the order of labels
        names.insert(0, names.pop(control))
        return names, [f"Proposals, {names[0]} first, which is the control by its name: {', '.join(names)}."]
    return names, [f"Proposals, {order}: {', '.join(names)}."]


def _once(**columns: object) -> None:
    """No column is named for two things."""
    roles: dict[str, str] = {}
    for role, given in columns.items():
        names = [given] if isinstance(given, str) else given if isinstance(given, list | tuple) else []
        for name in names:
            if (first := roles.setdefault(name, role)) != role or names.count(name) > 1:
                raise InputError(role, shown(name), "a column of its own", f"the same column is named for {first}=")


def _levels_of(space: Space | None, levels: Sequence[str] | None) -> Sequence[str]:
    """The levels of an outcome, as far as somebody said."""
    if space is not None:
        return space.outcomes if isinstance(space.outcome, Levels) else ()
    return levels or ()


def _crossed(frame: Frame, context: str | Sequence[str] | None, space: Space | None) -> tuple[Column | None, list[str]]:
    """The column of the context; several are one, whose labels name the columns, and none where one of them is none.

    With a sentence for each label that was spelled in several ways.
    """
    if context is None:
        return None, []
    names = [context] if isinstance(context, str) else list(context)
    if not names:
        raise InputError("context", "no columns", "at least one")
    parts, said = [], []
    for name in names:
        known = () if space is None or name != context else space.contexts
        (part,), more = alike([column(frame, "context", name)], known)
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


def _contexts(met: Column, space: Space) -> IntArray:
    found = labels.indices(met, space.contexts)
    if met.missing and NOT_RECORDED not in space.contexts:
        raise InputError(met.place(UNSEEN), NOTHING, f"one of {', '.join(space.contexts)}")
    return np.where(found == UNSEEN, len(space.contexts) - 1, found) if met.missing else found


def _units(who: Column) -> "np.ndarray[tuple[int, ...], np.dtype[np.str_]]":
    return np.array([*map(text_of, who.values), ""])[who.codes]
