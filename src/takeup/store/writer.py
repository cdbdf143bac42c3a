"""The writer: it runs many requests in one transaction, and replies to them after the commit."""

import logging
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from sqlalchemy import Connection, Engine, delete, exc, insert, select

from takeup.errors import StoreError
from takeup.store import books, sqlite
from takeup.store.fits import Fits
from takeup.store.group import Group, Reply, Task
from takeup.store.migrate import migrate
from takeup.store.opening import said, shown, writing_engine
from takeup.store.schema import events, sessions
from takeup.trial import proposal
from takeup.trial.book import Book
from takeup.trial.computing import METER

LOG = logging.getLogger("takeup.store")

REST_SECONDS = 0.015
"""How long a rest lasts. A transaction costs more than the requests in it: after a rest more of them share the next."""

UNANCHORED = "it is written down but not anchored, as this trial asks; ask again under the same idempotency key"
PREPARE_SECONDS = 0.1
"""How much longer it lasts at most where what the next decisions need takes long."""

SHARED = 100
"""For so many transactions a trial that somebody else has written to is expected to be written to by others."""

MOST_BOOKS = 64
"""How many trials are kept in memory between transactions."""

Result = TypeVar("Result")


class Witness(Protocol):
    """What is told of every head that was committed, before anybody gets a reply."""

    @property
    def problem(self) -> str | None:
        """Why it has not written down all that it was told, in words; None where it has."""

    def saw(self, books: Sequence[Book]) -> None:
        """These trials have these heads now."""

    def holds(self, book: Book) -> bool:
        """Whether it has this head of a trial, where it will last."""

    def close(self) -> None:
        """The writer is closed."""


