"""Is it there, is it ready, how is it doing?"""

from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from takeup.service.auth import KeyRoute, needs, open_to_all
from takeup.service.callers import SCOPES
from takeup.service.metrics import MEDIA
from takeup.service.problem import ProblemError
from takeup.service.service import service_of
from takeup.version import __version__

router = APIRouter(route_class=KeyRoute, tags=["health"])
_METRICS = needs(*SCOPES)
_TEXT = {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}


class Health(BaseModel):
    """That the service is there."""

    status: Literal["ok"] = "ok"
    version: str


class Ready(Health):
    """That the service can do its work; a write and a read have just shown it."""

    oldest_seconds: float


@router.get("/health", **open_to_all())
async def health() -> Health:
    """The process is there."""
    return Health(version=__version__)


@router.get("/ready", **open_to_all("unavailable"))
async def ready(request: Request) -> Ready:
    """The database can be written and read, and no request has waited for long."""
    service = service_of(request)
    problems = await service.readiness.problems()
    if problems:
        raise ProblemError("unavailable", "; ".join(problems), headers={"Retry-After": "1"})
    return Ready(version=__version__, oldest_seconds=round(service.store.oldest, 3))


@router.get(
    "/metrics",
    response_class=Response,
    **{**_METRICS, "responses": {**_METRICS["responses"], 200: _TEXT}},
)
async def metrics(request: Request) -> Response:
    """Requests, their duration and what waits, for Prometheus; nothing about any trial."""
    return Response(service_of(request).metrics.text(), headers={"Content-Type": MEDIA})
