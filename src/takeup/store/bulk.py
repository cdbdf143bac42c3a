"""Many rows at a time: written without building a statement for each, and found by many units in one."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Table, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import Text

from takeup.store.schema import decisions

_MOVING = ("implemented", "outcome", "missing_implemented", "missing_outcome", "counted", "covariates")
"""What becomes known of a decision: the last columns of its row."""
_FIRST_MOVING = [column.name for column in decisions.columns].index(_MOVING[0])
COPIED = 100
"""From so many rows on PostgreSQL copies them; below that, to begin a copy costs more than it saves."""


def insert(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write rows, each with a value for every column of the table, in their order."""
    if not rows:
        return
    postgres = connection.dialect.name == "postgresql"
    if postgres and len(rows) >= COPIED:
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(_copying(table)) as copy:
            for row in rows:
                copy.write_row(row)
        return
    connection.exec_driver_sql(_inserting(table, "%s" if postgres else "?"), list(rows))


def move_decisions(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write what has become known of decisions; rows are as `insert` takes them, of one trial."""
    if not rows:
        return
    moved = [row[_FIRST_MOVING:] + row[:2] for row in rows]
    postgres = connection.dialect.name == "postgresql"
    if postgres and len(rows) >= COPIED:
        columns = [list(column) for column in zip(*moved, strict=True)]
        connection.exec_driver_sql(_moving_together(), (*columns[:-2], columns[-1], rows[0][0]))
    else:
        connection.exec_driver_sql(_moving("%s" if postgres else "?"), moved)


def of_units(connection: Connection, trial: str, places: Sequence[tuple[str, str]]) -> Iterator[Row[Any]]:
    """The decisions of these units and occasions, as far as there are any."""
    given: dict[str, Any] = {"trial": trial}
    if connection.dialect.name == "postgresql":
        given |= {"units": [unit for unit, _ in places], "occasions": [occasion for _, occasion in places]}
    else:
        given["places"] = json.dumps(places, ensure_ascii=False)
    yield from connection.execute(_finding(connection.dialect.name), given)


@cache
def _inserting(table: Table, mark: str) -> str:
    marks = ", ".join([mark] * len(table.columns))
    return f"INSERT INTO {table.name} ({_names(table)}) VALUES ({marks})"


@cache
def _moving(mark: str) -> str:
    values = ", ".join(f"{name} = {mark}" for name in _MOVING)
    return f"UPDATE decisions SET {values} WHERE trial = {mark} AND number = {mark}"


@cache
def _moving_together() -> str:
    values = ", ".join(f"{name} = j.{name}" for name in _MOVING)
    kinds = ", ".join("%s::text[]" if name == "covariates" else "%s::integer[]" for name in _MOVING)
    return (
        f"UPDATE decisions d SET {values} FROM unnest({kinds}, %s::bigint[]) AS j ({', '.join(_MOVING)}, number)"
        " WHERE d.trial = %s AND d.number = j.number"
    )


@cache
def _copying(table: Table) -> str:
    return f"COPY {table.name} ({_names(table)}) FROM STDIN"


@cache
def _finding(dialect: str) -> TextClause:
    """SQLite thinks that a trial has about ten decisions, and would read them all; CROSS JOIN has it look up each."""
    named = ", ".join(f"d.{column.name}" for column in decisions.columns)
    if dialect == "postgresql":
        found = text(
            f"SELECT {named} FROM unnest(:units, :occasions) AS j (unit, occasion)"
            " JOIN decisions d ON d.trial = :trial AND d.unit = j.unit AND d.occasion = j.occasion"
        ).bindparams(bindparam("units", type_=ARRAY(Text)), bindparam("occasions", type_=ARRAY(Text)))
    else:
        found = text(
            f"SELECT {named} FROM json_each(:places) AS j CROSS JOIN decisions d INDEXED BY decisions_by_unit"
            " WHERE d.trial = :trial AND d.unit = json_extract(j.value, '$[0]')"
            " AND d.occasion = json_extract(j.value, '$[1]')"
        )
    return found.columns(*decisions.columns)  # type: ignore[return-value]  # which runs as the text does


def _names(table: Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.columns)
