"""Steering a trial: its spec while it is a draft, its state, and the passing of time."""

from dataclasses import dataclass, field

from takeup.errors import InputError
from takeup.trial import steps
from takeup.trial.book import Book
from takeup.trial.commands import MOST_REASON, Needs
from takeup.trial.design import Design, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Start, pause, go on or stop. Asking for the state that the trial is in changes nothing."""

    state: str
    reason: str | None = None
    by: str | None = None
    needs: Needs = field(default=Needs(), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.state not in steps.STATES:
            raise InputError("state", repr(self.state), f"one of {', '.join(steps.STATES)}")
        if self.reason is not None:
            text("reason", self.reason, MOST_REASON)

    def run(self, book: Book, at: int) -> str:
        """The state after."""
        if book.state != self.state:
            book.append(steps.moved(book, self.state, self.reason, at, self.by))
        return book.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Amend:
    """Another spec for a draft."""

    design: Design
    by: str | None = None
    needs: Needs = field(default=Needs(), init=False, repr=False)

    def run(self, book: Book, at: int) -> str:
        """The state, which stays draft."""
        book.append(steps.amended(book, self.design, at, self.by))
        return book.state


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """Let time pass: outcome windows that have closed by now close."""

    needs: Needs = field(default=Needs(), init=False, repr=False)

    def run(self, book: Book, at: int) -> int:
        """The version of the evidence after."""
        return book.version
