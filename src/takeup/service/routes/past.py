"""Taking over a running trial: those who were assigned before."""

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, FailFast, Field, StrictFloat, StrictInt

from takeup.service.auth import KeyRoute, needs
from takeup.service.models import Covariates, IdempotencyKey, Label, Name, Strict, TrialId
from takeup.service.routes.reports import OutcomeTable
from takeup.service.service import caller_of, service_of
from takeup.trial.commands import MOST_BATCH, Ask
from takeup.trial.past import PastAssignment, TakeOver
from takeup.trial.reporting import MOST_NUMBER

router = APIRouter(route_class=KeyRoute, tags=["trials"])
MOST_SHARES = 1_000
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class PastUnit(Strict):
    """Somebody who was assigned before.

    Attributes:
        unit: whom it is about.
        context: which of the trial's contexts they are in; may be left out where there is one.
        occasion: which of the unit's decisions, where it has many.
        proposal: what was proposed.
        implemented: what was implemented, where it is known.
        outcome: what came of it, where it is known: as a report has it.
        probability: what each proposal was drawn with, in the order of the spec; left out where it is not known.
        decided: when, in microseconds since 1970, UTC; left out where it is not known.
        covariates: the value of each by name, where the trial has some; null where it is missing.
    """

    unit: Name
    context: Label | None = None
    occasion: Name | None = None
    proposal: Label
    implemented: Label | None = None
    outcome: Label | StrictFloat | OutcomeTable | None = None
    probability: Annotated[tuple[Share, ...], Field(max_length=MOST_SHARES)] | None = None
    decided: Annotated[StrictInt, Field(ge=0, le=MOST_NUMBER)] | None = None
    covariates: Covariates | None = None


class PastUnits(Strict):
    """Those who were assigned before, in the order in which they were."""

    past: Annotated[list[PastUnit], Field(min_length=1, max_length=MOST_BATCH), FailFast()]


class PastTaken(BaseModel):
    """How many were taken over."""

    past: int


_PROBLEMS = ("not-found", "state", "conflict", "in-flight", "reused-key")


@router.post("/trials/{trial}/past", **needs("design", problems=_PROBLEMS, body=True))
async def take_over(
    request: Request, trial: TrialId, made: PastUnits, idempotency_key: IdempotencyKey = None
) -> PastTaken:
    """Take over a running trial into a draft: who was assigned before becomes its first decisions, all or none."""
    rows = tuple(map(_assigned, made.past))
    command = TakeOver(past=rows, key=idempotency_key, **caller_of(request).asking)
    return PastTaken(past=await service_of(request).submit(trial, command, idempotency_key))


def _assigned(each: PastUnit) -> PastAssignment:
    outcome = each.outcome
    return PastAssignment(
        ask=Ask(unit=each.unit, context=each.context, occasion=each.occasion, covariates=each.covariates),
        proposal=each.proposal,
        implemented=each.implemented,
        outcome=outcome.model_dump(exclude_none=True) if isinstance(outcome, OutcomeTable) else outcome,
        probability=each.probability,
        decided=each.decided,
    )
