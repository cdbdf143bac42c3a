"""Books and tables: as much of a trial as the next commands need is loaded, and what they changed is written down."""

import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from itertools import chain
from typing import Any

from sqlalchemy import BigInteger, Connection, Row, bindparam, insert, select, tuple_, update

from takeup.errors import InputError, StoreError
from takeup.evidence import Evidence
from takeup.store import bulk, epoch_rows, last_look, lease_rows, sealing, sum_rows
from takeup.store.checked import AUDIT, impossible, in_space, in_table, kept_in, within
from takeup.store.schema import WAITING, decisions, events, evidence, keys, rollup, trials
from takeup.store.statements import CHUNK, chunks, upsert
from takeup.trial.book import Book, Entry, Maker, Record, StatusCounts, blank
from takeup.trial.commands import Needs
from takeup.trial.design import Design, canonical
from takeup.trial.draws import ClientDraws
from takeup.trial.epoch_counts import Cell
from takeup.trial.events import (
    Decided,
    KeyedEvent,
    Looked,
    Moved,
    Refitted,
    TakenOver,
    answered_numbers,
    event_of,
)
from takeup.trial.following import MOST_CLOSED
from takeup.trial.models import fits, models_of
from takeup.trial.rollup import Row as RollupRow
from takeup.trial.rollup import first_of
from takeup.trial.secret import Secret
from takeup.trial.steering import STATES

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
# Who was decided first is due first: in the order of the index these are the lowest numbers, and no others are read.
_DUE = (
    _DECISIONS.where(WAITING, decisions.c.due <= bindparam("at"))
    .order_by(decisions.c.due, decisions.c.number)
    .limit(bindparam("most"))
    .with_hint(decisions, "INDEXED BY decisions_waiting", "sqlite")
)
_ANSWERS = (
    select(keys, events.c.body)
    .outerjoin(events, (events.c.trial == keys.c.trial) & (events.c.sequence == keys.c.sequence))
    .where(keys.c.trial == bindparam("trial"), keys.c.key.in_(bindparam("some", expanding=True)))
)
_BODIES = select(events.c.body).where(
    events.c.trial == bindparam("trial"), events.c.sequence.in_(bindparam("some", expanding=True))
)

_EVENT = tuple(column.name for column in events.columns)
_DECISION = tuple(column.name for column in decisions.columns)
_RECORD = slice(1, 1 + len(Record._fields))  # of a row of `decisions`, whose first column is the trial
_NUMBERS = tuple(column.name for column in trials.columns if isinstance(column.type, BigInteger))
_LISTS = ("proposed", "probability", "variance", "best")

_UPDATE_HEAD = update(trials).where(trials.c.id == bindparam("of_trial"), trials.c.hash == bindparam("before"))


def heads(connection: Connection, wanted: Iterable[str], *, lock: bool) -> dict[str, Row[Any]]:
    """The heads of these trials; locked one after the other in one order, so that no two wait for each other."""
    statement = _LOCKED if lock and connection.dialect.name == "postgresql" else _HEADS
    return {row.id: row for row in connection.execute(statement, {"some": sorted(wanted)})}


def load(connection: Connection, head: Row[Any]) -> Book:
    """A trial's book without its single decisions.

    Raises:
        StoreError: a table holds what no log can lead to; so do the others that load.
    """
    design = _design(head)
    counts = blank(design)
    for row in connection.execute(_EVIDENCE, {"trial": head.id}):
        if not in_table(design, row, head.decisions):
            raise impossible("evidence", head.id)
        counts[row.context, row.proposal, row.implemented, row.outcome] = row.amount
    total = int(Evidence(design.space, counts).total)
    if total != head.decisions:
        raise StoreError(f"the evidence of trial {head.id} has {total} of {head.decisions} decisions; {AUDIT}")
    tally = StatusCounts(**{each.name: getattr(head, each.name) for each in fields(StatusCounts)})
    book = Book(
        head.id,
        design,
        secret_of(head),
        counts,
        head.state,
        head.sequence,
        head.hash,
        head.at,
        head.decisions,
        head.evidence_version,
        tally,
        head.moved,
        {by: ClientDraws.stored(each) for by, each in json.loads(head.draws).items()},
        *_looks(head, design),
        leased=head.leased,
    )
    sum_rows.load(connection, book)
    _load_fit(connection, book, head.fitted)
    load_rollup(connection, book, first=first_of(book.decisions + 1))
    epoch_rows.load(connection, book)
    return book


def _design(head: Row[Any]) -> Design:
    """A trial's design, if its head can be that of a log."""
    if head.state not in STATES or not all(within(getattr(head, name), 0, sys.maxsize) for name in _NUMBERS):
        raise impossible("trials", head.id)
    return Design.of_text(head.spec)


