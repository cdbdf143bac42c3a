"""The store: one thread that writes, and nobody is answered before what they asked for is on the disk."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine, exc, select

from takeup.errors import StoreError
from takeup.store import group, load, sqlite
from takeup.store.group import Create, Group, Job, Promise
from takeup.store.migrate import migrate
from takeup.store.opening import engines, said
from takeup.store.schema import events
from takeup.trial.book import Book
from takeup.trial.commands import Command
from takeup.trial.design import Design
from takeup.trial.secret import Secret

LOG = logging.getLogger("takeup.store")

MOST_JOBS = 256
"""So many requests share a transaction."""

BUSY_JOBS = 16
PAUSE_SECONDS = 0.015
"""After a transaction of so many requests the next one waits a little, so that more of them share it: a transaction
costs more than the requests in it."""

MOST_BOOKS = 64
"""So many trials are kept in memory between transactions."""

Reply = TypeVar("Reply")
Result = TypeVar("Result")


class Witness(Protocol):
    """Who is told of every head that was committed, before anybody is answered."""

    def saw(self, book: Book) -> None:
        """A trial has this head now."""

    def close(self) -> None:
        """There is nothing more to see."""


def now() -> int:
    """The time in microseconds since 1970, UTC."""
    return time.time_ns() // 1_000


class Store:
    """A database of trials.

    Args:
        url: `sqlite:///file.db`, a file's path, `sqlite://` for a database in memory, or `postgresql://..`.
        clock: what time it is, in microseconds.
        witness: who is told of every committed head.
        synchronous: anything but FULL loses data when the power fails; for tests that show it.
    """

    def __init__(
        self,
        url: str | Path,
        *,
        clock: Callable[[], int] = now,
        witness: Witness | None = None,
        synchronous: sqlite.Synchronous = "FULL",
    ) -> None:
        self.url = str(url)
        self.clock = clock
        self._witness = witness
        self._engine, self._reader = engines(self.url, synchronous)
        self._books: dict[str, Book] = {}
        self._jobs: queue.SimpleQueue[Job | _Reading | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        try:
            with self._engine.begin() as connection:
                migrate(connection)
        except BaseException as error:
            self._dispose()
            if isinstance(error, exc.SQLAlchemyError):
                raise StoreError(f"{self.shown} cannot be opened: {said(error)}") from error
            raise
        self._thread = threading.Thread(target=self._work, name="takeup-writer", daemon=True)
        self._thread.start()

    @property
    def shown(self) -> str:
        """The URL without its password."""
        return self._engine.url.render_as_string() if self.dialect == "postgresql" else self.url

    @property
    def dialect(self) -> str:
        """Sqlite or postgresql."""
        return self._engine.dialect.name

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
            reading = _Reading(look)
            self._put(reading)
            return reading.future.result()  # type: ignore[no-any-return]  # a queue cannot say whose reply it holds
        self._check_open()
        try:
            with self._reader.connect() as connection, connection.begin():
                return look(connection)
        except exc.SQLAlchemyError as error:
            raise StoreError(f"{self.shown} cannot be read: {said(error)}") from error

    def write(self, change: Callable[[Connection], Result]) -> "Future[Result]":
        """Run `change` in a transaction of its own, for tables that are no part of any trial."""
        writing = _Reading(change, commit=True)
        self._put(writing)
        return writing.future

    def close(self) -> None:
        """Finish what was handed in, then let go of the database."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()
        if self._witness is not None:
            self._witness.close()
        self._dispose()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _dispose(self) -> None:
        """Readers first: the last connection folds SQLite's write-ahead log into the file, if it may write."""
        for engine in (self._reader, self._engine):
            if engine is not None:
                engine.dispose()

    def _put(self, job: "Job | _Reading") -> None:
        """Nothing comes after the end, where nobody would take it."""
        with self._gate:
            self._check_open()
            self._jobs.put(job)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.shown} is closed")

    def _work(self) -> None:
        while True:
            jobs, readings, stop = self._next()
            if jobs:
                self._run(jobs)
            for reading in readings:
                reading.run(self._engine)
            if stop:
                return
            if BUSY_JOBS <= len(jobs) < MOST_JOBS:
                time.sleep(PAUSE_SECONDS)

    def _next(self) -> tuple[list[Job], "list[_Reading]", bool]:
        """Whatever has been handed in; waits where there is nothing."""
        jobs: list[Job] = []
        readings: list[_Reading] = []
        item = self._jobs.get()
        while True:
            if item is None:
                return jobs, readings, True
            if isinstance(item, Job):
                if item.promise.set_running_or_notify_cancel():
                    jobs.append(item)
            else:
                readings.append(item)
            if len(jobs) == MOST_JOBS:
                return jobs, readings, False
            try:
                item = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, readings, False

    def _run(self, jobs: Sequence[Job], attempts: int = 2) -> None:
        """All in one transaction.

        Where the database fails, once more: a lost connection is opened again, and what was committed after all is
        answered from the log. Where something else fails, one by one, so that nobody pays for another's request.
        """
        try:
            self._commit(jobs)
        except Exception as error:
            self._books.clear()
            broken = isinstance(error, exc.OperationalError | exc.InterfaceError)
            if broken and attempts > 1:
                self._run(jobs, attempts - 1)
            elif broken or len(jobs) == 1:
                for job in jobs:
                    job.promise.set_exception(_failure(self.shown, error))
            else:
                for job in jobs:
                    self._run([job], attempts=1)

    def _commit(self, jobs: Sequence[Job]) -> None:
        with self._engine.connect() as connection:
            transaction = connection.begin()
            try:
                done = group.run(connection, jobs, self._books, self.clock())
            except BaseException:
                transaction.rollback()
                raise
            try:
                transaction.commit()
            except exc.SQLAlchemyError as error:
                connection.invalidate(error)
                if not self._committed(done):
                    raise
        self._tell(done)
        self._keep(done)
        done.answer()

    def _tell(self, done: Group) -> None:
        """The witness; what it does wrong must not undo what has been committed."""
        if self._witness is None:
            return
        for book in done.books.values():
            if book.changes.entries:
                try:
                    self._witness.saw(book)
                except Exception:
                    LOG.exception("the head of trial %s was not witnessed", book.trial)

    def _committed(self, done: Group) -> bool:
        """Whether a commit that failed took place all the same: its last event is there, or it is not.

        The trial's lock comes first: it is free only when the server has made up its mind about the old transaction.
        """
        changed = [book for book in done.books.values() if book.changes.entries]
        if not changed:
            return True
        book = changed[0]
        with self._engine.connect() as connection, connection.begin():
            load.heads(connection, [book.trial], lock=True)
            there = (events.c.trial == book.trial, events.c.sequence == book.sequence, events.c.hash == book.hash)
            return connection.execute(select(events.c.hash).where(*there)).first() is not None

    def _keep(self, done: Group) -> None:
        for trial, book in done.books.items():
            book.forget()
            self._books.pop(trial, None)
            self._books[trial] = book
        while len(self._books) > MOST_BOOKS:
            del self._books[next(iter(self._books))]


class _Reading:
    """Something to look up, or to write, between two transactions on the connection that writes."""

    def __init__(self, look: Callable[[Connection], Any], *, commit: bool = False) -> None:
        self.look = look
        self.commit = commit
        self.future: Future[Any] = Future()

    def run(self, engine: Engine) -> None:
        try:
            with engine.connect() as connection, connection.begin() as transaction:
                found = self.look(connection)
                if not self.commit:
                    transaction.rollback()
        except exc.SQLAlchemyError as error:
            failed = StoreError(f"the database did not take it: {said(error)}")
            failed.__cause__ = error
            self.future.set_exception(failed)
        except Exception as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(found)


def _failure(shown: str, error: Exception) -> Exception:
    """What to tell the caller."""
    if isinstance(error, exc.SQLAlchemyError):
        failed = StoreError(f"{shown} did not take it: {said(error)}; ask again under the same idempotency key")
        failed.__cause__ = error
        return failed
    return error
