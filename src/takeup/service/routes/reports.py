"""Reporting what became of decisions."""

import asyncio

from fastapi import APIRouter, Request

from takeup.errors import ConflictError, ReusedKeyError, TakeupError
from takeup.service.auth import needs
from takeup.service.fast_routes import FastRoute
from takeup.service.models import IdempotencyKey, ReportMade, ReportResult, ReportResults, ReportsMade, TrialId
from takeup.service.problem import Refused, refused
from takeup.service.service import caller_of, service_of, unblinded
from takeup.trial import Receipt, Report

router = APIRouter(route_class=FastRoute, tags=["reports"])
_PROBLEMS = ("not-found", "conflict", "in-flight", "reused-key")


@router.post("/trials/{trial}/reports", **needs("report", problems=_PROBLEMS, body=True))
async def report(request: Request, trial: TrialId, made: ReportMade, idempotency_key: IdempotencyKey = None) -> Receipt:
    """Tell what became of a decision: the action, the outcome or both, in any order, at any time.

    What contradicts an earlier report needs a reason; the log keeps both. What will never be known is declared missing.
    """
    return await _submit(request, trial, made, idempotency_key)


@router.post("/trials/{trial}/reports/batch", **needs("report", problems=("not-found",), body=True))
async def report_many(
    request: Request, trial: TrialId, made: ReportsMade, idempotency_key: IdempotencyKey = None
) -> ReportResults:
    """Tell what became of many decisions; each report stands for itself, and gets a receipt or a problem of its own.

    The report at place i, counted from 0, has the idempotency key `KEY/i`.
    """
    keys = [None if idempotency_key is None else f"{idempotency_key}/{i}" for i in range(len(made.reports))]
    waiting = (_result(request, trial, each, key) for each, key in zip(made.reports, keys, strict=True))
    return ReportResults(results=tuple(await asyncio.gather(*waiting)))


async def _result(request: Request, trial: str, made: ReportMade, key: str | None) -> ReportResult:
    try:
        return ReportResult(receipt=await _submit(request, trial, made, key))
    except (TakeupError, Refused) as error:
        return ReportResult(problem=refused(error).problem)


async def _submit(request: Request, trial: str, made: ReportMade, key: str | None) -> Receipt:
    command = Report(**dict(made), key=key, by=caller_of(request).shown)
    try:
        return await service_of(request).submit(trial, command, key)
    except ReusedKeyError:
        raise
    except ConflictError as error:
        if unblinded(request):
            raise
        detail = "it contradicts an earlier report; a correction needs a reason"
        raise Refused("conflict", detail) from error  # the error's own words say what was reported
