"""What is sent to PostgreSQL together: arrays as it writes them, errors as SQLAlchemy has them, rows by their index."""

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, event, exc, text

import lock
import servers
from store_internals import SPEC, engine
from takeup.live import Trial
from takeup.store import Store, Writer, books, lookups
from takeup.store.pipeline import _array, together
from takeup.store.schema import api_keys, sessions
from takeup.store.statements import inserted, upsert
from takeup.trial import Ask, Decide

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
SPECIAL = st.sampled_from(
    ["", "NULL", "null", '"', "\\", '\\"', "{}", ",", " a ", "\n", "\x1f", "é中", "{a,b}", "'", "%s"]
)
ROW = {"key": "k", "created_at": 1, "expires_at": 2, "used_at": 3}


@pytest.fixture(scope="module")
def url(postgres: servers.Server) -> Iterator[str]:
    with postgres.database() as url:
        yield url


@pytest.fixture
def writer(url: str) -> Iterator[Writer]:
    writer = Writer(url)
    yield writer
    writer.close()


def test_arrays_are_what_postgresql_reads(url: str) -> None:
    with psycopg.connect(url) as connection:

        @settings(max_examples=200)
        @given(
            st.lists(TEXTS | SPECIAL, min_size=1), st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=1)
        )
        def same(texts: list[str], numbers: list[int | None]) -> None:
            for values, kind in ((texts, "text"), (numbers, "bigint")):
                found = connection.execute(f"SELECT %s::{kind}[]", [_array(values)]).fetchone()
                assert found == (values,)

        same()


@pytest.mark.parametrize("values", [[b"a"], [b"a", b"\xff"], ["a", None], [True]])
def test_what_is_neither_names_nor_numbers_is_left_to_the_driver(values: list[Any]) -> None:
    assert _array(values) is values


def test_rows_are_written_together_whatever_their_number(writer: Writer) -> None:
    def write(connection: Connection) -> list[Any]:
        with together(connection) as sending:
            many = [{"hash": f'"{i}\\', **ROW} for i in range(1_000)]
            sending.execute(inserted(sessions), many)
            sending.execute(upsert("postgresql", sessions, ("key",)), [{**each, "key": "other"} for each in many[:10]])
            one = {"id": "a", "name": "n", "hash": "h", "scopes": "[]", "created_at": 5}
            sending.execute(inserted(api_keys), one)
            counted = sending.execute(text("SELECT count(*) AS many, min(hash) AS first FROM sessions"))
            missing = sending.execute(sessions.delete().where(sessions.c.hash == "nobody"))
        assert missing.rowcount == 0
        return [*counted, *connection.execute(text("SELECT key, count(*) FROM sessions GROUP BY key ORDER BY key"))]

    assert writer.look(write) == [(1_000, '"0\\'), ("k", 990), ("other", 10)]


def test_an_error_is_told_as_sqlalchemy_would_and_nothing_of_it_stays(writer: Writer) -> None:
    def twice(connection: Connection) -> None:
        with together(connection) as sending:
            sending.execute(inserted(sessions), [{"hash": "same", **ROW}])
            sending.execute(inserted(sessions), [{"hash": "same", **ROW}])
            sending.execute(text("SELECT 1"))

    with writer.engine.connect() as connection, pytest.raises(exc.IntegrityError):
        twice(connection)
    assert writer.look(lambda connection: connection.scalar(text("SELECT count(*) FROM sessions"))) == 0


def test_a_line_that_is_lost_is_opened_again(writer: Writer, url: str) -> None:
    with writer.engine.connect(), writer.engine.connect():
        pass  # both are kept, and both will be dead
    with writer.engine.connect() as connection:
        with psycopg.connect(url) as other:
            other.execute(servers.END)
        with pytest.raises(exc.OperationalError) as told, together(connection) as sending:
            sending.execute(text("SELECT 1"))
        assert told.value.connection_invalidated
    for _ in range(2):
        assert writer.look(lambda connection: connection.scalar(text("SELECT 1"))) == 1


def grown(trial: str, many: int) -> tuple[str, ...]:
    """Statements that give a trial so many decisions, keys and events."""
    rows = f"FROM generate_series(1, {many}) i"
    return (
        f"INSERT INTO decisions SELECT {trial}, i, 'u' || i, '', 0, 0, i, 0, i, 0, 0, 0, 0, 1 {rows}",
        f"INSERT INTO keys SELECT {trial}, 'k' || i, '', i {rows}",
        f"INSERT INTO events SELECT {trial}, i, '', 'decided', i, i, '{{}}' {rows}",
    )


