"""Batches as a stream of Apache Arrow, read by hand: libraries for it may end the process on a stream that is made to.

Columns are texts, numbers, truth values, and lists of texts; no dictionaries, no compression.
"""

import struct
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from takeup.errors import InputError
from takeup.service.flatbuffer import Flatbuffer
from takeup.service.problem import ProblemError
from takeup.trial.commands import MOST_REASON
from takeup.trial.edge_rows import MOST_SHOWN

MOST_COLUMNS = 16
MOST_TEXT = 4 * MOST_REASON
"""The most bytes of a text."""
MOST_TEXTS = 64_000_000
"""The most bytes of all texts of a stream, which may show the same ones many times."""
MOST_MESSAGES = 10_000
SCHEMA, BATCH = 1, 3
"""Kinds of messages."""
_INT, _FLOAT, _TEXT, _BOOL, _LIST, _LARGE_TEXT, _LARGE_LIST, _VIEW, _NULL = 2, 3, 5, 6, 12, 20, 21, 24, 1
"""Kinds of columns."""
_VIEWS = np.dtype([("length", "<i4"), ("start", "S4"), ("buffer", "<i4"), ("offset", "<i4")])
_FLOATS = {0: "<f2", 1: "<f4", 2: "<f8"}


class Room:
    """How many bytes of texts a stream may still have."""

    def __init__(self) -> None:
        self._left = MOST_TEXTS

    def take(self, lengths: list[int]) -> None:
        """Room for texts of these lengths."""
        if lengths and min(lengths) < 0:
            raise ValueError("texts are not whole")
        self._left -= sum(lengths)
        if self._left < 0 or (lengths and max(lengths) > MOST_TEXT):
            allowed = f"texts of at most {MOST_TEXT} bytes, and {MOST_TEXTS} in all"
            raise InputError("body", "texts that are too long", allowed)


class Column(NamedTuple):
    """A column of a stream: its name, what kind it is, what numbers are made of, and what lists are of."""

    name: str
    kind: int
    numbers: str = ""
    of: "Column | None" = None


def arrow_slices(body: bytes, known: Collection[str], most: int, size: int) -> Iterator[list[Mapping[str, Any]]]:
    """The rows of a stream, some at a time; None counts for nothing.

    Args:
        body: the stream.
        known: the names that columns may have.
        most: how many rows it may have.
        size: how many rows are read at once.

    Raises:
        ProblemError: it cannot be read.
        InputError: it has columns or rows that it may not have.
    """
    columns: list[Column] | None = None
    room = Room()
    try:
        for kind, head, content in _messages(body):
            if kind == SCHEMA and columns is None:
                columns = _columns(head, known)
            elif kind == BATCH and columns is not None:
                batch = _Batch(head, content, most, room)
                most -= batch.length
                read = [batch.read(column, batch.length) for column in columns]
                names = [column.name for column in columns]
                for start in range(0, batch.length, size):
                    some = zip(*(values[start : start + size] for values in read), strict=True)
                    yield [
                        {name: value for name, value in zip(names, row, strict=True) if value is not None}
                        for row in some
                    ]
            else:
                raise InputError("body", "dictionaries, or two schemas", "one schema, and batches of plain columns")
        if columns is None:
            raise ValueError("there is no schema")
    except InputError:
        raise
    except (ValueError, struct.error, OverflowError) as error:
        raise ProblemError("malformed", f"it is no stream of Arrow: {str(error)[:200]}") from None


def _messages(body: bytes) -> Iterator[tuple[int, Flatbuffer, memoryview]]:
    """The kind, the head and the content of each message."""
    at, whole, left = 0, memoryview(body), MOST_MESSAGES
    while at + 4 <= len(body):
        left -= 1
        if left < 0:
            hint = "put more rows into each batch of the stream"
            raise InputError("messages", f"more than {MOST_MESSAGES}", f"{MOST_MESSAGES} at the most", hint)
        (size,) = struct.unpack_from("<i", body, at)
        at += 4
        if size == -1:
            (size,) = struct.unpack_from("<i", body, at)
            at += 4
        if size == 0:
            return
        if not 0 < size <= len(body) - at:
            raise ValueError("a message is not whole")
        head = Flatbuffer(whole[at : at + size])
        at += size
        length = head.scalar(head.root, 3, "<q")
        if not 0 <= length <= len(body) - at:
            raise ValueError("a message is not whole")
        yield head.scalar(head.root, 1, "<B"), head, whole[at : at + length]
        at += length


