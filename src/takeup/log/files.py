"""Logs from files: takeup's own exports as they are, and anybody's by naming columns."""

import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from takeup.checks import shown
from takeup.errors import NOTHING, InputError, MissingExtraError
from takeup.log import texts
from takeup.log.columns import Frame, meant, named, names_of
from takeup.log.exported import MARKS, log_of_export
from takeup.log.frames import log_of
from takeup.log.shares import Probability
from takeup.log.table import Log
from takeup.outcomes import Better
from takeup.space import Space

ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
}
"""What a file is by its ending; it may be packed, and end in .gz too."""


SHEETS = (".xlsx", ".xls", ".ods", ".numbers")
"""Spreadsheets, which have no one table."""


def read_log(
    path: str | Path,
    *,
    assigned: str | None = None,
    outcome: str | None = None,
    taken: str | None = None,
    context: str | Sequence[str] | None = None,
    probability: Probability = None,
    unit: str | None = None,
    exposure: str | None = None,
    space: Space | None = None,
    levels: Sequence[str] | None = None,
    better: Better | None = None,
    encoding: str | None = None,
) -> Log:
    """The log in a CSV, Parquet, JSON lines or JSON file.

    An export of takeup has its own columns. Of any other file `assigned` and `outcome` name columns; see
    `takeup.log.frames.log_of` for them and the others. In a CSV file fields are separated by whichever of comma,
    semicolon and tab its first line has most of, after semicolons numbers may have a decimal comma, and NA, N/A, NaN,
    NULL and a point alone are missing values. A file that ends in .gz is unpacked.

    Args:
        path: the file.
        assigned: see `log_of`, as for all that follow.
        outcome: likewise.
        taken: likewise.
        context: likewise.
        probability: likewise.
        unit: likewise.
        exposure: likewise.
        space: likewise.
        levels: likewise.
        better: likewise.
        encoding: of a CSV file; UTF-8, or what its first bytes say, where left out.

    Raises:
        InputError: a file that cannot be read, or is not what it should be; names row and column.
    """
    frame, names, said = _frame(Path(path), encoding)
    columns: dict[str, Any] = {
        "assigned": assigned,
        "outcome": outcome,
        "taken": taken,
        "context": context,
        "probability": probability,
        "unit": unit,
        "exposure": exposure,
        "levels": levels,
        "better": better,
    }
    if set(MARKS) <= set(names):
        for argument, given in columns.items():
            if given is not None:
                raise InputError(argument, shown(given), "nothing for an export of takeup, which has its own columns")
        return log_of_export(frame, space)
    for argument in ("assigned", "outcome"):
        if columns[argument] is None:
            raise InputError(argument, NOTHING, f"one of the columns {named(names)}")
    for argument, given in columns.items():
        _once_there(argument, given, names)
    log = log_of(frame, **columns, space=space)
    return replace(log, inferred=(*log.inferred, *said))


def _once_there(argument: str, given: object, names: Sequence[str]) -> None:
    """No column that is asked for has the name of another."""
    values = given.values() if isinstance(given, Mapping) else [given] if isinstance(given, str) else given or ()
    for name in values if argument not in ("levels", "better") else ():  # type: ignore[attr-defined]  # checked later
        if isinstance(name, str) and names.count(name) > 1:
            raise InputError(argument, shown(name), "the name of one column", f"{names.count(name)} are called so")


def _frame(path: Path, encoding: str | None) -> tuple[Frame, list[str], list[str]]:
    """The table in a file, what its columns are called, and what was taken to be so."""
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    kind = ENDINGS.get(ending)
    if kind is None:
        hint = "save the sheet as CSV" if ending in SHEETS else ""
        raise InputError("path", repr(str(path)), f"a file whose name ends in {', '.join(ENDINGS)}", hint)
    if encoding is not None and kind != "csv":
        raise InputError("encoding", repr(encoding), f"nothing for a {kind} file")
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("polars", "sim") from None
    data = content(path)
    try:
        if kind == "csv":
            return texts.table(texts.decoded(data, encoding), frozenset(MARKS), pl)
        if kind == "parquet":
            frame = pl.read_parquet(data)
        else:
            frame = (pl.read_json if kind == "json" else pl.read_ndjson)(data, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        why = str(error).strip().partition("\n")[0]
        raise InputError("path", f"{path} ({why})", f"a {kind} file that can be read") from None
    return frame, names_of(frame), []


def content(path: Path) -> bytes:
    """The bytes of one file, unpacked where it is packed."""
    if path.is_dir():
        raise InputError("path", f"the folder {str(path)!r}", "one file")
    if not path.exists() and set(path.name) & set("*?["):
        raise InputError("path", repr(str(path)), "one file", "put the tables together first")
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
    except FileNotFoundError:
        there = sorted(file.name for file in path.parent.iterdir()) if path.parent.is_dir() else []
        raise InputError("path", repr(str(path)), "a file that exists", meant(path.name, there)) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError("path", f"{path} ({error})", "a file that can be read") from None
    if not data.strip():
        raise InputError("path", f"{path}, which is empty", "a table")
    if data.startswith(b"PK"):
        raise InputError("path", f"{path}, which is a spreadsheet or an archive", "a table", "save the sheet as CSV")
    return data