WANTED: dict[lookups.Lookup, list[Any]] = {
    lookups.BY_NUMBER: [*range(50, 6_001, 50)],
    lookups.BY_UNIT: [(f"u{i}", "") for i in range(50, 6_001, 50)],
    lookups.ANSWERS: [f"k{i}" for i in range(50, 6_001, 50)],
    lookups.BODIES: [*range(50, 6_001, 50)],
}
READ = text("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables")


@pytest.mark.parametrize("others", [0, 1, 300])
@pytest.mark.parametrize("plan", ["auto", "force_custom_plan", "force_generic_plan"])
def test_rows_are_found_by_their_index_and_no_others_are_read(writer: Writer, others: int, plan: str) -> None:
    """With plans that were made when the tables were empty or had small trials alone, and after a new count."""

    def rows_read(connection: Connection, lookup: lookups.Lookup) -> int:
        before = connection.scalar(READ)
        assert len(list(lookup.run(connection, "t", WANTED[lookup]))) == 100
        return int(connection.scalar(READ) - before)

    def look(connection: Connection) -> list[int]:
        connection.exec_driver_sql(f"SET LOCAL plan_cache_mode = {plan}")
        if others:
            for statement in grown("'other ' || i", others):
                connection.exec_driver_sql(statement)
            connection.exec_driver_sql("ANALYZE")
        for lookup, some in WANTED.items():
            for _ in range(12):  # the driver prepares it, and the server keeps a plan
                assert not list(lookup.run(connection, "t", some))
        for statement in grown("'t'", 5_000):
            connection.exec_driver_sql(statement)
        found = [rows_read(connection, lookup) for lookup in WANTED]
        connection.exec_driver_sql("ANALYZE")
        return found + [rows_read(connection, lookup) for lookup in WANTED]

    assert writer.look(look) == 2 * [100, 100, 200, 100]  # an answer is a key, and its event


def test_what_a_transaction_needs_comes_along_with_the_lock(url: str) -> None:
    """Two servers in turn. The time series alone may be asked for: others may have filled a bucket of it."""
    with Store(url) as one, Store(url) as other:
        first = Trial.create(one, SPEC, trial="along")
        first.start()
        trials = [first, Trial.open(other, "along")]
        for i in range(4):
            trials[i % 2].report(trials[i % 2].decide(f"u{i}", 0, key=f"d{i}"), outcome=1, key=f"r{i}")
        asked: list[str] = []
        sent: list[str] = []

        def look(_connection: object, _cursor: object, statement: str, _: object, alone: object, *__: object) -> None:
            (sent if alone is None else asked).append(statement)

        event.listen(engine(other), "before_cursor_execute", look)
        decision = trials[1].decide("v", 1, key="dv")
        trials[0].report(decision, implemented=0, key="rv")
        trials[1].report(decision, outcome=0, key="rw")
        assert all("FROM rollup" in statement for statement in asked), asked
        for part in ("FOR UPDATE", "FROM evidence", "INSERT INTO events", "INSERT INTO decisions", "UPDATE trials"):
            assert any(part in statement for statement in sent), part
        assert trials[0].audit().passed


def test_servers_that_wait_for_a_trial_have_it_in_the_order_in_which_they_came(url: str) -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
    stores = [Store(url) for _ in range(4)]
    try:
        trials = [Trial.create(stores[0], SPEC, trial="turns")]
        trials[0].start()
        trials += [Trial.open(store, "turns") for store in stores[1:]]
        with psycopg.connect(url) as holder, psycopg.connect(url, autocommit=True) as looking:
            turn = books._turn("turns")
            holder.execute("SELECT pg_advisory_xact_lock(%s)", [turn])
            asked = []
            for i in (2, 0, 3, 1):
                asked.append(trials[i].submit(Decide(ask=Ask(unit=f"u{i}", context=0))))
                while looking.execute(waiting).fetchone() != (len(asked),):
                    time.sleep(0.01)
            holder.rollback()
        assert [each.result().number for each in asked] == [1, 2, 3, 4]
    finally:
        for store in stores:
            store.close()


def test_a_driver_that_cannot_send_together_sends_one_by_one(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psycopg.Pipeline, "is_supported", lambda: False)
    with Trial.create(url, SPEC, trial="single") as trial:
        trial.start()
        decision = trial.decide("a", 0, key="d")
        trial.report(decision, outcome=1)
        assert trial.decide("a", 0, key="d") == decision
        assert trial.audit().passed


@pytest.mark.long
def test_the_benchmark_of_the_lock_runs(postgres: servers.Server) -> None:
    with postgres.database() as url:
        found = lock.round_of(lock.Case(2, True, 0.0, None), url, 0.3, 4)
    told = lock.told(found, 0.3)
    assert len(found) == 2
    assert all(each.events > 0 for each in found)
    assert told["held/event"] > told["computing/event"] > 0
