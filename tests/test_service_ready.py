"""Whether the service can do its work, what it does when nobody asks, and how it ends."""

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

import asgi
import servers
from asgi import SPEC, Api
from store_internals import engine
from takeup.live import Trial
from takeup.service import Settings, create_app, readiness
from takeup.service.pages.live_updates import LiveUpdates
from takeup.service.pages.render.cache import RenderCache
from takeup.store import Store, reading


@pytest.mark.requirement("R-9.2")
def test_a_real_write_shows_that_it_is_ready_and_many_who_ask_share_one(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "EVERY_SECONDS", 1e9)
    api.app.state.service.readiness._began = float("-inf")
    probes, probe = [0], api.store.writer.probe

    def counted() -> list[str]:
        probes[0] += 1
        return probe()

    monkeypatch.setattr(api.store.writer, "probe", counted)

    async def asked() -> list[asgi.Reply]:
        return await asyncio.gather(*(api.asked("GET", "/ready") for _ in range(50)))

    replies = api.run(asked())
    assert {reply.status for reply in replies} == {200}
    assert replies[0].json["oldest_seconds"] >= 0
    assert probes == [1]


def test_keys_sessions_and_readiness_wait_for_nothing_else_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "EVERY_SECONDS", 0)
    with asgi.api(str(tmp_path / "t.db")) as api:
        service, released = api.app.state.service, threading.Event()
        reading = [service.readers.submit(released.wait, asgi.WAIT) for _ in range(100)]

        async def asked() -> None:
            async with asyncio.timeout(60):
                (key,) = await service.keys.all()
                assert await service.sessions.find(await service.sessions.begin(key)) == key
            assert (await api.asked("GET", "/ready")).status == 200

        key = api.key("admin")
        try:
            api.run(asked())
        finally:
            released.set()
        assert all(each.result() for each in reading)
        assert api.request("GET", "/keys", key=key).status == 200


