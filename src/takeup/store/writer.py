"""The one that writes: many requests in a transaction, and nobody is answered before it is on the disk."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from sqlalchemy import Connection, Engine, exc, select

from takeup.errors import StoreError
from takeup.store import group, load, sqlite
from takeup.store.group import Group, Job
from takeup.store.migrate import migrate
from takeup.store.opening import said, shown, writing_engine
from takeup.store.schema import events
from takeup.trial import decision
from takeup.trial.book import Book

LOG = logging.getLogger("takeup.store")

PAUSE_SECONDS = 0.015
"""How long a rest lasts: a transaction costs more than the requests in it, and more of them then share the next one."""

MOST_BOOKS = 64
"""So many trials are kept in memory between transactions."""

Result = TypeVar("Result")


class Witness(Protocol):
    """Who is told of every head that was committed, before anybody is answered."""

    def saw(self, book: Book) -> None:
        """A trial has this head now."""

    def close(self) -> None:
        """There is nothing more to see."""


class Writes(Protocol):
    """What a store has written by: a `Writer`, here or in another process."""

    def run(self, jobs: Sequence[Job]) -> None:
        """Run these commands in one transaction, and keep their promises after its commit."""

    def change(self, change: Callable[[Connection], Result]) -> Result:
        """Run `change` in a transaction of its own, for tables that are no part of any trial."""

    def rest(self) -> None:
        """Spend the time until the next transaction, when many requests come."""

    def close(self) -> None:
        """Let go of the database."""


def now() -> int:
    """The time in microseconds since 1970, UTC."""
    return time.time_ns() // 1_000


class Writer:
    """The connection that writes, and the trials that it has in memory.

    Args:
        url: `sqlite:///file.db`, a file's path, `sqlite://` for a database in memory, or `postgresql://..`.
        clock: what time it is, in microseconds.
        witness: who is told of every committed head.
        synchronous: anything but FULL loses data when the power fails; for tests that show it.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Callable[[], int] = now,
        witness: Witness | None = None,
        synchronous: sqlite.Synchronous = "FULL",
    ) -> None:
        self.engine: Engine = writing_engine(url, synchronous)
        self.shown = shown(url)
        self._clock, self._witness = clock, witness
        self._books: dict[str, Book] = {}
        self._expected: list[tuple[Book, int]] = []
        try:
            with self.engine.begin() as connection:
                migrate(connection)
        except BaseException as error:
            self.engine.dispose()
            if isinstance(error, exc.SQLAlchemyError):
                raise StoreError(f"{self.shown} cannot be opened: {said(error)}") from error
            raise

    def run(self, jobs: Sequence[Job], attempts: int = 2) -> None:
        """All in one transaction.

        Where the database fails, once more: a lost connection is opened again, and what was committed after all is
        answered from the log. Where something else fails, one by one, so that nobody pays for another's request.
        """
        try:
            self._commit(jobs)
        except Exception as error:
            self._books.clear()
            self._expected.clear()
            broken = isinstance(error, exc.OperationalError | exc.InterfaceError)
            if broken and attempts > 1:
                self.run(jobs, attempts - 1)
            elif broken or len(jobs) == 1:
                for job in jobs:
                    job.promise.set_exception(_failure(self.shown, error))
            else:
                for job in jobs:
                    self.run([job], attempts=1)

    def change(self, change: Callable[[Connection], Result]) -> Result:
        """Run `change` in a transaction of its own."""
        return self._transact(change, commit=True)

    def look(self, look: Callable[[Connection], Result]) -> Result:
        """What `look` finds between two transactions, where nothing else may open the database."""
        return self._transact(look, commit=False)

    def rest(self) -> None:
        """Work out what the next decisions will most likely need; what is left of the time, sleep."""
        until = time.perf_counter() + PAUSE_SECONDS
        expected, self._expected = self._expected, []
        try:
            for book, context in expected:
                decision.expect(book.design, book.secret, book.counts, context)
        except Exception:
            LOG.exception("what decisions will need was not worked out")  # those that need it will say why
        left = until - time.perf_counter()
        if left > 0:
            time.sleep(left)

    def close(self) -> None:
        """Let go of the database; the witness has seen everything."""
        if self._witness is not None:
            self._witness.close()
        self.engine.dispose()

    def _transact(self, work: Callable[[Connection], Result], *, commit: bool) -> Result:
        try:
            with self.engine.connect() as connection, connection.begin() as transaction:
                found = work(connection)
                if not commit:
                    transaction.rollback()
                return found
        except exc.SQLAlchemyError as error:
            raise StoreError(f"the database did not take it: {said(error)}") from error

    def _commit(self, jobs: Sequence[Job]) -> None:
        with self.engine.connect() as connection:
            transaction = connection.begin()
            try:
                done = group.run(connection, jobs, self._books, self._clock())
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
        with self.engine.connect() as connection, connection.begin():
            load.heads(connection, [book.trial], lock=True)
            there = (events.c.trial == book.trial, events.c.sequence == book.sequence, events.c.hash == book.hash)
            return connection.execute(select(events.c.hash).where(*there)).first() is not None

    def _keep(self, done: Group) -> None:
        self._expected = list(done.expected())
        for trial, book in done.books.items():
            book.forget()
            self._books.pop(trial, None)
            self._books[trial] = book
        while len(self._books) > MOST_BOOKS:
            del self._books[next(iter(self._books))]


def _failure(shown: str, error: Exception) -> Exception:
    """What to tell the caller."""
    if isinstance(error, exc.SQLAlchemyError):
        failed = StoreError(f"{shown} did not take it: {said(error)}; ask again under the same idempotency key")
        failed.__cause__ = error
        return failed
    return error
