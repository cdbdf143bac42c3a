"""A group: the requests of one transaction, and the books of the trials that they are about."""

import logging
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlalchemy import Connection

from takeup.errors import BusyError, ConflictError, InputError, NotFoundError, StateError, StoreError, TakeupError
from takeup.store import books
from takeup.store.fit_rows import known_rows
from takeup.store.pipeline import together
from takeup.trial.book import Book
from takeup.trial.commands import Command, Decide, DecideMany, Needs, perform
from takeup.trial.computing import BY, METER, FailedPolicyError
from takeup.trial.design import Design
from takeup.trial.fitting import Refit
from takeup.trial.past import TakeOver
from takeup.trial.reporting import Report
from takeup.trial.secret import Secret
from takeup.trial.steering import created_event, moved_event

LOG = logging.getLogger("takeup.store")

ANCHORING = "give --anchors and --anchor-key, or witness=Anchors(..), or leave `anchored` out of the spec"


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """A new trial, in draft, that may take over those who were assigned before: both take place, or neither."""

    design: Design
    secret: Secret
    by: str | None = None
    past: TakeOver | None = None
    needs: Needs = field(default=Needs(), init=False, repr=False)


Task: TypeAlias = tuple[str, Command[Any] | Create]
"""A trial's identifier, and a command for it."""

Reply: TypeAlias = tuple[Any, Exception | None]
"""What a command returned, or the error that it ended in."""


@dataclass(slots=True)
class Group:
    """The requests of one transaction.

    Attributes:
        now: what time it is.
        books: of the trials that it is about.
        before: the hash of each head that was loaded; None for a new trial.
        alone: the trials that nobody else has written to since the last time.
        witnessed: whether somebody is told of the heads.
    """

    now: int
    witnessed: bool = False
    books: dict[str, Book] = field(default_factory=dict)
    before: dict[str, str | None] = field(default_factory=dict)
    alone: set[str] = field(default_factory=set)

    @classmethod
    def load(
        cls,
        connection: Connection,
        tasks: Sequence[Task],
        cache: dict[str, Book],
        now: int,
        *,
        witnessed: bool,
        shared: Container[str] = (),
    ) -> "Group":
        """The books that these tasks need; from the cache, where nobody else has written to the trial meanwhile."""
        group, windows, needs = cls(now, witnessed), METER.windows, dict[str, list[Needs]]()
        for trial, command in tasks:
            needs.setdefault(trial, []).append(command.needs)
        locked = books.locking(connection, needs, cache, shared)
        for trial, head in books.heads(locked, needs, lock=True).items():
            book = cache.get(trial)
            if book is not None and book.hash == head.hash:
                group.alone.add(trial)
            else:
                book = books.load(locked, head)
            books.fill(locked, book, needs[trial])
            windows -= books.fill_due(locked, book, max(now, book.at), windows)
            group.books[trial], group.before[trial] = book, book.hash
        return group

    @property
    def changed(self) -> list[Book]:
        """The books that something was appended to."""
        return [book for book in self.books.values() if book.changes.entries]

    def run(self, tasks: Sequence[Task]) -> list[Reply]:
        """Append to the books; the replies in the order of the tasks.

        A task that is refused changes nothing and gets its error; what is not foreseen propagates, and the transaction
        must then be rolled back.
        """
        replies: list[Reply] = [(None, None)] * len(tasks)
        for place in order(tasks, METER.slow):
            trial, command = tasks[place]
            METER.turn(trial)
            try:
                replies[place] = self._perform(trial, command), None
            except FailedPolicyError as error:
                replies[place] = None, self._pause(trial, error)
            except TakeupError as error:
                replies[place] = None, error
        return replies

    def refit(self, connection: Connection, wanted: Callable[[Book], bool]) -> None:
        """Fit the models of those that are wanted, to all that is known after this transaction."""
        for book in [book for book in self.books.values() if wanted(book)]:
            METER.turn(book.trial)
            rows = known_rows(connection, book)
            with suppress(BusyError):  # the next transaction will
                try:
                    METER.run(lambda book=book, rows=rows: Refit.of(book, rows)).run(book, book.at)  # type: ignore[misc]  # mypy knows no type of such a default
                except FailedPolicyError as error:
                    if book.state == "running":
                        self._pause(book.trial, error)

    def save(self, connection: Connection) -> None:
        """Write down what was appended, in the order of the trials.

        Raises:
            StoreError: somebody else has appended to a trial in spite of its lock.
        """
        with together(connection) as writing:
            heads = {trial: books.save(writing, self.books[trial], self.before[trial]) for trial in sorted(self.books)}
        for trial, head in heads.items():
            if head is not None and head.rowcount != 1:
                raise StoreError(f"trial {trial} was changed by somebody who did not hold its lock")

    def expected(self) -> Iterator[tuple[Book, int]]:
        """The contexts of the next decisions, most likely: those of the last, in trials that nobody else writes to."""
        for trial in sorted(self.alone):
            book = self.books[trial]
            for context in sorted({book.changes.records[number].context for number in book.changes.created}):
                yield book, context

    def _perform(self, trial: str, command: Command[Any] | Create) -> Any:
        book = self.books.get(trial)
        if not self.witnessed:
            _check_unanchored(trial, book, getattr(command, "design", None))
        if isinstance(command, Create):
            if book is not None:
                raise ConflictError(f"there is a trial {trial!r} already; choose another identifier")
            event = created_event(trial, command.design, command.secret, self.now, command.by)
            new = Book.begin(event, command.secret)
            if command.past is not None:
                command.past.run(new, self.now)
            self.books[trial], self.before[trial] = new, None
            return trial
        if book is None:
            raise NotFoundError(f"there is no trial {trial!r} in this database")
        return perform(command, book, max(self.now, book.at))

    def _pause(self, trial: str, error: FailedPolicyError) -> StateError:
        """Pause a trial whose policy has failed; what to tell the caller."""
        book = self.books[trial]
        book.append(moved_event(book, "paused", str(error), max(self.now, book.at), BY))
        LOG.error("trial %s was paused: %s", trial, error)
        return StateError(f"trial {trial} has been paused: {error}")


def _check_unanchored(trial: str, book: Book | None, given: Design | None) -> None:
    """Refuse a trial that is to be anchored where nothing anchors, and a spec that would make it one."""
    if given is not None:
        if given.spec.anchored:
            raise InputError("spec: anchored", "true", "false, as nothing anchors here", ANCHORING)
    elif book is not None and book.design.spec.anchored:
        raise StoreError(f"trial {trial} is to be anchored, and nothing anchors here; {ANCHORING}")


def order(tasks: Sequence[Task], slow: Container[str]) -> list[int]:
    """Decisions before reports, as far as no other command stands between them; slow trials after all others.

    Requests that are on their way together may take effect in any order. In this one the decisions of a group know the
    same, so that their probabilities are computed once, and know it before the group begins: `Writer.rest` has often
    computed them by then.
    """
    ranks, rank = [], 0
    for _, command in tasks:
        if isinstance(command, Decide | DecideMany):
            ranks.append(rank)
        elif isinstance(command, Report):
            ranks.append(rank + 1)
        else:
            ranks.append(rank + 2)
            rank += 4
    return sorted(range(len(tasks)), key=lambda place: (tasks[place][0] in slow, ranks[place]))