def _looks(head: Row[Any], design: Design) -> tuple[Looked | None, str | None, bool]:
    """The last look, its body, and whether none is held at the moment."""
    try:
        return last_look.loaded(head.looks, design)
    except InputError:
        raise impossible("trials", head.id) from None


def _load_fit(connection: Connection, book: Book, sequence: int) -> None:
    """The models that were fitted last, which the log has."""
    if not sequence:
        return
    body = connection.execute(_BODIES, {"trial": book.trial, "some": [sequence]}).scalar_one_or_none()
    try:
        event = None if body is None else event_of(body)
        if not isinstance(event, Refitted) or not fits(book.design) or not models_of(book.design, event.models):
            raise impossible("trials", book.trial)
    except InputError:
        raise impossible("trials", book.trial) from None
    book.fit, book.fitted = event, sequence


def load_rollup(connection: Connection, book: Book, first: int | None = None) -> None:
    """The time series: all of it, or one bucket."""
    statement = _ROLLUP if first is None else _BUCKET
    for row in connection.execute(statement, {"trial": book.trial, "first": first}):
        book.rollup.rows[row.first, row.context] = _rollup_row(book, row)


def _rollup_row(book: Book, row: Row[Any]) -> RollupRow:
    """A row of the time series."""
    contexts, proposals = book.design.space.shape[:2]
    lists: list[Any] = []
    with suppress(TypeError, ValueError):
        lists = [json.loads(getattr(row, name)) for name in _LISTS]
    if (
        not (within(row.first, 1, book.decisions) and row.first == first_of(row.first))
        or not (within(row.context, 0, contexts - 1) and within(row.until, 0, book.at))
        or [len(each) if isinstance(each, list) else None for each in lists] != [proposals] * len(_LISTS)
    ):
        raise impossible("rollup", row.trial)
    proposed, probability, variance, best = lists
    return RollupRow(proposed, probability, variance, best, row.until)


def fill(connection: Connection, book: Book, needs: Sequence[Needs]) -> None:
    """Put into a book what commands with these needs look at."""
    _fill_keys(connection, book, {need.key for need in needs if need.key is not None})
    numbers = set(chain.from_iterable(need.numbers for need in needs))
    numbers.update(chain.from_iterable(answered_numbers(event) for event in book.answers.values()))
    for some in chunks(numbers):
        _remember(book, connection.execute(_BY_NUMBER, {"trial": book.trial, "some": some}))
    places = set(chain.from_iterable(need.units for need in needs))
    if len(places) > CHUNK:
        _remember(book, bulk.of_units(connection, book.trial, list(places)))
    else:
        for pairs in chunks(places):
            _remember(book, connection.execute(_BY_UNIT, {"trial": book.trial, "some": pairs}))
    _fill_makers(connection, book, chain.from_iterable(need.makers for need in needs))
    lease_rows.fill(connection, book, chain.from_iterable(need.leases for need in needs))
    epoch_rows.fill(connection, book)


def fill_due(connection: Connection, book: Book, at: int, most: int) -> int:
    """Put into a book the decisions whose windows are to close; how many these are.

    Args:
        connection: in a transaction that holds the trial's lock.
        book: of a trial.
        at: what time it is.
        most: how many may close. Where more are due, those with the lowest numbers do, in whole events: what an audit
            expects next is the lowest that are due, as many as fit into one.
    """
    if not book.tally.waiting:
        return 0
    rows = connection.execute(_DUE, {"trial": book.trial, "at": at, "most": most + 1}).all()
    _remember(book, rows)
    epoch_rows.fill(connection, book)
    if len(rows) <= most:
        return len(rows)
    closing = most - most % MOST_CLOSED
    book.horizon = rows[closing - 1].number if closing else 0
    return closing


def record_of(row: Row[Any], design: Design, latest: int) -> Record:
    """A decision, of a trial whose latest has this number."""
    *plain, missing_implemented, missing_outcome, counted, covariates = row[_RECORD]
    flags = (missing_implemented, missing_outcome, counted)
    known = within(row.number, 1, latest) and all(within(flag, 0, 1) for flag in flags)
    if not known or not in_space(design, row, design.space.shape[3]) or not kept_in(design, covariates):
        raise impossible("decisions", row.trial)
    values: tuple[Any, ...] = (*plain, *(flag == 1 for flag in flags), covariates)
    return Record(*values)


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
        secret = sealing.sealed(book.secret.text, sealing.owner(book.trial))
        connection.execute(insert(trials), {"id": book.trial, "secret": secret, **head_values(book)})
    else:
        values = {"of_trial": book.trial, "before": before, **head_values(book)}
        if not any(entry.kind in (Looked.kind, Moved.kind) for entry in book.changes.entries):
            del values["looks"]  # nothing else changes it, and with many proposals it is long
        if connection.execute(_UPDATE_HEAD, values).rowcount != 1:
            raise StoreError(f"trial {book.trial} was changed by somebody who did not hold its lock")
    bulk.insert(connection, events, [event_row(book.trial, entry) for entry in book.changes.entries])
    _save_decisions(connection, book)
    if book.changes.cells:
        cells = [cell_values(book, cell) for cell in book.changes.cells]
        connection.execute(upsert(connection.dialect.name, evidence, ("amount",)), cells)
    epoch_rows.save(connection, book)
    sum_rows.save(connection, book)
    lease_rows.save(connection, book)
    if book.changes.keys:
        answers = book.changes.keys.items()
        connection.execute(insert(keys), [key_values(book.trial, key, answer) for key, answer in answers])
    _save_rollup(connection, book)


