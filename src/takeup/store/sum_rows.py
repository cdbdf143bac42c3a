"""What covariates add to the evidence, in its table: a row for each context, proposal and action."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sqlalchemy import Row, bindparam, select

from takeup.checks import IntArray
from takeup.space import UNSEEN, Space
from takeup.store.checked import impossible, within
from takeup.store.pipeline import Executing
from takeup.store.schema import evidence_sums
from takeup.store.statements import upsert
from takeup.trial.book import Book
from takeup.trial.epoch_counts import EpochPlace, Place

ALL = -1
"""The epoch of what is summed over all of them."""

_NAMES = ("epoch", "context", "proposal", "implemented")
_WHOLE = np.dtype("<i8")
_SOME = select(evidence_sums).where(
    evidence_sums.c.trial == bindparam("trial"), evidence_sums.c.epoch.in_(bindparam("some", expanding=True))
)


def load(connection: Executing, book: Book) -> None:
    """Put into a book the sums of the whole trial, where it has covariates.

    Raises:
        StoreError: the table holds what no log can lead to, or lacks what one leads to.
    """
    space = book.design.space
    if space.sums is None:
        return
    first = space.outcome.width
    for (_, x, z, a), sums in taken(connection, book, [ALL]).items():
        book.counts[x, z, a, first:UNSEEN] = sums
    seen = space.outcome.seen(book.counts)
    if not space.sums.possible(book.counts[..., first:UNSEEN], seen, book.counts[..., UNSEEN]):
        raise impossible(evidence_sums.name, book.trial)


def taken(connection: Executing, book: Book, epochs: Iterable[int]) -> dict[EpochPlace, IntArray]:
    """The sums of these epochs."""
    found = {}
    for row in connection.execute(_SOME, {"trial": book.trial, "some": list(epochs)}):
        sums = _sums(row, book.design.space)
        if sums is None:
            raise impossible(evidence_sums.name, book.trial)
        found[row.epoch, row.context, row.proposal, row.implemented] = sums
    return found


def save(connection: Executing, book: Book) -> None:
    """Write down what changed."""
    rows = [sum_values(book, (ALL, *place)) for place in book.changes.sums]
    if book.epochs is not None:
        rows += [sum_values(book, place) for place in book.epochs.changed_sums]
    if rows:
        connection.execute(upsert(connection.dialect.name, evidence_sums, ("sums",)), rows)


def sum_values(book: Book, place: EpochPlace) -> dict[str, Any]:
    """A row of the table."""
    epoch, x, z, a = place
    if epoch == ALL:
        sums = book.counts[x, z, a, book.design.space.outcome.width : UNSEEN]
    else:
        assert book.epochs is not None
        sums = book.epochs.sums[epoch][x, z, a]
    return {"trial": book.trial, **dict(zip(_NAMES, place, strict=True)), "sums": sums.astype(_WHOLE).tobytes()}


def places(book: Book, summed: Iterable[Place]) -> Mapping[EpochPlace, None]:
    """All that a table has of a book that holds all of its trial, where these were summed in."""
    epochs = () if book.epochs is None else book.epochs.changed_sums
    return dict.fromkeys([*((ALL, *place) for place in summed), *epochs])


def _sums(row: Row[Any], space: Space) -> IntArray | None:
    """What a row has; None where no log can lead to it."""
    x, z, a, _ = space.shape
    inside = within(row.context, 0, x - 1) and within(row.proposal, 0, z - 1) and within(row.implemented, UNSEEN, a - 1)
    width = 0 if space.sums is None else space.sums.width
    if not inside or not isinstance(row.sums, bytes) or len(row.sums) != width * _WHOLE.itemsize:
        return None
    sums = np.frombuffer(row.sums, dtype=_WHOLE).astype(np.int64)
    return None if np.any(sums < 0) else sums
