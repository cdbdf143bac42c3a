"""Tables that are text, as spreadsheets and programs write them: what separates fields, what bytes stand for."""

import codecs
import csv
from io import StringIO
from typing import Any

from takeup.errors import InputError
from takeup.frames.columns import Frame

NOT_KNOWN = ("NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", ".")
"""What stands for a missing value in a CSV file of somebody else, beside nothing at all."""

COMMA = r"^\s*[-+]?\d{1,3}(\.\d{3})*(,\d+)?\+?\s*$|^\s*[-+]?\d+(,\d+)?\+?\s*$"
"""A number with a decimal comma, and points between thousands; a plus after it where it is a censored time."""

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
"""What a text may begin with, and the encoding that it says."""

MOSTLY = 0.5
"""Where more cells are such numbers, the column is one of numbers."""

MOST_HEADER = 1_000_000
"""So many characters the names of columns may have together."""


def decoded(data: bytes, encoding: str | None) -> str:
    """The text that bytes stand for: UTF-8, or what their first bytes or somebody says."""
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding or marked)
    except LookupError:
        hint = "as in encoding=cp1252 for what Excel writes on Windows"
        raise InputError("encoding", repr(encoding), "the name of an encoding that Python knows", hint) from None
    except UnicodeError as error:
        place = getattr(error, "start", 0)
        line = data.count(b"\n", 0, place) + 1
        hint = "save it as UTF-8, or say what it is, as in encoding=cp1252 for what Excel writes on Windows"
        value = f"bytes in line {line} that are no {encoding or marked}"
        raise InputError("path", value, "a text in this encoding", hint) from None
    return text.removeprefix("\ufeff")


def table(text: str, own: frozenset[str], pl: Any) -> tuple[Frame, list[str], list[str]]:
    """The table in a text, every cell a text: what it stands for depends on its column.

    Fields are separated by whichever of comma, semicolon and tab the first line has most of. After semicolons numbers
    may have a decimal comma.

    Args:
        text: the text.
        own: columns that are in takeup's own files alone, in which every text is as it is.
        pl: polars.

    Returns the table, what its columns are called, where two may have one name, and what was taken to be so.
    """
    separator = max(",;\t", key=text.partition("\n")[0].count)
    names = [name.strip() for name in next(csv.reader(StringIO(text[:MOST_HEADER]), delimiter=separator), [])]
    if not any(names):
        raise InputError("path", "no names in the first line" if text.strip() else "an empty file", "a table")
    nulls = None if own <= set(names) else list(NOT_KNOWN)
    options = {"infer_schema": False, "try_parse_dates": False, "null_values": nulls}
    try:
        frame = pl.read_csv(text.encode(), separator=separator, **options)
    except pl.exceptions.PolarsError:
        _none_too_long(text, separator, len(names))
        raise
    if len(names) == frame.width:
        frame.columns = [f"{name} ({k + 1})" if name in names[:k] else name for k, name in enumerate(names)]
    return _with_points(frame, names, pl) if separator == ";" else (frame, names, [])


def _none_too_long(text: str, separator: str, many: int) -> None:
    """An InputError that names the first row with more fields than columns have names, if there is one."""
    for number, fields in enumerate(csv.reader(StringIO(text), delimiter=separator)):
        if len(fields) > many:
            hint = "put a field that has a separator in it between quotes"
            raise InputError(f"path: row {number}", f"{len(fields)} fields", f"{many}, as the first line names", hint)


def _with_points(frame: Frame, names: list[str], pl: Any) -> tuple[Frame, list[str], list[str]]:
    """Decimal points for the commas of columns that hold numbers, but for a few words perhaps."""
    commas = [name for name in frame.columns if frame[name].str.contains(",", literal=True).any()]
    found = [name for name in commas if frame[name].str.contains(COMMA).mean() > MOSTLY]
    if not found:
        return frame, names, []
    every = pl.col(found)
    plain = every.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    points = pl.when(every.str.contains(COMMA)).then(plain).otherwise(every)
    return frame.with_columns(points), names, [f"A comma is a decimal point in {', '.join(found)}."]
