"""The data that charts take: a polars frame or a sequence of mappings."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from takeup.errors import InputError

if TYPE_CHECKING:
    import polars

Records: TypeAlias = "polars.DataFrame | Sequence[Mapping[str, Any]]"
"""One record for each mark of a chart."""


def rows(argument: str, given: "Records", *columns: str) -> list[dict[str, Any]]:
    """The records as plain dictionaries, each with at least these columns."""
    records = [dict(row) for row in (given if isinstance(given, Sequence) else given.to_dicts())]
    if not records:
        raise InputError(argument, "no records", "at least one")
    for number, record in enumerate(records):
        missing = [column for column in columns if column not in record]
        if missing:
            raise InputError(argument, f"record {number} without {', '.join(missing)}", f"all of {', '.join(columns)}")
    return records
