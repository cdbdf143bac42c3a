"""Many rows at a time: written without building a statement for each, and found by many units in one."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Table, text

from takeup.store.pipeline import Executing, Pipeline
from takeup.store.schema import decisions
from takeup.store.statements import inserted, upsert

_MOVING = ("implemented", "outcome", "missing_implemented", "missing_outcome", "counted", "covariates")
"""What becomes known of a decision: the last columns of its row."""
_FIRST_MOVING = [column.name for column in decisions.columns].index(_MOVING[0])


def insert(connection: Executing, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write rows, each with a value for every column of the table, in their order."""
    if not rows:
        return
    if isinstance(connection, Pipeline):
        connection.insert(inserted(table), _columns(table, rows))
    else:
        assert isinstance(connection, Connection)
        connection.exec_driver_sql(_inserting(table, _mark(connection)), list(rows))


def move_decisions(connection: Executing, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write what has become known of decisions; rows are as `insert` takes them, of one trial."""
    if not rows:
        return
    if isinstance(connection, Pipeline):
        connection.insert(upsert("postgresql", decisions, _MOVING), _columns(decisions, rows))
    else:
        assert isinstance(connection, Connection)
        connection.exec_driver_sql(_moving(_mark(connection)), [row[_FIRST_MOVING:] + row[:2] for row in rows])


def of_units(connection: Executing, trial: str, places: Sequence[tuple[str, str]]) -> Iterator[Row[Any]]:
    """The decisions of these units and occasions, as far as there are any, in SQLite."""
    yield from connection.execute(_OF_UNITS, {"trial": trial, "places": json.dumps(places, ensure_ascii=False)})


_OF_UNITS = text(
    f"SELECT {', '.join(f'd.{column.name}' for column in decisions.columns)}"
    " FROM json_each(:places) AS j CROSS JOIN decisions d INDEXED BY decisions_by_unit"
    " WHERE d.trial = :trial AND d.unit = json_extract(j.value, '$[0]') AND d.occasion = json_extract(j.value, '$[1]')"
).columns(*decisions.columns)
"""SQLite thinks that a trial has about ten decisions, and would read them all; CROSS JOIN has it look up each."""


def _columns(table: Table, rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: list(values) for name, values in zip(table.columns.keys(), zip(*rows, strict=True), strict=True)}


def _mark(connection: Connection) -> str:
    return "%s" if connection.dialect.name == "postgresql" else "?"


@cache
def _inserting(table: Table, mark: str) -> str:
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    return f"INSERT INTO {table.name} ({names}) VALUES ({', '.join([mark] * len(table.columns))})"


@cache
def _moving(mark: str) -> str:
    values = ", ".join(f"{name} = {mark}" for name in _MOVING)
    return f"UPDATE decisions SET {values} WHERE trial = {mark} AND number = {mark}"
