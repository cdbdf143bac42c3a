"""Trials: created, looked at, changed while they are drafts, started, paused and stopped."""

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection, Row

from takeup.live import Trial
from takeup.service.auth import KeyRoute, media_type, needs
from takeup.service.body import parse_json, parse_toml
from takeup.service.callers import SCOPES
from takeup.service.models import IDENTIFIER, Strict, TrialId
from takeup.service.problem import ProblemError
from takeup.service.service import caller_of, service_of
from takeup.store import reading
from takeup.trial import Design, Move
from takeup.trial.commands import MOST_REASON

router = APIRouter(route_class=KeyRoute, tags=["trials"])
TOML = "application/toml"
SPECS: dict[str, Any] = {
    "application/json": {"schema": {"$ref": "#/components/schemas/TrialSpec"}},
    TOML: {"schema": {"type": "string"}},
}
_BODY: dict[str, Any] = {"body": True, "requestBody": {"required": True, "content": SPECS}}


class StateAsked(Strict):
    """The state that a trial shall have."""

    state: Literal["running", "paused", "stopped"]
    reason: Annotated[str, Field(min_length=1, max_length=MOST_REASON)] | None = None


class TrialLine(BaseModel):
    """A trial in a list."""

    trial: str
    name: str
    state: str
    rehearsal: bool


class TrialList(BaseModel):
    """The trials that a key is valid in."""

    trials: tuple[TrialLine, ...]


class TrialShown(TrialLine):
    """A trial as it was designed.

    Attributes:
        trial: its identifier.
        name: what people call it.
        state: draft, running, paused or stopped.
        rehearsal: whether it is no real trial.
        seeded: whether somebody chose the seed, so that they can foresee every proposal; null where the log does not
            say, as version 0.1 did not.
        spec: with every default filled in; the seed is never part of it.
        fallback: the probabilities that a client draws from when the service cannot be reached.
    """

    seeded: bool | None
    spec: dict[str, Any]
    fallback: dict[str, float]


@router.post("/trials", status_code=201, **needs("design", problems=("conflict",), **_BODY))
async def create(
    request: Request,
    trial: Annotated[
        str | None, Query(description="The trial's identifier; made from its name where left out.", pattern=IDENTIFIER)
    ] = None,
) -> TrialShown:
    """A new trial, in draft, from a spec in JSON or TOML."""
    service, caller, spec = service_of(request), caller_of(request), await _spec(request)
    if trial is None and caller.trials is not None:
        raise ProblemError("forbidden", "the key is valid in some trials alone: say which one to create with ?trial=")
    if trial is not None and not caller.covers(trial):
        raise ProblemError("forbidden", f"the key is not valid in trial {trial!r}")
    checked = await service.drafts.tried(spec)
    made = await service.read(lambda: Trial.create(service.store, checked, trial=trial, by=caller.shown))
    return await _shown(request, made.id)


@router.get("/trials", **needs(*SCOPES))
async def list_trials(request: Request) -> TrialList:
    """The trials that the key is valid in."""
    service, caller = service_of(request), caller_of(request)

    def look(connection: Connection) -> list[TrialLine]:
        names = [name for name in reading.identifiers(connection) if caller.covers(name)]
        heads = [reading.head(connection, name) for name in names]
        return [_line(head) for head in heads]

    return TrialList(trials=tuple(await service.read(lambda: service.store.read(look))))


@router.get("/trials/{trial}", **needs(*SCOPES, problems=("not-found",)))
async def show(request: Request, trial: TrialId) -> TrialShown:
    """A trial as it was designed, and the probabilities that its clients fall back on."""
    return await _shown(request, trial)


@router.put("/trials/{trial}/spec", **needs("design", problems=("not-found", "state"), **_BODY))
async def amend(request: Request, trial: TrialId) -> TrialShown:
    """Another spec for a draft, in JSON or TOML; its seed stays."""
    service, caller, spec = service_of(request), caller_of(request), await _spec(request)
    checked = await service.drafts.tried(spec)
    await service.read(lambda: Trial(service.store, trial).amend(checked, by=caller.shown))
    return await _shown(request, trial)


@router.put("/trials/{trial}/state", **needs("design", problems=("not-found", "state"), body=True))
async def move(request: Request, trial: TrialId, asked: StateAsked) -> TrialLine:
    """Start a trial, pause it, let it go on, or stop it for good; asked for the state that it has, nothing changes."""
    command = Move(state=asked.state, reason=asked.reason, by=caller_of(request).shown)
    await service_of(request).move(trial, command)
    shown = await _shown(request, trial)
    return TrialLine(**shown.model_dump(include=set(TrialLine.model_fields)))


def _line(head: Row[Any]) -> TrialLine:
    spec = json.loads(head.spec)
    return TrialLine(trial=head.id, name=spec["name"], state=head.state, rehearsal=spec.get("rehearsal", False))


async def _spec(request: Request) -> dict[str, Any]:
    """The spec in a body."""
    given = media_type(request)
    if given not in SPECS:
        allowed = " or ".join(SPECS)
        raise ProblemError(
            "media-type", f"the body is {given or 'of no stated type'}, expected {allowed}", allowed=allowed
        )
    parse = parse_toml if given == TOML else parse_json
    content = await service_of(request).bodies.read(parse, await request.body())
    if not isinstance(content, dict):
        raise ProblemError("input", "the body is not a table of keys and values", argument="body", allowed="a spec")
    return content


async def _shown(request: Request, trial: str) -> TrialShown:
    store = service_of(request).store

    def look(connection: Connection) -> tuple[Row[Any], bool | None]:
        return reading.head(connection, trial), reading.seeded(connection, trial)

    return await service_of(request).read(lambda: _described(*store.read(look)))


def _described(head: Row[Any], seeded: bool | None) -> TrialShown:
    """A trial in full; a design of many contexts takes long to make."""
    design = Design.of_text(head.spec)
    return TrialShown(
        trial=head.id,
        name=design.spec.name,
        state=head.state,
        rehearsal=design.spec.rehearsal,
        seeded=seeded,
        spec=design.spec.model_dump(mode="json", exclude={"seed"}),
        fallback=dict(zip(design.space.proposals, design.fallback, strict=True)),
    )
