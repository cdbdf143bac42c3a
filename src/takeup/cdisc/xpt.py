"""SAS transport files, version 5: names of 8 characters, labels of 40, texts of 200, all of it ASCII."""

import re
from datetime import date
from pathlib import Path
from typing import Any

from takeup.cdisc.variables import DATE_FORMAT, Dataset, Variable
from takeup.checks import shown
from takeup.errors import InputError, MissingExtraError

LONGEST_LABEL = 40
LONGEST_TEXT = 200
_NAME = re.compile("[A-Z_][A-Z0-9_]{0,7}")
_HINT = "write Dataset-JSON alone, which holds every text, or change it in a copy of the data"


def check(dataset: Dataset) -> None:
    """Whether a transport file can hold a dataset."""
    for name in (dataset.name, *(variable.name for variable in dataset.variables)):
        if not _NAME.fullmatch(name):
            raise InputError(dataset.name, name, "a name of at most 8 capital letters and digits")
    for label in (dataset.label, *(variable.label for variable in dataset.variables)):
        _fits(dataset.name, label, LONGEST_LABEL)
    for variable in dataset.variables:
        if not variable.numeric:
            for value in dict.fromkeys(dataset.column(variable.name)):
                _fits(f"{dataset.name}.{variable.name}", value or "", LONGEST_TEXT)


def write(file: Path, dataset: Dataset) -> None:
    """Write a dataset that has been checked."""
    pl, pyreadstat = _libraries()
    types = {"string": pl.String, "datetime": pl.String, "integer": pl.Int64, "float": pl.Float64, "date": pl.Date}
    columns = {
        variable.name: pl.Series(
            [_value(variable, cell) for cell in dataset.column(variable.name)], dtype=types[variable.kind]
        )
        for variable in dataset.variables
    }
    pyreadstat.write_xport(
        pl.DataFrame(columns),
        str(file),
        file_label=dataset.label,
        column_labels={variable.name: variable.label for variable in dataset.variables},
        table_name=dataset.name,
        file_format_version=5,
        variable_format={variable.name: DATE_FORMAT for variable in dataset.variables if variable.kind == "date"},
    )


def read(file: Path) -> Any:
    """The table in a transport file, of whichever version."""
    _, pyreadstat = _libraries()
    try:
        frame, _ = pyreadstat.read_xport(str(file), output_format="polars")
    except (OSError, pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise InputError("file", f"{file} ({error})", "a SAS transport file") from None
    return frame


def _libraries() -> tuple[Any, Any]:
    try:
        import polars
        import pyreadstat
    except ImportError:
        raise MissingExtraError("pyreadstat", "cdisc") from None
    return polars, pyreadstat


def _value(variable: Variable, cell: Any) -> Any:
    if variable.kind == "date":
        return None if cell is None else date.fromisoformat(cell)
    return cell if variable.numeric else cell or ""


def _fits(place: str, text: object, most: int) -> None:
    said = str(text)
    if not said.isascii() or not (said.isprintable() or not said):
        raise InputError(place, shown(said), "ASCII text, as in SAS transport files", _HINT)
    if len(said) > most:
        raise InputError(
            place, f"{len(said)} characters, {shown(said)}", f"at most {most}, as in SAS transport files", _HINT
        )
