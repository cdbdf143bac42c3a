"""From tables to books: as much of a trial as the next commands need."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select, select, tuple_

from takeup.store.schema import decisions, events, evidence, keys, rollup, trials
from takeup.trial.asking import answered_numbers
from takeup.trial.book import Book, Record, Tally, blank
from takeup.trial.commands import Needs
from takeup.trial.design import Design
from takeup.trial.events import Answered, Decided, Reported, SetAside, event_of
from takeup.trial.rollup import BUCKETS, Rollup
from takeup.trial.rollup import Row as RollupRow
from takeup.trial.secret import Secret

CHUNK = 400
"""So many values go into one statement."""

Item = TypeVar("Item")


def heads(connection: Connection, wanted: Iterable[str], *, lock: bool) -> dict[str, Row[Any]]:
    """The heads of these trials; locked one after the other in one order, so that no two wait for each other."""
    statement = select(trials).where(trials.c.id.in_(sorted(wanted))).order_by(trials.c.id)
    if lock and connection.dialect.name == "postgresql":
        statement = statement.with_for_update()
    return {row.id: row for row in connection.execute(statement)}


def book_of(connection: Connection, head: Row[Any]) -> Book:
    """A trial's book without its single decisions."""
    design = Design.of_text(head.spec)
    counts = blank(design)
    for row in connection.execute(select(evidence).where(evidence.c.trial == head.id)):
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
        Rollup(head.step),
    )
    load_rollup(connection, book, bucket=book.rollup.bucket(book.decisions + 1))
    return book


def load_rollup(connection: Connection, book: Book, bucket: int | None = None) -> None:
    """The time series: all of it, or one bucket."""
    statement = select(rollup).where(rollup.c.trial == book.trial)
    if bucket is not None:
        statement = statement.where(rollup.c.bucket == bucket)
    for row in connection.execute(statement):
        book.rollup.rows[row.bucket, row.context] = rollup_row(row)


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
    of_trial = select(decisions).where(decisions.c.trial == book.trial)
    for some in _chunks(numbers):
        _remember(connection, book, of_trial.where(decisions.c.number.in_(some)))
    units = set(chain.from_iterable(need.units for need in needs))
    place = tuple_(decisions.c.unit, decisions.c.occasion)
    for pairs in _chunks(units):
        _remember(connection, book, of_trial.where(place.in_(pairs)))
    if book.tally.waiting:
        due = of_trial.where(decisions.c.outcome >= 0, ~decisions.c.counted, decisions.c.due <= at)
        _remember(connection, book, due)
    new = sum(need.decisions for need in needs)
    if new and book.rollup.bucket(book.decisions + new) >= BUCKETS:
        load_rollup(connection, book)


def record_of(row: Row[Any]) -> Record:
    """A decision."""
    values = row._asdict()
    del values["trial"]
    return Record(**values)


def _fill_keys(connection: Connection, book: Book, wanted: set[str]) -> None:
    statement = (
        select(keys, events.c.body)
        .join(events, (events.c.trial == keys.c.trial) & (events.c.sequence == keys.c.sequence))
        .where(keys.c.trial == book.trial)
    )
    for some in _chunks(wanted):
        for row in connection.execute(statement.where(keys.c.key.in_(some))):
            event = event_of(row.body)
            if isinstance(event, Decided | Reported | Answered | SetAside):
                book.keys[row.key] = (row.request, row.sequence)
                book.answers[row.key] = event


def _remember(connection: Connection, book: Book, statement: Select[Any]) -> None:
    for row in connection.execute(statement):
        if row.number not in book.records:
            book.remember(record_of(row))


def _chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    ordered = list(items)
    for first in range(0, len(ordered), CHUNK):
        yield ordered[first : first + CHUNK]
