"""The store: any number of threads submit commands, and one thread has them written."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from sqlalchemy import Connection, exc

from takeup.errors import StoreError
from takeup.store import sqlite
from takeup.store.opening import reading_engine, said, shown
from takeup.store.writer import Create, Task, Witness, Writer, Writes, now
from takeup.trial.commands import Command
from takeup.trial.design import Design
from takeup.trial.secret import Secret

LOG = logging.getLogger("takeup.store")

MOST_TASKS = 256
"""The most requests that share a transaction."""

BUSY_TASKS = 16
"""After a transaction of at least this many requests there is a rest, unless it was full."""

Result = TypeVar("Result")


class Promise(Protocol):
    """Where a reply goes: a `concurrent.futures.Future`, or something that has these methods of it."""

    def set_running_or_notify_cancel(self) -> bool:
        """The command is about to run; False where nobody waits for it any more."""

    def set_result(self, reply: Any, /) -> None:
        """The command has returned this."""

    def set_exception(self, error: BaseException, /) -> None:
        """The command has raised this."""


class Store:
    """A database of trials.

    Args:
        url: as `Writer` takes it; so are `clock`, `witness` and `synchronous`.
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
        self._queue: queue.SimpleQueue[_Submitted | _Between | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._since: float | None = None
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
        """Whether the thread that writes is running."""
        return self._thread.is_alive()

    @property
    def queued(self) -> int:
        """How many requests wait for the next transaction."""
        return self._queue.qsize()

    @property
    def oldest(self) -> float:
        """For how many seconds the oldest request has waited that was not answered yet."""
        since = self._since  # another thread may move it
        return 0.0 if since is None else time.monotonic() - since

    def submit(self, trial: str, command: Command[Result]) -> "Future[Result]":
        """Hand in a command; its reply comes after the commit.

        What `add_done_callback` attaches to the future runs on the thread that writes, and must not wait for it.
        """
        future: Future[Result] = Future()
        self.submit_to(future, trial, command)
        return future

    def submit_to(self, promise: Promise, trial: str, command: Command[Any] | Create) -> None:
        """The same, with a promise of the caller's own."""
        self._put(_Submitted((trial, command), promise, time.monotonic()))

    def create(self, trial: str, design: Design, secret: Secret, by: str | None = None) -> "Future[str]":
        """A new trial, in draft."""
        future: Future[str] = Future()
        self.submit_to(future, trial, Create(design=design, secret=secret, by=by))
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

    def probe(self) -> "Future[list[str]]":
        """Make a real write that leaves nothing behind; what is wrong besides."""
        return self._do(self.writer.probe)

    def close(self, seconds: float | None = None) -> None:
        """Finish what was handed in, then close the database.

        Readers first: the last connection folds SQLite's write-ahead log into the file, if it may write.

        Args:
            seconds: how long that may take; what is not finished by then fails. As long as it takes where left out.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
        self._thread.join(seconds)
        if self._thread.is_alive():
            LOG.error("what was handed in was not finished within %g seconds, and is given up", seconds)
            self.writer.kill()
            self._thread.join(seconds)
        if self._reader is not None:
            self._reader.dispose()
        if not self._thread.is_alive():
            self.writer.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _between(
        self, go: Callable[[Callable[[Connection], Result]], Result], work: Callable[[Connection], Result]
    ) -> "Future[Result]":
        return self._do(lambda: go(work))

    def _do(self, go: Callable[[], Result]) -> "Future[Result]":
        other = _Between(go, Future(), time.monotonic())
        self._put(other)
        return other.future

    def _put(self, item: "_Submitted | _Between") -> None:
        """Queue something, unless the store is closed and nobody would take it."""
        with self._lock:
            self._check_open()
            self._queue.put(item)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.shown} is closed")

    def _work(self) -> None:
        while True:
            submitted, others, stop = self._next()
            if submitted:
                replies = self.writer.run([each.task for each in submitted])
                for each, (reply, error) in zip(submitted, replies, strict=True):
                    if error is None:
                        each.promise.set_result(reply)
                    else:
                        each.promise.set_exception(error)
            for other in others:
                other.run()
            self._since = None
            if stop:
                return
            if BUSY_TASKS <= len(submitted) < MOST_TASKS:
                self._since = time.monotonic()  # whoever comes meanwhile is younger
                self.writer.rest()
                self._since = None

    def _next(self) -> "tuple[list[_Submitted], list[_Between], bool]":
        """All that is queued, at least one item, and whether the store was closed after it."""
        submitted: list[_Submitted] = []
        others: list[_Between] = []
        item = self._queue.get()
        self._since = None if item is None else item.at
        while True:
            if item is None:
                return submitted, others, True
            if isinstance(item, _Between):
                others.append(item)
            elif item.promise.set_running_or_notify_cancel():
                submitted.append(item)
            if len(submitted) == MOST_TASKS:
                return submitted, others, False
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return submitted, others, False


class _Submitted(NamedTuple):
    """A command that waits for a transaction."""

    task: Task
    promise: Promise
    at: float


class _Between(NamedTuple):
    """Something to do between two transactions."""

    go: Callable[[], Any]
    future: "Future[Any]"
    at: float

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            found = self.go()
        except Exception as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(found)
