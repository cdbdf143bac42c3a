"""Group commit: many requests, one transaction, one wait for the disk."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Connection

from takeup.errors import ConflictError, NotFoundError, TakeupError
from takeup.store import load, save
from takeup.trial import steps
from takeup.trial.asking import Decide, DecideMany
from takeup.trial.book import Book
from takeup.trial.commands import Command, Needs, perform
from takeup.trial.design import Design
from takeup.trial.reporting import Report
from takeup.trial.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """A new trial, in draft."""

    design: Design
    secret: Secret
    by: str | None = None
    needs: Needs = field(default=Needs(), init=False, repr=False)


class Promise(Protocol):
    """Where a reply will be: a `concurrent.futures.Future`, or what a caller has in its place."""

    def set_running_or_notify_cancel(self) -> bool:
        """It is about to be worked on; False where nobody wants it any more."""

    def set_result(self, result: Any, /) -> None:
        """This is the reply."""

    def set_exception(self, exception: BaseException, /) -> None:
        """This is why there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A command on its way, and where its reply will be."""

    trial: str
    command: Command[Any] | Create
    promise: Promise


@dataclass(slots=True)
class Group:
    """What a transaction came to, before it is committed.

    Attributes:
        books: of the trials that it is about.
        before: the hash of each head that was loaded; None for a new trial.
        replies: what to answer: a reply or an error.
        alone: the trials that nobody else has written to since the last time.
    """

    books: dict[str, Book] = field(default_factory=dict)
    before: dict[str, str | None] = field(default_factory=dict)
    replies: list[tuple[Job, Any, TakeupError | None]] = field(default_factory=list)
    alone: set[str] = field(default_factory=set)

    def expected(self) -> Iterator[tuple[Book, int]]:
        """The contexts in which decisions were made, and most likely will be: where another writes too, none."""
        for trial in sorted(self.alone):
            book = self.books[trial]
            for context in sorted({book.changes.records[number].context for number in book.changes.created}):
                yield book, context

    def answer(self) -> None:
        """Tell everybody; only after the commit."""
        for job, reply, error in self.replies:
            if error is None:
                job.promise.set_result(reply)
            else:
                job.promise.set_exception(error)


def run(connection: Connection, jobs: Sequence[Job], cache: dict[str, Book], now: int) -> Group:
    """Run all jobs in this transaction and write down what they changed.

    A job that is refused changes nothing and gets its error; what is not foreseen propagates, and the transaction
    must then be rolled back.
    """
    group = _load(connection, jobs, cache, now)
    for job in ordered(jobs):
        try:
            group.replies.append((job, _perform(group, job, now), None))
        except TakeupError as error:
            group.replies.append((job, None, error))
    for trial in sorted(group.books):
        save.save(connection, group.books[trial], group.before[trial])
    return group


def ordered(jobs: Sequence[Job]) -> list[Job]:
    """Decisions before reports, as far as no other command stands between them.

    Requests that are on their way together may take effect in any order. In this one the decisions of a group know the
    same, so that their probabilities are computed once, and know it before the group begins: `Writer.rest` has often
    computed them by then.
    """
    places, place = [], 0
    for job in jobs:
        if isinstance(job.command, Decide | DecideMany):
            places.append(place)
        elif isinstance(job.command, Report):
            places.append(place + 1)
        else:
            places.append(place + 2)
            place += 4
    return [job for _, job in sorted(zip(places, jobs, strict=True), key=lambda each: each[0])]


def _load(connection: Connection, jobs: Sequence[Job], cache: dict[str, Book], now: int) -> Group:
    group = Group()
    for trial, head in load.heads(connection, {job.trial for job in jobs}, lock=True).items():
        book = cache.get(trial)
        if book is not None and book.hash == head.hash:
            group.alone.add(trial)
        else:
            book = load.book_of(connection, head)
        needs = [job.command.needs for job in jobs if job.trial == trial]
        load.fill(connection, book, needs, max(now, book.at))
        group.books[trial], group.before[trial] = book, book.hash
    return group


def _perform(group: Group, job: Job, now: int) -> Any:
    book = group.books.get(job.trial)
    if isinstance(job.command, Create):
        if book is not None:
            raise ConflictError(f"there is a trial {job.trial!r} already; choose another identifier")
        event = steps.created(job.trial, job.command.design, job.command.secret, now, job.command.by)
        group.books[job.trial] = Book.begin(event, job.command.secret)
        group.before[job.trial] = None
        return job.trial
    if book is None:
        raise NotFoundError(f"there is no trial {job.trial!r} in this database")
    return perform(job.command, book, max(now, book.at))
