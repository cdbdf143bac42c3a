"""Outcome windows that close: very many do so step by step, so that nobody else waits for them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

import asgi
import troubled
from store_internals import SPEC as PLAIN
from store_internals import engine
from takeup.errors import BusyError
from takeup.live import Trial
from takeup.service import Settings, app
from takeup.store import Store, books, library, reading
from takeup.store.writer import Writer
from takeup.trial import Report, following
from takeup.trial.computing import ComputingLimits, Meter
from takeup.trial.following import MOST_CLOSED
from takeup.trial.steering import Tick

SECOND = 1_000_000
SPEC = {**PLAIN, "window": 10}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four windows in an event, and two events in a transaction."""
    monkeypatch.setattr(following, "MOST_CLOSED", 4)
    monkeypatch.setattr(books, "MOST_CLOSED", 4)
    monkeypatch.setattr(Meter, "windows", 9)


@contextmanager
def waiting(database: str | Path, units: int, *trials: str) -> Iterator[tuple[list[Trial], list[int]]]:
    """Trials with outcomes that wait, reported in another order than they were decided, and what time it is."""
    now = [0]
    with Store(database, clock=lambda: now[0]) as store:
        yield [filled(store, now, name, units) for name in trials], now


def filled(store: Store, now: list[int], name: str, units: int) -> Trial:
    """One such trial; every fifth outcome is not reported. Ten units share a moment."""
    trial = Trial.create(store, SPEC, trial=name)
    trial.start()
    began = now[0]
    for i in range(0, units, 10):
        now[0] = began + i
        trial.decide_many([{"unit": f"u{j}", "context": j % 2} for j in range(i, min(i + 10, units))])
    numbers = [number for number in range(units, 0, -1) if number % 5]
    for future in [trial.submit(Report(decision=number, outcome=number % 2, implemented=0)) for number in numbers]:
        future.result()
    return trial


def closed(trial: Trial) -> list[list[int]]:
    """The decisions of each event of closed windows."""
    return [json.loads(logged.body)["decisions"] for logged in trial.events(kind="closed")]


def counts(trial: Trial) -> list[Any]:
    found: list[Any] = trial.store.read(lambda c: reading.snapshot(c, trial.id)).counts.tolist()
    return found


