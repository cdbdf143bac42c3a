"""Whether a row can be what a log leads to: whoever can write to a database can put anything into it."""

import sys
from typing import Any

from sqlalchemy import Row

from takeup.errors import InputError, StoreError
from takeup.space import UNSEEN
from takeup.trial.design import Design
from takeup.trial.met import features_of

AUDIT = "run takeup audit, which says what is wrong"


def in_space(design: Design, row: Row[Any], outcomes: int) -> bool:
    """Whether the indices of a row are those of its trial's space, where there are so many outcomes."""
    x, z, a, _ = design.space.shape
    return (
        within(row.context, 0, x - 1)
        and within(row.proposal, 0, z - 1)
        and within(row.implemented, UNSEEN, a - 1)
        and within(row.outcome, UNSEEN, outcomes - 1)
    )


def in_table(design: Design, row: Row[Any], decisions: int) -> bool:
    """Whether a row can be one of the evidence: cells count decisions, other slots are sums of outcomes."""
    outcome = design.space.outcome
    if not in_space(design, row, outcome.width):
        return False
    return within(row.amount, 0, decisions if row.outcome < outcome.cells else sys.maxsize)


def kept_in(design: Design, covariates: object) -> bool:
    """Whether these are covariates as a trial of this design keeps them."""
    try:
        features_of(design.space, covariates if covariates is None else str(covariates))
    except (InputError, ValueError):
        return False
    return covariates is None or isinstance(covariates, str)


def within(value: object, least: int, most: int) -> bool:
    """Whether it is a whole number in these bounds; SQLite keeps other kinds of values in a column of numbers too."""
    return type(value) is int and least <= value <= most


def impossible(table: str, trial: str) -> StoreError:
    """What to say of a row that no log can lead to; not what is in it, which may unblind."""
    return StoreError(f"the table {table} holds a row of trial {trial} that no log can lead to; {AUDIT}")