def _columns(head: Flatbuffer, known: Collection[str]) -> list[Column]:
    schema = head.table(head.root, 2)
    if head.scalar(schema, 0, "<h"):
        raise ValueError("its numbers are not little-endian")
    start, count = head.vector(schema, 1)
    if not 1 <= count <= MOST_COLUMNS:
        raise InputError("columns", f"{count} of them", f"from 1 to {MOST_COLUMNS}")
    fields = [start + 4 * i + head.number("<I", start + 4 * i) for i in range(count)]
    found = [_column(head, field, _name(head, field, known)) for field in fields]
    if len({column.name for column in found}) < count:
        raise InputError("columns", "two of one name", "a name each")
    return found


def _name(head: Flatbuffer, field: int, known: Collection[str]) -> str:
    """A column's name: refused once for all rows, and told in part, as it may have millions of letters."""
    name = head.text(field, 0)
    if name not in known:
        raise InputError("columns", repr(name[:MOST_SHOWN]), f"some of {', '.join(known)}")
    return name


def _column(head: Flatbuffer, field: int, name: str, *, within: bool = False) -> Column:
    kind, of = head.scalar(field, 2, "<B"), head.table(field, 3)
    if head.field(field, 4):
        raise InputError(name, "a column with a dictionary", "plain texts", "cast it to a column of texts")
    if kind in (_TEXT, _LARGE_TEXT, _VIEW) or (kind in (_BOOL, _NULL) and not within):
        return Column(name, kind)
    if kind == _INT and not within:
        bits, signed = head.scalar(of, 0, "<i"), head.scalar(of, 1, "<B")
        if bits in (8, 16, 32, 64):
            return Column(name, kind, f"<{'i' if signed else 'u'}{bits // 8}")
    if kind == _FLOAT and not within and (numbers := _FLOATS.get(head.scalar(of, 0, "<h"))):
        return Column(name, kind, numbers)
    if kind in (_LIST, _LARGE_LIST) and not within:
        start, count = head.vector(field, 5)
        if count == 1:
            inner = _column(head, start + head.number("<I", start), name, within=True)
            return Column(name, kind, of=inner)
    raise InputError(
        name, f"a column of kind {kind}", "texts, numbers, lists of texts", "send tables of outcomes as JSON lines"
    )


