"""Tables in files: CSV, Parquet, JSON lines and JSON, packed or not."""

import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from takeup.checks import shown
from takeup.errors import InputError, MissingExtraError
from takeup.frames import texts
from takeup.frames.columns import Frame, meant, names_of

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

MARKS = ("trial", "decision", "unit", "context", "decided_at", "outcome_status", "source")
"""Columns that together are in takeup's exports alone, blinded or not."""


def table_in(path: Path, encoding: str | None = None) -> tuple[Frame, list[str], list[str]]:
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


def own_table(frame: Frame, columns: Mapping[str, object]) -> tuple[Frame, list[str]]:
    """Somebody else's table: as it is, or from a file where `frame` is its path; and what was taken to be so.

    Args:
        frame: the table, or the path of a file.
        columns: the columns that are wanted, by what each was named for.
    """
    if not isinstance(frame, str | Path):
        return frame, []
    found, names, said = table_in(Path(frame))
    if set(MARKS) <= set(names):
        hint = "takeup.log.read_log(path) is its log, with a space; Evidence.from_log(log) its evidence"
        raise InputError("frame", f"{frame}, an export of takeup", "a table of somebody else's", hint)
    check_names(columns, names)
    return found, said


def check_names(columns: Mapping[str, object], names: Sequence[str]) -> None:
    """No column that is asked for has the name of another; `names` are those that the file has."""
    for argument, given in columns.items():
        values = given.values() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else [given]
        for name in values if argument not in ("levels", "better") else ():
            if isinstance(name, str) and names.count(name) > 1:
                raise InputError(argument, shown(name), "the name of one column", f"{names.count(name)} are called so")
