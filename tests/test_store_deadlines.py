"""A policy that goes wrong costs its own trial a pause; a writer that hangs is killed and replaced."""

import itertools
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import troubled
from takeup.errors import BusyError, StateError, StoreError
from takeup.live import Trial
from takeup.store import Store, library
from takeup.store.group import Task, order
from takeup.store.writer import Writer
from takeup.store.writer_process import MOST_DEATHS, Deadlines, WriterProcess
from takeup.trial import Ask, Decide
from takeup.trial.computing import BY, METER, ComputingLimits, Meter
from takeup.trial.steering import Tick

pytestmark = pytest.mark.skipif(not library().shared, reason="this SQLite lets nobody else open the file")


def _pair(store: Store) -> tuple[Trial, Trial]:
    """A trial that can go wrong, and one beside it."""
    other = {**troubled.SPEC, "name": "Other", "policy": {"kind": "TSObs"}}
    pair = Trial.create(store, troubled.SPEC), Trial.create(store, other)
    for trial in pair:
        trial.start()
        trial.decide("first", 0)
    return pair


@contextmanager
def _hasty(writer: WriterProcess, **deadlines: float) -> Iterator[None]:
    """The process is given up at once; before and after, on a machine that is busy, it has all the time it needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_deadlines", Deadlines(**deadlines))
        yield


def _paused(trial: Trial) -> dict[str, Any]:
    """How a trial was paused, as its log says."""
    assert trial.progress().state == "paused"
    moved: dict[str, Any] = json.loads(trial.events(kind="moved")[-1].body)
    assert moved["by"] == BY
    return moved


@pytest.mark.requirement("R-9.5")
@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        ("computes", "a decision took more than 0.5 s of computing"),
        ("catches everything", "a decision took more than 0.5 s of computing"),
        ("fails", r"its policy failed \(ZeroDivisionError\)"),
        ("wants memory", r"its policy failed \(.*MemoryError\)"),
        ("is not a number", "its policy gave numbers that are no probabilities"),
        ("refuses", r"its policy failed \(InputError\)"),
    ],
)
def test_a_policy_that_goes_wrong_pauses_its_trial_and_no_other(
    database: str, trouble: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with troubled.process(database, monkeypatch, tmp_path) as (writer, file), Store(database, writer=writer) as store:
        trial, other = _pair(store)
        pid = writer.pid
        file.write_text(trouble)
        futures = [each.submit(Decide(ask=Ask(unit=f"u{i}", context=1))) for i in range(20) for each in (trial, other)]
        for i, future in enumerate(futures):
            if i % 2:
                assert future.result().unit == f"u{i // 2}"
            else:
                with pytest.raises(StateError, match=rf"has been paused: {why}" if i == 0 else "paused"):
                    future.result()
        assert writer.pid == pid
        assert "17 outcomes" not in _paused(trial)["reason"]
        file.unlink()
        assert trial.audit().passed
        trial.start()
        assert trial.decide("u0", 1).number == 2


def test_a_policy_that_cannot_be_interrupted_is_killed_and_its_trial_paused(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with troubled.process(database, monkeypatch, tmp_path) as (writer, file), Store(database, writer=writer) as store:
        trial, other = _pair(store)
        pid = writer.pid
        file.write_text("hangs")
        hung = pytest.raises(StoreError, match=r"hung in the policy of a trial.*ask again under the same")
        with _hasty(writer, computing=0.1), hung:
            trial.decide("u", 1, key="k")
        with pytest.raises(StateError, match="is paused"):
            trial.decide("u", 1, key="k")
        assert writer.pid != pid
        assert other.decide("u", 1).number == 2
        assert _paused(trial)["reason"] == "a decision took more than 0.1 s, and could not be interrupted"
        file.unlink()
        assert trial.audit().passed


def test_a_policy_that_ends_the_process_again_and_again_pauses_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = str(tmp_path / "t.db")
    with troubled.process(database, monkeypatch, tmp_path) as (writer, file), Store(database, writer=writer) as store:
        trial, other = _pair(store)
        file.write_text("dies")
        for _ in range(MOST_DEATHS):
            with pytest.raises(StoreError, match="has ended; ask again"):
                trial.decide("u", 1)
        assert other.decide("u", 1).number == 2
        assert _paused(trial)["reason"] == f"the process that decides ended {MOST_DEATHS} times in its policy"


@pytest.mark.requirement("R-9.6")
def test_a_writer_that_hangs_is_killed_and_replaced(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped, as a debugger or a disk that hangs would: whoever asked is told, and the next request goes through."""
    with troubled.process(database, monkeypatch, tmp_path) as (writer, _), Store(database, writer=writer) as store:
        trial, _ = _pair(store)
        for ask in (lambda: trial.decide("u", 1, key="k"), lambda: store.probe().result()):
            pid = writer.pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            late = pytest.raises(StoreError, match=r"did not answer in time.*ask again under the same")
            with _hasty(writer, exchange=0.1), late:
                ask()
            assert trial.decide("u", 1, key="k").number == 2
            assert writer.pid != pid
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
        assert trial.progress().state == "running"
        assert trial.audit().passed


