"""The store: one transaction for many, nobody answered too early, one decision for a unit, whatever happens at once."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, exc, text

from store_internals import SPEC, engine
from takeup.errors import ConflictError, InputError, LabelError, NotFoundError, StateError, StoreError
from takeup.live import Trial, trials
from takeup.service.settings import Settings
from takeup.store import Library, Store, looking, reading, sqlite
from takeup.store.migrate import HEAD, revision
from takeup.store.schema import metadata
from takeup.trial import Ask, Book, Decide, Design, Report
from takeup.trial.commands import Needs


@pytest.mark.parametrize("name", [":memory:", "sqlite:///:memory:", "file::memory:", "file::memory:?cache=shared"])
def test_a_database_in_memory_has_one_name_and_others_make_no_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for opened in (lambda: Trial.create(name, SPEC), lambda: Trial.open(name), lambda: Settings(database=name)):
        with pytest.raises(InputError, match="sqlite:// for a database in memory"):
            opened()
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class Wait:
    """A command that keeps the writer busy."""

    running: threading.Event
    released: threading.Event
    needs: Needs = field(default=Needs())

    def run(self, book: Book, at: int) -> None:
        self.running.set()
        self.released.wait(300)


@dataclass(frozen=True)
class Break:
    """A command with a bug: it appends, and then fails as nobody foresaw."""

    needs: Needs = field(default=Needs())

    def run(self, book: Book, at: int) -> None:
        Decide(ask=Ask(unit="half-way", context=0)).run(book, at)
        raise ZeroDivisionError


@pytest.fixture
def trial(emptied: str) -> Iterator[Trial]:
    with Trial.create(emptied, SPEC) as made:
        made.start()
        yield made


def together(trial: Trial, submit: Callable[[], list["Future[Any]"]]) -> list["Future[Any]"]:
    """What is submitted while the writer is busy, and so runs in one group."""
    running, released = threading.Event(), threading.Event()
    trial.submit(Wait(running, released))
    assert running.wait(300)
    futures = submit()
    released.set()
    wait(futures, timeout=300)
    return futures


def test_many_requests_share_one_commit_and_nobody_is_answered_before_it(trial: Trial) -> None:
    commits: list[int] = []
    futures: list[Future[Any]] = []

    def committing(_: object) -> None:
        commits.append(sum(future.done() for future in futures))

    def submit() -> list[Future[Any]]:
        futures.extend(trial.submit(Decide(ask=Ask(unit=f"u{i}", context=0))) for i in range(100))
        return futures

    event.listen(engine(trial.store), "commit", committing)
    done = together(trial, submit)
    event.remove(engine(trial.store), "commit", committing)
    assert sorted(future.result().number for future in done) == list(range(1, 101))
    assert len(commits) == 2  # the command that waited, and all others
    assert commits[-1] == 0


def test_a_request_that_breaks_does_not_harm_the_others(trial: Trial) -> None:
    def submit() -> list[Future[Any]]:
        futures: list[Future[Any]] = [trial.submit(Decide(ask=Ask(unit=f"u{i}", context=0))) for i in range(2)]
        futures.append(trial.submit(Break()))
        return futures + [trial.submit(Decide(ask=Ask(unit=f"u{i}", context=0))) for i in range(2, 5)]

    done = together(trial, submit)
    assert isinstance(done[2].exception(), ZeroDivisionError)
    assert [future.result().number for i, future in enumerate(done) if i != 2] == [1, 2, 3, 4, 5]
    assert trial.audit().passed
    assert trial.decide("half-way", 0).number == 6


@pytest.mark.requirement("R-3.10")
def test_a_refused_request_leaves_no_trace(trial: Trial) -> None:
    before = trial.progress()
    for refused, error in (
        (lambda: trial.decide("a", "middle-aged"), LabelError),
        (lambda: trial.decide("a", 0, occasion="1"), InputError),
        (lambda: trial.decide("a\x00", 0), InputError),
        (lambda: trial.decide("\ud800", 0), InputError),
        (lambda: trial.decide("", 0), InputError),
        (lambda: trial.decide("a", 0, key="k" * 201), InputError),
        (lambda: trial.decide_many([]), InputError),
        (lambda: trial.decide_many([{"unit": "a", "context": 0}, {"unit": "b", "context": 9}]), LabelError),
        (lambda: trial.report(1, outcome=0), NotFoundError),
        (lambda: trial.report(2**60, outcome=0), InputError),
        (lambda: trial.report(unit="nobody", outcome=0), NotFoundError),
        (lambda: trial.start() and trial.amend(SPEC), InputError),
        (lambda: trial.amend({k: v for k, v in SPEC.items() if k != "seed"}), StateError),
    ):
        with pytest.raises(error):
            refused()
    assert trial.progress() == before


@pytest.mark.requirement("R-2.9")
def test_a_correction_needs_a_reason_and_the_log_keeps_both(trial: Trial) -> None:
    decision = trial.decide("a", 0)
    trial.report(decision, outcome="1", by="a nurse")
    with pytest.raises(ConflictError, match="a correction needs a reason"):
        trial.report(decision, outcome="0", by="a doctor")
    trial.report(decision, outcome="0", reason="typing error", by="a doctor")
    first, second = (json.loads(each.body) for each in trial.events(kind="reported"))
    assert (first["outcome"], first["by"]) == ("1", "a nurse")
    said = {name: second[name] for name in ("outcome", "before", "reason", "by")}
    assert said == {"outcome": "0", "before": {"outcome": "1"}, "reason": "typing error", "by": "a doctor"}
    assert 0 < first["at"] <= second["at"]
    assert trial.audit().passed


@pytest.mark.requirement("R-3.3")
def test_one_decision_for_a_unit_and_one_effect_for_a_key_however_often_asked(trial: Trial) -> None:
    """40 units asked for 8 times and 40 keys sent 8 times, from 16 threads and two stores."""
    with Store(trial.store.url) as second, ThreadPoolExecutor(16) as pool:
        both = [trial, Trial.open(second, trial.id)] if sqlite.library().shared else [trial]
        asked = [pool.submit(both[i % len(both)].decide, f"u{i % 40}", 0) for i in range(320)]
        numbers = {(d.unit, d.number, d.proposal) for d in (future.result() for future in asked)}
        assert len(numbers) == 40
        sent = [
            pool.submit(both[i % len(both)].report, i % 40 + 1, outcome=i % 2, key=f"k{i % 40}") for i in range(320)
        ]
        assert len({future.result().sequence for future in sent}) == 40
    assert trial.progress().sequence == 2 + 320 + 40  # every time that somebody asked is logged
    assert trial.audit().passed


@pytest.mark.requirement("R-2.1")
def test_the_log_cannot_be_changed(trial: Trial) -> None:
    trial.decide("a", 0)
    statements = ["UPDATE events SET body = ''", "DELETE FROM events"]
    if trial.store.dialect == "postgresql":
        statements.append("TRUNCATE events")
    for statement in statements:
        with pytest.raises(exc.DBAPIError, match="append-only"), engine(trial.store).begin() as connection:
            connection.execute(text(statement))
    assert trial.audit().passed


@pytest.mark.requirement("R-3.5")
@pytest.mark.parametrize("committed", [True, False])
def test_a_commit_that_fails_is_looked_up_and_answered_truly(
    trial: Trial, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is lost around COMMIT: the decision is there once, and the answer is the right one."""
    dialect = engine(trial.store).dialect
    original, failures = dialect.do_commit, [0]

    def do_commit(connection: Any) -> None:
        failures[0] += 1
        if failures[0] > 1:
            original(connection)
            return
        if committed:
            original(connection)
        raise exc.OperationalError("COMMIT", {}, Exception("connection lost"))

    monkeypatch.setattr(dialect, "do_commit", do_commit)
    decision = trial.decide("a", 0)
    monkeypatch.undo()
    assert failures[0] >= 1
    assert decision.number == 1
    assert trial.progress().decisions == 1
    assert trial.progress().sequence == 3
    assert trial.decide("b", 0).number == 2
    assert trial.audit().passed


