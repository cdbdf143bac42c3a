"""The decisions of a trial as rows, which the models of its policy are fitted to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection

from takeup.errors import InputError
from takeup.rows import Rows
from takeup.space import UNSEEN
from takeup.store import reading
from takeup.store.checked import impossible
from takeup.trial.book import Book, Record
from takeup.trial.design import Design
from takeup.trial.fitting import rows_of, rows_of_records

_NAMES = ("number", "context", "proposal", "implemented", "outcome", "counted", "covariates")


def known_rows(connection: Connection, book: Book) -> Rows:
    """Every decision as far as it is known in a book, whether what it changed has been written down or not.

    Raises:
        StoreError: the table holds what no log can lead to.
    """
    changed, parts, many = book.changes.records, [], 0
    try:
        for columns in reading.decisions_by_column(connection, book.trial, _NAMES):
            parts.append(_rows(book.design, columns, changed))
            many += len(columns[0])
        new = [changed[number] for number in sorted(changed) if number > many]
        if new:
            parts.append(rows_of_records(book.design, new))
        rows = Rows.joined(parts)
    except (InputError, KeyError, TypeError, ValueError):
        raise impossible("decisions", book.trial) from None
    if rows.size != book.decisions:
        raise impossible("decisions", book.trial)
    return rows


def _rows(design: Design, columns: tuple[Sequence[Any], ...], changed: dict[int, Record]) -> Rows:
    """Those of some columns, of which some have changed."""
    number, x, z, a, y, counted, covariates = columns
    known = [np.array(each, dtype=np.int64) for each in (x, z, a, np.where(counted, y, UNSEEN))]
    texts = list(covariates)
    for each in changed.values() if changed else ():
        place = each.number - number[0]
        if 0 <= place < len(number):
            for column, value in zip(known, each.cell, strict=True):
                column[place] = value
            texts[place] = each.covariates
    return rows_of(design, known, texts)
