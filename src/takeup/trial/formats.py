"""The formats that a trial's decisions can be exported in."""

from pathlib import Path
from typing import Literal, get_args

from takeup.errors import InputError

Format = Literal["csv", "parquet", "jsonl", "json", "xlsx"]
FORMATS: tuple[Format, ...] = get_args(Format)


def format_of(file: object, chosen: str | None = None) -> Format:
    """The format that was chosen, or else that of the name's ending; a file without a name is CSV."""
    if chosen is None and not isinstance(file, str | Path):
        return "csv"
    ending = Path(str(file)).suffix if chosen is None else f".{chosen}"
    for known in FORMATS:
        if ending.lower() == f".{known}":
            return known
    if chosen is None:
        raise InputError("file", file, f"a name that ends in .{', .'.join(FORMATS)}", "or name the format")
    raise InputError("format", repr(chosen), f"one of {', '.join(FORMATS)}")
