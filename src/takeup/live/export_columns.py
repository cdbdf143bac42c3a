"""The columns of an export: what is in each, and who may see it."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from takeup.covariates import Covariates, Measure
from takeup.log.exported import COVARIATES, probability_columns


class Column(NamedTuple):
    """A column.

    Attributes:
        kind: what its values are, where there is one.
        says: what it holds, for people.
        unblinds: whether it tells of arms or outcomes, or of what follows from them.
    """

    kind: type
    says: str
    unblinds: bool = False


_FIRST = {
    "trial": Column(str, "the trial's identifier"),
    "decision": Column(int, "the decision's number, from 1, in the order in which they were made"),
    "unit": Column(str, "whom it was for"),
    "occasion": Column(str, "which of the unit's decisions; empty where a unit has one"),
    "context": Column(str, "the group that the unit is in"),
    "ARM": Column(str, "what was proposed", True),
    "ACTARM": Column(str, "what was implemented; empty where that is not known", True),
    "outcome": Column(str, "what came of it; empty where that is not known", True),
    "reward": Column(float, "what the outcome is worth", True),
    "implemented_status": Column(str, "seen, pending, or missing: it will never be known"),
    "outcome_status": Column(str, "counted; waiting for its window to close; pending; late; or missing"),
    "decided_at": Column(datetime, "when it was decided"),
    "window_closes_at": Column(datetime, "when the outcome window closes"),
    "implemented_at": Column(datetime, "when what stands as implemented was reported", True),
    "outcome_at": Column(datetime, "when the outcome that stands was reported", True),
    "corrected": Column(int, "how many reports corrected an earlier one; 0 where none did", True),
    "probability": Column(float, "the probability of what was proposed, when it was drawn; empty where unknown", True),
}
_LAST = {
    "evidence_version": Column(
        int, "the last event of the log that the decision could learn from; none of past ones", True
    ),
    "disputes": Column(int, "how many reports contradicted an earlier one without a reason", True),
    "source": Column(
        str,
        "who drew it: the policy, the burn-in, a client by itself (fallback), or somebody before (past)",
    ),
    "software": Column(str, "what computed it; empty where a client drew it, or somebody before"),
    "purpose": Column(str, "a trial or a rehearsal, and whether somebody chose its seed"),
    "implemented_by": Column(int, "the first decision that could use what was implemented", True),
    "outcome_by": Column(int, "the first decision that could use the outcome", True),
    "space": Column(str, "all labels as JSON, in the first row alone: what reads the file back needs them", True),
}


def covariate_column(name: str) -> str:
    """What the column of a covariate is called."""
    return f"{COVARIATES}{name}"


def _before(known: dict[str, Column]) -> dict[str, Column]:
    """The first columns, those of covariates after the context."""
    place = list(_FIRST).index("context") + 1
    return dict([*list(_FIRST.items())[:place], *known.items(), *list(_FIRST.items())[place:]])


def columns_of(proposals: Sequence[str], *, blinded: bool, covariates: Covariates | None = None) -> dict[str, Column]:
    """The columns that a reader may see: the blinded get neither arms nor outcomes nor probabilities."""
    named = zip(probability_columns(proposals), proposals, strict=True)
    each = {name: Column(float, f"the probability that {label} had, when one was drawn", True) for name, label in named}
    known: dict[str, Column] = {}
    if covariates is not None:
        for name, kind in zip(covariates.names, covariates.kinds, strict=True):
            what = f"{name}, as it was known before the decision, or corrected; empty where missing"
            known[covariate_column(name)] = Column(float if isinstance(kind, Measure) else str, what)
    found = _before(known) | each | _LAST
    return {name: column for name, column in found.items() if not (blinded and column.unblinds)}
