"""The store: any number of threads submit commands, and one thread has them written."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, exc

from takeup.errors import StoreError
from takeup.store import sqlite
from takeup.store.fair_queue import MOST_TASKS, Between, FairQueue, Promise, Submitted
from takeup.store.group import Create, Reply
from takeup.store.opening import reading_engine, said, shown
from takeup.store.writer import Witness, Writer, Writes, now
from takeup.trial.commands import Command
from takeup.trial.design import Design
from takeup.trial.past import TakeOver
from takeup.trial.secret import Secret

LOG = logging.getLogger("takeup.store")

BUSY_TASKS = 16
"""After a transaction of at least this many requests there is a rest, unless it was full."""

Result = TypeVar("Result")


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
        self._queue = FairQueue()
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
        return len(self._queue)

    @property
    def oldest(self) -> float:
        """For how many seconds the oldest request has waited that was not answered yet."""
        known = [at for at in (self._since, self._queue.oldest) if at is not None]
        return time.monotonic() - min(known) if known else 0.0

    def submit(self, trial: str, command: Command[Result]) -> "Future[Result]":
        """Hand in a command; its reply comes after the commit.

        What `add_done_callback` attaches to the future runs on the thread that writes, and must not wait for it.
        """
        future: Future[Result] = Future()
        self.submit_to(future, trial, command)
        return future

    def submit_to(self, promise: Promise, trial: str, command: Command[Any] | Create) -> None:
        """The same, with a promise of the caller's own."""
        self._put(Submitted((trial, command), promise, time.monotonic()))

    def create(
        self, trial: str, design: Design, secret: Secret, by: str | None = None, past: TakeOver | None = None
    ) -> "Future[str]":
        """A new trial, in draft, that may take over those who were assigned before."""
        future: Future[str] = Future()
        self.submit_to(future, trial, Create(design=design, secret=secret, by=by, past=past))
        return future

    def read(self, look: Callable[[Connection], Result]) -> Result:
        """What `look` finds in one consistent state of the database; it must not write, and may be called again."""
        if self._reader is None:
            assert isinstance(self.writer, Writer)  # a database that nobody else may open has its writer here
            return self._between(self.writer.look, look).result()
        self._check_open()
        try:
            try:
                return _look(self._reader, look)
            except exc.DBAPIError as error:
                if not error.connection_invalidated:
                    raise
            return _look(self._reader, look)  # the server was started again meanwhile, and took all connections along
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
        if not self._queue.close():
            return
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
        other = Between(go, Future(), time.monotonic())
        self._put(other)
        return other.future

    def _put(self, item: Submitted | Between) -> None:
        """Queue something, unless the store is closed and nobody would take it."""
        if not self._queue.put(item):
            self._check_open()

    def _check_open(self) -> None:
        if self._queue.closed:
            raise StoreError(f"{self.shown} is closed")

    def _work(self) -> None:
        while True:
            taken, between = self._queue.take()
            if not taken and not between:
                return
            self._since = min([each.at for each in taken] + [each.at for each in between])
            wanted = [each for each in taken if each.promise.set_running_or_notify_cancel()]
            if wanted:
                self._answer(wanted, self.writer.run([each.task for each in wanted]))
            for each in between:
                each.run()
            self._since = None
            if BUSY_TASKS <= len(wanted) < MOST_TASKS and not self._queue.closed:
                self._since = time.monotonic()  # whoever comes meanwhile is younger
                self.writer.rest()
                self._since = None

    def _answer(self, wanted: list[Submitted], replies: list[Reply]) -> None:
        for each, (reply, error) in zip(wanted, replies, strict=True):
            if error is None:
                each.promise.set_result(reply)
            else:
                each.promise.set_exception(error)


def _look(engine: Engine, look: Callable[[Connection], Result]) -> Result:
    with engine.connect() as connection, connection.begin():
        return look(connection)
