"""PostgreSQL is sent many statements at once and answers them together: one round trip, however many they are.

While a trial's lock is held all its other writers wait, so neither the line to the database nor the client's turns
between statements may take long. Rows that are inserted go as arrays, a column each: one statement, however many.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol

from sqlalchemy import BigInteger, Connection, Dialect, Executable, Insert, Text, bindparam, column, exc, func, select
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA
from sqlalchemy.types import LargeBinary, TypeEngine


class Executing(Protocol):
    """What runs statements: a connection, or something that sends them on with others."""

    @property
    def dialect(self) -> Dialect:
        """Of the database."""

    def execute(self, statement: Executable, parameters: Any = None, /) -> Any:
        """Run a statement; the rows that it found, and how many there were."""


class Pipeline:
    """Statements on their way to PostgreSQL. What `execute` returns may be read when `together` has ended.

    Args:
        connection: in a transaction.
        driver: psycopg's connection behind it.
    """

    def __init__(self, connection: Connection, driver: Any) -> None:
        from psycopg.rows import namedtuple_row

        self.dialect = connection.dialect
        self._connection, self._driver, self._row = connection, driver, namedtuple_row

    def execute(self, statement: Executable, parameters: Any = None, /) -> Any:
        """Send a statement; a list of parameters has the rows of an insert."""
        if isinstance(parameters, list):
            assert isinstance(statement, Insert)
            return self.insert(statement, {name: [row[name] for row in parameters] for name in parameters[0]})
        return self._send(statement, parameters or {}, many=False)

    def insert(self, statement: Insert, columns: Mapping[str, list[Any]]) -> Any:
        """Send an insert, or an upsert, with the values of each column."""
        return self._send(statement, columns, many=True)

    def _send(self, statement: Executable, values: Mapping[str, Any], *, many: bool) -> Any:
        sent = {name: _array(value) if isinstance(value, list) else value for name, value in values.items()}
        text, fixed = _compiled(self.dialect, statement, tuple(sent), many)
        cursor, given = self._driver.cursor(row_factory=self._row), {**fixed, **sent}
        for look in self._connection.dispatch.before_cursor_execute:  # who watches the connection sees these too
            look(self._connection, cursor, text, given, None, many)
        return cursor.execute(text, given)


@contextmanager
def together(connection: Connection) -> Iterator[Executing]:
    """Send all that is executed within at once; where the database cannot, each by itself.

    Raises:
        DBAPIError: one of the statements failed; as SQLAlchemy would say it.
    """
    if connection.dialect.name != "postgresql":
        yield connection
        return
    import psycopg

    driver: Any = connection.connection.driver_connection
    if not psycopg.Pipeline.is_supported():
        yield connection
        return
    try:
        with driver.pipeline():
            yield Pipeline(connection, driver)
    except psycopg.Error as error:
        lost = bool(driver.closed or driver.broken)
        if lost:  # what else is open comes from the same server
            connection.invalidate(error)
            connection.engine.dispose()
        told = exc.DBAPIError.instance(
            None, None, error, psycopg.Error, hide_parameters=True, connection_invalidated=lost
        )
        raise told from error


@lru_cache(maxsize=256)
def _compiled(dialect: Dialect, statement: Any, names: Sequence[str], many: bool) -> tuple[str, dict[str, Any]]:
    """A statement as the driver takes it, and the values that are part of it."""
    if many:
        kinds = {name: _kind(statement.table.c[name].type) for name in names}
        arrays = func.unnest(*(bindparam(name, type_=ARRAY(kind)) for name, kind in kinds.items()))
        rows = arrays.table_valued(*(column(name, kind) for name, kind in kinds.items())).render_derived(name="given")
        statement = statement.from_select(list(names), select(rows))
    made = statement.compile(dialect=dialect, column_keys=list(names))
    return str(made), {name: value for name, value in made.params.items() if name not in names}


_BETWEEN = "\x1f"
"""No name and no JSON has it."""


def _array(values: list[Any]) -> Any:
    """A list as PostgreSQL writes arrays; psycopg does the same, an item at a time."""
    kinds = set(map(type, values))
    if kinds <= {int, type(None)}:
        return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"
    if kinds != {str}:
        return values
    joined = _BETWEEN.join(values)
    if joined.count(_BETWEEN) != len(values) - 1:
        return values
    return '{"' + joined.replace("\\", r"\\").replace('"', r"\"").replace(_BETWEEN, '","') + '"}'


def _kind(of: TypeEngine[Any]) -> type[TypeEngine[Any]]:
    """The kind of an array's items; what is an integer in the table is a large one on the way there."""
    return Text if isinstance(of, Text) else BYTEA if isinstance(of, LargeBinary) else BigInteger
