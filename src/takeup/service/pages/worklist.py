"""The worklist: who awaits a report, late first; and reminders as a file."""

import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import Response
from sqlalchemy import Connection

from takeup.live import Progress, progress_in
from takeup.live.export import time_of
from takeup.live.export_columns import Column
from takeup.live.export_files import write
from takeup.service.pages.decided_before import numbered, spellings
from takeup.service.pages.page import Pages, Visit
from takeup.service.routes.log import MEDIA, PassingFile
from takeup.store import reading
from takeup.store.worklist import Awaited, Worklist
from takeup.trial.commands import MOST_NAME
from takeup.trial.design import Design
from takeup.trial.reporting import MOST_NUMBER

pages = Pages()
PAGE = 50
COLUMNS = {
    "unit": Column(str, "whom it was for"),
    "occasion": Column(str, "which of the unit's decisions; empty where a unit has one"),
    "decision": Column(int, "the decision's number"),
    "action_awaited": Column(str, "whether what was done is still to be reported"),
    "outcome_awaited": Column(str, "whether what came of it is"),
    "late": Column(str, "whether the outcome is, and its window has closed"),
    "decided_at": Column(datetime, "when it was decided"),
    "due_at": Column(datetime, "when the outcome window closes"),
}
"""Of the reminders."""


@pages.get("/app/trials/{trial}/worklist", "report")
async def worklist(visit: Visit) -> Response:
    """A page of it, or the units whose names begin with what was typed."""
    asked = visit.request.query_params
    wanted = asked.get("find", "").strip()[:MOST_NAME]
    late = None if "after" in asked else _number(asked.get("late", ""))
    after = _number(asked.get("after", ""))
    behind = (asked.get("unit", "")[:MOST_NAME], asked.get("occasion", "")[:MOST_NAME])

    def look(connection: Connection) -> tuple[Design, Progress, tuple[str, list[Awaited]]]:
        design, listed = _opened(visit, connection)
        found = _begun(listed, wanted, behind) if wanted else ("", listed.part(PAGE + 1, late, after))
        return design, progress_in(connection, visit.trial, listed.at), found

    design, progress, (prefix, found) = await visit.read(lambda: visit.service.store.read(look))
    shown, more = found[:PAGE], len(found) > PAGE
    return visit.page(
        "worklist",
        trial=visit.trial,
        design=design,
        words=design.spec.words,
        progress=progress,
        lines=shown,
        fields={"find": prefix},
        prefix=prefix,
        begun=bool(late or after or behind[0]),
        onward=_onward(shown[-1], prefix) if more else None,
        told=_number(asked.get("told", "")),
        at=visit.service.store.clock(),
    )


@pages.get("/app/trials/{trial}/worklist.csv", "report")
async def reminders(visit: Visit) -> Response:
    """All of it as a CSV, a row for everybody who is to be reminded of."""
    folder = tempfile.TemporaryDirectory(prefix="takeup-worklist-")
    file = Path(folder.name) / f"{visit.trial}-worklist.csv"

    def make(connection: Connection) -> None:
        write(file, _rows(_opened(visit, connection)[1]), COLUMNS, "csv")

    try:
        async with visit.service.turn.taken(wait=True):
            await visit.read(lambda: visit.service.store.read(make))
    except BaseException:
        folder.cleanup()
        raise
    return PassingFile(file, folder, MEDIA["csv"])


def _opened(visit: Visit, connection: Connection) -> tuple[Design, Worklist]:
    design = Design.of_text(reading.head(connection, visit.trial).spec)
    at, actions = visit.service.store.clock(), design.spec.compliance == "always"
    return design, Worklist(connection, visit.trial, at, actions)


def _begun(listed: Worklist, prefix: str, behind: tuple[str, str]) -> tuple[str, list[Awaited]]:
    """Units whose names begin so; if none does, in other letters, or those of the decision that has this number."""
    for name in (prefix, *(() if behind[0] else spellings(prefix))):
        found = listed.units(name, PAGE + 1, behind)
        if found:
            return name, found
    number = 0 if behind[0] else _number(prefix)
    before = numbered(listed.connection, listed.trial, number) if number else None
    units = [] if before is None else listed.units(before.unit, PAGE)
    return prefix, [each for each in units if each.number == number]


def _rows(listed: Worklist) -> Iterator[dict[str, Any]]:
    for each in listed.all():
        yield {
            "unit": each.unit,
            "occasion": each.occasion or None,
            "decision": each.number,
            "action_awaited": _yes(each.action),
            "outcome_awaited": _yes(each.outcome),
            "late": _yes(each.late),
            "decided_at": time_of(each.at),
            "due_at": None if each.due is None else time_of(each.due),
        }


def _yes(so: bool) -> str:
    return "yes" if so else "no"


def _onward(last: Awaited, prefix: str) -> str:
    """The query of the next page."""
    if prefix:
        return urlencode({"find": prefix, "unit": last.unit, "occasion": last.occasion})
    return urlencode({"late" if last.late else "after": last.number})


def _number(given: str) -> int:
    good = given.isascii() and given.isdecimal() and int(given[:20]) <= MOST_NUMBER
    return int(given) if good else 0
