"""Statements that are built once: building one costs more than running it."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import Insert, Table, insert
from sqlalchemy.dialects import postgresql, sqlite

CHUNK = 400
"""How many values go into one statement."""

Item = TypeVar("Item")


@cache
def inserted(table: Table) -> Insert:
    """Insert."""
    return insert(table)


@cache
def upsert(dialect: str, table: Table, names: tuple[str, ...]) -> Any:
    """Insert, or replace what is there."""
    statement = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns),
        set_={name: statement.excluded[name] for name in names},
    )


def chunks(items: Iterable[Item]) -> Iterator[list[Item]]:
    """The items, as many at a time as go into one statement."""
    ordered = list(items)
    for first in range(0, len(ordered), CHUNK):
        yield ordered[first : first + CHUNK]
