"""Flatbuffers, read with care: nothing outside of them is looked at, whatever they say."""

import struct


class FlatbufferError(ValueError):
    """What says that it is a flatbuffer and is none."""


class Flatbuffer:
    """Tables in a buffer, by where they begin."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = data

    @property
    def root(self) -> int:
        """The table that all others hang on."""
        return self.number("<I", 0)

    def number(self, kind: str, at: int) -> int:
        """A number of a kind that `struct` knows."""
        if not 0 <= at <= len(self._data) - struct.calcsize(kind):
            raise FlatbufferError("it points outside of itself")
        return int(struct.unpack_from(kind, self._data, at)[0])

    def field(self, table: int, number: int) -> int:
        """Where a field of a table is; 0 where it is left out."""
        names = table - self.number("<i", table)
        if 6 + 2 * number > self.number("<H", names):
            return 0
        step = self.number("<H", names + 4 + 2 * number)
        return table + step if step else 0

    def scalar(self, table: int, number: int, kind: str, default: int = 0) -> int:
        """A number of a table."""
        at = self.field(table, number)
        return self.number(kind, at) if at else default

    def table(self, table: int, number: int) -> int:
        """A table, or whatever else, that a field leads to; 0 where it is left out."""
        at = self.field(table, number)
        return at + self.number("<I", at) if at else 0

    def vector(self, table: int, number: int) -> tuple[int, int]:
        """Where the elements of a vector begin, and how many there are."""
        at = self.table(table, number)
        return (at + 4, self.number("<I", at)) if at else (0, 0)

    def text(self, table: int, number: int) -> str:
        """A text."""
        start, size = self.vector(table, number)
        if start + size > len(self._data):
            raise FlatbufferError("it points outside of itself")
        return bytes(self._data[start : start + size]).decode()