@pytest.mark.usefixtures("small")
def test_windows_close_step_by_step_and_in_the_end_it_is_as_if_all_had_at_once(
    emptied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 30 decisions 24 wait: 8 close, then 8, then the last 8. What is asked for is about the last of them."""
    with waiting(emptied, 30, "stepwise") as ((trial,), now):
        now[0] = 60 * SECOND
        for step in (1, 2):
            with pytest.raises(BusyError, match="step by step; ask again under the same idempotency key"):
                trial.report(29, outcome=0, reason="typing error", key="k")
            now[0] += 1
            assert len(closed(trial)) == 2 * step
            assert trial.progress().outcomes_waiting == 24 - 8 * step
        trial.report(29, outcome=0, reason="typing error", key="k")
        assert trial.audit().passed
        monkeypatch.undo()
        at_once = filled(trial.store, now, "at-once", 30)
        now[0] += 60 * SECOND
        at_once.report(29, outcome=0, reason="typing error", key="k")
        assert at_once.audit().passed
        assert counts(trial) == counts(at_once)
        assert [len(each) for each in closed(trial)] == [4] * 6
        assert [list(chain.from_iterable(closed(trial)))] == closed(at_once)


@pytest.mark.usefixtures("small")
def test_a_transaction_closes_so_many_windows_and_no_more_whoever_shares_it(emptied: str) -> None:
    """Nine at most: eight of the first trial, which has twelve, and the one of the last. The second has to wait."""
    with waiting(emptied, 15, "a", "b") as (trials, now):
        last = filled(trials[0].store, now, "c", 1)
        now[0] = 60 * SECOND
        tasks: list[Any] = [(trial.id, Tick()) for trial in (*trials, last, *trials)]
        writer = trials[0].store.writer
        replies = writer.run(tasks)
        assert [type(error) for _, error in replies] == [BusyError, BusyError, type(None), BusyError, BusyError]
        assert [trial.progress().outcomes_waiting for trial in (*trials, last)] == [4, 12, 0]
        assert [type(error) for _, error in writer.run(tasks)][:2] == [type(None), BusyError]
        assert [trial.progress().outcomes_waiting for trial in trials] == [0, 8]
        assert [error for _, error in writer.run(tasks)] == [None] * 5
        assert all(trial.audit().passed for trial in (*trials, last))


def test_a_writer_in_this_process_closes_all_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MOST_CLOSED", 4)
    with waiting(tmp_path / "t.db", 30, "t") as ((trial,), now):
        now[0] = 60 * SECOND
        trial.tick()
        assert [len(each) for each in closed(trial)] == [4] * 6
        assert trial.audit().passed


@pytest.mark.skipif(not library().shared, reason="this SQLite lets nobody else open the file")
def test_a_process_that_writes_keeps_to_its_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = str(tmp_path / "t.db")
    with waiting(database, 2, "t"):
        pass  # the clock of the process is far ahead of that
    limits = ComputingLimits(windows=0)
    with (
        troubled.process(database, monkeypatch, tmp_path, limits=limits) as (writer, _),
        Store(database, writer=writer) as store,
        pytest.raises(BusyError),
    ):
        Trial.open(store, "t").tick()
    assert ComputingLimits().windows >= MOST_CLOSED  # or nothing would ever close
    with (
        troubled.process(database, monkeypatch, tmp_path) as (writer, _),
        Store(database, writer=writer) as store,
    ):
        Trial.open(store, "t").tick()
        assert closed(Trial.open(store, "t")) == [[1, 2]]


@pytest.mark.usefixtures("small")
def test_the_service_closes_them_in_rounds_and_tells_who_asks_to_come_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0]
    monkeypatch.setattr(app, "ROUND_SECONDS", 0)
    with asgi.api(settings=Settings(tick_seconds=1e6), clock=lambda: now[0]) as api:
        trial, other = (filled(api.store, now, name, units) for name, units in (("many", 30), ("few", 2)))
        now[0] = 60 * SECOND
        key = api.key("decide")
        body = {"unit": "next", "context": 0}
        busy = api.request("POST", "/trials/many/decisions", body, key)
        assert (busy.status, busy.headers["retry-after"]) == (503, "1")
        assert "step by step" in busy.json["detail"]
        assert api.request("POST", "/trials/few/decisions", body, key).status == 200
        api.run(app._close_windows(api.app.state.service))
        assert [len(each) for each in closed(trial)] == [4] * 6
        assert closed(other) == [[1, 2]]
        assert api.request("POST", "/trials/many/decisions", body, key).status == 200
        assert trial.audit().passed
    assert not caplog.records


@pytest.mark.usefixtures("small")
def test_a_trial_that_never_ends_does_not_keep_the_service_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now, rounds = [0], [0]
    monkeypatch.setattr(app, "ROUND_SECONDS", 0)

    def busy(self: Tick, book: object, at: int) -> int:
        rounds[0] += 1
        raise BusyError("again")

    monkeypatch.setattr(Tick, "run", busy)
    with asgi.api(settings=Settings(tick_seconds=1e6), clock=lambda: now[0]) as api:
        filled(api.store, now, "t", 2)
        now[0] = 60 * SECOND
        api.run(app._close_windows(api.app.state.service))
    assert rounds == [app.ROUNDS]


def test_what_is_due_costs_as_much_as_may_close(tmp_path: Path) -> None:
    """Instructions of SQLite's machine: the same however many more are due, and however many have closed before."""
    with waiting(tmp_path / "t.db", 10, "t") as ((trial,), now):
        now[0] = 60 * SECOND

        def steps() -> int:
            count = [0]

            def one_more() -> int:
                count[0] += 1
                return 0

            with engine(trial.store).connect() as connection:
                book = reading.snapshot(connection, "t")
                driver: Any = connection.connection.driver_connection
                driver.set_progress_handler(one_more, 1)
                try:
                    books.fill_due(connection, book, now[0], 4)
                finally:
                    driver.set_progress_handler(None, 0)
            return count[0]

        before = steps()
        for start in (100, 600):
            units = [{"unit": f"v{start + i}", "context": 0} for i in range(500)]
            for decision in trial.decide_many(units):  # closes those before
                trial.submit(Report(decision=decision.number, outcome=1))
            trial.tick()
            now[0] += 60 * SECOND
            assert steps() <= before + 20


def test_postgresql_finds_what_is_due_by_its_index(postgres: Any) -> None:
    """Among 20,000 decisions, nearly all counted, before and after it has counted them."""
    rows = text(
        "INSERT INTO decisions SELECT 't', i, 'u' || i, '', 0, 0, i, i, i, 0, 0, 0, 0, CASE WHEN i % 400 = 0 THEN 0"
        " ELSE 1 END FROM generate_series(1, 20000) i"
    )
    with postgres.database() as url:
        writer = Writer(url)
        try:
            writer.change(lambda connection: connection.execute(rows).close())
            for _ in range(2):
                plan = writer.look(_plan)
                assert "decisions_waiting" in plan
                assert "decisions_pkey" not in plan
                assert "Seq Scan" not in plan
                writer.change(lambda connection: connection.execute(text("ANALYZE decisions")).close())
        finally:
            writer.close()


def _plan(connection: Connection) -> str:
    """How PostgreSQL looks for what is due."""
    statement = books._DUE.compile(connection)
    values = statement.construct_params({"trial": "t", "at": 10**6, "most": 10})
    return "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", values).scalars())
