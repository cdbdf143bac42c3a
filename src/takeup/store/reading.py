"""What readers ask of a database, in one consistent state of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from sqlalchemy import Connection, Row, Select, func, inspect, select, text

from takeup.errors import NotFoundError
from takeup.store import books
from takeup.store.schema import FOLDS, PENDING, WAITING, decisions, events, keys, trials
from takeup.trial.book import Book, Record
from takeup.trial.design import Design
from takeup.trial.events import Event, Reported, event_of

FETCH = 1_000
"""How many rows are fetched at a time."""
WIDE_FETCH = 20_000
"""How many where some of their columns alone are wanted."""


@dataclass(frozen=True, slots=True)
class Logged:
    """A row of the log as it is stored."""

    sequence: int
    hash: str
    kind: str
    at: int
    decision: int | None
    body: str


def head(connection: Connection, trial: str) -> Row[Any]:
    """A trial's head as it is stored."""
    found = books.heads(connection, [trial], lock=False).get(trial)
    if found is None:
        raise NotFoundError(f"there is no trial {trial!r} in this database")
    return found


def identifiers(connection: Connection) -> list[str]:
    """The trials that there are."""
    return list(connection.execute(select(trials.c.id).order_by(trials.c.id)).scalars())


def named(connection: Connection, wanted: str | None) -> str:
    """The trial that is meant; which one may be left out where the database holds one."""
    known = identifiers(connection)
    listed = ", ".join(known) or "none"
    if wanted is not None and wanted not in known:
        raise NotFoundError(f"there is no trial {wanted!r} in this database; there is {listed}")
    if wanted is None and len(known) != 1:
        raise NotFoundError(f"say which trial: this database holds {listed}")
    return wanted or known[0]


def snapshot(connection: Connection, trial: str, *, time_series: bool = True) -> Book:
    """A trial's book, with its whole time series where asked for, without its single decisions."""
    book = books.load(connection, head(connection, trial))
    if time_series:
        books.load_rollup(connection, book)
    return book


def answers(connection: Connection, trial: str, wanted: Sequence[str]) -> list[Event]:
    """The events that answered these idempotency keys, in the order of the keys, up to the first that is not known."""
    statement = (
        select(keys.c.key, events.c.body)
        .join(events, (events.c.trial == keys.c.trial) & (events.c.sequence == keys.c.sequence))
        .where(keys.c.trial == trial, keys.c.key.in_(wanted))
    )
    found = {row.key: row.body for row in connection.execute(statement)}
    return [event_of(found[key]) for key in takewhile(found.__contains__, wanted)]


def seeded(connection: Connection, trial: str) -> bool | None:
    """Whether somebody chose the trial's seed; None where its log does not say: that of version 0.1 did not."""
    statement = select(events.c.body).where(events.c.trial == trial, events.c.sequence == 1)
    body = connection.execute(statement).scalar_one_or_none()
    return None if body is None else getattr(event_of(body), "seeded", None)


def disputes(connection: Connection, trial: str) -> dict[int, int]:
    """How many reports contradicted an earlier one without a reason, by decision."""
    where = (events.c.trial == trial, events.c.kind == Reported.kind, events.c.body.like('%"stands":{%'))
    statement = select(events.c.decision, func.count()).where(*where).group_by(events.c.decision)
    return {int(decision): int(number) for decision, number in connection.execute(statement)}


def late(connection: Connection, trial: str, at: int) -> int:
    """How many outcomes are pending although their window has closed."""
    statement = (
        select(func.count())
        .select_from(decisions)
        .where(
            decisions.c.trial == trial,
            PENDING,
            decisions.c.due <= at,
        )
    )
    return int(connection.execute(statement).scalar_one())


def due(connection: Connection, at: int) -> list[str]:
    """The trials with outcomes whose window has closed by now and which have not entered the evidence yet.

    It jumps from trial to trial in the index of waiting outcomes, so that neither trials that wait for nothing nor
    outcomes that are not due cost anything.
    """
    hint = "INDEXED BY decisions_waiting" if connection.dialect.name == "sqlite" else ""
    waiting = f"FROM decisions {hint} WHERE {WAITING}"
    statement = text(f"""
        WITH RECURSIVE waits (trial) AS (
            SELECT min(trial) {waiting}
            UNION ALL
            SELECT (SELECT min(trial) {waiting} AND trial > waits.trial) FROM waits WHERE waits.trial IS NOT NULL
        )
        SELECT trial FROM waits WHERE EXISTS (SELECT 1 {waiting} AND decisions.trial = waits.trial AND due <= :at)
    """)
    return list(connection.execute(statement, {"at": at}).scalars())


def decided_at(connection: Connection, trial: str, number: int) -> int | None:
    """When a decision was made; None where there is no such decision."""
    statement = select(decisions.c.at).where(decisions.c.trial == trial, decisions.c.number == number)
    found = connection.execute(statement).scalar_one_or_none()
    return None if found is None else int(found)


