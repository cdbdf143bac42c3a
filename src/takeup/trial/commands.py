"""What can be asked of a trial: frozen values that say what they need to know, and append to its book."""

import hashlib
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from takeup.errors import ReusedKeyError
from takeup.trial import steps
from takeup.trial.book import Book
from takeup.trial.design import canonical, text
from takeup.trial.events import Keyed as KeyedEvent

MOST_NAME = 200
MOST_REASON = 2_000

Reply = TypeVar("Reply")
ReplyOut = TypeVar("ReplyOut", covariant=True)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a command has to know of a trial's past.

    Attributes:
        key: an idempotency key.
        units: (unit, occasion) pairs.
        numbers: decision numbers.
    """

    key: str | None = None
    units: tuple[tuple[str, str], ...] = ()
    numbers: tuple[int, ...] = ()


class Command(Protocol[ReplyOut]):
    """Something to ask of a trial."""

    @property
    def needs(self) -> Needs:
        """What it has to know."""

    def run(self, book: Book, at: int) -> ReplyOut:
        """Append to the book, or raise without having appended anything."""


def perform(command: Command[Reply], book: Book, at: int) -> Reply:
    """Run a command on a book that holds what it needs; windows that have closed by now close first."""
    for closing in steps.closed(book, at):
        book.append(closing)
    return command.run(book, at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyed(Generic[Reply]):
    """A command that an idempotency key may protect: asked again under the same key, it has no second effect.

    Attributes:
        key: any text that the caller never uses for anything else.
        by: who asks.
    """

    key: str | None = None
    by: str | None = None

    def __post_init__(self) -> None:
        if self.key is not None:
            text("key", self.key, MOST_NAME)
        if self.by is not None:
            text("by", self.by, MOST_NAME)

    @property
    def asked(self) -> object:
        """What is asked for, as JSON would have it. Who asks is left out: a retry may come by another way."""
        raise NotImplementedError

    @property
    def request(self) -> str | None:
        """A hash of what is asked for."""
        if self.key is None:
            return None
        return hashlib.sha256(canonical([type(self).__name__, self.asked]).encode()).hexdigest()[:32]

    def run(self, book: Book, at: int) -> Reply:
        """Answer from the key where it is known, else act."""
        if self.key is not None and self.key in book.keys:
            request, sequence = book.keys[self.key]
            if request != self.request:
                raise ReusedKeyError(self.key)
            return self._answer(book, book.answers[self.key], sequence)
        return self._act(book, at)

    def _act(self, book: Book, at: int) -> Reply:
        raise NotImplementedError

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> Reply:
        raise NotImplementedError

    def _event(self, at: int) -> dict[str, Any]:
        """What every event of this command carries."""
        return {"at": at, "by": self.by, "key": self.key, "request": self.request}
