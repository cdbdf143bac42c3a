"""Operation qualification: a live trial that is killed, audited, forged, exported and restored."""

import importlib
import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from shutil import copyfile
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from takeup.qualification.check import Check, Finding, Group

if TYPE_CHECKING:
    from takeup.live import DatabaseAudit
    from takeup.qualification.killed import KilledTrial

FORGERIES = {
    "a letter in an event": "UPDATE events SET body = replace(body, 'new drug', 'new drum') WHERE kind = 'decided'",
    "a count": "UPDATE evidence SET amount = amount + 1",
    "another unit in the table of decisions": "UPDATE decisions SET unit = 'somebody' WHERE number = 3",
    "a row of no log": "INSERT INTO evidence VALUES ('qualification', 1, 1, 9, 9, 0)",
    "a trigger of somebody's": "CREATE TRIGGER mine AFTER INSERT ON events BEGIN DELETE FROM evidence; END",
}
"""What somebody who can write to the database may do to it; a statement each."""


def group(folder: Path) -> Group:
    """The checks of a live trial, which is kept in a folder."""

    @cache
    def trial() -> "KilledTrial":
        from takeup.qualification.killed import KilledTrial

        return KilledTrial(folder)

    forged = tuple(
        Check(
            title=f"Control: the audit of a copy with {what}",
            requirements=("R-2.3",),
            look=lambda statement=statement: _forged(trial(), statement),  # type: ignore[misc]
            control=True,
        )
        for what, statement in FORGERIES.items()
    )
    return Group(
        "A live trial",
        (
            Check(
                title="A process is killed while it decides: all that it acknowledged is in the log, once",
                requirements=("R-3.1",),
                look=lambda: _kept(trial()),
            ),
            Check(
                title="Control: an acknowledgement of what never happened",
                requirements=("R-3.1",),
                look=lambda: _lost(trial()),
                control=True,
            ),
            Check(
                title="Asked again under the same keys it gives the same answers",
                requirements=("R-3.3",),
                look=lambda: _again(trial()),
            ),
            Check(
                title="The audit passes and derives every decision again",
                requirements=("R-2.2", "R-1.4"),
                look=lambda: _audited(trial()),
            ),
            *forged,
            Check(
                title="Control: an early copy is put back, which the anchors show",
                requirements=("R-2.4",),
                look=lambda: _put_back(trial()),
                control=True,
            ),
            Check(
                title="The log refuses to be changed and to lose a row",
                requirements=("R-2.1",),
                look=lambda: _refused(trial()),
            ),
            Check(
                title="An export is read back as the log that it was made from",
                requirements=("R-8.1",),
                look=lambda: _exported(trial()),
            ),
            Check(
                title="A blinded export names no arm, action or outcome",
                requirements=("R-4.2",),
                look=lambda: _blinded(trial()),
            ),
            Check(
                title="A backup of the running trial passes its audit",
                requirements=("R-10.1",),
                look=lambda: _backup(trial()),
            ),
            Check(
                title="The seed is in no event before the end and in the last one after it",
                requirements=("R-2.8",),
                look=lambda: _ended(trial()),
            ),
        ),
    )


def _kept(trial: "KilledTrial") -> Finding:
    from takeup.qualification.killed import logged, not_once

    with trial.open() as opened:
        wrong = not_once(trial.acknowledged, logged(opened))
    count = len(trial.acknowledged)
    said = f"; {', '.join(wrong[:3])}" if wrong else ""
    return Finding("none lost or doubled", f"{count} acknowledged, {len(wrong)} lost or doubled{said}", not wrong)


def _lost(trial: "KilledTrial") -> Finding:
    from takeup.qualification.killed import logged, not_once

    with trial.open() as opened:
        wrong = not_once([*trial.acknowledged, ("decided", 10**9, "nobody", "new drug")], logged(opened))
    right = ["decided 1000000000 of nobody: 0 times"]
    return Finding(right[0], ", ".join(wrong) or "nothing", wrong == right)


def _again(trial: "KilledTrial") -> Finding:
    decided = [each for each in trial.acknowledged if each[0] == "decided"]
    with trial.open() as opened:
        before = opened.progress().decisions
        answers = [opened.decide(unit, int(unit.split("-")[1]) % 2, key=f"d{unit}") for _, _, unit, _ in decided]
        made = opened.progress().decisions - before
    same = sum((a.number, a.proposal) == (number, arm) for a, (_, number, _, arm) in zip(answers, decided, strict=True))
    found = f"{same} of {len(decided)} the same, {made} new decisions"
    return Finding(f"{len(decided)} the same, 0 new decisions", found, same == len(decided) and made == 0)


def _audit(database: Path, anchors: Path | None = None) -> "DatabaseAudit":
    from takeup.live import audit_database, read_anchors, read_key
    from takeup.store import looking

    signed = None if anchors is None else read_anchors(anchors / "anchors.jsonl", read_key(anchors / "anchors.key"))
    with looking(database) as connection:
        return audit_database(connection, signed)


