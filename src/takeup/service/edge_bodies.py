"""Batches of what clients decided and reported, as they are sent: lines of JSON, or a stream of Arrow.

A batch is read in slices, in a thread of its own, so that others are served meanwhile; its digest is that of its bytes.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from takeup.errors import InputError
from takeup.service.arrow_bodies import arrow_slices
from takeup.service.body import parse_json
from takeup.service.problem import ProblemError
from takeup.trial.edge_rows import MOST_ROWS, EdgeColumns, EdgeRows, wrong_count

LINES, ARROW = "application/x-ndjson", "application/vnd.apache.arrow.stream"
SLICE = 1_000
"""How many rows are read at once, which takes milliseconds."""

Rows = list[Mapping[str, Any]]


def read_batch(media: str, body: bytes) -> EdgeRows:
    """The rows of a batch.

    Raises:
        ProblemError: it cannot be read.
        InputError: there are none, or too many.
    """
    columns: list[EdgeColumns] = []
    problems: dict[int, str] = {}
    digest, taken = hashlib.sha256(media.encode() + b"\n" + body).hexdigest(), 0
    for rows in READERS[media](body):
        found = EdgeRows.of(rows, digest)
        problems |= {taken + place: why for place, why in found.problems.items()}
        columns.append(found.columns)
        taken += len(found)
    if not taken:
        raise wrong_count(0)
    whole = EdgeColumns(*(list(chain.from_iterable(parts)) for parts in zip(*columns, strict=True)))
    return EdgeRows(whole, problems, digest)


def _lines(body: bytes) -> Iterator[Rows]:
    """Lines of JSON; blank ones count for nothing."""
    many = body.count(b"\n")
    if many > 2 * MOST_ROWS:
        raise wrong_count(many)
    lines, row = body.split(b"\n"), 0
    for start in range(0, len(lines), SLICE):
        rows: Rows = []
        for number, line in enumerate(lines[start : start + SLICE], start=start + 1):
            if line and not line.isspace():
                rows.append(_parsed(line, number))
        row += len(rows)
        if row > MOST_ROWS:
            raise wrong_count(row)
        if rows:
            yield rows


def _parsed(line: bytes, number: int) -> Mapping[str, Any]:
    try:
        found = parse_json(line)
    except ProblemError as error:
        raise ProblemError("malformed", f"line {number}: {error.detail}") from None
    if not isinstance(found, dict):
        said = 'a table such as {"unit": .., "proposal": .., "lease": ..}'
        raise InputError(f"line {number}", repr(found)[:100], said)
    return found


def _arrow(body: bytes) -> Iterator[Rows]:
    return arrow_slices(body, EdgeColumns._fields, MOST_ROWS, SLICE)


READERS: Mapping[str, Callable[[bytes], Iterable[Rows]]] = {LINES: _lines, ARROW: _arrow}
"""What reads a batch of each kind."""
