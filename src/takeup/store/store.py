"""The store: whoever asks hands in, and one thread has it written."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, exc

from takeup.errors import StoreError
from takeup.store import sqlite
from takeup.store.group import Create, Job, Promise
from takeup.store.opening import reading_engine, said, shown
from takeup.store.writer import Witness, Writer, Writes, now
from takeup.trial.commands import Command
from takeup.trial.design import Design
from takeup.trial.secret import Secret

MOST_JOBS = 256
"""So many requests share a transaction."""

BUSY_JOBS = 16
"""After a transaction of so many requests there is a rest, unless it was full."""

Reply = TypeVar("Reply")
Result = TypeVar("Result")


class Store:
    """A database of trials.

    Args:
        url: `sqlite:///file.db`, a file's path, `sqlite://` for a database in memory, or `postgresql://..`.
        clock: what time it is, in microseconds.
        witness: who is told of every committed head.
        synchronous: anything but FULL loses data when the power fails; for tests that show it.
        writer: what writes, if it is there already; it has a clock and a witness of its own.
    """

    def __init__(
        self,
        url: str | Path,
        *,
        clock: Callable[[], int] = now,
        witness: Witness | None = None,
        synchronous: sqlite.Synchronous = "FULL",
        writer: Writes | None = None,
    ) -> None:
        self.url = str(url)
        self.clock = clock
        self.writer = writer or Writer(self.url, clock=clock, witness=witness, synchronous=synchronous)
        self._reader = reading_engine(self.url)
        self._jobs: queue.SimpleQueue[Job | _Between | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="takeup-writer", daemon=True)
        self._thread.start()

    @property
    def shown(self) -> str:
        """The URL without its password."""
        return shown(self.url)

    @property
    def dialect(self) -> str:
        """Sqlite or postgresql."""
        return "postgresql" if self.url.startswith("postgres") else "sqlite"

    @property
    def writing(self) -> bool:
        """Whether what is handed in will be taken."""
        return self._thread.is_alive()

    @property
    def queued(self) -> int:
        """How many requests wait for the next transaction."""
        return self._jobs.qsize()

    def submit(self, trial: str, command: Command[Reply]) -> "Future[Reply]":
        """Hand in a command; its reply comes after the commit.

        What `add_done_callback` attaches to the future runs on the thread that writes, and must not wait for it.
        """
        future: Future[Reply] = Future()
        self.hand_in(trial, command, future)
        return future

    def hand_in(self, trial: str, command: Command[Any], promise: Promise) -> None:
        """Hand in a command; its reply goes to the promise, on the thread that writes, which must not wait for it."""
        self._put(Job(trial, command, promise))

    def create(self, trial: str, design: Design, secret: Secret, by: str | None = None) -> "Future[str]":
        """A new trial, in draft."""
        future: Future[str] = Future()
        self._put(Job(trial, Create(design=design, secret=secret, by=by), future))
        return future

    def read(self, look: Callable[[Connection], Result]) -> Result:
        """What `look` finds in one consistent state of the database; it must not write."""
        if self._reader is None:
            assert isinstance(self.writer, Writer)  # a database that nobody else may open has its writer here
            return self._between(self.writer.look, look).result()
        self._check_open()
        try:
            with self._reader.connect() as connection, connection.begin():
                return look(connection)
        except exc.SQLAlchemyError as error:
            raise StoreError(f"{self.shown} cannot be read: {said(error)}") from error

    def write(self, change: Callable[[Connection], Result]) -> "Future[Result]":
        """Run `change` in a transaction of its own, for tables that are no part of any trial.

        It may run in another process: it is a function of a module, or a `functools.partial` of one.
        """
        return self._between(self.writer.change, change)

    def close(self) -> None:
        """Finish what was handed in, then let go of the database.

        Readers first: the last connection folds SQLite's write-ahead log into the file, if it may write.
        """
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()
        if self._reader is not None:
            self._reader.dispose()
        self.writer.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _between(
        self, go: Callable[[Callable[[Connection], Result]], Result], work: Callable[[Connection], Result]
    ) -> "Future[Result]":
        other = _Between(lambda: go(work))
        self._put(other)
        return other.future

    def _put(self, item: "Job | _Between") -> None:
        """Nothing comes after the end, where nobody would take it."""
        with self._gate:
            self._check_open()
            self._jobs.put(item)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.shown} is closed")

    def _work(self) -> None:
        while True:
            jobs, others, stop = self._next()
            if jobs:
                self.writer.run(jobs)
            for other in others:
                other.run()
            if stop:
                return
            if BUSY_JOBS <= len(jobs) < MOST_JOBS:
                self.writer.rest()

    def _next(self) -> tuple[list[Job], "list[_Between]", bool]:
        """Whatever has been handed in; waits where there is nothing."""
        jobs: list[Job] = []
        others: list[_Between] = []
        item = self._jobs.get()
        while True:
            if item is None:
                return jobs, others, True
            if isinstance(item, Job):
                if item.promise.set_running_or_notify_cancel():
                    jobs.append(item)
            else:
                others.append(item)
            if len(jobs) == MOST_JOBS:
                return jobs, others, False
            try:
                item = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, others, False


class _Between:
    """Something to do between two transactions."""

    def __init__(self, go: Callable[[], Any]) -> None:
        self._go = go
        self.future: Future[Any] = Future()

    def run(self) -> None:
        try:
            found = self._go()
        except Exception as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(found)