class _Batch:
    """A batch of rows, whose buffers are taken one after the other."""

    def __init__(self, head: Flatbuffer, content: memoryview, most: int, room: Room) -> None:
        table = head.table(head.root, 2)
        if head.field(table, 3):
            raise InputError("body", "compressed buffers", "none that are compressed", "write it without compression")
        self.length = head.scalar(table, 0, "<q")
        if not 0 <= self.length <= most:
            raise InputError("rows", f"{self.length} more", f"{most} at the most", "send them in several batches")
        self._head, self._content, self._room = head, content, room
        self._nodes, self._buffers, self._counts = (iter(range(*_places(head, table, *each))) for each in _VECTORS)

    def read(self, column: Column, rows: int) -> list[Any]:
        """The values of a column; None where there is none."""
        node = self._next(self._nodes)
        if self._head.number("<q", node) != rows:
            raise ValueError("a column has another length than its batch")
        if column.kind == _NULL:
            return [None] * rows
        valid = self._valid(rows, nulls=self._head.number("<q", node + 8) != 0)
        values = self._values(column, rows)
        return values if valid is None else [v if ok else None for v, ok in zip(values, valid, strict=True)]

    def _values(self, column: Column, rows: int) -> list[Any]:
        match column.kind:
            case kind if kind in (_INT, _FLOAT):
                return _numbers(self._buffer(), column.numbers, rows)
            case kind if kind == _BOOL:
                return _bits(self._buffer(), rows)
            case kind if kind == _VIEW:
                return self._views(rows)
            case kind if kind in (_TEXT, _LARGE_TEXT):
                ends = _ends(self._buffer(), "<i4" if column.kind == _TEXT else "<i8", rows)
                data = bytes(self._buffer())
                if ends[-1] > len(data):
                    raise ValueError("texts are not whole")
                self._room.take([end - start for start, end in pairwise(ends)])
                return [data[start:end].decode() for start, end in pairwise(ends)]
        assert column.of is not None  # it is a list
        ends = _ends(self._buffer(), "<i4" if column.kind == _LIST else "<i8", rows)
        if any(end - start > 2 for start, end in pairwise(ends)):
            raise InputError(column.name, "a list of more than two", 'a list of "implemented" and "outcome"')
        inner = self.read(column.of, ends[-1])
        return [inner[start:end] for start, end in pairwise(ends)]

    def _views(self, rows: int) -> list[str]:
        """Texts of which short ones are in the table itself, and others are looked up."""
        table = bytes(self._buffer())
        views = np.frombuffer(table, _VIEWS, rows)
        many = self._head.number("<q", self._next(self._counts))
        if not 0 <= many <= len(self._content):
            raise ValueError("texts are not whole")
        data = [self._buffer() for _ in range(many)]
        lengths = views["length"].tolist()
        self._room.take(lengths)
        found = []
        for i, (length, buffer, offset) in enumerate(
            zip(lengths, views["buffer"].tolist(), views["offset"].tolist(), strict=True)
        ):
            if length <= 12:
                text = table[16 * i + 4 : 16 * i + 4 + length]
            else:
                text = bytes(data[buffer][offset : offset + length]) if 0 <= buffer < many and offset >= 0 else b""
            if len(text) != length:
                raise ValueError("texts are not whole")
            found.append(text.decode())
        return found

    def _valid(self, rows: int, *, nulls: bool) -> list[bool] | None:
        buffer = self._buffer()
        return _bits(buffer, rows) if nulls and len(buffer) else None

    def _buffer(self) -> memoryview:
        place = self._next(self._buffers)
        offset, length = self._head.number("<q", place), self._head.number("<q", place + 8)
        if not (0 <= offset <= len(self._content) and 0 <= length <= len(self._content) - offset):
            raise ValueError("a buffer is not whole")
        return self._content[offset : offset + length]

    def _next(self, places: Iterator[int]) -> int:
        place = next(places, None)
        if place is None:
            raise ValueError("it has fewer buffers than its columns need")
        return place


_VECTORS = ((1, 16), (2, 16), (4, 8))
"""Nodes, buffers, and how many buffers of texts a column has: fields of a batch, and the sizes of their elements."""


def _places(head: Flatbuffer, table: int, number: int, size: int) -> tuple[int, int, int]:
    start, count = head.vector(table, number)
    return start, start + size * count, size


def _numbers(buffer: memoryview, kind: str, rows: int) -> list[Any]:
    found: list[Any] = np.frombuffer(buffer, kind, rows).tolist() if rows else []
    return found


def _bits(buffer: memoryview, rows: int) -> list[bool]:
    if 8 * len(buffer) < rows:
        raise ValueError("a column is not whole")
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8), count=rows, bitorder="little")
    found: list[bool] = bits.astype(bool).tolist()
    return found


def _ends(buffer: memoryview, kind: str, rows: int) -> list[int]:
    """Where values begin and end, which only rises."""
    if not rows:
        return [0]
    found = np.frombuffer(buffer, kind, rows + 1)
    if found[0] < 0 or (found[1:] < found[:-1]).any():
        raise ValueError("its offsets do not rise")
    ends: list[int] = found.tolist()
    return ends
