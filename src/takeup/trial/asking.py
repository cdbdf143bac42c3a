"""Asking for decisions: one, many, or telling of one that a client drew by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from takeup.errors import ConflictError, InputError
from takeup.trial import steps
from takeup.trial.book import Book, Record
from takeup.trial.commands import MOST_NAME, Keyed, Needs
from takeup.trial.design import Design, text
from takeup.trial.events import Answered, Decided, Event, SetAside
from takeup.trial.events import Keyed as KeyedEvent

MOST_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Decision:
    """What is proposed to a unit. Nothing in here says how likely it was.

    Attributes:
        trial: the trial's identifier.
        number: i, counted from 1.
        unit: who it is for.
        occasion: which of the unit's decisions; None where a unit has one.
        context: x.
        proposal: z.
        at: when it was decided, in microseconds since 1970, UTC.
    """

    trial: str
    number: int
    unit: str
    occasion: str | None
    context: str
    proposal: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One unit that needs a decision.

    Attributes:
        unit: who it is for.
        context: x; may be left out where there is one.
        occasion: which of the unit's decisions, where a unit has many.
    """

    unit: str
    context: str | int | None = None
    occasion: str | None = None

    def __post_init__(self) -> None:
        text("unit", self.unit, MOST_NAME)
        if self.occasion is not None:
            text("occasion", self.occasion, MOST_NAME)

    @property
    def place(self) -> tuple[str, str]:
        """What makes it one and the same decision."""
        return self.unit, self.occasion or ""

    @property
    def asked(self) -> list[str | int | None]:
        """As JSON would have it."""
        return [self.unit, self.context, self.occasion]

    def check(self, design: Design) -> int:
        """The context's index; refuses an occasion that the trial does not have, or the lack of one."""
        many = design.spec.decisions == "many"
        if many and self.occasion is None:
            raise InputError("occasion", "nothing", "which of the unit's decisions: this trial makes many for a unit")
        if not many and self.occasion is not None:
            raise InputError("occasion", repr(self.occasion), "nothing: this trial makes one decision for a unit")
        return design.context_index(self.context)

    def standing(self, book: Book, context: int) -> int | None:
        """The number of the decision that the unit has already; an error where it was asked for otherwise."""
        number = book.units.get(self.place)
        if number is not None and book.records[number].context != context:
            had = book.design.space.contexts[book.records[number].context]
            raise ConflictError(f"unit {self.unit!r} has decision {number}, made in context {had!r}")
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide(Keyed[Decision]):
    """What do we propose to this unit? A unit (and occasion) that is asked for twice gets the same answer."""

    ask: Ask

    @property
    def asked(self) -> object:
        """The unit."""
        return self.ask.asked

    @property
    def needs(self) -> Needs:
        """The key and the unit."""
        return Needs(self.key, (self.ask.place,))

    def _act(self, book: Book, at: int) -> Decision:
        context = self.ask.check(book.design)
        standing = self.ask.standing(book, context)
        if standing is not None:
            if self.key is not None:
                book.append(Answered(**self._event(at), decisions=(standing,)))
            return decision_of(book, book.records[standing])
        number = book.decisions + 1
        unit, occasion = self.ask.place
        book.append(
            steps.decided(book, number=number, unit=unit, occasion=occasion, context=context, **self._event(at))
        )
        return decision_of(book, book.records[number])

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> Decision:
        return _decisions(book, event)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideMany(Keyed[tuple[Decision, ...]]):
    """What do we propose to these units? All see the same evidence; all are decided, or none."""

    units: tuple[Ask, ...]

    def __post_init__(self) -> None:
        Keyed.__post_init__(self)
        if not 1 <= len(self.units) <= MOST_BATCH:
            raise InputError("units", f"{len(self.units)} of them", f"from 1 to {MOST_BATCH}")

    @property
    def needs(self) -> Needs:
        """The key and the units."""
        return Needs(self.key, tuple(ask.place for ask in self.units))

    @property
    def asked(self) -> object:
        """All units, in their order."""
        return [ask.asked for ask in self.units]

    def _act(self, book: Book, at: int) -> tuple[Decision, ...]:
        contexts = self._checked(book)
        events: dict[tuple[str, str], Decided] = {}
        number = book.decisions
        for ask, context in zip(self.units, contexts, strict=True):
            if ask.place not in book.units and ask.place not in events:
                number += 1
                unit, occasion = ask.place
                events[ask.place] = steps.decided(
                    book, number=number, unit=unit, occasion=occasion, context=context, at=at, by=self.by
                )
        for event in events.values():
            book.append(event)
        numbers = [book.units[ask.place] for ask in self.units]
        if self.key is not None:
            book.append(Answered(**self._event(at), decisions=tuple(numbers)))
        return tuple(decision_of(book, book.records[n]) for n in numbers)

    def _checked(self, book: Book) -> list[int]:
        """The context of each unit, which must be one and the same wherever the unit occurs."""
        contexts, seen = [], dict[tuple[str, str], int]()
        for ask in self.units:
            context = ask.check(book.design)
            ask.standing(book, context)
            if seen.setdefault(ask.place, context) != context:
                raise ConflictError(f"unit {ask.unit!r} is in the batch twice, in two contexts")
            contexts.append(context)
        return contexts

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> tuple[Decision, ...]:
        return _decisions(book, event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback(Keyed[Decision]):
    """A client drew this proposal from the agreed probabilities, as it could not reach the service.

    It is recorded once, with those probabilities. Where the unit has its decision already, that one stands and is
    the answer; the log keeps what the client drew.
    """

    ask: Ask
    proposal: str | int

    @property
    def asked(self) -> object:
        """The unit and what was drawn for it."""
        return [*self.ask.asked, self.proposal]

    @property
    def needs(self) -> Needs:
        """The key and the unit."""
        return Needs(self.key, (self.ask.place,))

    def _act(self, book: Book, at: int) -> Decision:
        context = self.ask.check(book.design)
        self.ask.standing(book, context)
        proposal = book.design.index("proposal", self.proposal)
        unit, occasion = self.ask.place
        event = steps.fallen_back(
            book, unit=unit, occasion=occasion, context=context, proposal=proposal, **self._event(at)
        )
        book.append(event)
        return decision_of(book, book.records[event.number if isinstance(event, Decided) else event.decision])

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> Decision:
        return _decisions(book, event)[0]


def asks(units: Sequence[Mapping[str, Any] | Ask | str]) -> tuple[Ask, ...]:
    """Units as a caller may give them: names, or mappings with unit, context and occasion."""
    return tuple(
        each if isinstance(each, Ask) else Ask(unit=each) if isinstance(each, str) else Ask(**each) for each in units
    )


def decision_of(book: Book, record: Record) -> Decision:
    """A record in labels."""
    space = book.design.space
    return Decision(
        book.trial,
        record.number,
        record.unit,
        record.occasion or None,
        space.contexts[record.context],
        space.proposals[record.proposal],
        record.at,
    )


def answered_numbers(event: Event) -> tuple[int, ...]:
    """The decisions that an event answers a key with."""
    match event:
        case Decided():
            return (event.number,)
        case Answered():
            return event.decisions
        case SetAside():
            return (event.decision,)
    return ()


def _decisions(book: Book, event: KeyedEvent) -> tuple[Decision, ...]:
    return tuple(decision_of(book, book.records[n]) for n in answered_numbers(event))
