"""What can be asked of a trial: commands, which append events to its book. Here those that ask for decisions.

`takeup.trial.reporting` has the reports, `takeup.trial.steering` what changes a trial itself. The functions that make
events (`decided_event`, ..) are also what an audit derives a log again with.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, Unpack

from takeup.errors import NOTHING, ConflictError, InputError, ReusedKeyError, StateError
from takeup.trial.book import Book, Record
from takeup.trial.design import Design, canonical, text
from takeup.trial.events import Answered, Closed, Decided, KeyedEvent, SetAside, Stamp, answered_numbers
from takeup.trial.proposal import propose
from takeup.trial.software import software

MOST_NAME = 200
MOST_REASON = 2_000
MOST_BATCH = 10_000
MOST_CLOSED = 1_000
"""How many windows close in one event."""

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
    for closed in closed_events(book, at):
        book.append(closed)
    return command.run(book, at)


def closed_events(book: Book, at: int) -> Iterator[Closed]:
    """The windows that have closed by now, in the order of their decisions."""
    due = book.due(at)
    for first in range(0, len(due), MOST_CLOSED):
        yield Closed(at=at, decisions=tuple(due[first : first + MOST_CLOSED]))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedCommand(Generic[Reply]):
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
        """Answer from the log where the key is known, else act."""
        if self.key is not None and self.key in book.keys:
            request, sequence = book.keys[self.key]
            if request != self.request:
                raise ReusedKeyError(self.key)
            return self._answer(book, book.answers[self.key], sequence)
        return self._act(book, at)

    def _act(self, book: Book, at: int) -> Reply:
        raise NotImplementedError

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> Reply:
        """The reply that was given with this event."""
        raise NotImplementedError

    def _stamp(self, at: int) -> Stamp:
        return {"at": at, "by": self.by, "key": self.key, "request": self.request}


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

    @classmethod
    def of(cls, book: Book, record: Record) -> "Decision":
        """A record in labels."""
        space, r = book.design.space, record
        context, proposal = space.contexts[r.context], space.proposals[r.proposal]
        return cls(book.trial, r.number, r.unit, r.occasion or None, context, proposal, r.at)


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
            raise InputError("occasion", NOTHING, "which of the unit's decisions: this trial makes many for a unit")
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


def asks(units: Sequence[Mapping[str, Any] | Ask | str]) -> tuple[Ask, ...]:
    """Units as a caller may give them: names, or mappings with unit, context and occasion."""
    return tuple(
        each if isinstance(each, Ask) else Ask(unit=each) if isinstance(each, str) else Ask(**each) for each in units
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ForUnit(KeyedCommand[Decision]):
    """A command about the decision of one unit."""

    ask: Ask

    @property
    def asked(self) -> object:
        """The unit."""
        return self.ask.asked

    @property
    def needs(self) -> Needs:
        """The key and the unit."""
        return Needs(self.key, (self.ask.place,))

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> Decision:
        return Decision.of(book, book.records[answered_numbers(event)[0]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide(_ForUnit):
    """What do we propose to this unit? A unit (and occasion) that is asked for twice gets the same answer."""

    def _act(self, book: Book, at: int) -> Decision:
        context = self.ask.check(book.design)
        number = self.ask.standing(book, context)
        if number is None:
            number = book.decisions + 1
            book.append(decided_event(book, number, self.ask.place, context, **self._stamp(at)))
        elif self.key is not None:
            book.append(Answered(**self._stamp(at), decisions=(number,)))
        return Decision.of(book, book.records[number])


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideMany(KeyedCommand[tuple[Decision, ...]]):
    """What do we propose to these units? All see the same evidence; all are decided, or none."""

    units: tuple[Ask, ...]

    def __post_init__(self) -> None:
        KeyedCommand.__post_init__(self)
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
        new: dict[tuple[str, str], Decided] = {}
        for place, context in self._contexts(book).items():
            if place not in book.units:
                number = book.decisions + len(new) + 1
                new[place] = decided_event(book, number, place, context, at=at, by=self.by)
        for event in new.values():
            book.append(event)
        numbers = tuple(book.units[ask.place] for ask in self.units)
        if self.key is not None:
            book.append(Answered(**self._stamp(at), decisions=numbers))
        return tuple(Decision.of(book, book.records[number]) for number in numbers)

    def _contexts(self, book: Book) -> dict[tuple[str, str], int]:
        """The context of each unit, in their order; it must be one and the same wherever the unit occurs."""
        contexts: dict[tuple[str, str], int] = {}
        for ask in self.units:
            context = ask.check(book.design)
            ask.standing(book, context)
            if contexts.setdefault(ask.place, context) != context:
                raise ConflictError(f"unit {ask.unit!r} is in the batch twice, in two contexts")
        return contexts

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> tuple[Decision, ...]:
        return tuple(Decision.of(book, book.records[number]) for number in answered_numbers(event))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback(_ForUnit):
    """A client drew this proposal from the agreed probabilities, as it could not reach the service.

    It is recorded once, with those probabilities. Where the unit has its decision already, that one stands and is
    the answer; the log keeps what the client drew.
    """

    proposal: str | int

    @property
    def asked(self) -> object:
        """The unit and what was drawn for it."""
        return [*self.ask.asked, self.proposal]

    def _act(self, book: Book, at: int) -> Decision:
        context = self.ask.check(book.design)
        self.ask.standing(book, context)
        proposal = book.design.index("proposal", self.proposal)
        event = fallback_event(book, self.ask.place, context, proposal, **self._stamp(at))
        book.append(event)
        return Decision.of(book, book.records[answered_numbers(event)[0]])


def decided_event(book: Book, number: int, place: tuple[str, str], context: int, **stamp: Unpack[Stamp]) -> Decided:
    """The policy's decision for a unit and occasion."""
    if book.state != "running":
        raise StateError(f"trial {book.trial} is {book.state}; decisions are made while it is running")
    design = book.design
    proposal = propose(design, book.secret, book.counts, context, number)
    return Decided(
        **stamp,
        number=number,
        unit=place[0],
        occasion=place[1],
        context=design.space.contexts[context],
        proposal=design.space.proposals[proposal.index],
        probability=proposal.probability,
        best=None if proposal.best == proposal.probability else proposal.best,
        version=book.version,
        due=None if design.window is None else stamp["at"] + design.window,
        software=software(design),
    )


def fallback_event(
    book: Book, place: tuple[str, str], context: int, proposal: int, **stamp: Unpack[Stamp]
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
        context=design.space.contexts[context],
        proposal=label,
        probability=design.fallback,
        version=book.version,
        due=None if design.window is None else stamp["at"] + design.window,
    )