def test_a_database_that_fails_for_good_says_so(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    def do_commit(_: Any) -> None:
        raise exc.OperationalError("COMMIT", {}, Exception("disk full"))

    monkeypatch.setattr(engine(trial.store).dialect, "do_commit", do_commit)
    with pytest.raises(StoreError, match="disk full"):
        trial.decide("a", 0)
    monkeypatch.undo()
    assert trial.decide("b", 0).number == 1


REPORTS = [
    {"decision": number, field: value}
    for number, implemented, outcome in ((1, 0, 1), (2, 1, 0), (3, 1, 1), (4, 0, 0))
    for field, value in (("implemented", implemented), ("outcome", outcome))
] + [{"decision": 5, "missing": ["outcome"]}, {"decision": 5, "implemented": 1}]


@pytest.mark.requirement("R-3.7")
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(order=st.permutations(REPORTS), split=st.integers(0, len(REPORTS)))
def test_any_order_of_the_same_reports_gives_the_same_evidence_and_the_same_posterior(
    order: list[dict[str, Any]], split: int
) -> None:
    """Some come before the window closes and some after; in the end it is all the same."""
    now = [0]
    spec = SPEC | {"policy": {"kind": "TSObs"}, "window": 10, "draws": 100, "space": {"proposals": 3, "contexts": 1}}
    with Trial.create("sqlite://", spec, clock=lambda: now[0]) as trial:
        trial.start()
        trial.decide_many([f"u{i}" for i in range(5)])
        for i, report in enumerate(order):
            if i == split:
                now[0] = 20_000_000
            trial.report(**report)
        now[0] = 20_000_000
        after = trial.decide("next")
        book = trial.store.read(lambda connection: reading.snapshot(connection, trial.id))
        found = (
            book.counts.tolist(),
            after.proposal,
            trial.events(decision=6)[0].body.partition('"probability":')[2][:60],
        )
        assert trial.audit().passed
    expected = _SEEN.setdefault("first", found)
    assert found == expected


_SEEN: dict[str, Any] = {}


def test_an_outcome_waits_for_its_window() -> None:
    now = [0]
    spec = SPEC | {"window": "1 hour"}
    with Trial.create("sqlite://", spec, clock=lambda: now[0]) as trial:
        trial.start()
        early, late = trial.decide_many([{"unit": "early", "context": 0}, {"unit": "late", "context": 0}])
        trial.report(early, implemented="drug", outcome=1)
        trial.report(early, outcome=0, reason="typing error")
        waiting = trial.progress()
        assert (waiting.compliance_seen, waiting.outcomes_waiting, waiting.outcomes_counted) == (1, 1, 0)
        now[0] = 3_600_000_000
        assert trial.progress().outcomes_late == 1
        trial.tick()
        closed = trial.progress()
        assert (closed.outcomes_waiting, closed.outcomes_counted, closed.outcomes_late) == (0, 1, 1)
        trial.report(late, outcome=1)
        assert trial.progress().outcomes_counted == 2
        kinds = [logged.kind for logged in trial.events()]
        assert kinds == ["created", "moved", *["decided"] * 2, *["reported"] * 2, "closed", "reported"]
        assert trial.audit().passed


def test_a_batch_sees_one_version_of_the_evidence(trial: Trial) -> None:
    first = trial.decide("a", 0)
    receipt = trial.report(first, outcome=1)
    trial.decide_many([{"unit": f"u{i}", "context": i % 2} for i in range(20)])
    versions = {f'"version":{receipt.sequence}' in logged.body for logged in trial.events(after=4)}
    assert versions == {True}


def test_states_and_what_they_allow(emptied: str) -> None:
    with Trial.create(emptied, SPEC) as trial:
        with pytest.raises(StateError, match="is draft"):
            trial.decide("a", 0)
        trial.amend({**SPEC, "name": "Another", "seed": None})
        trial.start()
        decision = trial.decide("a", 0)
        trial.pause(reason="a safety review")
        with pytest.raises(StateError, match="is paused"):
            trial.decide("b", 0)
        assert trial.decide("a", 0) == decision
        trial.report(decision, outcome=1)
        trial.start()
        assert '"secret"' not in "".join(logged.body for logged in trial.events())
        trial.stop()
        trial.report(decision, implemented="drug")
        with pytest.raises(StateError, match="stays so"):
            trial.start()
        assert trial.design.spec.name == "Another"
        assert f'"secret":"{11:064x}:' in trial.events(kind="moved")[-1].body
        assert trial.audit().passed


@pytest.mark.requirement("R-3.9")
def test_a_fallback_is_recorded_once_and_a_committed_decision_stands(trial: Trial) -> None:
    standing = trial.decide("a", 0)
    other = next(label for label in ("rest", "drug") if label != standing.proposal)
    assert trial.fallback("a", other, 0, key="f1") == standing
    drawn = trial.fallback("b", "drug", 0, key="f2")
    assert trial.fallback("b", "drug", 0, key="f2") == drawn == trial.decide("b", 0)
    assert [logged.kind for logged in trial.events(after=2)] == ["decided", "set aside", "decided", "answered"]
    found = trial.audit()
    assert (found.passed, found.fallbacks, found.rederived) == (True, 1, 1)


def test_several_trials_in_one_database(emptied: str) -> None:
    with Store(emptied) as store:
        first, second = (Trial.create(store, SPEC | {"name": name}) for name in ("First one", "Second one"))
        with pytest.raises(ConflictError, match="already"):
            Trial.create(store, SPEC | {"name": "First one"})
        for trial in (first, second):
            trial.start()
            assert trial.decide("a", 0, key="same key").number == 1
        assert [each.trial for each in trials(store)] == ["first-one", "second-one"]
        with pytest.raises(NotFoundError, match="say which"):
            Trial.open(store)
        assert first.audit().passed
        assert second.audit().passed


@pytest.mark.requirement("R-10.5")
def test_migrations_make_what_the_schema_says(database: str) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with Store(database) as store, engine(store).begin() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert revision(connection) == HEAD
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="upgrade takeup"):
        Store(database)
    with pytest.raises(StoreError, match="upgrade takeup"), looking(database):
        pass


