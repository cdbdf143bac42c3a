"""Databases in memory, which SQLite calls otherwise than takeup does."""

from pathlib import Path

from takeup.errors import InputError


def check_database(argument: str, database: str | Path) -> None:
    """Refuse what SQLite calls a database in memory: here it would be a file of that name, which nobody writes to."""
    name = str(database)
    if name.removeprefix("sqlite:///").removeprefix("file:").partition("?")[0] == ":memory:":
        raise InputError(argument, repr(name), "a file's path, a URL, or sqlite:// for a database in memory")
