"""Ingestion: what clients decided from leases, and what became of it, in batches."""

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from sqlalchemy import Connection

from takeup.service.auth import KeyRoute, media_type, needs
from takeup.service.edge_bodies import ARROW, LINES, READERS, read_batch
from takeup.service.models import TrialId
from takeup.service.problem import ProblemError
from takeup.service.routes.leases import check_unblinded
from takeup.service.service import caller_of, service_of
from takeup.store import reading
from takeup.trial.bounds import text
from takeup.trial.ingested import Ingested
from takeup.trial.ingesting import MOST_BATCH_NAME, Batch, key_of

router = APIRouter(route_class=KeyRoute, tags=["edge"])
_CONTENT: dict[str, Any] = {
    LINES: {"schema": {"type": "string"}},
    ARROW: {"schema": {"type": "string", "format": "binary"}},
}
_BODY: dict[str, Any] = {"body": True, "requestBody": {"required": True, "content": _CONTENT}}
_PROBLEMS = ("not-found", "state", "conflict", "in-flight")


class RowRefused(BaseModel):
    """A row that was not recorded.

    Attributes:
        row: its place in the batch, counted from 0.
        why: what is wrong with it.
    """

    row: int
    why: str


class LeaseLapsed(BaseModel):
    """A lease of which draws were set aside: from a moment on, nobody should go by what it gives.

    Attributes:
        lease: its number.
        lease_hash: its fingerprint, as the rows said it.
        drawn: when the first of these draws was made, in microseconds since 1970, UTC.
    """

    lease: int
    lease_hash: str | None
    drawn: int


class BatchTaken(BaseModel):
    """What became of a batch.

    Attributes:
        batch: what its sender calls it.
        rows: how many rows it has.
        taken: how many of them have been taken: all, once there is an answer.
        recorded: decisions that are in the log.
        standing: rows that say what the log says already.
        set_aside: decisions that do not stand: the log has them, and why.
        reported: reports of decisions that were there.
        refused: the first hundred rows that were not recorded.
        lapsed: leases of which draws were set aside, a hundred at most; not those of units that have another decision.
    """

    batch: str
    rows: int
    taken: int
    recorded: int
    standing: int
    set_aside: int
    reported: int
    refused: tuple[RowRefused, ...]
    lapsed: tuple[LeaseLapsed, ...]


@router.post("/trials/{trial}/ingest", **needs("lease", problems=_PROBLEMS, **_BODY))
async def ingest(
    request: Request,
    trial: TrialId,
    batch: Annotated[
        str,
        Query(
            description="What the sender calls the batch: sent again, it has no second effect.",
            min_length=1,
            max_length=MOST_BATCH_NAME,
        ),
    ],
) -> BatchTaken:
    """Record what clients decided from leases, and what became of it: up to 100,000 rows, one a line, or of Arrow.

    A row with `lease` is a decision; it has `unit`, `occasion` where a unit has many, `context` where there are
    several, `proposal`, `drawn`, and may have `implemented`, `outcome` and `missing`. A row without is a report. A row
    that cannot be recorded stops no other: the answer tells of it. The same batch sent again goes on where it broke
    off.
    """
    check_unblinded(request)
    media = media_type(request)
    if media not in READERS:
        allowed = " or ".join(READERS)
        raise ProblemError(
            "media-type", f"the body is {media or 'of no stated type'}, expected {allowed}", allowed=allowed
        )
    text("batch", batch, MOST_BATCH_NAME)
    service, caller = service_of(request), caller_of(request)
    place = trial, key_of(batch, 0)
    if place in service.flights:
        said = f"batch {batch!r} is on its way; ask again for what became of it"
        raise ProblemError("in-flight", said, headers={"Retry-After": "1"})
    service.flights.add(place)
    try:
        rows = await service.bodies.read(partial(read_batch, media), await request.body())
        sent = Batch(batch, rows, caller.shown, caller.site)

        def begun(connection: Connection) -> Ingested:
            return sent.begun(reading.answers(connection, trial, sent.keys))

        with service.edges.taking(caller.id, len(rows)):
            found = await service.read(lambda: service.store.read(begun))
            while found.taken < found.rows:
                found = found.plus(await service.submit(trial, sent.chunk(found.taken)))
    finally:
        service.flights.discard(place)
    refused = tuple(RowRefused(row=row, why=why) for row, why in found.refused)
    lapsed = tuple(LeaseLapsed(**each._asdict()) for each in found.lapsed)
    return BatchTaken(**{**asdict(found), "refused": refused, "lapsed": lapsed})
