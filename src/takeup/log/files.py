"""Logs from files: takeup's own exports as they are, and anybody's by naming columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from takeup.errors import NOTHING, InputError, MissingExtraError
from takeup.log.columns import Frame, names_of
from takeup.log.exported import MARKS, log_of_export
from takeup.log.frames import log_of
from takeup.log.shares import Probability
from takeup.log.table import Log
from takeup.space import Space

NOT_KNOWN = ("NA", "N/A", "NaN", "nan")
"""What stands for a missing value in a CSV file of somebody else, beside nothing at all."""

ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
}
"""What a file is by its ending; a CSV file may be packed, and end in .gz too."""


def read_log(
    path: str | Path,
    *,
    assigned: str | None = None,
    outcome: str | None = None,
    taken: str | None = None,
    context: str | Sequence[str] | None = None,
    probability: Probability = None,
    unit: str | None = None,
    space: Space | None = None,
    levels: Sequence[str] | None = None,
) -> Log:
    """The log in a CSV, Parquet, JSON lines or JSON file.

    An export of takeup needs no options. Of any other file `assigned` and `outcome` name columns; see
    `takeup.log.frames.log_of` for them and the others. In a CSV file fields are separated by whichever of comma,
    semicolon and tab its first line has most of, and NA, N/A and NaN are missing values.

    Raises:
        InputError: a file that cannot be read, or is not what it should be; names row and column.
    """
    frame = _frame(Path(path))
    names = names_of(frame)
    if assigned is None and outcome is None and set(MARKS) <= set(names):
        return log_of_export(frame, space)
    for argument, given in (("assigned", assigned), ("outcome", outcome)):
        if given is None:
            raise InputError(argument, NOTHING, f"one of the columns {', '.join(names)}")
    return log_of(
        frame,
        assigned=str(assigned),
        outcome=str(outcome),
        taken=taken,
        context=context,
        probability=probability,
        unit=unit,
        space=space,
        levels=levels,
    )


def _frame(path: Path) -> Frame:
    kind = ENDINGS.get(Path(path.name.removesuffix(".gz")).suffix.lower())
    if kind is None:
        raise InputError("path", repr(str(path)), f"a file whose name ends in {', '.join(ENDINGS)}")
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("polars", "sim") from None
    try:
        if kind == "csv":
            return _csv(path, pl)
        if kind == "parquet":
            return pl.read_parquet(path)
        return (pl.read_json if kind == "json" else pl.read_ndjson)(path, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        hint = "save it as UTF-8 where it is text" if "utf" in str(error).lower() else ""
        raise InputError("path", f"{path} ({error})", f"a {kind} file that can be read", hint) from None


def _csv(path: Path, pl: Any) -> Frame:
    """Every cell as a text: what it stands for depends on its column."""
    options = {"infer_schema": False, "try_parse_dates": False}
    first = pl.read_csv(path, n_rows=0, separator="\x1f", quote_char=None, **options).columns
    header = first[0] if first else ""
    separator = max(",;\t", key=header.count)
    own = set(MARKS) <= set(header.split(","))
    return pl.read_csv(path, separator=separator, null_values=None if own else list(NOT_KNOWN), **options)
