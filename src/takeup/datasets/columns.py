"""Columns of a CSV file, read strictly: every error names the file, the line and the value."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from takeup.errors import InputError

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CHUNK = 1 << 16
_MOST_DIGITS = 9


class DatasetError(InputError):
    """A data file is not as it should be; the message names file, line, column and value."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Some columns of a file.

    Attributes:
        path: where they come from.
        lines: the line number of each row in the file; the header is line 1.
        values: the values of each column, stripped of spaces, by its name in capitals.
    """

    path: Path
    lines: tuple[int, ...]
    values: Mapping[str, NDArray[np.str_]]

    def check(self, column: str, allowed: Sequence[str] | None) -> None:
        """Refuse a column that holds anything but these codes, in upper or lower case; None allows whole numbers."""
        values = self.values[column]
        if allowed is None:
            unknown = ~((values == "") | (np.char.isdecimal(values) & (np.char.str_len(values) <= _MOST_DIGITS)))
            expected = "a whole number or nothing"
        else:
            unknown = ~np.isin(np.char.upper(values), allowed)
            expected = f"one of {', '.join(code or 'nothing' for code in allowed)}"
        if unknown.any():
            first = int(unknown.argmax())
            got = repr(str(values[first])) if values[first] else "nothing"
            _refuse(self.path, f"line {self.lines[first]}, {column}", got, expected)


def read(path: str | Path, wanted: Sequence[str]) -> Columns:
    """Read some columns of a CSV file with a header; plain or gzip, with a byte order mark or without.

    Text is read as Latin-1, in which every byte is a character: the wanted columns are ASCII, and others may hold
    anything. Column names match in upper or lower case. Blank lines are skipped.

    Raises:
        DatasetError: no such file, not text, cut off, a missing column, or a row of another length than the header.
    """
    file = Path(path)
    content = _content(file)
    rows = _rows(file, content.removeprefix(_BYTE_ORDER_MARK).decode("latin-1"))
    first, header = next(rows, (1, []))
    if not header:
        _refuse(file, "line 1", "an empty file", f"a header with the columns {', '.join(wanted)}")
    names = [name.strip().upper() for name in header]
    places = [_place(file, first, names, name) for name in wanted]
    lines: list[int] = []
    kept: list[list[str]] = []
    for line, row in rows:
        if len(row) != len(names):
            hint = "the file may have been cut off here" if len(row) < len(names) else "a comma may lack its quotes"
            _refuse(file, f"line {line}", f"{len(row)} fields", f"{len(names)}, as many as the header has", hint)
        lines.append(line)
        kept.append([row[place].strip() for place in places])
    table = np.array(kept, dtype=np.str_).reshape(len(kept), len(wanted))
    return Columns(file, tuple(lines), {name: table[:, i] for i, name in enumerate(wanted)})


def _refuse(file: Path, where: str, got: object, allowed: str, hint: str = "") -> NoReturn:
    raise DatasetError(f"{file}, {where}" if where else str(file), got, allowed, hint)


def _content(file: Path) -> bytes:
    try:
        content = file.read_bytes()
    except OSError as error:
        _refuse(file, "", error.strerror, "a file that can be read")
    if content.startswith(_GZIP):
        content = _unpacked(file, content)
    if b"\0" in content:
        line = _line(content[: content.index(b"\0")])
        _refuse(file, f"line {line}", "a byte of zero", "text", "unpack the file, or save it as a plain CSV file")
    return content


def _unpacked(file: Path, packed: bytes) -> bytes:
    """The unpacked content; an error says at which line the data is damaged."""
    content = bytearray()
    try:
        with gzip.open(io.BytesIO(packed)) as stream:
            while chunk := stream.read1(_CHUNK):
                content += chunk
    except (EOFError, OSError, zlib.error) as error:
        _refuse(
            file,
            f"line {_line(content)}",
            f"damaged gzip data ({error})",
            "a whole file",
            "it was cut off or damaged here; fetch it again",
        )
    return bytes(content)


def _line(before: bytes | bytearray) -> int:
    """The number of the line that follows this text."""
    return before.count(b"\n") + 1


def _rows(file: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of the line that they start on."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for row in reader:
            if any(field.strip() for field in row):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        _refuse(file, f"line {line}", f"{error}", "fields separated by commas, with quotes that close")


def _place(file: Path, line: int, names: list[str], wanted: str) -> int:
    found = names.count(wanted)
    if found == 1:
        return names.index(wanted)
    where = f"line {line}"
    if found:
        _refuse(file, where, f"{found} columns called {wanted}", "one")
    separated = len(names) == 1 and any(mark in names[0] for mark in ";\t")
    hint = "its fields are not separated by commas" if separated else "is it the database that its authors publish?"
    few = ", ".join(repr(name[:20]) for name in names[:5]) + (", .." if len(names) > 5 else "")
    _refuse(file, where, f"no column {wanted} among {len(names)} ({few})", f"a column {wanted}", hint)
