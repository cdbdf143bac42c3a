"""A policy that goes wrong costs its own trial a pause; a writer that hangs is killed and replaced."""

import itertools
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import servers
import troubled
from takeup.errors import BusyError, StateError, StoreError
from takeup.live import Trial
from takeup.store import Store, library, reading, writer_process
from takeup.store.group import Task, order
from takeup.store.writer import Writer
from takeup.store.writer_process import Deadlines, WriterProcess
from takeup.trial import Ask, Decide
from takeup.trial.computing import BY, METER, ComputingLimits, Meter
from takeup.trial.steering import Tick

pytestmark = pytest.mark.skipif(not library().shared, reason="this SQLite lets nobody else open the file")


@dataclass
class Place:
    """A database, the process that writes it, and the file that says what goes wrong there."""

    store: Store
    writer: WriterProcess
    file: Path


DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)]
"""What the process that writes does about a policy is the same before both."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One for all tests of a kind of database: a process takes a second to start."""
    folder = tmp_path_factory.mktemp("deadlines")
    with ExitStack() as stack:
        database = str(folder / "t.db")
        if request.param == "postgresql":
            server: servers.Server = request.getfixturevalue("postgres")
            database = stack.enter_context(server.database())
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        writer, file = stack.enter_context(troubled.process(database, patch, folder))
        yield Place(stack.enter_context(Store(database, writer=writer)), writer, file)


@pytest.fixture
def pair(place: Place) -> Iterator[tuple[Trial, Trial]]:
    """A trial that can go wrong, and one beside it, both of this test alone."""
    yield _pair(place.store)
    place.file.unlink(missing_ok=True)


def _pair(store: Store) -> tuple[Trial, Trial]:
    """A trial that can go wrong, and one beside it."""
    place = len(store.read(reading.identifiers))
    other = {**troubled.SPEC, "name": "Other", "policy": {"kind": "TSObs"}}
    pair = Trial.create(store, troubled.SPEC, trial=f"t{place}"), Trial.create(store, other, trial=f"t{place + 1}")
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
@pytest.mark.parametrize("place", DATABASES, indirect=True)
def test_a_policy_that_goes_wrong_pauses_its_trial_and_no_other(
    place: Place, pair: tuple[Trial, Trial], trouble: str, why: str
) -> None:
    trial, other = pair
    pid = place.writer.pid
    place.file.write_text(trouble)
    futures = [each.submit(Decide(ask=Ask(unit=f"u{i}", context=1))) for i in range(20) for each in (trial, other)]
    for i, future in enumerate(futures):
        if i % 2:
            assert future.result().unit == f"u{i // 2}"
        else:
            with pytest.raises(StateError, match=rf"has been paused: {why}" if i == 0 else "paused"):
                future.result()
    assert place.writer.pid == pid
    assert "17 outcomes" not in _paused(trial)["reason"]
    place.file.unlink()
    assert trial.audit().passed
    trial.start()
    assert trial.decide("u0", 1).number == 2


@pytest.mark.parametrize("place", DATABASES, indirect=True)
def test_a_policy_that_cannot_be_interrupted_is_killed_and_its_trial_paused(
    place: Place, pair: tuple[Trial, Trial]
) -> None:
    trial, other = pair
    pid = place.writer.pid
    place.file.write_text("hangs")
    hung = pytest.raises(StoreError, match=r"hung in the policy of a trial.*ask again under the same")
    with _hasty(place.writer, computing=0.1), hung:
        trial.decide("u", 1, key="k")
    with pytest.raises(StateError, match="is paused"):
        trial.decide("u", 1, key="k")
    assert place.writer.pid != pid
    assert other.decide("u", 1).number == 2
    assert _paused(trial)["reason"] == "a decision took more than 0.1 s, and could not be interrupted"
    place.file.unlink()
    assert trial.audit().passed


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_policy_that_ends_the_process_again_and_again_pauses_its_trial(
    place: Place, pair: tuple[Trial, Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice here, more often else: the process is started anew each time."""
    monkeypatch.setattr(writer_process, "MOST_DEATHS", 2)
    trial, other = pair
    place.file.write_text("dies")
    for _ in range(2):
        with pytest.raises(StoreError, match="has ended; ask again"):
            trial.decide("u", 1)
    assert other.decide("u", 1).number == 2
    assert _paused(trial)["reason"] == "the process that decides ended 2 times in its policy"


def _replaced(place: Place, trial: Trial, ask: Callable[[], object]) -> None:
    """Stop the writer, ask it for something, and see that another one takes its place."""
    pid = place.writer.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    late = pytest.raises(StoreError, match=r"did not answer in time.*ask again under the same")
    with _hasty(place.writer, exchange=0.1), late:
        ask()
    assert trial.decide("u", 1, key="k").number == 2
    assert place.writer.pid != pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.requirement("R-9.6")
def test_a_writer_that_hangs_is_killed_and_replaced(place: Place, pair: tuple[Trial, Trial]) -> None:
    """Stopped, as a debugger or a disk that hangs would: whoever asked is told, and the next request goes through."""
    trial, _ = pair
    _replaced(place, trial, lambda: trial.decide("u", 1, key="k"))
    assert trial.progress().state == "running"
    assert trial.audit().passed


@pytest.mark.long
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_so_is_one_that_hangs_when_it_is_probed(place: Place, pair: tuple[Trial, Trial]) -> None:
    _replaced(place, pair[0], lambda: place.store.probe().result())
    assert pair[0].progress().state == "running"


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
