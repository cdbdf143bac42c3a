"""Asking for decisions."""

from fastapi import APIRouter, Request

from takeup.service.auth import needs
from takeup.service.fast_routes import FastRoute
from takeup.service.models import Decisions, FallbackMade, IdempotencyKey, TrialId, UnitAsked, UnitsAsked
from takeup.service.service import caller_of, service_of
from takeup.trial import Decide, DecideMany, Decision, Fallback

router = APIRouter(route_class=FastRoute, tags=["decisions"])
_PROBLEMS = ("not-found", "conflict", "in-flight", "state", "reused-key")


@router.post("/trials/{trial}/decisions", **needs("decide", problems=_PROBLEMS, body=True))
async def decide(
    request: Request, trial: TrialId, asked: UnitAsked, idempotency_key: IdempotencyKey = None
) -> Decision:
    """What to propose to a unit.

    A unit (and occasion) that is asked for twice gets the same answer. Nothing in it tells how likely it was.
    """
    command = Decide(ask=asked.ask, key=idempotency_key, by=caller_of(request).shown)
    return await service_of(request).submit(trial, command, idempotency_key)


@router.post("/trials/{trial}/decisions/batch", **needs("decide", problems=_PROBLEMS, body=True))
async def decide_many(
    request: Request, trial: TrialId, asked: UnitsAsked, idempotency_key: IdempotencyKey = None
) -> Decisions:
    """What to propose to many units, who all see the same evidence: all are decided, or none."""
    units = tuple(each.ask for each in asked.units)
    command = DecideMany(units=units, key=idempotency_key, by=caller_of(request).shown)
    return Decisions(decisions=await service_of(request).submit(trial, command, idempotency_key))


@router.post("/trials/{trial}/fallbacks", **needs("decide", problems=_PROBLEMS, body=True))
async def fall_back(
    request: Request, trial: TrialId, made: FallbackMade, idempotency_key: IdempotencyKey = None
) -> Decision:
    """Record a proposal that a client drew from the trial's fallback probabilities, as it could not reach the service.

    Where the unit has its decision already, that one stands and is the answer; the log keeps what the client drew.
    """
    command = Fallback(ask=made.ask, proposal=made.proposal, key=idempotency_key, by=caller_of(request).shown)
    return await service_of(request).submit(trial, command, idempotency_key)
