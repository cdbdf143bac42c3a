"""The evidence by epoch in its table: the newest are loaded, and others where something becomes known of them."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sqlalchemy import Row, bindparam, select

from takeup.errors import StoreError
from takeup.space import UNSEEN
from takeup.store import sum_rows
from takeup.store.checked import AUDIT, impossible, in_table
from takeup.store.pipeline import Executing
from takeup.store.schema import evidence_epochs, evidence_sums
from takeup.store.statements import chunks, upsert
from takeup.trial.book import Book
from takeup.trial.epoch_counts import EpochCell, EpochCounts

_NAMES = ("epoch", "context", "proposal", "implemented", "outcome")
_OF_TRIAL = select(evidence_epochs).where(evidence_epochs.c.trial == bindparam("trial"))
_NEWEST = _OF_TRIAL.where(evidence_epochs.c.epoch >= bindparam("oldest"))
_SOME = _OF_TRIAL.where(evidence_epochs.c.epoch.in_(bindparam("some", expanding=True)))


def load(connection: Executing, book: Book) -> None:
    """Put into a book the epochs that its next decision looks at, where its policy forgets.

    Raises:
        StoreError: the table holds what no log can lead to; so does `fill`.
    """
    if book.epochs is None or not book.decisions:
        return
    wanted = book.epochs.weighing(book.decisions)
    rows = connection.execute(_NEWEST, {"trial": book.trial, "oldest": wanted.start})
    _take(book, book.epochs, wanted, rows)
    _take_sums(connection, book, book.epochs, wanted)


def fill(connection: Executing, book: Book) -> None:
    """Put into a book the epochs of the decisions that it holds: more may become known of them."""
    if book.epochs is None:
        return
    wanted = {book.epochs.of(number) for number in book.records}
    for some in chunks(sorted(wanted - book.epochs.amounts.keys())):
        _take(book, book.epochs, some, connection.execute(_SOME, {"trial": book.trial, "some": some}))
        _take_sums(connection, book, book.epochs, some)


def save(connection: Executing, book: Book) -> None:
    """Write down what changed."""
    if book.epochs is not None and book.epochs.changed:
        rows = [epoch_values(book.trial, book.epochs, place) for place in book.epochs.changed]
        connection.execute(upsert(connection.dialect.name, evidence_epochs, ("amount",)), rows)


def epoch_values(trial: str, epochs: EpochCounts, place: EpochCell) -> dict[str, Any]:
    """A row of the table."""
    epoch, x, z, a, y = place
    named = dict(zip(_NAMES, place, strict=True))
    return {"trial": trial, **named, "amount": epochs.amounts[epoch][x, z, a, y]}


def _take(book: Book, epochs: EpochCounts, wanted: Iterable[int], rows: Iterable[Row[Any]]) -> None:
    """Put these epochs into a book: all of each, or an error."""
    found: dict[int, dict[tuple[int, int, int, int], int]] = {epoch: {} for epoch in wanted}
    for row in rows:
        if row.epoch not in found or not in_table(book.design, row, epochs.empty.length):
            raise impossible(evidence_epochs.name, book.trial)
        found[row.epoch][row.context, row.proposal, row.implemented, row.outcome] = row.amount
    cells = book.design.space.outcome.cells
    for epoch, amounts in found.items():
        many = sum(amount for cell, amount in amounts.items() if cell[-1] < cells)
        due = epochs.due(epoch, book.decisions)
        if many != due:
            raise StoreError(f"epoch {epoch} of trial {book.trial} has {many} of {due} decisions; {AUDIT}")
    epochs.amounts.update(found)


def _take_sums(connection: Executing, book: Book, epochs: EpochCounts, wanted: Iterable[int]) -> None:
    """The sums of these epochs, which a policy that learns from covariates has: of every place, or an error."""
    space = epochs.empty.space
    if space.sums is None:
        return
    found = sum_rows.taken(connection, book, wanted)
    for epoch in wanted:
        table = np.zeros(space.table, dtype=np.int64)
        for cell, amount in epochs.amounts[epoch].items():
            table[cell] = amount
        epochs.sums[epoch] = {(x, z, a): sums for (e, x, z, a), sums in found.items() if e == epoch}
        for place, sums in epochs.sums[epoch].items():
            table[*place, space.outcome.width : UNSEEN] = sums
        sums = table[..., space.outcome.width : UNSEEN]
        if not space.sums.possible(sums, space.outcome.seen(table), table[..., UNSEEN]):
            raise impossible(evidence_sums.name, book.trial)
