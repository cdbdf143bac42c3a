"""Rows as files: CSV, JSON, JSON lines, Parquet and, for people, XLSX. No format needs all rows in memory.

A spreadsheet takes some texts for formulas, and would run them. In CSV such a text gets an apostrophe in front. In
XLSX every text is written as a text, which no spreadsheet runs.
"""

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

from takeup.errors import InputError, MissingExtraError
from takeup.folders import private
from takeup.live.export_columns import Column
from takeup.trial.formats import Format
from takeup.version import __version__

Rows: TypeAlias = Iterable[Mapping[str, Any]]
Columns: TypeAlias = Mapping[str, Column]

MOST_ROWS_OF_A_SHEET = 1_048_575
"""What a sheet takes beside the names of its columns."""
PART = 20_000
"""How many rows of a Parquet file are made at a time."""
EXTRAS: Mapping[Format, tuple[str, str]] = {"parquet": ("polars", "sim"), "xlsx": ("xlsxwriter", "xlsx")}
"""What some formats need, and the extra that has it."""
LEFT_OUT_OF_SHEETS = "space"
"""What no person reads, and may be longer than a cell can be."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", "'")
"""What a spreadsheet may take for the beginning of a formula, in full width too; and what takes that away from it."""


def write(file: str | Path | IO[bytes], rows: Rows, columns: Columns, kind: Format) -> None:
    """Write rows to a path, or to a binary file."""
    writer: Callable[[IO[bytes], Rows, Columns], None] = {
        "csv": _csv,
        "json": _json,
        "jsonl": _json_lines,
        "parquet": _parquet,
        "xlsx": _xlsx,
    }[kind]
    if isinstance(file, str | Path):
        with open(file, "wb", opener=private) as opened:
            writer(opened, rows, columns)
    else:
        writer(file, rows, columns)


def check(kind: Format, rows: int = 0) -> None:
    """Whether a file of this kind can be written here, with so many rows."""
    if not installed(kind):
        raise MissingExtraError(*EXTRAS[kind])
    if kind == "xlsx" and rows > MOST_ROWS_OF_A_SHEET:
        allowed = f"at most {MOST_ROWS_OF_A_SHEET:,} in a sheet"
        raise InputError("format", f"xlsx of {rows:,} decisions", allowed, "take csv or parquet")


def installed(kind: Format) -> bool:
    """Whether what writes files of this kind is there."""
    return kind not in EXTRAS or find_spec(EXTRAS[kind][0]) is not None


def _csv(file: IO[bytes], rows: Rows, columns: Columns) -> None:
    ways: Mapping[type, Callable[[Any], str]] = {str: _harmless, datetime: _iso}
    cells = [(name, ways.get(column.kind)) for name, column in columns.items()]
    with _text(file) as text:
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(
            [row[name] if way is None or row[name] is None else way(row[name]) for name, way in cells] for row in rows
        )


def _harmless(text: str) -> str:
    """A text that a spreadsheet would take for a formula gets an apostrophe in front.

    So does one that begins with an apostrophe: who takes one off every text that begins so has what was there.
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def _json_lines(file: IO[bytes], rows: Rows, columns: Columns) -> None:
    with _text(file) as text:
        text.writelines(line + "\n" for line in _objects(rows, columns))


def _json(file: IO[bytes], rows: Rows, columns: Columns) -> None:
    """A list, an object a line."""
    with _text(file) as text:
        text.write("[")
        for i, line in enumerate(_objects(rows, columns)):
            text.write((",\n" if i else "\n") + line)
        text.write("\n]\n")


def _objects(rows: Rows, columns: Columns) -> Iterator[str]:
    for row in rows:
        yield json.dumps({name: row[name] for name in columns}, ensure_ascii=False, default=_iso)


def _iso(value: datetime) -> str:
    return value.isoformat(timespec="microseconds")


@contextmanager
def _text(file: IO[bytes]) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    try:
        yield text
        text.flush()
    finally:
        text.detach()


def _parquet(file: IO[bytes], rows: Rows, columns: Columns) -> None:
    """Part by part into files, which are put together as a stream."""
    import polars as pl

    types = {str: pl.String(), int: pl.Int64(), float: pl.Float64(), datetime: pl.Datetime("us", "UTC")}
    schema = {name: types[column.kind] for name, column in columns.items()}
    waiting = iter(rows)
    with tempfile.TemporaryDirectory(prefix="takeup-export-") as folder:
        parts: list[Path] = []
        while (some := list(islice(waiting, PART))) or not parts:
            parts.append(Path(folder, f"{len(parts):06}.parquet"))
            content = {name: [row[name] for row in some] for name in columns}
            pl.DataFrame(content, schema=schema).write_parquet(parts[-1])
        whole = Path(folder, "whole.parquet")
        pl.scan_parquet(parts).sink_parquet(whole)
        with whole.open("rb") as made:
            shutil.copyfileobj(made, file)


def _xlsx(file: IO[bytes], rows: Rows, columns: Columns) -> None:
    """A sheet of decisions, and one that says what its columns hold. Numbers and times are such, and times of UTC."""
    import xlsxwriter  # type: ignore[import-untyped]  # it has none

    shown = {name: column for name, column in columns.items() if name != LEFT_OUT_OF_SHEETS}
    options = {"constant_memory": True, "remove_timezone": True, "default_date_format": "yyyy-mm-dd hh:mm:ss"}
    with xlsxwriter.Workbook(file, options) as book:
        bold = book.add_format({"bold": True})
        decisions, explained = book.add_worksheet("decisions"), book.add_worksheet("columns")
        decisions.freeze_panes(1, 0)
        decisions.set_column(0, len(shown) - 1, 18)
        decisions.write_row(0, 0, shown, bold)
        ways = {str: "write_string", int: "write_number", float: "write_number", datetime: "write_datetime"}
        cells = [
            (place, name, getattr(decisions, ways[column.kind])) for place, (name, column) in enumerate(shown.items())
        ]
        for line, row in enumerate(rows, start=1):
            for place, name, put in cells:
                if row[name] is not None:
                    put(line, place, row[name])
        explained.set_column(0, 0, 24)
        explained.set_column(1, 1, 90)
        explained.write_row(0, 0, ("column", "what it holds"), bold)
        for line, (name, column) in enumerate(shown.items(), start=1):
            explained.write_string(line, 0, name)
            explained.write_string(line, 1, column.says + (" (UTC)" if column.kind is datetime else ""))
        explained.write_string(len(shown) + 2, 0, f"takeup {__version__}")
