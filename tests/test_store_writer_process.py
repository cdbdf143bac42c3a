"""A writer in a process of its own: what is asked of it, its death, and that of whoever asks."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from takeup import errors
from takeup.errors import ConflictError, InputError, LabelError, NotFoundError, ReusedKeyError, StoreError, TakeupError
from takeup.live import Trial, new_key
from takeup.pipes import packed
from takeup.service.settings import Settings
from takeup.store import Store, Writer, library
from takeup.store.writer_child import _done
from takeup.store.writer_process import WriterProcess
from takeup.trial import Book
from takeup.trial.commands import Needs

pytestmark = pytest.mark.skipif(not library().shared, reason="this SQLite lets nobody else open the file")

SPEC: dict[str, Any] = {
    "name": "Process",
    "space": {"proposals": ["rest", "drug"], "contexts": ["young", "old"]},
    "policy": {"kind": "TSObs"},
    "rehearsal": True,
    "seed": 11,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Settings(database=str(tmp_path_factory.mktemp("process") / "t.db")).store() as opened:
        yield opened


REFUSES = f"""
import os
os.read(0, 1)
os.write(1, {packed(InputError("anchors", "x", "y"))!r})
"""
"""Answers what it is asked with an error, whatever that is."""


def _kill(store: Store) -> None:
    """And wait until it is dead."""
    os.kill(_pid(store), signal.SIGKILL)
    assert isinstance(store.writer, WriterProcess)
    assert store.writer._process is not None
    store.writer._process.wait(60)


def _pid(store: Store) -> int:
    assert isinstance(store.writer, WriterProcess)
    assert store.writer.pid is not None
    return store.writer.pid


def test_it_answers_and_refuses_as_a_writer_here_does(store: Store, tmp_path: Path) -> None:
    """The same requests to both: equal replies, equal errors, equal logs but for the times."""

    def asked(trial: Trial) -> list[object]:
        trial.start()
        said: list[object] = [(d.number, d.proposal) for d in trial.decide_many([f"u{i}" for i in range(40)], key="k")]
        said += [trial.report(i, implemented="drug", outcome=i % 2, key=f"r{i}").sequence for i in range(1, 30)]
        for wrong in (
            lambda: trial.report(99, outcome=1),
            lambda: trial.report(1, outcome=0),
            lambda: trial.decide("v", "middle"),
            lambda: trial.decide("w", 0, key="k"),
        ):
            with pytest.raises(TakeupError) as caught:
                wrong()
            said.append((type(caught.value), str(caught.value)))
        assert trial.audit().passed
        return said

    spec = {**SPEC, "space": {"proposals": ["rest", "drug"]}}
    there = asked(Trial.create(store, spec, trial="same"))
    with Trial.create(tmp_path / "here.db", spec, trial="same") as here:
        assert there == asked(here)
    assert {NotFoundError, ConflictError, LabelError, ReusedKeyError} == {each[0] for each in there[-4:]}  # type: ignore[index]  # errors


def test_a_writer_that_dies_is_started_again_and_has_lost_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder where something lies about that is called like a module: nobody imports it.

    Changes are functions, which cross over by name, and so do their errors.
    """
    (tmp_path / "queue.py").write_text("raise SystemExit('wrong queue')")
    monkeypatch.chdir(tmp_path)
    trial = Trial.create(store, SPEC, trial="mortal")
    trial.start()
    before = [trial.decide(f"u{i}", i % 2, key=f"k{i}").proposal for i in range(30)]
    first = _pid(store)
    _kill(store)
    assert trial.decide("u30", 0, key="k30").number == 31  # nobody had asked it anything
    assert _pid(store) != first
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    with pytest.raises(StoreError, match="has ended; ask again under the same idempotency key"):
        store.write(partial(_count, "api_keys")).result()  # of a module that it cannot import, and its successor can
    assert trial.decide("u31", 0, key="k31").number == 32
    assert [trial.decide(f"u{i}", i % 2, key=f"k{i}").proposal for i in range(30)] == before
    assert trial.audit().passed
    assert store.write(partial(_count, "api_keys")).result() == 0
    with pytest.raises(StoreError, match="no such table"):
        store.write(partial(_count, "no_table")).result()


