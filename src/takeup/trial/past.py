"""Taking over a running trial: those who were assigned before takeup are decisions like others, and said to be past."""

from dataclasses import dataclass
from typing import Unpack

from takeup.errors import NOTHING, ConflictError, InputError, StateError
from takeup.outcomes import Plain
from takeup.trial.book import Book
from takeup.trial.commands import Ask, KeyedCommand, Needs
from takeup.trial.events import KeyedEvent, Stamp, TakenOver
from takeup.trial.met import values_of

MOST_PAST = 1_000_000
"""How many past assignments a trial takes over."""
SUMS = 1e-6
"""By how much probabilities may miss a sum of one, as files round them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAssignment:
    """Somebody who was assigned before the trial came to takeup, as far as it is known what became of them.

    Attributes:
        ask: the unit, its context, its occasion and its covariates.
        proposal: what was proposed, as a label or its index.
        implemented: what was implemented, likewise; None where that is not known.
        outcome: what came of it; None where that is not known, or not yet.
        probability: with which each proposal was drawn then; None where nobody wrote it down.
        decided: when, in microseconds since 1970, UTC; None where nobody wrote it down.
    """

    ask: Ask
    proposal: str | int
    implemented: str | int | None = None
    outcome: Plain | None = None
    probability: tuple[float, ...] | None = None
    decided: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeOver(KeyedCommand[int]):
    """Record these as the first decisions of a draft, in their order: all of them, or none.

    Attributes:
        past: who was assigned before.
    """

    past: tuple[PastAssignment, ...]

    def __post_init__(self) -> None:
        KeyedCommand.__post_init__(self)
        if not 1 <= len(self.past) <= MOST_PAST:
            raise InputError("past", f"{len(self.past)} rows", f"from 1 to {MOST_PAST}")

    @property
    def needs(self) -> Needs:
        """The key alone: a draft that takes over has no decisions."""
        return Needs(self.key)

    @property
    def asked(self) -> object:
        """Every row."""
        return [
            [*each.ask.asked, each.proposal, each.implemented, each.outcome, each.probability, each.decided]
            for each in self.past
        ]

    def _act(self, book: Book, at: int) -> int:
        _check_draft(book)
        if book.decisions:
            told = f"trial {book.trial} has {book.tally.past} past assignments already"
            raise ConflictError(f"{told}, and takes over one table alone; create another trial for another table")
        last, events, places = 0, [], set[tuple[str, str]]()
        for number, each in enumerate(self.past, start=1):
            stamp = Stamp(at=at, by=self.by)  # no site: they may be of any, and who takes them over is of one
            if number == 1:
                stamp |= {"key": self.key, "request": self.request}
            event = taken_over_event(book, number, each, last, **stamp)
            if each.ask.place in places:
                raise ConflictError(f"unit {each.ask.unit!r} is among the past assignments twice")
            places.add(each.ask.place)
            events.append(event)
            last = assigned_at(event)
        for event in events:
            book.append(event)
        return len(events)

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> int:
        return book.tally.past


def assigned_at(event: TakenOver) -> int:
    """When a past unit was assigned; when it was taken over where nobody says."""
    return event.at if event.decided is None else event.decided


def taken_over_event(book: Book, number: int, past: PastAssignment, last: int, **stamp: Unpack[Stamp]) -> TakenOver:
    """A past assignment as it was; nothing of it is derived.

    Args:
        book: of a draft.
        number: the decision that it becomes.
        past: who was assigned what.
        last: when the one before it was assigned.
        stamp: of the request.
    """
    _check_draft(book)
    design, where = book.design, f"past: unit {past.ask.unit!r}"
    space, kind, at = design.space, design.space.outcome, stamp["at"]
    try:
        met, proposal = past.ask.check(design), design.index("proposal", past.proposal)
        action = None if past.implemented is None else design.index("implemented", past.implemented)
        outcome = None if past.outcome is None else kind.plain(kind.code(past.outcome))
    except InputError as error:
        raise type(error)(f"{where}, {error.argument}", error.value, error.allowed, error.hint) from None
    decided = at if past.decided is None else past.decided
    if not last <= decided <= at:
        told = "in the future" if decided > at else "before the one that precedes it"
        raise InputError(where, f"a time {told}", "times that have passed, in their order")
    if past.decided is None and design.window is not None:
        allowed = "when each was assigned, as the trial has an outcome window"
        raise InputError(where, NOTHING, allowed, "name the column with time=")
    if past.implemented is not None and design.spec.compliance == "never":
        raise InputError(where, repr(past.implemented), "no action: the spec says that compliance is never reported")
    p = past.probability
    if p is not None and not _drawable(p, len(space.proposals), proposal):
        raise InputError(where, str(p), "probabilities that sum to one, and a positive one of what was assigned")
    return TakenOver(
        **stamp,
        number=number,
        unit=past.ask.unit,
        occasion=past.ask.occasion or "",
        context=space.contexts[met.context],
        proposal=space.proposals[proposal],
        probability=p,
        implemented=None if action is None else space.implemented[action],
        outcome=outcome,
        decided=past.decided,
        due=None if design.window is None else decided + design.window,
        covariates=values_of(met.covariates) or None,
    )


def past_of(event: TakenOver) -> PastAssignment:
    """What was asked for with an event."""
    return PastAssignment(
        ask=Ask(unit=event.unit, context=event.context, occasion=event.occasion or None, covariates=event.covariates),
        proposal=event.proposal,
        implemented=event.implemented,
        outcome=event.outcome,
        probability=event.probability,
        decided=event.decided,
    )


def _check_draft(book: Book) -> None:
    if book.state != "draft":
        raise StateError(f"trial {book.trial} is {book.state}; past assignments are taken over while it is a draft")


def _drawable(p: tuple[float, ...], proposals: int, proposal: int) -> bool:
    return len(p) == proposals and min(p) >= 0 and abs(sum(p) - 1) <= SUMS and p[proposal] > 0
