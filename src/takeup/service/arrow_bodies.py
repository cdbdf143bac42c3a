"""Batches as a stream of Apache Arrow, read by polars where it is installed.

What a stream may hold is bounded before polars unfolds it: no compression, no nested columns but `missing`, no long
texts.
"""

import io
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from takeup.errors import InputError
from takeup.service.problem import ProblemError
from takeup.trial.commands import MOST_REASON

MOST_MESSAGES = 10_000
MOST_COLUMNS = 16
_BATCH_HEADER = 3  # RecordBatch among the kinds of messages
_COMPRESSION = 3  # its place among the fields of a RecordBatch


def arrow_slices(body: bytes, most: int, size: int) -> Iterator[list[Mapping[str, Any]]]:
    """The rows of a stream, some at a time; None counts for nothing.

    Args:
        body: the stream.
        most: how many rows it may have.
        size: how many rows are read at once.
    """
    try:
        import polars as pl
    except ImportError:
        raise ProblemError(
            "media-type",
            "this service has no reader for Arrow: install takeup[sim] beside it, or send application/x-ndjson",
            allowed="application/x-ndjson",
        ) from None
    _check_messages(body)
    try:
        frame = pl.read_ipc_stream(io.BytesIO(body))
        if frame.height > most:
            raise InputError("rows", f"{frame.height} of them", f"from 1 to {most}", "send them in several batches")
        _check_columns(frame)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise ProblemError("malformed", f"it is no stream of Arrow: {str(error)[:200]}") from None
    for start in range(0, frame.height, size):
        yield [
            {name: value for name, value in row.items() if value is not None}
            for row in frame.slice(start, size).to_dicts()
        ]


def _check_columns(frame: Any) -> None:
    """Refuse columns that would unfold into more than was sent."""
    import polars as pl

    if frame.width > MOST_COLUMNS:
        raise InputError("columns", f"{frame.width} of them", f"at most {MOST_COLUMNS}")
    for name, kind in frame.schema.items():
        column = frame[name]
        if kind == pl.List(pl.String) and name == "missing":
            if (column.list.len().max() or 0) > 2:
                raise InputError(name, "a list of more than two", 'a list of "implemented" and "outcome"')
            column = column.explode()
        elif not (kind == pl.String or kind.is_integer() or kind.is_float() or kind == pl.Boolean):
            hint = "send outcomes of several parts as JSON lines"
            raise InputError(name, f"a column of type {kind}", "texts and numbers; missing a list of texts", hint)
        if column.dtype == pl.String and (column.str.len_bytes().max() or 0) > 4 * MOST_REASON:
            raise InputError(name, "a text that is too long", f"at most {MOST_REASON} characters")


def _check_messages(body: bytes) -> None:
    """Refuse compressed buffers, of which a few bytes unfold into any number, by a look at each message's head."""
    at, left = 0, MOST_MESSAGES
    try:
        while at + 4 <= len(body):
            (size,) = struct.unpack_from("<i", body, at)
            at += 4
            if size == -1:
                (size,) = struct.unpack_from("<i", body, at)
                at += 4
            if size == 0:
                return
            if size < 0 or left == 0:
                raise struct.error("too many messages, or one of no size")
            left -= 1
            at = at + size + _checked_message(memoryview(body)[at : at + size])
    except (struct.error, IndexError) as error:
        raise ProblemError("malformed", f"it is no stream of Arrow: {error}") from None


def _checked_message(head: memoryview) -> int:
    """The length of the body of a message that has no compressed buffers."""
    (table,) = struct.unpack_from("<I", head, 0)
    kind_at, header_at, length_at = (_field(head, table, number) for number in (1, 2, 3))
    kind = 0 if not kind_at else head[kind_at]
    if kind == _BATCH_HEADER and header_at:
        (step,) = struct.unpack_from("<I", head, header_at)
        if _field(head, header_at + step, _COMPRESSION):
            raise InputError(
                "body", "compressed buffers", "a stream without compression", "write it with compression=None"
            )
    if not length_at:
        return 0
    (length,) = struct.unpack_from("<q", head, length_at)
    if length < 0:
        raise struct.error("a body of no size")
    return int(length)


def _field(buffer: memoryview, table: int, number: int) -> int:
    """Where a field of a flatbuffer's table is; 0 where it is left out."""
    (back,) = struct.unpack_from("<i", buffer, table)
    names = table - back
    (size,) = struct.unpack_from("<H", buffer, names)
    entry = 4 + 2 * number
    if entry + 2 > size:
        return 0
    (offset,) = struct.unpack_from("<H", buffer, names + entry)
    return table + offset if offset else 0