def test_an_old_sqlite_keeps_the_file_to_a_single_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "library", lambda: Library("sqlite3", (3, 51, 2)))
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    with Trial.create(tmp_path / "t.db", SPEC) as trial:
        trial.start()
        trial.decide("a", 0)
        assert trial.progress().decisions == 1
        with pytest.raises(StoreError, match="locked"):
            Store(tmp_path / "t.db")
        assert trial.audit().passed
    assert "single connection" in str(Library("sqlite3", (3, 51, 2)))
    assert Library("sqlite3", (3, 51, 3)).shared


@pytest.mark.requirement("R-3.2")
def test_every_commit_waits_for_the_disk(trial: Trial) -> None:
    with engine(trial.store).connect() as connection:
        if trial.store.dialect == "sqlite":
            assert connection.execute(text("PRAGMA synchronous")).scalar_one() == 2
            assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
        else:
            assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "on"


def test_a_closed_store_takes_nothing_and_finishes_what_it_had(tmp_path: Path) -> None:
    with Trial.create(tmp_path / "t.db", SPEC) as trial:
        trial.start()
        futures = [trial.submit(Decide(ask=Ask(unit=f"u{i}", context=0))) for i in range(50)]
    assert {future.result().number for future in futures} == set(range(1, 51))
    with pytest.raises(StoreError, match="closed"):
        trial.submit(Report(decision=1, outcome=0))
    with pytest.raises(StoreError, match="closed"):
        trial.progress()
    with pytest.raises(StoreError, match="no folder"):
        Store(tmp_path / "nowhere" / "t.db")
    with pytest.raises(StoreError, match="there is no store for mysql"):
        Store("mysql://localhost/t")