def test_a_store_whose_writer_hangs_can_be_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No deadline here: closing has its own."""
    database = str(tmp_path / "t.db")
    with troubled.process(database, monkeypatch, tmp_path, Deadlines(exchange=1e6)) as (writer, _):
        store = Store(database, writer=writer)
        trial, _ = _pair(store)
        pid = writer.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        futures = [trial.submit(Decide(ask=Ask(unit=f"u{i}", context=1))) for i in range(3)]
        store.close(0.2)
        assert not store.writing
        for future in futures:
            assert isinstance(future.exception(), StoreError)
        with Store(database) as again:
            assert Trial.open(again, trial.id).progress().decisions == 1


def test_a_batch_that_needs_much_computing_comes_again_until_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, limits = str(tmp_path / "t.db"), ComputingLimits(together=1)
    running = troubled.process(database, monkeypatch, tmp_path, limits=limits, ticking=True)
    with running as (writer, _), Store(database, writer=writer) as store:
        trial, _ = _pair(store)
        trial.report(1, outcome=1)
        units = [{"unit": f"u{i}", "context": i} for i in range(2)]
        with pytest.raises(BusyError, match="send fewer units at a time"):
            trial.decide_many(units)
        assert (trial.progress().state, trial.progress().decisions) == ("running", 1)
        assert [decision.number for decision in trial.decide_many(units)] == [2, 3]  # half of it had been computed


@pytest.fixture
def meter() -> Iterator[Meter]:
    """One that sees a second go by in each computation, of which a transaction may have one."""
    before = signal.getsignal(signal.SIGPROF)
    made = Meter(itertools.count().__next__)
    made.limit(ComputingLimits(decision=60, together=1), lambda _: None)
    yield made
    signal.signal(signal.SIGPROF, before)


def test_what_a_transaction_may_compute_is_shared(meter: Meter) -> None:
    meter.begin()
    meter.turn("one")
    assert meter.run(lambda: sum(range(1_000))) == 499_500
    meter.turn("other")
    with pytest.raises(BusyError, match="ask again"):
        meter.run(lambda: 1)
    meter.begin()
    meter.turn("other")
    assert meter.run(lambda: 1) == 1


def test_of_two_slow_trials_one_has_its_turn_and_the_other_comes_again(meter: Meter) -> None:
    """Whoever else waits would wait for both; what quick trials compute is not held against the slow ones."""
    meter.slow |= {"slow", "other"}
    for trial, seconds in (("quick", 0.09), ("quick too", 0.09), ("a third", 0.09), ("slow", 0.3)):
        meter.clock = itertools.count(step=seconds).__next__
        meter.turn(trial)
        assert meter.run(lambda: 1) == 1
    meter.turn("other")
    with pytest.raises(BusyError, match="ask again"):
        meter.run(lambda: 1)
    meter.turn("quick")
    assert meter.run(lambda: 1) == 1


def test_slow_trials_wait_for_the_others_and_keep_their_own_order() -> None:
    decide, tick = Decide(ask=Ask(unit="u")), Tick()
    tasks: list[Task] = [("slow", tick), ("quick", tick), ("slow", decide), ("quick", decide)]
    assert order(tasks, {"slow"}) == [1, 3, 0, 2]
    assert order(tasks, set()) == [0, 1, 2, 3]


def test_what_is_slow_is_not_worked_out_in_advance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others would wait for it a second time, between two transactions."""
    prepared: list[int] = []
    writer = Writer(str(tmp_path / "t.db"))
    with Store(str(tmp_path / "t.db"), writer=writer) as store:
        trial = Trial.create(store, troubled.SPEC | {"policy": {"kind": "TS"}})
        trial.start()
        monkeypatch.setattr(
            "takeup.trial.proposal.prepare", lambda design, secret, counts, context: prepared.append(context)
        )
        trial.decide("one", 0)
        writer.rest()
        assert prepared == [0]
        monkeypatch.setattr(METER, "slow", {trial.id})
        trial.decide("two", 0)
        writer.rest()
    assert prepared == [0]