def test_what_nobody_foresaw_is_not_ready_either(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def probe() -> list[str]:
        raise RuntimeError("the cause")

    monkeypatch.setattr(readiness, "EVERY_SECONDS", 0)
    monkeypatch.setattr(api.store.writer, "probe", probe)
    reply = api.request("GET", "/ready")
    assert reply.status == 503
    assert "cause" not in reply.json["detail"]
    assert "takeup_ready 0.0" in api.request("GET", "/metrics", key=api.key("admin")).body.decode()


@pytest.mark.parametrize("problem", ["the anchors' disk is full", None])
def test_what_is_wrong_with_the_witness_is_said(api: Api, problem: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    class Witness:
        def __init__(self) -> None:
            self.problem = problem

    monkeypatch.setattr(readiness, "EVERY_SECONDS", 0)
    monkeypatch.setattr(api.store.writer, "_witness", Witness())
    reply = api.request("GET", "/ready")
    assert reply.status == (200 if problem is None else 503)
    assert problem is None or problem in reply.json["detail"]
    key = api.key("admin")
    assert f"takeup_ready {float(problem is None)}" in api.request("GET", "/metrics", key=key).body.decode()


@pytest.mark.requirement("R-9.2")
def test_a_writer_that_hangs_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write is tried once, however often somebody asks: it hangs, and another one would."""
    released, hung = threading.Event(), threading.Event()
    monkeypatch.setattr(readiness, "EVERY_SECONDS", 0)
    monkeypatch.setattr(readiness, "OLDEST_SECONDS", 0.0)
    with asgi.api(str(tmp_path / "t.db")) as api:

        def hang(_: Connection) -> None:
            hung.set()
            released.wait(300)

        api.app.state.service.readiness._patience = 0.05
        waiting = api.store.write(hang)
        assert hung.wait(300)
        try:
            for _ in range(2):
                reply = api.request("GET", "/ready")
                assert reply.status == 503
                assert "nothing could be written for 0.05 s" in reply.json["detail"]
                assert "the oldest request has waited for" in reply.json["detail"]
            assert api.store.queued == 1
        finally:
            released.set()
        waiting.result()
        monkeypatch.setattr(readiness, "OLDEST_SECONDS", 1e9)
        api.app.state.service.readiness._patience = 300
        assert api.request("GET", "/ready").status == 200


@pytest.mark.requirement("R-9.2")
def test_a_write_that_fails_shows(tmp_path: Path) -> None:
    with asgi.api(str(tmp_path / "t.db")) as api, engine(api.store).connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = 1").close()
        connection.rollback()
        reply = api.request("GET", "/ready")
        assert (reply.status, reply.json["type"]) == (503, "urn:takeup:unavailable")


def test_ticks_go_on_whatever_happens(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The first look fails as nobody foresaw, and the first trial cannot be written to: the second's windows close."""
    now, looks, closed = [0], [0], threading.Event()
    due = reading.due

    def looked(connection: Connection, at: int) -> list[str]:
        looks[0] += 1
        if looks[0] == 1:
            raise RuntimeError("a bug")
        return ["ghost", *due(connection, at)]

    monkeypatch.setattr(reading, "due", looked)
    settings = Settings(tick_seconds=0.01)
    with asgi.api(settings=settings, clock=lambda: now[0]) as api:
        trial = Trial.create(api.store, {**SPEC, "window": "1 hour"})
        trial.start()
        trial.report(trial.decide("a", 0), outcome=1)
        now[0] = 3_600_000_000

        def watch() -> None:
            while trial.progress().outcomes_waiting:
                closed.wait(0.01)
            closed.set()

        threading.Thread(target=watch, daemon=True).start()
        assert closed.wait(300)
    assert "a bug" in caplog.text
    assert "the outcome windows of trial ghost were not looked after" in caplog.text


def test_looking_for_windows_that_close_costs_nothing_for_those_that_do_not(tmp_path: Path) -> None:
    """Instructions of SQLite's machine: the same with forty idle trials and 500 more outcomes that are not due."""
    now = [0]
    with Store(tmp_path / "t.db", clock=lambda: now[0]) as store:
        spec = {"name": "t", "space": {"proposals": 2}, "policy": {"kind": "Uniform"}}

        def filled(trial: str, window: int, units: int) -> None:
            made = Trial.create(store, {**spec, "window": window}, trial=trial)
            made.start()
            for decision in made.decide_many([f"u{i}" for i in range(units)]):
                made.report(decision, outcome=1)

        filled("late", 10_000, 1)
        filled("soon", 10, 2)
        now[0] = 20_000_000
        before = _steps(store, now[0])
        for i in range(40):
            Trial.create(store, spec, trial=f"idle-{i}").start()
        made = Trial.open(store, "late")
        for decision in made.decide_many([f"v{i}" for i in range(500)]):
            made.report(decision, outcome=1)
        after = _steps(store, now[0])
        assert after[0] == before[0] == ["soon"]
        assert after[1] <= before[1] + 20


def _steps(store: Store, at: int) -> tuple[list[str], int]:
    """The trials that are due, and how many instructions it took to find them."""
    steps = [0]

    def count() -> int:
        steps[0] += 1
        return 0

    with engine(store).connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(count, 1)
        try:
            return reading.due(connection, at), steps[0]
        finally:
            driver.set_progress_handler(None, 0)


def test_due_trials_are_the_same_on_both_databases(database: str) -> None:
    now = [0]
    with Store(database, clock=lambda: now[0]) as store:
        assert store.read(lambda c: reading.due(c, 10**12)) == []
        for name, window in (("b", 10), ("a", 10), ("c", 1_000)):
            trial = Trial.create(store, {**SPEC, "window": window}, trial=name)
            trial.start()
            trial.report(trial.decide("u", 0), outcome=1)
        assert store.read(lambda c: reading.due(c, 0)) == []
        assert store.read(lambda c: reading.due(c, 10_000_000)) == ["a", "b"]
        assert store.read(lambda c: reading.due(c, 1_000_000_000)) == ["a", "b", "c"]


def test_the_store_is_closed_whatever_else_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("a bug")

    store = Store(tmp_path / "t.db")
    running = Api(create_app(Settings(), store))
    for owner in (LiveUpdates, RenderCache):
        monkeypatch.setattr(owner, "close", fail)
    running.close()
    assert not store.writing
    assert caplog.text.count("not everything could be closed") == 2


def test_an_audit_may_compute_for_longer_than_a_writer_may_be_idle(
    postgres: servers.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy of every decision takes twice as long as PostgreSQL lets a writer's transaction idle."""
    from takeup.live.long_jobs import LongJob
    from takeup.store import postgres as dialect
    from takeup.trial import proposal

    allocated: Callable[..., tuple[float, ...]] = proposal.allocated
    pause = threading.Event()

    def slowly(*arguments: Any) -> tuple[float, ...]:
        pause.wait(0.4)
        return allocated(*arguments)

    with postgres.database() as url:
        with Trial.create(url, SPEC, trial="slow") as trial:
            trial.start()
            trial.report(trial.decide("a", 0), outcome=1)
            trial.decide("b", 0)
        monkeypatch.setattr(dialect, "IDLE_SECONDS", 0.2)
        monkeypatch.setattr(proposal, "allocated", slowly)
        assert LongJob(kind="audit", database=url, trial="slow").run()["difference"] is None
        with Trial.open(url) as trial:
            assert trial.audit().passed


def test_the_log_says_what_is_not_ready() -> None:
    said = threading.Event()

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "not ready: too many requests" in record.getMessage():
                said.set()

    handler = Listening()
    logging.getLogger("takeup.service").addHandler(handler)
    try:
        with asgi.api(settings=Settings(tick_seconds=0.01, queue_limit=0)):
            assert said.wait(300)
    finally:
        logging.getLogger("takeup.service").removeHandler(handler)
