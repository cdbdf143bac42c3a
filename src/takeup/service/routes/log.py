"""The log: looked through, exported, audited."""

import json
import logging
import re
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel, TypeAdapter
from starlette.types import Receive, Scope, Send

from takeup.cdisc.archive import ArchiveJob, archive
from takeup.errors import InputError, StoreError, TakeupError
from takeup.live import Audit, Trial
from takeup.live.export import Format
from takeup.live.export_files import check
from takeup.live.long_jobs import LongJob
from takeup.service.auth import KeyRoute, needs
from takeup.service.models import TrialId
from takeup.service.problem import ProblemError
from takeup.service.service import Service, service_of, unblinded
from takeup.store import reading, shared
from takeup.store.reading import Logged
from takeup.trial.events import Kind
from takeup.trial.reporting import MOST_NUMBER

LOG = logging.getLogger("takeup.service")
router = APIRouter(route_class=KeyRoute, tags=["log"])
MEDIA: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "jsonl": "application/jsonl",
    "json": "application/json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
LONG = 5_000
"""From this many events on, a long job gets a process of its own, whose start alone takes a second."""


def _schema(kind: Format) -> dict[str, Any]:
    """What a file is to OpenAPI: a list of rows where it is JSON."""
    return {"type": "array", "items": {"type": "object"}} if kind == "json" else {"type": "string"}


_AUDIT = TypeAdapter(Audit)
_READERS: dict[str, Any] = needs("read-blinded", "read-unblinded", problems=("not-found",))


class EventShown(BaseModel):
    """An event of the log.

    Attributes:
        sequence: its place.
        kind: what kind of event.
        at: when it happened.
        decision: the one decision that it is about.
        hash: covers it and all before it; withheld from blinded readers, who could test guesses against it.
        event: all that it says; withheld from blinded readers.
    """

    sequence: int
    kind: str
    at: int
    decision: int | None
    hash: str | None
    event: dict[str, Any] | None


class EventPage(BaseModel):
    """A part of the log; `next` is the `after` of the next page, None at the end."""

    events: tuple[EventShown, ...]
    next: int | None


class AuditShown(BaseModel):
    """What an audit found.

    Attributes:
        trial: the trial's identifier.
        passed: whether no difference was found.
        where: where the first difference is; no more than that it is in the tables for blinded readers, as the name
            of a row tells what was proposed and came of it.
        expected: what follows from the log up to there; withheld from blinded readers.
        found: what is there; withheld from blinded readers.
        events: how many events were read.
        decisions: how many of them are decisions.
        rederived: decisions that were derived again, with their probabilities, and came out the same.
        other_software: decisions that another version made and this one would have made otherwise, or not at all, by
            version.
        fallbacks: decisions that clients drew by themselves.
        past: assignments from before the trial came to takeup, which nothing can derive again.
        looks: planned looks that were held, and derived again.
        looks_other_software: how many of them another version judged otherwise than this one does.
        anchors: how many signed anchors were compared; None where there are none.
        unanchored: how many events follow the last anchor; None where there are none.
        fallbacks_by: how many of the fallbacks each of those who recorded them did.
        seeded: whether somebody chose the seed, so that they could foresee every proposal; null where the log does not
            say, as version 0.1 did not.
    """

    trial: str
    passed: bool
    where: str | None
    expected: str | None
    found: str | None
    events: int
    decisions: int
    rederived: int
    other_software: dict[str, int]
    fallbacks: int
    past: int
    looks: int
    looks_other_software: int
    anchors: int | None
    unanchored: int | None
    fallbacks_by: dict[str, int]
    seeded: bool | None

    @classmethod
    def of(cls, audit: Audit, *, blinded: bool) -> "AuditShown":
        """The findings, for a reader."""
        values, difference = asdict(audit), audit.difference
        del values["difference"]
        shown = None if blinded else difference
        return cls(
            **values,
            passed=audit.passed,
            where=None if difference is None else _coarse(difference.where) if blinded else difference.where,
            expected=None if shown is None else shown.expected,
            found=None if shown is None else shown.found,
        )


@router.get("/trials/{trial}/events", **_READERS)
async def events(
    request: Request,
    trial: TrialId,
    after: Annotated[int, Query(description="Begin after this event.", ge=0, le=MOST_NUMBER)] = 0,
    limit: Annotated[int, Query(description="At most so many.", ge=1, le=1_000)] = 100,
    decision: Annotated[int | None, Query(description="Of one decision alone.", ge=1, le=MOST_NUMBER)] = None,
    kind: Annotated[Kind | None, Query(description="Of one kind alone.")] = None,
    backwards: Annotated[bool, Query(description="Begin with the latest, or before `after`.")] = False,
) -> EventPage:
    """A page of the log. Blinded readers see what happened when, and neither what was said nor any hash."""
    service, open_ = service_of(request), unblinded(request)
    await _events(service, trial)

    def look() -> list[Logged]:
        return Trial(service.store, trial).events(
            after=after, limit=limit, decision=decision, kind=kind, backwards=backwards
        )

    found = await service.read(look)
    shown = tuple(
        EventShown(
            sequence=each.sequence,
            kind=each.kind,
            at=each.at,
            decision=each.decision,
            hash=each.hash if open_ else None,
            event=json.loads(each.body) if open_ else None,
        )
        for each in found
    )
    return EventPage(events=shown, next=shown[-1].sequence if len(shown) == limit else None)


