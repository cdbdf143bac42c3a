"""From books to tables: what changed, in as few statements as there are tables."""

import json
from dataclasses import asdict
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table, bindparam, insert, update
from sqlalchemy.dialects import postgresql, sqlite

from takeup.errors import StoreError
from takeup.store.schema import decisions, events, evidence, keys, rollup, trials
from takeup.trial.book import Book, Entry, Record
from takeup.trial.events import Event, kind_of
from takeup.trial.rollup import Row

_MOVING = ("implemented", "outcome", "missing_implemented", "missing_outcome", "counted")
_UPDATE_DECISION = (
    update(decisions)
    .where(decisions.c.trial == bindparam("of_trial"), decisions.c.number == bindparam("of_number"))
    .values({name: bindparam(name) for name in _MOVING})
)

_UPDATE_HEAD = update(trials).where(trials.c.id == bindparam("of_trial"), trials.c.hash == bindparam("before"))


def save(connection: Connection, book: Book, before: str | None) -> None:
    """Write down what was appended to a book.

    Args:
        connection: in a transaction that holds the trial's lock.
        book: with its changes.
        before: the hash of the head that the book was loaded from; None for a new trial.

    Raises:
        StoreError: somebody else has appended to the trial in spite of the lock.
    """
    if not book.changes.entries:
        return
    if before is None:
        connection.execute(insert(trials), {"id": book.trial, "secret": book.secret.text, **head_values(book)})
    else:
        values = {"of_trial": book.trial, "before": before, **head_values(book)}
        if connection.execute(_UPDATE_HEAD, values).rowcount != 1:
            raise StoreError(f"trial {book.trial} was changed by somebody who did not hold its lock")
    connection.execute(insert(events), [event_values(book.trial, entry) for entry in book.changes.entries])
    _save_decisions(connection, book)
    if book.changes.cells:
        cells = [_cell_values(book, cell) for cell in book.changes.cells]
        connection.execute(_upsert(connection.dialect.name, evidence, ("decisions",)), cells)
    if book.changes.keys:
        rows = [
            {"trial": book.trial, "key": key, "request": request, "sequence": sequence}
            for key, (request, sequence) in book.changes.keys.items()
        ]
        connection.execute(insert(keys), rows)
    _save_rollup(connection, book)


def head_values(book: Book) -> dict[str, Any]:
    """The head of a trial, but for its identifier and its secret."""
    return {
        "spec": book.design.text,
        "state": book.state,
        "sequence": book.sequence,
        "hash": book.hash,
        "at": book.at,
        "decisions": book.decisions,
        "version": book.version,
        **asdict(book.tally),
    }


def event_values(trial: str, entry: Entry) -> dict[str, Any]:
    """A row of the log."""
    return {
        "trial": trial,
        "sequence": entry.sequence,
        "hash": entry.hash,
        "kind": kind_of(entry.event),
        "at": entry.event.at,
        "decision": decision_number(entry.event),
        "body": entry.body,
    }


def decision_number(event: Event) -> int | None:
    """The one decision that an event is about."""
    return getattr(event, "number", None) or getattr(event, "decision", None)


def record_values(trial: str, record: Record) -> dict[str, Any]:
    """A row of the decisions."""
    return {
        "trial": trial,
        "number": record.number,
        "unit": record.unit,
        "occasion": record.occasion,
        "context": record.context,
        "proposal": record.proposal,
        "at": record.at,
        "due": record.due,
        "sequence": record.sequence,
        "implemented": record.implemented,
        "outcome": record.outcome,
        "missing_implemented": int(record.missing_implemented),
        "missing_outcome": int(record.missing_outcome),
        "counted": int(record.counted),
    }


def rollup_values(trial: str, place: tuple[int, int], row: Row) -> dict[str, Any]:
    """A row of the time series."""
    return {
        "trial": trial,
        "first": place[0],
        "context": place[1],
        "proposed": json.dumps(row.proposed),
        "probability": json.dumps(row.probability),
        "variance": json.dumps(row.variance),
        "best": json.dumps(row.best),
        "until": row.until,
    }


def _save_decisions(connection: Connection, book: Book) -> None:
    created = book.changes.created
    new = [record_values(book.trial, book.changes.records[number]) for number in sorted(created)]
    moved = [
        {"of_trial": book.trial, "of_number": number, **{name: int(getattr(record, name)) for name in _MOVING}}
        for number, record in book.changes.records.items()
        if number not in created
    ]
    if new:
        connection.execute(insert(decisions), new)
    if moved:
        connection.execute(_UPDATE_DECISION, moved)


def _cell_values(book: Book, cell: tuple[int, int, int, int]) -> dict[str, Any]:
    names = ("context", "proposal", "implemented", "outcome")
    return {"trial": book.trial, **dict(zip(names, cell, strict=True)), "decisions": int(book.counts[cell])}


def _save_rollup(connection: Connection, book: Book) -> None:
    if book.rollup.changed:
        rows = [rollup_values(book.trial, place, book.rollup.rows[place]) for place in sorted(book.rollup.changed)]
        names = ("proposed", "probability", "variance", "best", "until")
        connection.execute(_upsert(connection.dialect.name, rollup, names), rows)


@cache
def _upsert(dialect: str, table: Table, names: tuple[str, ...]) -> Any:
    """Insert, or replace what is there."""
    statement = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns),
        set_={name: statement.excluded[name] for name in names},
    )
