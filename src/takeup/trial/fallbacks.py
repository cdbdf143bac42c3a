"""Fallbacks: proposals that a client drew from the agreed probabilities, as it could not reach the service."""

from dataclasses import dataclass
from typing import Unpack

from takeup.errors import InputError, StateError
from takeup.trial.book import Book
from takeup.trial.commands import Decision, ForUnit
from takeup.trial.design import MICROSECONDS
from takeup.trial.draws import ClientDraws
from takeup.trial.events import Decided, SetAside, Stamp, answered_numbers
from takeup.trial.met import Met, values_of
from takeup.trial.spec import duration

SKEW = 300 * MICROSECONDS
"""How far a client's clock may be ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback(ForUnit):
    """A client drew this proposal from the agreed probabilities, as it could not reach the service.

    It is recorded once, with those probabilities, as far as the spec's limits allow. Where the unit has its decision
    already, that one stands and is the answer; the log keeps what the client drew.

    Attributes:
        proposal: z.
        drawn: when the client says that it drew it, in microseconds since 1970, UTC.
    """

    proposal: str | int
    drawn: int | None = None

    @property
    def asked(self) -> object:
        """The unit and what was drawn for it."""
        return [*self.ask.asked, self.proposal]

    def _act(self, book: Book, at: int) -> Decision:
        met, standing = self.standing(book, at)
        proposal = book.design.index("proposal", self.proposal)
        event = fallback_event(book, self.ask.place, met, proposal, self.drawn, **self._stamp(at))
        if standing is None:
            check_limits(book, self.by, at, self.drawn)
        book.append(event)
        return Decision.of(book, book.records[answered_numbers(event)[0]])


def fallback_event(
    book: Book, place: tuple[str, str], met: Met, proposal: int, drawn: int | None, **stamp: Unpack[Stamp]
) -> Decided | SetAside:
    """A decision that a client drew by itself; set aside where the unit has one already."""
    if book.state == "draft":
        raise StateError(f"trial {book.trial} is a draft; nothing can have been decided")
    design = book.design
    label = design.space.proposals[proposal]
    standing = book.units.get(place)
    if standing is not None:
        return SetAside(**stamp, decision=standing, proposal=label)
    if design.fallback[proposal] == 0:
        raise InputError("proposal", repr(label), "a proposal that the fallback can draw")
    return Decided(
        **stamp,
        number=book.decisions + 1,
        unit=place[0],
        occasion=place[1],
        context=design.space.contexts[met.context],
        proposal=label,
        probability=design.fallback,
        version=book.version,
        due=None if design.window is None else stamp["at"] + design.window,
        drawn=drawn,
        covariates=values_of(met.covariates) or None,
    )


def check_limits(book: Book, by: str | None, at: int, drawn: int | None) -> None:
    """Whether one more fallback may be recorded; the spec's `fallback_limits` say how late, and how many a day.

    A client that could not reach the service was not heard by it: nothing proves that it drew what it says. So what it
    says counts for some time and for so many decisions alone.

    Args:
        book: the trial.
        by: who records it.
        at: what time it is.
        drawn: when it was drawn, as the client says.

    Raises:
        StateError: it comes too late, or there are too many.
        InputError: it was drawn in the future.
    """
    limits, trial = book.design.spec.fallback_limits, book.trial
    if drawn is not None and drawn > at + SKEW:
        raise InputError("drawn", f"{(drawn - at) // MICROSECONDS} seconds from now", "a time that has passed")
    if drawn is not None and drawn < at - limits.within * MICROSECONDS:
        late = f"it was drawn {(at - drawn) // MICROSECONDS} seconds ago"
        raise StateError(f"{late}; trial {trial} takes fallbacks for {duration(limits.within)} after they were drawn")
    if book.state != "running":
        if drawn is None:
            raise StateError(f"trial {trial} is {book.state}; it takes what was drawn before, so say when")
        if drawn > book.moved + SKEW:
            raise StateError(f"it was drawn after trial {trial} was {book.state}")
    draws = book.draws.get(by or "", ClientDraws.none(0))
    if draws.today(at) >= limits.a_day:
        raise StateError(
            f"trial {trial} takes {limits.a_day} fallbacks a day from one key; this one has to wait, or whoever looks"
            " after the trial finds out why there are so many"
        )