def log(
    connection: Connection,
    trial: str,
    *,
    after: int = 0,
    limit: int | None = None,
    decision: int | Sequence[int] | None = None,
    kind: str | None = None,
    backwards: bool = False,
) -> Iterator[Logged]:
    """The log, in order; `backwards` begins with the latest event before `after`, or at all where that is 0.

    One decision or several may be asked for, and a kind of event.
    """
    where = [events.c.trial == trial]
    if backwards and after:
        where.append(events.c.sequence < after)
    elif after:
        where.append(events.c.sequence > after)
    if decision is not None:
        where.append(events.c.decision.in_([decision] if isinstance(decision, int) else decision))
    if kind is not None:
        where.append(events.c.kind == kind)
    order = events.c.sequence.desc() if backwards else events.c.sequence
    statement = select(events).where(*where).order_by(order).limit(limit)
    if decision is not None:
        statement = statement.with_hint(events, "INDEXED BY events_by_decision", "sqlite")
    for row in _rows(connection, statement):
        yield Logged(row.sequence, row.hash, row.kind, row.at, row.decision, row.body)


def of_unit(connection: Connection, trial: str, unit: str, most: int) -> list[int]:
    """The numbers of a unit's latest decisions, at most `most` of them."""
    statement = (
        select(decisions.c.number)
        .where(decisions.c.trial == trial, decisions.c.unit == unit)
        .order_by(decisions.c.number.desc())
        .limit(most)
    )
    return list(connection.execute(statement).scalars())


def records(connection: Connection, trial: str) -> Iterator[tuple[Record, str]]:
    """Every decision as far as it is known, with the body of its event."""
    of = head(connection, trial)
    design = Design.of_text(of.spec)
    statement = (
        select(decisions, events.c.body)
        .join(events, (events.c.trial == decisions.c.trial) & (events.c.sequence == decisions.c.sequence))
        .where(decisions.c.trial == trial)
        .order_by(decisions.c.number)
    )
    for row in _rows(connection, statement):
        yield books.record_of(row, design, of.decisions), row.body


def alike(connection: Connection, trial: str) -> Iterator[tuple[int, int, str, int]]:
    """The decisions of a trial with covariates by context, proposal and covariates: how many there are of each."""
    same = (decisions.c.context, decisions.c.proposal, decisions.c.covariates)
    statement = select(*same, func.count().label("many")).where(decisions.c.trial == trial).group_by(*same)
    for row in _rows(connection, statement):
        yield int(row.context), int(row.proposal), str(row.covariates), int(row.many)


def decisions_by_column(
    connection: Connection, trial: str, names: Sequence[str]
) -> Iterator[tuple[Sequence[Any], ...]]:
    """Some columns of all decisions in their order, a part at a time."""
    wanted = [decisions.c[name] for name in names]
    return _parts(connection, select(*wanted).where(decisions.c.trial == trial).order_by(decisions.c.number))


def events_by_column(
    connection: Connection, trial: str, kind: str, names: Sequence[str]
) -> Iterator[tuple[Sequence[Any], ...]]:
    """Some columns of all events of a kind in their order, a part at a time."""
    wanted = select(*(events.c[name] for name in names))
    return _parts(connection, wanted.where(events.c.trial == trial, events.c.kind == kind).order_by(events.c.sequence))


def stored(connection: Connection, trial: str, name: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The rows of one of the tables that are folds of the log, as they are stored, each with its place in the trial."""
    table = FOLDS[name]
    places = [column.name for column in table.primary_key.columns if column.name != "trial"]
    statement = select(table).where(table.c.trial == trial).order_by(*table.primary_key.columns)
    for row in _rows(connection, statement):
        values = row._asdict()
        yield values[places[0]] if len(places) == 1 else tuple(values[place] for place in places), values


def unknown(connection: Connection) -> Iterator[tuple[str, str]]:
    """Tables with rows of trials that there are none of, and which trials those are."""
    known = set(identifiers(connection))
    for table in (events, *FOLDS.values()):
        column = table.c.trial
        found = connection.execute(select(func.min(column))).scalar_one()
        while found is not None:  # from one trial to the next, however many rows each has
            if found not in known:
                yield table.name, str(found)
            found = connection.execute(select(func.min(column)).where(column > found)).scalar_one()


def tables(connection: Connection) -> list[str]:
    """What the database holds."""
    return sorted(inspect(connection).get_table_names())


def _parts(connection: Connection, statement: Select[Any]) -> Iterator[tuple[Sequence[Any], ...]]:
    """Columns of many rows at a time; likewise."""
    with connection.execute(statement, execution_options={"yield_per": WIDE_FETCH}) as result:
        for part in result.partitions():
            yield tuple(zip(*part, strict=True))


def _rows(connection: Connection, statement: Select[Any]) -> Iterator[Row[Any]]:
    """Rows as they come, never all in memory; whoever stops before the end leaves no cursor open."""
    with connection.execute(statement, execution_options={"yield_per": FETCH}) as result:
        yield from result
