"""What will be asked of the database is asked ahead, all at once: the rest of the code asks as if it were not."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from sqlalchemy import Connection, Executable

from takeup.store.pipeline import together

Question: TypeAlias = tuple[Executable, dict[str, Any]]
"""A statement, and its parameters."""


class Ahead:
    """A connection that has been asked these questions, and answers them from memory, each once.

    Each sees what was committed before it began, so that what follows a statement that locks sees all that others
    wrote under the lock.

    Args:
        connection: in a transaction.
        questions: what is asked, in this order.
    """

    def __init__(self, connection: Connection, questions: Iterable[Question]) -> None:
        self._connection, self.dialect = connection, connection.dialect
        self._answers: dict[Any, Any] = {}
        with together(connection) as asking:
            if asking is not connection:
                for statement, values in questions:
                    self._answers[_name(statement, values)] = asking.execute(statement, values)

    def execute(self, statement: Executable, parameters: Any = None, /) -> Any:
        """The rows that it found."""
        known = self._answers.pop(_name(statement, parameters), None)
        return self._connection.execute(statement, parameters) if known is None else known


def _name(statement: Executable, values: dict[str, Any] | None) -> tuple[Any, ...]:
    return statement, *((name, tuple(v) if isinstance(v, list) else v) for name, v in (values or {}).items())