def test_a_writer_that_cannot_be_started_again_is_unavailable_until_it_can(store: Store) -> None:
    trial = Trial.create(store, SPEC, trial="stubborn")
    trial.start()
    assert isinstance(store.writer, WriterProcess)
    right = store.writer._command
    _kill(store)
    for wrong in (("/nowhere/python",), (sys.executable, "-S", "-c", "pass"), (sys.executable, "-S", "-c", REFUSES)):
        store.writer._command = wrong
        for _ in range(2):
            with pytest.raises(StoreError, match="cannot be started"):
                trial.decide("a", 0)
        store.writer.rest()
    store.writer._command = right
    assert trial.decide("a", 0).number == 1
    assert store.writing


def test_a_writer_that_ends_before_it_has_opened_the_database_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has asked anything under any key yet: it is what `takeup serve` says when a migration is killed."""
    monkeypatch.setattr("takeup.store.writer_process.running", lambda _: (sys.executable, "-c", "pass"))
    with pytest.raises(StoreError, match=r"the process that writes has ended$"):
        Settings(database=str(tmp_path / "t.db")).store()


def test_signals_are_for_whoever_asks(store: Store) -> None:
    trial = Trial.create(store, SPEC, trial="deaf")
    trial.start()
    pid = _pid(store)
    for each in (signal.SIGINT, signal.SIGTERM):
        os.kill(pid, each)
    assert trial.decide("a", 0).number == 1
    assert _pid(store) == pid


def _count(table: str, connection: Connection) -> int:
    return int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


@dataclass(frozen=True)
class Break:
    """A command with a bug."""

    error: Exception
    needs: Needs = field(default=Needs())

    def run(self, book: Book, at: int) -> None:
        raise self.error


def test_an_error_that_cannot_cross_over_is_told_in_words(tmp_path: Path) -> None:
    class LocalError(Exception):
        pass

    with Trial.create(tmp_path / "t.db", SPEC) as trial:
        assert isinstance(trial.store.writer, Writer)
        jobs = [(trial.id, Break(ZeroDivisionError("by zero"))), (trial.id, Break(LocalError("here alone")))]
        replies = _done(trial.store.writer, "run", jobs)
    assert replies is not None
    failed = [pickle.loads(pickle.dumps(error)) for _, error in replies]
    assert [type(each) for each in failed] == [ZeroDivisionError, RuntimeError]
    assert [str(each) for each in failed] == ["by zero", "LocalError: here alone"]


def test_every_error_of_ours_can_cross_over() -> None:
    made = [
        errors.InputError("rate", -1, "at least 0", "raise it"),
        errors.ReusedKeyError("k"),
        errors.MissingExtraError("polars", "sim"),
        errors.NotFoundError("nothing"),
    ]
    for error in made:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_what_cannot_be_opened_is_said_here(tmp_path: Path) -> None:
    key = tmp_path / "key"
    new_key(key)
    with pytest.raises(InputError, match=r"anchors: got .* expected a file that can be appended to"):
        Settings(database=str(tmp_path / "t.db"), anchors=tmp_path / "nowhere" / "a", anchor_key=key).store()
    with pytest.raises(StoreError, match="no URL of a database") as caught:
        Settings(database="postgresql://me:hunter2@host:port/t").store()
    assert "hunter2" not in str(caught.value)


def test_it_ends_with_whoever_asks(tmp_path: Path) -> None:
    """The one that asks is killed, and cannot say goodbye.

    One that was stopped cannot notice by itself, and would keep its database locked for ever.
    """
    script = f"""
import os, signal, time
from pathlib import Path
from takeup.service.settings import Settings
from troubled import stop
going, stopped = (Settings(database={str(tmp_path)!r} + name).store() for name in ("/going.db", "/stopped.db"))
stopped.write(stop)
while Path(f"/proc/{{stopped.writer.pid}}/stat").read_text().rpartition(")")[2].split()[0] != "T":
    time.sleep(0.01)
print(going.writer.pid, stopped.writer.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    out = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment)
    going, stopped = map(int, out.stdout.split())
    try:
        with Store(tmp_path / "stopped.db"):
            assert not _alive(stopped)
    finally:
        if _alive(stopped):
            os.kill(stopped, signal.SIGKILL)
    until = time.monotonic() + 60
    while _alive(going):
        assert time.monotonic() < until
        time.sleep(0.01)
    with Store(tmp_path / "going.db"):
        pass


def _alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    return _state(pid) not in ("", "Z")


def _state(pid: int) -> str:
    """The letter that the system has for what a process does."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