@router.get(
    "/trials/{trial}/export",
    response_class=Response,
    **{
        **_READERS,
        "responses": {
            **_READERS["responses"],
            200: {
                "description": "A row a decision.",
                "content": {media.partition(";")[0]: {"schema": _schema(kind)} for kind, media in MEDIA.items()},
            },
        },
    },
)
async def export(
    request: Request,
    trial: TrialId,
    format: Annotated[Format, Query(description="What kind of file.")] = "csv",  # noqa: A002  # the word that people use
) -> Response:
    """All decisions as a file, a row each. Blinded readers get neither arms nor outcomes nor probabilities."""
    return await exported(service_of(request), trial, format, blinded=not unblinded(request))


async def exported(service: Service, trial: str, kind: Format, *, blinded: bool) -> Response:
    """All decisions as a temporary file; written by another process where there are many."""
    check(kind)
    folder = tempfile.TemporaryDirectory(prefix="takeup-export-")
    file = Path(folder.name) / f"{trial}.{kind}"
    long_job = LongJob(
        kind="export",
        database=service.store.url,
        trial=trial,
        file=str(file),
        format=kind,
        blinded=blinded,
        at=service.store.clock(),
    )

    def here() -> None:
        Trial(service.store, trial).export(file, kind, blinded=blinded)

    try:
        if await _long(service, trial):
            await _send(service, long_job)
        else:
            async with service.turn.taken(wait=True):
                await service.read(here)
    except BaseException:
        folder.cleanup()
        raise
    return PassingFile(file, folder, MEDIA[kind])


async def archived(service: Service, trial: str) -> Response:
    """All datasets of CDISC as a temporary ZIP file; written by another process where there are many decisions."""
    folder = tempfile.TemporaryDirectory(prefix="takeup-export-")
    file = Path(folder.name) / f"{trial}-cdisc.zip"
    try:
        if await _long(service, trial):
            job = ArchiveJob(database=service.store.url, trial=trial, file=str(file))
            problem = (await _send(service, job)).get("problem")
            if problem is not None:
                raise ProblemError("input", problem)
        else:
            async with service.turn.taken(wait=True):
                await service.read(lambda: service.store.read(lambda c: archive(c, trial, file)))
    except BaseException:
        folder.cleanup()
        raise
    return PassingFile(file, folder, "application/zip")


@router.get("/trials/{trial}/audit", **_READERS)
async def audit(request: Request, trial: TrialId) -> AuditShown:
    """Derive everything again from the log, and compare; one audit at a time.

    Blinded readers learn whether and where there is a difference, not what it is.
    """
    return AuditShown.of(await audited(service_of(request), trial), blinded=not unblinded(request))


async def audited(service: Service, trial: str) -> Audit:
    """Audit a trial, by another process where it is long."""
    settings = service.settings
    long_job = LongJob(
        kind="audit",
        database=service.store.url,
        trial=trial,
        anchors=None if settings.anchors is None else str(settings.anchors),
        anchor_key=None if settings.anchor_key is None else str(settings.anchor_key),
    )

    def here() -> Audit:
        try:
            anchors = long_job.signed()
        except InputError as error:
            raise _failed(long_job, error) from error
        return Trial(service.store, trial).audit(anchors)

    if await _long(service, trial):
        return _AUDIT.validate_python(await _send(service, long_job))
    async with service.turn.taken(wait=True):
        return await service.read(here)


class PassingFile(FileResponse):
    """A temporary file, deleted once it was sent or could not be."""

    def __init__(self, file: Path, folder: "tempfile.TemporaryDirectory[str]", media: str) -> None:
        super().__init__(file, media_type=media, filename=file.name, headers={"Accept-Ranges": "none"})
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it whole."""
        whole = {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"range"]}
        try:
            await super().__call__(whole, receive, send)
        finally:
            self._folder.cleanup()


def _coarse(where: str) -> str:
    """Where a difference is, for a blinded reader."""
    return where if re.fullmatch(r"event \d+|the log", where) else "the tables"


async def _events(service: Service, trial: str) -> int:
    """How many events a trial has; an error where there is no such trial."""
    head = await service.read(lambda: service.store.read(lambda connection: reading.head(connection, trial)))
    return int(head.sequence)


async def _long(service: Service, trial: str) -> bool:
    """Whether a long job in this trial is better done by another process, and can be."""
    return await _events(service, trial) >= LONG and shared(service.store.url)


async def _send(service: Service, long_job: LongJob | ArchiveJob) -> dict[str, Any]:
    async with service.turn.taken(wait=False):
        try:
            return await long_job.send()
        except StoreError as error:
            raise _failed(long_job, error) from error


def _failed(long_job: LongJob | ArchiveJob, error: TakeupError) -> ProblemError:
    """What is told of a job that failed: its error names the service's files."""
    what = long_job.kind if isinstance(long_job, LongJob) else "export"
    LOG.error("the %s of trial %s failed: %s", what, long_job.trial, error)
    return ProblemError("unavailable", f"the {what} failed; the service's own log says why")
