"""Logs from data frames of somebody else's trial: polars or pandas, a row a decision."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from takeup.checks import IntArray, shown
from takeup.covariates import Covariates
from takeup.errors import InputError
from takeup.frames import labels, measured
from takeup.frames.columns import Column, Frame, column, text_of
from takeup.frames.contexts import context_indices
from takeup.frames.covariates import Asked, features_in, kinds_in, names_asked
from takeup.frames.files import own_table
from takeup.frames.inferring import columns_of, inferred, once
from takeup.log.shares import Probability, probabilities
from takeup.log.table import Log
from takeup.outcomes import Better, Levels
from takeup.space import Space


class Rows(NamedTuple):
    """The rows of a frame in indices, in their order.

    Attributes:
        frame: the table.
        space: what the indices stand for.
        context: x.
        proposal: z.
        implemented: a; None where no column says.
        outcome: the code of y, or UNSEEN.
        unit: whom each is about; None where no column says.
        inferred: what was taken to be so where nobody said, a sentence each.
        features: of the covariates, (n, d); None where there are none.
    """

    frame: Frame
    space: Space
    context: IntArray
    proposal: IntArray
    implemented: IntArray | None
    outcome: IntArray
    unit: NDArray[np.str_] | None
    inferred: tuple[str, ...]
    features: IntArray | None = None


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
    covariates: Asked = None,
) -> Log:
    """The log of a frame, a row a decision, in the order of the rows.

    Missing values (null, NaN, None and blank texts) of what was taken and of the outcome are UNSEEN. What is inferred
    where `space` is left out is in the log's `inferred`, a sentence each: labels are in the order of numbers, or of the
    alphabet; an outcome of at most ten whole numbers is one of levels, each worth itself, of more a `Number` over the
    range that was seen, of texts such as "90+" a `Time`. Labels that differ in case or blanks alone are one. What is
    taken is known by the next decision.

    Args:
        frame: a polars or pandas frame, a mapping from the names of columns to lists, or the path of a file.
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
        covariates: columns of what else was known of each before; or a mapping from them to what each is, a `Measure`,
            a `Category` or None where it is to be inferred: more than ten different numbers are a measure over the
            range that was seen, anything else is a category. With a `space` they are those that it has.

    Raises:
        LabelError: a label that is not known; names row, column and what is.
        InputError: a column that is not there, or holds what it should not.
    """
    rows = rows_of(
        frame,
        assigned=assigned,
        outcome=outcome,
        taken=taken,
        context=context,
        probability=probability,
        unit=unit,
        exposure=exposure,
        space=space,
        levels=levels,
        better=better,
        covariates=covariates,
    )
    p, estimated, how = probabilities(rows.frame, probability, rows.space.proposals, rows.proposal, rows.context)
    return Log.of(
        rows.space,
        rows.proposal,
        p,
        outcome=rows.outcome,
        implemented=rows.implemented,
        context=rows.context,
        unit=rows.unit,
        estimated=estimated,
        inferred=[*rows.inferred, how] if how else rows.inferred,
        features=rows.features,
    )


def rows_of(
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
    covariates: Asked = None,
    **others: str | None,
) -> Rows:
    """The rows of a frame, or of a file, in indices; all arguments as `log_of` takes them.

    Nothing is made of the probabilities. The `others` are more columns that are wanted, each for one thing alone.
    """
    for name, given in (("levels", levels), ("better", better)):
        if space is not None and given is not None:
            raise InputError(name, shown(given), "nothing beside space=, which says it")
    columns: dict[str, object] = {
        "assigned": assigned,
        "outcome": outcome,
        "taken": taken,
        "context": context,
        **others,
    }
    columns |= {"probability": probability, "unit": unit, "exposure": exposure}
    columns["covariates"] = names_asked(covariates)
    once(**columns)
    frame, read = own_table(frame, columns)
    found = columns_of(
        frame,
        assigned=assigned,
        outcome=outcome,
        taken=taken,
        context=context,
        exposure=exposure,
        offers=() if space is None else (*space.proposals, *space.implemented),
        levels=_levels_of(space, levels),
        contexts=() if space is None else space.contexts,
    )
    said: Sequence[str] = found.said
    if space is None:
        told, said = inferred(found, probability=probability, levels=levels, better=better, exposure=exposure)
        kinds, more = kinds_in(frame, covariates)
        space, said = Space(**told, covariates=kinds), [*said, *more]
    x = context_indices(found.met, space.contexts) if found.met is not None else np.zeros_like(found.proposed.codes)
    return Rows(
        frame,
        space,
        x,
        labels.indices(found.proposed, space.proposals),
        None if found.did is None else labels.indices(found.did, space.implemented),
        measured.codes_of(found.came, space.outcome),
        None if unit is None else _units(column(frame, "unit", unit)),
        (*said, *read),
        features_in(frame, _known(space, covariates)),
    )


def _known(space: Space, asked: Asked) -> Covariates | None:
    """The covariates of a space; those that are asked for beside it have to be these."""
    found = () if space.covariates is None else space.covariates.names
    if asked is not None and (set(names_asked(asked)) != set(found)):
        allowed = f"those of space=, {', '.join(found)}" if found else "nothing beside space=, which has none"
        raise InputError("covariates", shown(list(names_asked(asked))), allowed)
    return space.covariates


def _levels_of(space: Space | None, levels: Sequence[str] | None) -> Sequence[str]:
    """The levels of an outcome, as far as somebody said."""
    if space is not None:
        return space.outcomes if isinstance(space.outcome, Levels) else ()
    return levels or ()


def _units(who: Column) -> NDArray[np.str_]:
    return np.array([*map(text_of, who.values), ""])[who.codes]
