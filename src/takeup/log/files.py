"""Logs from files: takeup's own exports as they are, and anybody's by naming columns."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from takeup.checks import shown
from takeup.errors import NOTHING, InputError
from takeup.frames.columns import named
from takeup.frames.covariates import Asked, names_asked
from takeup.frames.files import MARKS, check_names, table_in
from takeup.log.exported import log_of_export
from takeup.log.frames import log_of
from takeup.log.shares import Probability
from takeup.log.table import Log
from takeup.outcomes import Better
from takeup.space import Space


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
    covariates: Asked = None,
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
        covariates: likewise.
        encoding: of a CSV file; UTF-8, or what its first bytes say, where left out.

    Raises:
        InputError: a file that cannot be read, or is not what it should be; names row and column.
    """
    frame, names, said = table_in(Path(path), encoding)
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
        "covariates": covariates,
    }
    if set(MARKS) <= set(names):
        for argument, given in columns.items():
            if given is not None:
                raise InputError(argument, shown(given), "nothing for an export of takeup, which has its own columns")
        return log_of_export(frame, space)
    for argument in ("assigned", "outcome"):
        if columns[argument] is None:
            raise InputError(argument, NOTHING, f"one of the columns {named(names)}")
    check_names({**columns, "covariates": names_asked(covariates)}, names)
    log = log_of(frame, **columns, space=space)
    return replace(log, inferred=(*log.inferred, *said))