def secret_of(head: Row[Any]) -> Secret:
    """A trial's secret, which may be stored sealed."""
    return Secret.of_text(sealing.opened(head.secret, sealing.owner(head.id)))


def head_values(book: Book) -> dict[str, Any]:
    """The head of a trial, but for its identifier and its secret."""
    return {
        "spec": book.design.text,
        "state": book.state,
        "sequence": book.sequence,
        "hash": book.hash,
        "at": book.at,
        "decisions": book.decisions,
        "evidence_version": book.version,
        "moved": book.moved,
        "draws": canonical({by: asdict(each) for by, each in book.draws.items()}),
        "looks": last_look.stored(book),
        "fitted": book.fitted,
        "leased": book.leased,
        **asdict(book.tally),
    }


def event_row(trial: str, entry: Entry) -> tuple[Any, ...]:
    """A row of the log."""
    return trial, entry.sequence, entry.hash, entry.kind, entry.at, entry.decision, entry.body


def record_row(trial: str, record: Record) -> tuple[Any, ...]:
    """A row of the decisions."""
    *known, missing_implemented, missing_outcome, counted, covariates = record
    return trial, *known, int(missing_implemented), int(missing_outcome), int(counted), covariates


def record_values(trial: str, record: Record) -> dict[str, Any]:
    """The same by the names of its columns."""
    return dict(zip(_DECISION, record_row(trial, record), strict=True))


def cell_values(book: Book, cell: Cell) -> dict[str, Any]:
    """A row of the evidence."""
    names = ("context", "proposal", "implemented", "outcome")
    return {"trial": book.trial, **dict(zip(names, cell, strict=True)), "amount": int(book.counts[cell])}


def key_values(trial: str, key: str, answer: tuple[str, int]) -> dict[str, Any]:
    """A row of the idempotency keys."""
    return {"trial": trial, "key": key, "request": answer[0], "sequence": answer[1]}


def rollup_values(trial: str, place: tuple[int, int], row: RollupRow) -> dict[str, Any]:
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


def _fill_keys(connection: Connection, book: Book, wanted: set[str]) -> None:
    for some in chunks(wanted):
        for row in connection.execute(_ANSWERS, {"trial": book.trial, "some": some}):
            event = None if row.body is None else event_of(row.body)
            if not isinstance(event, KeyedEvent) or (event.key, event.request or "") != (row.key, row.request):
                raise impossible("keys", row.trial)
            book.keys[row.key] = (row.request, row.sequence)
            book.answers[row.key] = event


def _fill_makers(connection: Connection, book: Book, wanted: Iterable[tuple[str, str]]) -> None:
    """The events that made the decisions of these units: who asks for a new one pays nothing."""
    known = {number for place in wanted if (number := book.units.get(place)) is not None}
    for some in chunks(book.records[number].sequence for number in known - book.makers.keys()):
        for body in connection.execute(_BODIES, {"trial": book.trial, "some": some}).scalars():
            event = event_of(body)
            if isinstance(event, Decided | TakenOver):
                lease = event.lease if isinstance(event, Decided) else None
                book.makers[event.number] = Maker(event.by, event.site, lease)


def _remember(book: Book, rows: Iterable[Row[Any]]) -> None:
    for row in rows:
        if row.number not in book.records:
            book.remember(record_of(row, book.design, book.decisions))


def _save_decisions(connection: Connection, book: Book) -> None:
    created = book.changes.created
    new = [record_row(book.trial, book.changes.records[number]) for number in sorted(created)]
    moved = [record_row(book.trial, each) for number, each in book.changes.records.items() if number not in created]
    bulk.insert(connection, decisions, new)
    bulk.move_decisions(connection, moved)


def _save_rollup(connection: Connection, book: Book) -> None:
    if book.rollup.changed:
        rows = [rollup_values(book.trial, place, book.rollup.rows[place]) for place in sorted(book.rollup.changed)]
        connection.execute(upsert(connection.dialect.name, rollup, (*_LISTS, "until")), rows)