def _difference(found: "DatabaseAudit") -> str:
    all_of_them = [found.difference, *(each.difference for each in found.audits)]
    return next((str(each) for each in all_of_them if each is not None), "no difference")


def _audited(trial: "KilledTrial") -> Finding:
    found = _audit(trial.database, trial.folder)
    (one,) = found.audits
    words = f"{_difference(found)}; {one.rederived} of {one.decisions} decisions derived again; {one.anchors} anchors"
    return Finding("no difference; all derived again", words, found.passed and one.rederived == one.decisions > 0)


@contextmanager
def _copy(trial: "KilledTrial") -> Iterator[tuple[Path, sqlite3.Connection]]:
    """A copy of the database, and a connection to do to it what one likes."""
    path = trial.folder / "forged.db"
    copyfile(trial.database, path)
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            yield path, connection
    finally:
        for each in trial.folder.glob("forged.db*"):
            each.unlink()


def _forged(trial: "KilledTrial", statement: str) -> Finding:
    with _copy(trial) as (path, connection):
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        changed = connection.execute(statement).rowcount
        for _, made in triggers:
            connection.execute(made)
        connection.close()
        found = _audit(path)
    return Finding("a difference", shorten(_difference(found), 200), changed != 0 and not found.passed)


def _put_back(trial: "KilledTrial") -> Finding:
    alone, anchored = _audit(trial.early), _audit(trial.early, trial.folder)
    words = f"without anchors: {_difference(alone)}; with them: {_difference(anchored)}"
    return Finding("without anchors: no difference; with them: one", words, alone.passed and not anchored.passed)


def _refused(trial: "KilledTrial") -> Finding:
    said = []
    with _copy(trial) as (_, connection):
        for statement in ("UPDATE events SET at = at + 1", "DELETE FROM events"):
            try:
                connection.execute(statement)
                said.append("done")
            except sqlite3.Error as error:
                said.append(str(error))
    return Finding("both refused", "; ".join(said), "done" not in said)


def _exported(trial: "KilledTrial") -> Finding:
    from takeup.log import read_log

    file = trial.folder / "export.csv"
    with trial.open() as opened:
        opened.export(file)
        log = opened.log()
    read = read_log(file)
    names = ("context", "proposal", "probability", "implemented", "outcome", "source", "unit")
    other = [name for name in names if not np.array_equal(getattr(log, name), getattr(read, name))]
    found = f"{read.proposal.size} rows; {', '.join(other) or 'no column'} differs"
    return Finding("no column differs", found, not other and read.space == log.space)


def _blinded(trial: "KilledTrial") -> Finding:
    out, open_out = io.BytesIO(), io.BytesIO()
    with trial.open() as opened:
        opened.export(out, "jsonl", blinded=True)
        opened.export(open_out, "jsonl")
    labels = ("usual care", "new drug", "died", "lived")
    told, known = ([each for each in labels if each in shown.getvalue().decode()] for shown in (out, open_out))
    found = f"{', '.join(told) or 'none'}; in the one that is not blinded: {', '.join(known)}"
    return Finding("none; in the one that is not blinded: all four", found, not told and len(known) == 4)


def _backup(trial: "KilledTrial") -> Finding:
    from takeup.store import library

    copy = trial.folder / "backup.db"
    with trial.open() as opened:
        events = len(opened.events(limit=1_000_000))
        if library().shared:
            _backed_up(trial.database, copy)
    if not copy.exists():
        _backed_up(trial.database, copy)  # a SQLite with the WAL-reset bug lets nobody else in meanwhile
    found = _audit(copy)
    words = f"{_difference(found)}; {found.audits[0].events} of {events} events"
    return Finding("no difference; all events", words, found.passed and found.audits[0].events == events)


def _backed_up(database: Path, copy: Path) -> None:
    """By the SQLite that the store uses: the locks of two of them in one process do not hold against each other."""
    from takeup.store import library

    connect = importlib.import_module(library().module).connect
    with closing(connect(str(database))) as source, closing(connect(str(copy))) as target:
        source.backup(target)


def _ended(trial: "KilledTrial") -> Finding:
    def seeds(events: list[Any]) -> list[int]:
        return [each.sequence for each in events if json.loads(each.body).get("secret") is not None]

    with trial.open() as opened:
        before = seeds(opened.events(limit=1_000_000))
        opened.stop(by="qualification")
        events = opened.events(limit=1_000_000)
        after = seeds(events)
    audited = _audit(trial.database, trial.folder)
    words = f"before: {before or 'none'}; after: {after} of {len(events)}; {_difference(audited)}"
    right = not before and after == [events[-1].sequence] and audited.passed
    return Finding("before: none; after: the last; no difference", words, right)
