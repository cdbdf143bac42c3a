"""Reading what a trial has found."""

from collections.abc import Callable
from typing import TypeVar

from fastapi import APIRouter, Request

from takeup.live import Learnt, Progress, TimeSeries, Trial, TrialSummary, Withheld
from takeup.service.auth import KeyRoute, needs
from takeup.service.models import TrialId
from takeup.service.service import service_of, unblinded

router = APIRouter(route_class=KeyRoute, tags=["reading"])

Result = TypeVar("Result")


@router.get("/trials/{trial}/progress", **needs("read-blinded", "read-unblinded", problems=("not-found",)))
async def progress(request: Request, trial: TrialId) -> Progress:
    """Counts of decisions, reports, what is pending and what is late, without a word about any arm.

    Blinded readers do not see the hash of the log's head, the version of the evidence, or how many reports contradicted
    earlier ones: they could test guesses about an outcome against them.
    """
    found = await _trial(request, trial, Trial.progress)
    return found if unblinded(request) else found.blinded


@router.get("/trials/{trial}/summary", **needs("read-unblinded", problems=("not-found",)))
async def summary(request: Request, trial: TrialId) -> TrialSummary:
    """What the trial has found: values, probability best, compliance, regret, checks, advice; unblinds.

    What is not identified is withheld, with the reason.
    """
    return await _trial(request, trial, Trial.summary)


@router.get("/trials/{trial}/course", **needs("read-unblinded", problems=("not-found",)))
async def course(request: Request, trial: TrialId) -> TimeSeries:
    """Allocation and probability best over time, in at most 128 points; unblinds."""
    return await _trial(request, trial, Trial.course)


@router.get("/trials/{trial}/learnt", **needs("read-unblinded", problems=("not-found",)))
async def learnt(request: Request, trial: TrialId) -> Learnt | Withheld:
    """What the policy has learnt about whom: the difference that proposals make over each covariate; unblinds.

    It is what the policy believes, and no effect that was shown. Where there is nothing to tell, the reason.
    """
    return await _trial(request, trial, Trial.learnt)


async def _trial(request: Request, trial: str, look: Callable[[Trial], Result]) -> Result:
    service = service_of(request)
    return await service.read(lambda: look(Trial(service.store, trial)))
