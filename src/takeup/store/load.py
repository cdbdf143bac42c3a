"""From tables to books: as much of a trial as the next commands need."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select, bindparam, select, tuple_

from takeup.store.schema import WAITING, decisions, events, evidence, keys, rollup, trials
from takeup.trial.asking import answered_numbers
from takeup.trial.book import Book, Record, Tally, blank
from takeup.trial.commands import Needs
from takeup.trial.design import Design
from takeup.trial.events import Answered, Decided, Reported, SetAside, event_of
from takeup.trial.rollup import Row as RollupRow
from takeup.trial.rollup import first_of
from takeup.trial.secret import Secret

CHUNK = 400
"""So many values go into one statement."""

Item = TypeVar("Item")

# Built once: building a statement costs more than running it.
_HEADS = select(trials).where(trials.c.id.in_(bindparam("some", expanding=True))).order_by(trials.c.id)
_LOCKED = _HEADS.with_for_update()
_EVIDENCE = select(evidence).where(evidence.c.trial == bindparam("trial"))
_ROLLUP = select(rollup).where(rollup.c.trial == bindparam("trial"))
_BUCKET = _ROLLUP.where(rollup.c.first == bindparam("first"))
_DECISIONS = select(decisions).where(decisions.c.trial == bindparam("trial"))
_BY_NUMBER = _DECISIONS.where(decisions.c.number.in_(bindparam("some", expanding=True)))
# SQLite thinks that a trial has about ten decisions, and would read them all.
_BY_UNIT = _DECISIONS.where(
    tuple_(decisions.c.unit, decisions.c.occasion).in_(bindparam("some", expanding=True))
).with_hint(decisions, "INDEXED BY decisions_by_unit", "sqlite")
_DUE = _DECISIONS.where(WAITING, decisions.c.due <= bindparam("at"))
_ANSWERS = (
    select(keys, events.c.body)
    .join(events, (events.c.trial == keys.c.trial) & (events.c.sequence == keys.c.sequence))
    .where(keys.c.trial == bindparam("trial"), keys.c.key.in_(bindparam("some", expanding=True)))
)


def heads(connection: Connection, wanted: Iterable[str], *, lock: bool) -> dict[str, Row[Any]]:
    """The heads of these trials; locked one after the other in one order, so that no two wait for each other."""
    statement = _LOCKED if lock and connection.dialect.name == "postgresql" else _HEADS
    return {row.id: row for row in connection.execute(statement, {"some": sorted(wanted)})}


def book_of(connection: Connection, head: Row[Any]) -> Book:
    """A trial's book without its single decisions."""
    design = Design.of_text(head.spec)
    counts = blank(design)
    for row in connection.execute(_EVIDENCE, {"trial": head.id}):
        counts[row.context, row.proposal, row.implemented, row.outcome] = row.decisions
    tally = Tally(head.missing_implemented, head.missing_outcome, head.waiting, head.corrections, head.fallbacks)
    book = Book(
        head.id,
        design,
        Secret.of_text(head.secret),
        counts,
        head.state,
        head.sequence,
        head.hash,
        head.at,
        head.decisions,
        head.version,
        tally,
    )
    load_rollup(connection, book, first=first_of(book.decisions + 1))
    return book


def load_rollup(connection: Connection, book: Book, first: int | None = None) -> None:
    """The time series: all of it, or one bucket."""
    statement = _ROLLUP if first is None else _BUCKET
    for row in connection.execute(statement, {"trial": book.trial, "first": first}):
        book.rollup.rows[row.first, row.context] = rollup_row(row)


def rollup_row(row: Row[Any]) -> RollupRow:
    """A row of the time series."""
    return RollupRow(
        json.loads(row.proposed), json.loads(row.probability), json.loads(row.variance), json.loads(row.best), row.until
    )


def fill(connection: Connection, book: Book, needs: Sequence[Needs], at: int) -> None:
    """Put into a book what commands with these needs look at, and what is due by now."""
    _fill_keys(connection, book, {need.key for need in needs if need.key is not None})
    numbers = set(chain.from_iterable(need.numbers for need in needs))
    numbers.update(chain.from_iterable(answered_numbers(event) for event in book.answers.values()))
    for some in _chunks(numbers):
        _remember(connection, book, _BY_NUMBER, some=some)
    for pairs in _chunks(set(chain.from_iterable(need.units for need in needs))):
        _remember(connection, book, _BY_UNIT, some=pairs)
    if book.tally.waiting:
        _remember(connection, book, _DUE, at=at)


def record_of(row: Row[Any]) -> Record:
    """A decision."""
    return Record(
        number=row.number,
        unit=row.unit,
        occasion=row.occasion,
        context=row.context,
        proposal=row.proposal,
        at=row.at,
        due=row.due,
        sequence=row.sequence,
        implemented=row.implemented,
        outcome=row.outcome,
        missing_implemented=bool(row.missing_implemented),
        missing_outcome=bool(row.missing_outcome),
        counted=bool(row.counted),
    )


def _fill_keys(connection: Connection, book: Book, wanted: set[str]) -> None:
    for some in _chunks(wanted):
        for row in connection.execute(_ANSWERS, {"trial": book.trial, "some": some}):
            event = event_of(row.body)
            if isinstance(event, Decided | Reported | Answered | SetAside):
                book.keys[row.key] = (row.request, row.sequence)
                book.answers[row.key] = event


def _remember(connection: Connection, book: Book, statement: Select[Any], **values: object) -> None:
    for row in connection.execute(statement, {"trial": book.trial, **values}):
        if row.number not in book.records:
            book.remember(record_of(row))


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    ordered = list(items)
    for first in range(0, len(ordered), CHUNK):
        yield ordered[first : first + CHUNK]
