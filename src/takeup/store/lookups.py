"""Rows of a trial that are looked up by what names them, however many and however large the trial.

PostgreSQL gets the names as arrays and looks each up by itself. From one list of them it would often read all rows of
the trial and compare each with each, and even for one row it may take an index that has no more than the trial in it:
it thinks that a trial is small which it has not counted yet. So the last column is asked for as a range of one, in its
order: only the right index has that, and the sessions of writers do not sort (`postgres.writer`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    Row,
    Select,
    Text,
    bindparam,
    column,
    func,
    literal_column,
    select,
    true,
    tuple_,
)
from sqlalchemy.dialects.postgresql import ARRAY

from takeup.store.ahead import Question
from takeup.store.pipeline import Executing
from takeup.store.schema import decisions, events, keys
from takeup.store.statements import chunks

_BODY = (
    select(events.c.body)
    .where(events.c.trial == keys.c.trial, events.c.sequence >= keys.c.sequence, events.c.sequence <= keys.c.sequence)
    .order_by(events.c.sequence)
    .limit(literal_column("1", Integer))
)
_ANSWERED = select(keys, _BODY.scalar_subquery().label("body"))


class Lookup:
    """A statement that finds the rows of a trial with certain values in some columns, on either database.

    Args:
        found: what to select, of a table with a column `trial`.
        columns: of that table; together with the trial they name a row.
        index: what SQLite is to use: it thinks that a trial has about ten decisions, and would read them all.
    """

    def __init__(self, found: Select[Any], columns: Sequence[Column[Any]], index: str | None = None) -> None:
        table = columns[0].table
        of_trial = found.where(table.c.trial == bindparam("trial"))
        self._names = tuple(each.name for each in columns)
        value = columns[0] if len(columns) == 1 else tuple_(*columns)
        self._listed = of_trial.where(value.in_(bindparam("some", expanding=True)))
        if index is not None:
            self._listed = self._listed.with_hint(table, f"INDEXED BY {index}", "sqlite")
        kinds = {each.name: Text if isinstance(each.type, Text) else BigInteger for each in columns}
        wanted = func.unnest(*(bindparam(name, type_=ARRAY(kind)) for name, kind in kinds.items())).table_valued(
            *(column(name, kind) for name, kind in kinds.items())
        )
        named = wanted.render_derived(name="wanted")
        *others, last = columns
        one = of_trial.where(*(each == named.c[each.name] for each in others))
        ranged = one.where(last >= named.c[last.name], last <= named.c[last.name])
        each = ranged.order_by(last).limit(literal_column("1", Integer)).lateral("found")
        self._each = select(each).select_from(named.join(each, true()))

    def asked(self, trial: str, some: Iterable[Any]) -> Iterator[Question]:
        """How PostgreSQL is asked for them."""
        wanted = sorted(some)
        if wanted:
            columns = (wanted,) if len(self._names) == 1 else zip(*wanted, strict=True)
            values = {name: list(values) for name, values in zip(self._names, columns, strict=True)}
            yield self._each, {"trial": trial, **values}

    def run(self, connection: Executing, trial: str, some: Iterable[Any]) -> Iterator[Row[Any]]:
        """The rows that are there; of several columns `some` has tuples, and none of them twice."""
        if connection.dialect.name == "postgresql":
            for statement, values in self.asked(trial, some):
                yield from connection.execute(statement, values)
            return
        for few in chunks(some):
            yield from connection.execute(self._listed, {"trial": trial, "some": few})


BY_NUMBER = Lookup(select(decisions), [decisions.c.number])
BY_UNIT = Lookup(select(decisions), [decisions.c.unit, decisions.c.occasion], "decisions_by_unit")
ANSWERS = Lookup(_ANSWERED, [keys.c.key])
BODIES = Lookup(select(events.c.body), [events.c.sequence])
