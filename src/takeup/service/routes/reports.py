"""Reporting what became of decisions."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, FailFast, Field, StrictBool, StrictFloat, StrictInt

from takeup.errors import TakeupError
from takeup.service.auth import needs
from takeup.service.fast_routes import FastRoute
from takeup.service.models import Covariates, IdempotencyKey, Label, Name, Strict, TrialId
from takeup.service.problem import Problem, ProblemError, refused
from takeup.service.service import caller_of, service_of
from takeup.trial import Receipt, Report
from takeup.trial.commands import MOST_BATCH, MOST_REASON
from takeup.trial.reporting import MOST_NUMBER

router = APIRouter(route_class=FastRoute, tags=["reports"])
AT_ONCE = 256
"""How many reports of a batch are handed in at once: what others send meanwhile comes between them."""
_PROBLEMS = ("not-found", "conflict", "in-flight", "reused-key")


Amount = StrictInt | Annotated[float, Field(strict=True, allow_inf_nan=False)] | Name
"""A number, or one in a text; a trial says what it may be."""


class OutcomeTable(Strict):
    """An outcome of more than one part: a count over an exposure, or a time that may be censored."""

    events: Amount | None = None
    exposure: Amount | None = None
    time: Amount | None = None
    censored: StrictBool | None = None


class ReportMade(Strict):
    """What became of a decision.

    Attributes:
        decision: the decision's number; or else `unit` and `occasion` say which.
        unit: whose decision it is.
        occasion: which of the unit's.
        implemented: a, the action.
        outcome: y: the outcome level, a number, or a table such as {"time": 90, "censored": true}.
        missing: what will never be known.
        covariates: those that are not what was said before the decision, by name; what was proposed stays.
        reason: why, where something that was reported before is corrected.
    """

    decision: Annotated[StrictInt, Field(ge=1, le=MOST_NUMBER)] | None = None
    unit: Name | None = None
    occasion: Name | None = None
    implemented: Label | None = None
    outcome: Label | StrictFloat | OutcomeTable | None = None
    missing: Annotated[tuple[Literal["implemented", "outcome"], ...], Field(max_length=2)] = ()
    covariates: Annotated[Covariates, Field(min_length=1)] | None = None
    reason: Annotated[str, Field(min_length=1, max_length=MOST_REASON)] | None = None


class ReportsMade(Strict):
    """Reports, each of which stands for itself."""

    reports: Annotated[list[ReportMade], Field(min_length=1, max_length=MOST_BATCH), FailFast()]


class ReportResult(BaseModel):
    """What became of a report: a receipt or a problem."""

    receipt: Receipt | None = None
    problem: Problem | None = None


class ReportResults(BaseModel):
    """What became of each report, in their order."""

    results: tuple[ReportResult, ...]


@router.post("/trials/{trial}/reports", **needs("report", problems=_PROBLEMS, body=True))
async def report(request: Request, trial: TrialId, made: ReportMade, idempotency_key: IdempotencyKey = None) -> Receipt:
    """Tell what became of a decision: the action, the outcome or both, in any order, at any time.

    What contradicts an earlier report needs a reason; the log keeps both. What will never be known is declared missing.
    A blinded key gets the same receipt whether or not its report agrees with an earlier one: without a reason the
    earlier one stands, the log keeps what was said, and those who may see it are told.
    """
    return await _submit(request, trial, made, idempotency_key)


@router.post("/trials/{trial}/reports/batch", **needs("report", problems=("not-found",), body=True))
async def report_many(
    request: Request, trial: TrialId, made: ReportsMade, idempotency_key: IdempotencyKey = None
) -> ReportResults:
    """Tell what became of many decisions; each report stands for itself, and gets a receipt or a problem of its own.

    The report at place i, counted from 0, has the idempotency key `KEY/i`.
    """
    results: list[ReportResult] = []
    while len(results) < len(made.reports):
        first = len(results)
        some = enumerate(made.reports[first : first + AT_ONCE], first)
        keyed = ((each, None if idempotency_key is None else f"{idempotency_key}/{i}") for i, each in some)
        results += await asyncio.gather(*(_result(request, trial, each, key) for each, key in keyed))
    return ReportResults(results=tuple(results))


async def _result(request: Request, trial: str, made: ReportMade, key: str | None) -> ReportResult:
    try:
        return ReportResult(receipt=await _submit(request, trial, made, key))
    except (TakeupError, ProblemError) as error:
        return ReportResult(problem=refused(error).problem)


async def _submit(request: Request, trial: str, made: ReportMade, key: str | None) -> Receipt:
    told = dict(made)
    if isinstance(made.outcome, OutcomeTable):
        told["outcome"] = made.outcome.model_dump(exclude_none=True)
    command = Report(**told, key=key, **caller_of(request).asking)
    return await service_of(request).submit(trial, command, key)
