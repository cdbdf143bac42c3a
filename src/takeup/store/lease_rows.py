"""Leases in their table: those that are named are loaded, each with its event."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import bindparam, select

from takeup.errors import InputError
from takeup.store.checked import impossible, within
from takeup.store.pipeline import Executing
from takeup.store.schema import events, leases
from takeup.store.statements import chunks, upsert
from takeup.trial.book import Book
from takeup.trial.events import Leased, event_of
from takeup.trial.lease_records import LeaseRecord

_SOME = (
    select(leases, events.c.body)
    .outerjoin(events, (events.c.trial == leases.c.trial) & (events.c.sequence == leases.c.sequence))
    .where(leases.c.trial == bindparam("trial"), leases.c.number.in_(bindparam("some", expanding=True)))
)


def fill(connection: Executing, book: Book, wanted: Iterable[int]) -> None:
    """Put into a book the leases with these numbers, as far as there are any.

    Raises:
        StoreError: the table holds what no log can lead to.
    """
    for some in chunks(sorted({each for each in wanted if each <= book.leased} - book.leases.keys())):
        for row in connection.execute(_SOME, {"trial": book.trial, "some": some}):
            known = within(row.taken, 0, book.decisions) and (row.revoked is None or within(row.revoked, 0, book.at))
            event = _event(row.body)
            if not known or event is None or (event.lease, event.expires) != (row.number, row.expires):
                raise impossible(leases.name, book.trial)
            book.leases[row.number] = LeaseRecord.of(book, event, row.sequence, row.taken, row.revoked)


def save(connection: Executing, book: Book) -> None:
    """Write down what changed."""
    if book.changes.leases:
        rows = [lease_values(book.trial, book.leases[number]) for number in sorted(book.changes.leases)]
        connection.execute(upsert(connection.dialect.name, leases, ("taken", "revoked")), rows)


def lease_values(trial: str, held: LeaseRecord) -> dict[str, Any]:
    """A row of the table."""
    return {
        "trial": trial,
        "number": held.lease.number,
        "sequence": held.sequence,
        "expires": held.lease.expires,
        "taken": held.taken,
        "revoked": held.revoked,
    }


def _event(body: str | None) -> Leased | None:
    try:
        event = None if body is None else event_of(body)
    except InputError:
        return None
    return event if isinstance(event, Leased) else None
