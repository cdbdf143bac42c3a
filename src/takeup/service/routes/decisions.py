"""Asking for decisions."""

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, FailFast, Field, StrictInt

from takeup.service.auth import needs
from takeup.service.fast_routes import FastRoute
from takeup.service.models import Covariates, IdempotencyKey, Label, Name, Strict, TrialId
from takeup.service.service import caller_of, service_of
from takeup.trial import Ask, Decide, DecideMany, Decision, Fallback
from takeup.trial.commands import MOST_BATCH
from takeup.trial.reporting import MOST_NUMBER

router = APIRouter(route_class=FastRoute, tags=["decisions"])
_PROBLEMS = ("not-found", "conflict", "in-flight", "state", "reused-key")


class UnitAsked(Strict):
    """A unit that needs a decision.

    Attributes:
        unit: who it is for.
        context: which of the trial's contexts the unit is in; may be left out where there is one.
        occasion: which of the unit's decisions, where a unit has many.
        covariates: the value of each by name, where the trial has some; null where it is missing.
    """

    unit: Name
    context: Label | None = None
    occasion: Name | None = None
    covariates: Covariates | None = None

    @property
    def ask(self) -> Ask:
        """As a trial takes it."""
        return Ask(unit=self.unit, context=self.context, occasion=self.occasion, covariates=self.covariates)


class UnitsAsked(Strict):
    """Units that need decisions, which all see the same evidence."""

    units: Annotated[list[UnitAsked], Field(min_length=1, max_length=MOST_BATCH), FailFast()]


class Decisions(BaseModel):
    """Decisions, in the order of the units."""

    decisions: tuple[Decision, ...]


class FallbackMade(UnitAsked):
    """A proposal that a client drew from the trial's fallback probabilities.

    Attributes:
        unit: who it is for.
        context: which of the trial's contexts the unit is in; may be left out where there is one.
        occasion: which of the unit's decisions, where a unit has many.
        covariates: the value of each by name, where the trial has some; null where it is missing.
        proposal: what was drawn.
        drawn: when, in microseconds since 1970, UTC.
    """

    proposal: Label
    drawn: Annotated[StrictInt, Field(ge=0, le=MOST_NUMBER)] | None = None


@router.post("/trials/{trial}/decisions", **needs("decide", problems=_PROBLEMS, body=True))
async def decide(
    request: Request, trial: TrialId, asked: UnitAsked, idempotency_key: IdempotencyKey = None
) -> Decision:
    """What to propose to a unit.

    A unit (and occasion) that is asked for twice gets the same answer, and the log says who asked. A blinded key is
    told of the decisions that it asked for itself, or a key of its site did. Nothing in it tells how likely it was.
    """
    command = Decide(ask=asked.ask, key=idempotency_key, **caller_of(request).asking)
    return await service_of(request).submit(trial, command, idempotency_key)


@router.post("/trials/{trial}/decisions/batch", **needs("decide", problems=_PROBLEMS, body=True))
async def decide_many(
    request: Request, trial: TrialId, asked: UnitsAsked, idempotency_key: IdempotencyKey = None
) -> Decisions:
    """What to propose to many units, who all see the same evidence: all are decided, or none."""
    units = tuple(each.ask for each in asked.units)
    command = DecideMany(units=units, key=idempotency_key, **caller_of(request).asking)
    return Decisions(decisions=await service_of(request).submit(trial, command, idempotency_key))


@router.post("/trials/{trial}/fallbacks", **needs("decide", problems=_PROBLEMS, body=True))
async def fall_back(
    request: Request, trial: TrialId, made: FallbackMade, idempotency_key: IdempotencyKey = None
) -> Decision:
    """Record a proposal that a client drew from the trial's fallback probabilities, as it could not reach the service.

    Where the unit has its decision already, that one stands and is the answer; the log keeps what the client drew. The
    spec's `fallback_limits` say how late, and how many a day.
    """
    command = Fallback(
        ask=made.ask, proposal=made.proposal, drawn=made.drawn, key=idempotency_key, **caller_of(request).asking
    )
    return await service_of(request).submit(trial, command, idempotency_key)
