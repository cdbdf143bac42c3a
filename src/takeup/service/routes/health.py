"""Is it there, is it ready, how is it doing?"""

from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from sqlalchemy import literal, select

from takeup.service.auth import KeyRoute, needs, open_to_all
from takeup.service.keys import SCOPES
from takeup.service.metrics import MEDIA
from takeup.service.problem import Refused
from takeup.service.service import service_of
from takeup.version import __version__

router = APIRouter(route_class=KeyRoute, tags=["health"])
_METRICS = needs(*SCOPES)
_TEXT = {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}}


class Health(BaseModel):
    """That the service is there."""

    status: Literal["ok"] = "ok"
    version: str


@router.get("/health", **open_to_all())
async def health() -> Health:
    """The process is there."""
    return Health(version=__version__)


@router.get("/ready", **open_to_all("unavailable"))
async def ready(request: Request) -> Health:
    """The database answers, and not too much waits for it."""
    service = service_of(request)
    await service.read(lambda: service.store.read(lambda connection: connection.execute(select(literal(1))).scalar()))
    if not service.store.writing:
        raise Refused("unavailable", "nothing is written any more; start the service again")
    if service.store.queued >= service.settings.queue_limit:
        raise Refused("unavailable", "too many requests are waiting for the database")
    return Health(version=__version__)


@router.get(
    "/metrics",
    response_class=Response,
    **{**_METRICS, "responses": {**_METRICS["responses"], 200: _TEXT}},
)
async def metrics(request: Request) -> Response:
    """Requests, their duration and what waits, for Prometheus; nothing about any trial."""
    return Response(service_of(request).metrics.text(), headers={"Content-Type": MEDIA})
