"""Tables as REDCap gives them: CSV files of its pages, or lists of mappings of its API."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from takeup.errors import InputError

Rows: TypeAlias = Sequence[Mapping[str, Any]]
Table: TypeAlias = str | Path | Rows
"""The path of a CSV file, or rows as PyCap returns them."""


def rows_of(argument: str, table: Table) -> Rows:
    """The rows of a table; a CSV file may be separated by commas, semicolons or tabs, as REDCap lets one choose."""
    if not isinstance(table, str | Path):
        return list(table)
    try:
        text = Path(table).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(argument, f"{table} ({error})", "a CSV file in UTF-8 that can be read") from None
    header = text.partition("\n")[0]
    rows = list(csv.DictReader(text.splitlines(keepends=True), delimiter=max(",;\t", key=header.count)))
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            raise InputError(f"{argument}: row {number}", "more or fewer values than there are columns", "one for each")
    return rows