def test_the_time_series_stay_small_and_exact(emptied: str) -> None:
    """1,500 decisions, 16 a point, and every one of them counted."""
    with Trial.create(emptied, SPEC) as trial:
        trial.start()
        for first in range(0, 1_500, 300):
            trial.decide_many([{"unit": f"u{i}", "context": i % 2} for i in range(first, first + 300)])
        course = trial.course()
        assert len(course.overall) == 94
        assert sum(sum(point.proposed) for point in course.overall) == 1_500
        assert course.overall[-1].last == 1_500
        np.testing.assert_allclose([p for point in course.overall for p in point.probability], 0.5)
        assert trial.audit().passed


def test_the_design_is_what_was_given(trial: Trial) -> None:
    assert trial.design.text == Design.of(SPEC).text


@pytest.mark.requirement("R-9.10")
def test_the_cost_of_a_request_does_not_grow_with_history(tmp_path: Path) -> None:
    """Instructions of SQLite's machine, not seconds: the same after 100 and after 5,000 decisions and reports."""
    now = [0]
    with Trial.create(tmp_path / "t.db", SPEC | {"window": 1}, clock=lambda: now[0]) as trial:
        trial.start()
        driver = engine(trial.store).raw_connection().driver_connection
        assert driver is not None

        def grown_by(first: int, last: int) -> None:
            for start in range(first, last, 500):
                units = [f"u{i}" for i in range(start, min(start + 500, last))]
                for decision in trial.decide_many([{"unit": unit, "context": 0} for unit in units], key=f"b{start}"):
                    trial.submit(Report(decision=decision.number, outcome=0, implemented=0))
                now[0] += 2_000_000
                trial.tick()

        def instructions() -> int:
            count = [0]

            def one_more() -> int:
                count[0] += 1
                return 0

            driver.set_progress_handler(one_more, 1)
            now[0] += 1
            decision = trial.decide(f"asked at {now[0]}", 0, key=f"k{now[0]}")
            trial.report(decision, outcome=1, key=f"r{now[0]}")
            trial.report(unit=decision.unit, implemented=1)
            driver.set_progress_handler(None, 0)
            return count[0]

        grown_by(0, 100)
        few = instructions()
        grown_by(100, 5_000)
        assert instructions() < 1.3 * few


@pytest.mark.requirement("R-2.10")
def test_a_clock_that_goes_back_does_not_take_the_log_with_it() -> None:
    now = [10_000_000]
    with Trial.create("sqlite://", SPEC, clock=lambda: now[0]) as trial:
        trial.start()
        trial.decide("a", 0)
        now[0] = 5_000_000
        trial.decide("b", 0)
        assert [logged.at for logged in trial.events()] == [10_000_000] * 4
        assert trial.audit().passed


def test_what_cannot_be_worked_out_ahead_stops_nobody(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a large group the writer works ahead; where that fails, it says so and goes on."""
    tried: list[int] = []

    def expect(*_: object) -> None:
        tried.append(1)
        raise ZeroDivisionError

    monkeypatch.setattr("takeup.trial.proposal.prepare", expect)
    trial.decide("before", 0)
    many = together(trial, lambda: [trial.submit(Decide(ask=Ask(unit=f"u{i}", context=i % 2))) for i in range(20)])
    assert sorted(each.result(10).number for each in many) == list(range(2, 22))
    assert trial.decide("after", 1).number == 22
    assert tried