class Writes(Protocol):
    """What a store writes with: a `Writer`, here or in another process."""

    def run(self, tasks: Sequence[Task]) -> list[Reply]:
        """Run these commands in one transaction; the replies, in their order, after its commit."""

    def change(self, change: Callable[[Connection], Result]) -> Result:
        """Run `change` in a transaction of its own, for tables that are no part of any trial."""

    def rest(self) -> None:
        """Pause before the next transaction, so that more requests share it."""

    def probe(self) -> list[str]:
        """Make a real write that leaves nothing behind; what is wrong besides."""

    def kill(self) -> None:
        """Give up what is being done, where that can be done from outside; nothing more will be written."""

    def close(self) -> None:
        """Close the database."""


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
        self._shared: dict[str, int] = {}
        self._expected: list[tuple[Book, int]] = []
        self.fits = Fits(url)
        try:
            with self.engine.begin() as connection:
                migrate(connection)
        except BaseException as error:
            self.engine.dispose()
            if isinstance(error, exc.SQLAlchemyError):
                raise StoreError(f"{self.shown} cannot be opened: {said(error)}") from error
            raise

    def run(self, tasks: Sequence[Task]) -> list[Reply]:
        """All in one transaction; the replies in the order of the tasks.

        Where the database fails, once more: a lost connection is opened again, and what was committed after all is
        answered from the log. Where something else fails, one by one, so that nobody pays for another's request.
        """
        METER.begin()
        fits = self.fits.finished()
        return self._run([*fits, *tasks], attempts=2)[len(fits) :]

    def change(self, change: Callable[[Connection], Result]) -> Result:
        """Run `change` in a transaction of its own."""
        return self._transact(change, commit=True)

    def look(self, look: Callable[[Connection], Result]) -> Result:
        """What `look` finds between two transactions, where nothing else may open the database."""
        return self._transact(look, commit=False)

    def rest(self) -> None:
        """Compute what the next decisions will most likely need, and sleep for the rest of the pause."""
        until = time.perf_counter() + REST_SECONDS
        expected, self._expected = self._expected, []
        METER.begin()
        try:
            for book, context in expected:
                if time.perf_counter() > until + PREPARE_SECONDS:
                    break
                if book.trial not in METER.slow:  # what takes long would keep others waiting once more
                    METER.turn(book.trial)
                    proposal.prepare(book.design, book.secret, book.seen_by(book.decisions + 1), context)
        except Exception:
            LOG.exception("what decisions will need was not worked out")  # those that need it will say why
        left = until - time.perf_counter()
        if left > 0:
            time.sleep(left)

    def probe(self) -> list[str]:
        """Make a real write that leaves nothing behind; what is wrong besides."""
        self.change(_write_and_erase)
        return self.problems()

    def problems(self) -> list[str]:
        """What is wrong although commits succeed."""
        problem: str | None = getattr(self._witness, "problem", None)
        return [] if problem is None else [problem]

    def kill(self) -> None:
        """Nothing: a thread cannot be ended from outside."""

    def close(self) -> None:
        """Close the database and the witness."""
        self.fits.close()
        try:
            if self._witness is not None:
                self._witness.close()
        finally:
            self.engine.dispose()

    def _run(self, tasks: Sequence[Task], attempts: int) -> list[Reply]:
        try:
            return self._commit(tasks)
        except Exception as error:
            self._books.clear()
            self._expected.clear()
            broken = isinstance(error, exc.OperationalError | exc.InterfaceError)
            if broken and attempts > 1:
                return self._run(tasks, attempts - 1)
            if broken or len(tasks) == 1:
                return [(None, _failure(self.shown, error)) for _ in tasks]
            return [self._run([task], attempts=1)[0] for task in tasks]

    def _transact(self, work: Callable[[Connection], Result], *, commit: bool) -> Result:
        try:
            with self.engine.connect() as connection, connection.begin() as transaction:
                found = work(connection)
                if not commit:
                    transaction.rollback()
                return found
        except exc.SQLAlchemyError as error:
            raise StoreError(f"the database did not take it: {said(error)}") from error

    def _commit(self, tasks: Sequence[Task]) -> list[Reply]:
        with self.engine.connect() as connection:
            transaction = connection.begin()
            try:
                now, witnessed = self._clock(), self._witness is not None
                group = Group.load(connection, tasks, self._books, now, witnessed=witnessed, shared=self._shared)
                replies = group.run(tasks)
                group.refit(connection, self.fits.at_once)
                group.save(connection)
            except BaseException:
                transaction.rollback()
                raise
            try:
                transaction.commit()
            except exc.SQLAlchemyError as error:
                connection.invalidate(error)
                if not self._committed(group):
                    raise
        replies = self._tell(group, tasks, replies)
        self._keep(group)
        for book in group.books.values():
            self.fits.begin(book)
        return replies

    def _tell(self, group: Group, tasks: Sequence[Task], replies: list[Reply]) -> list[Reply]:
        """Tell the witness; what it does wrong must not undo what has been committed.

        Where a trial's spec says so, nobody gets a reply that rests on a head which the witness does not hold: what was
        not anchored then is anchored when somebody asks again.
        """
        if self._witness is None:
            return replies
        strict = {trial: book for trial, book in group.books.items() if book.design.spec.anchored}
        try:
            self._witness.saw([book for book in group.books.values() if book.changes.entries or book.trial in strict])
        except Exception:
            LOG.exception("the heads of trials %s were not witnessed", ", ".join(group.books))
        open_ = {trial for trial, book in strict.items() if not self._witness.holds(book)}
        return [
            (None, StoreError(UNANCHORED)) if trial in open_ and error is None else (reply, error)
            for (trial, _), (reply, error) in zip(tasks, replies, strict=True)
        ]

    def _committed(self, group: Group) -> bool:
        """Whether a commit that failed took place all the same: its last event is there, or it is not.

        The trial's lock comes first: it is free only when the server has made up its mind about the old transaction.
        """
        if not group.changed:
            return True
        book = group.changed[0]
        with self.engine.connect() as connection, connection.begin():
            books.heads(connection, [book.trial], lock=True)
            there = (events.c.trial == book.trial, events.c.sequence == book.sequence, events.c.hash == book.hash)
            return connection.execute(select(events.c.hash).where(*there)).first() is not None

    def _keep(self, group: Group) -> None:
        """Keep the books for the next transaction, those that were used last the longest."""
        self._expected = list(group.expected())
        for trial, book in group.books.items():
            left = self._shared.pop(trial, 0) - 1
            if trial not in group.alone and trial in self._books:
                left = SHARED
            if left > 0:
                self._shared[trial] = left
            book.forget()
            self._books.pop(trial, None)
            self._books[trial] = book
        while len(self._books) > MOST_BOOKS:
            del self._books[next(iter(self._books))]


def _write_and_erase(connection: Connection) -> None:
    """Something for the disk: pages that change are written, also where they change back."""
    row = {"hash": f"probe {secrets.token_hex(16)}", "key": "", "created_at": 0, "expires_at": 0}
    connection.execute(insert(sessions), row)
    connection.execute(delete(sessions).where(sessions.c.hash == row["hash"]))


def _failure(shown: str, error: Exception) -> Exception:
    """What to tell the caller."""
    if isinstance(error, exc.SQLAlchemyError):
        failed = StoreError(f"{shown} did not take it: {said(error)}; ask again under the same idempotency key")
        failed.__cause__ = error
        return failed
    return error
