"""The log of a trial: pages of it, and its export."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import Response
from sqlalchemy import Connection

from takeup.live.export import Format
from takeup.live.export_files import installed
from takeup.service.pages.page import READERS, Pages, Visit
from takeup.service.problem import ProblemError
from takeup.service.routes.log import MEDIA, archived, exported
from takeup.store import reading
from takeup.store.reading import Logged
from takeup.trial.design import Design
from takeup.trial.events import KINDS, Event, event_of
from takeup.trial.reporting import MOST_NUMBER

pages = Pages()
PAGE = 50
MOST_DECISIONS = 100
"""How many decisions of one unit are looked for."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """An event as a page shows it.

    Attributes:
        sequence: its place.
        kind: its kind.
        at: when it happened.
        decision: the decision that it is about.
        hash: its hash; None for blinded readers.
        event: all that it says; None for blinded readers.
        body: the same as JSON that people can read.
    """

    sequence: int
    kind: str
    at: int
    decision: int | None
    hash: str | None = None
    event: Event | None = None
    body: str | None = None


@pages.get("/app/trials/{trial}/log", *READERS)
async def log(visit: Visit) -> Response:
    """A page of the log, the latest first; blinded readers see what happened when."""
    asked = {name: value.strip() for name, value in visit.request.query_params.items()}
    kind = asked.get("kind") if asked.get("kind") in KINDS else None
    wrong: dict[str, str] = {}
    decision, before, after = (_number(asked, name, wrong) for name in ("decision", "before", "after"))
    unit = asked.get("unit") or None

    def look(connection: Connection) -> tuple[list[Logged], bool, Design]:
        design = Design.of_text(reading.head(connection, visit.trial).spec)
        wanted = None if decision is None else [decision]
        if unit is not None:
            own = reading.of_unit(connection, visit.trial, unit, MOST_DECISIONS)
            wanted = own if wanted is None else [number for number in own if number in wanted]
        if wanted == []:
            return [], False, design
        found = reading.log(
            connection,
            visit.trial,
            after=before or after or 0,
            limit=PAGE + 1,
            decision=wanted,
            kind=kind,
            backwards=after is None,
        )
        entries = list(found)
        more = len(entries) > PAGE
        return (entries[:PAGE] if after is None else entries[:PAGE][::-1]), more, design

    found, more, design = await visit.read(lambda: visit.service.store.read(look))
    kept = {name: asked[name] for name in ("kind", "decision", "unit") if asked.get(name)}
    older = found and (more if after is None else True)
    newer = found and (before is not None if after is None else more)
    return visit.page(
        "log",
        422 if wrong else 200,
        trial=visit.trial,
        lines=[_line(each, visit.unblinded) for each in found],
        contexts=len(design.space.contexts),
        words=design.spec.words,
        kinds={name: each.plural for name, each in KINDS.items()},
        fields=asked,
        wrong=wrong,
        older=urlencode({**kept, "before": found[-1].sequence}) if older else None,
        newer=urlencode({**kept, "after": found[0].sequence}) if newer else None,
        filtered=bool(kept),
        cdisc=visit.unblinded and design.spec.decisions == "one",
        formats=[kind for kind in MEDIA if installed(kind)],
    )


@pages.get("/app/trials/{trial}/export", *READERS)
async def export(visit: Visit) -> Response:
    """All decisions as a file, a row each, as the API has it."""
    asked = visit.request.query_params.get("format", "csv")
    kind: Format | None = next((each for each in MEDIA if each == asked), None)
    if kind is None:
        raise ProblemError("input", f"there is no format {asked[:40]!r}", allowed=", ".join(MEDIA))
    return await exported(visit.service, visit.trial, kind, blinded=not visit.unblinded)


@pages.get("/app/trials/{trial}/cdisc", "read-unblinded")
async def cdisc(visit: Visit) -> Response:
    """The datasets of CDISC in one file."""
    return await archived(visit.service, visit.trial)


def _number(asked: Mapping[str, str], name: str, wrong: dict[str, str]) -> int | None:
    given = asked.get(name, "")
    if not given:
        return None
    if not (given.isascii() and given.isdecimal() and 1 <= int(given[:20]) <= MOST_NUMBER):
        wrong[name] = "Expected: a whole number."
        return None
    return int(given)


def _line(entry: Logged, unblinded: bool) -> LogLine:
    if not unblinded:
        return LogLine(entry.sequence, entry.kind, entry.at, entry.decision)
    body = json.dumps(json.loads(entry.body), indent=1, ensure_ascii=False)
    return LogLine(entry.sequence, entry.kind, entry.at, entry.decision, entry.hash, event_of(entry.body), body)
