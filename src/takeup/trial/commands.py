"""What can be asked of a trial: commands, which append events to its book. Here those that ask for decisions.

`takeup.trial.fallbacks` has what clients drew by themselves, `takeup.trial.reporting` the reports, and
`takeup.trial.steering` what changes a trial itself. The functions that make
events (`decided_event`, ..) are also what an audit derives a log again with.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, Unpack

from takeup.errors import NOTHING, AccessError, BusyError, ConflictError, InputError, ReusedKeyError, StateError
from takeup.trial.allotment import proposed_between_looks
from takeup.trial.book import Book, Maker, Record
from takeup.trial.bounds import text
from takeup.trial.design import Design, canonical
from takeup.trial.events import Answered, Decided, KeyedEvent, Refused, Stamp, answered_numbers
from takeup.trial.following import hold_looks, settle
from takeup.trial.met import Met, agree, features_of, kept, plain, values_of
from takeup.trial.proposal import Proposal, propose
from takeup.trial.software import software

MOST_NAME = 200
MOST_REASON = 2_000
MOST_BATCH = 10_000
BATCH_KEY = re.compile(r"batch .+ \d+")
"""What the log calls the parts of batches from the edge, among idempotency keys."""

Reply = TypeVar("Reply")
ReplyOut = TypeVar("ReplyOut", covariant=True)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a command has to know of a trial's past.

    Attributes:
        key: an idempotency key.
        units: (unit, occasion) pairs.
        numbers: decision numbers.
        leases: the numbers of leases.
        makers: the units of whose decisions it has to know who asked for them.
    """

    key: str | None = None
    units: tuple[tuple[str, str], ...] = ()
    numbers: tuple[int, ...] = ()
    leases: tuple[int, ...] = ()
    makers: tuple[tuple[str, str], ...] = ()


class Command(Protocol[ReplyOut]):
    """Something to ask of a trial."""

    @property
    def needs(self) -> Needs:
        """What it has to know."""

    def run(self, book: Book, at: int) -> ReplyOut:
        """Append to the book, or raise without having changed anything; a refusal may be logged."""


def perform(command: Command[Reply], book: Book, at: int) -> Reply:
    """Run a command on a book that holds what it needs; windows that have closed by now close first.

    Looks that the command makes due are held at once, or, where the transaction has computed enough, before the next.

    Raises:
        BusyError: there are more of them than were loaded; these have closed, and the command has to come again.
    """
    settle(book, at)
    if book.horizon is not None:
        words = "very many outcome windows have closed, and their outcomes enter the evidence step by step"
        raise BusyError(f"{words}; ask again under the same idempotency key")
    reply = command.run(book, at)
    with suppress(BusyError):
        hold_looks(book, at)
    return reply


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedCommand(Generic[Reply]):
    """A command that an idempotency key may protect: asked again under the same key, it has no second effect.

    Attributes:
        key: any text that the caller never uses for anything else.
        by: who asks.
        site: where they work; those of one site see each other's decisions.
        blinded: whether they see no others, and are not told whether a report agrees with an earlier one.
    """

    key: str | None = None
    by: str | None = None
    site: str | None = None
    blinded: bool = False

    def __post_init__(self) -> None:
        if self.key is not None:
            text("key", self.key, MOST_NAME)
            if BATCH_KEY.fullmatch(self.key):
                hint = "the log calls parts of batches from leases so"
                raise InputError("key", repr(self.key), 'a text that is not "batch", a name and a number', hint)
        if self.by is not None:
            text("by", self.by, MOST_NAME)
        if self.site is not None:
            text("site", self.site, MOST_NAME)

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
        """Answer from the log where the key is known, else act.

        A key that others have used is used, whatever was asked under it: an answer would tell the blinded what it was.
        """
        if self.key is None or self.key not in book.keys:
            return self._act(book, at)
        (request, sequence), event = book.keys[self.key], book.answers[self.key]
        numbers = answered_numbers(event)
        if not self._owns(event):
            if numbers:
                book.append(Refused(at=at, by=self.by, decisions=numbers))
            raise ReusedKeyError(self.key)
        if request != self.request:
            raise ReusedKeyError(self.key)
        reply = self._answer(book, event, sequence)
        if event.by != self.by and numbers:
            book.append(Answered(at=at, by=self.by, site=self.site, decisions=numbers))
        return reply

    def _act(self, book: Book, at: int) -> Reply:
        raise NotImplementedError

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> Reply:
        """The reply that was given with this event."""
        raise NotImplementedError

    def _stamp(self, at: int) -> Stamp:
        return {"at": at, "by": self.by, "site": self.site, "key": self.key, "request": self.request}

    def _owns(self, event: KeyedEvent | Maker) -> bool:
        """Whether they may know what was answered then: they asked themselves, their site did, or they see all."""
        if not self.blinded:
            return True
        return (self.by is not None and self.by == event.by) or (self.site is not None and self.site == event.site)

    def _look(self, book: Book, at: int, numbers: tuple[int, ...]) -> None:
        """Refuse to show decisions that are not theirs, and log that they asked."""
        hidden = tuple(number for number in numbers if self.blinded and not self._owns(book.makers[number]))
        if hidden:
            book.append(Refused(at=at, by=self.by, decisions=hidden))
            unit = book.records[hidden[0]].unit
            raise AccessError(
                f"unit {unit!r} has a decision that somebody else asked for; a blinded key is told of the decisions"
                " that it asked for itself, or a key of its site did"
            )


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
        covariates: the value of each by name, where the trial has some; None where it is missing.
    """

    unit: str
    context: str | int | None = None
    occasion: str | None = None
    covariates: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        text("unit", self.unit, MOST_NAME)
        if self.occasion is not None:
            text("occasion", self.occasion, MOST_NAME)
        object.__setattr__(self, "covariates", plain(self.covariates))

    @property
    def place(self) -> tuple[str, str]:
        """What makes it one and the same decision."""
        return self.unit, self.occasion or ""

    @property
    def asked(self) -> list[Any]:
        """As JSON would have it."""
        return [self.unit, self.context, self.occasion, *([] if self.covariates is None else [self.covariates])]

    def check(self, design: Design) -> Met:
        """The unit as it is met; refuses an occasion that the trial does not have, or the lack of one."""
        many = design.spec.decisions == "many"
        if many and self.occasion is None:
            raise InputError("occasion", NOTHING, "which of the unit's decisions: this trial makes many for a unit")
        if not many and self.occasion is not None:
            raise InputError("occasion", repr(self.occasion), "nothing: this trial makes one decision for a unit")
        return Met(design.context_index(self.context), kept(design.space, self.covariates))

    def agree(self, book: Book, number: int, met: Met) -> None:
        """An error where the decision that the unit has was made in another context, or has other covariates."""
        record = book.records[number]
        if record.context != met.context:
            had = book.design.space.contexts[record.context]
            raise ConflictError(f"unit {self.unit!r} has decision {number}, made in context {had!r}")
        agree(self.unit, number, record.covariates, met.covariates)


def asks(units: Sequence[Mapping[str, Any] | Ask | str]) -> tuple[Ask, ...]:
    """Units as a caller may give them: names, or mappings with unit, context, occasion and covariates."""
    return tuple(
        each if isinstance(each, Ask) else Ask(unit=each) if isinstance(each, str) else Ask(**each) for each in units
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForUnit(KeyedCommand[Decision]):
    """A command about the decision of one unit."""

    ask: Ask

    @property
    def asked(self) -> object:
        """The unit."""
        return self.ask.asked

    @property
    def needs(self) -> Needs:
        """The key and the unit."""
        return Needs(self.key, (self.ask.place,), makers=(self.ask.place,) if self.blinded else ())

    def standing(self, book: Book, at: int) -> tuple[Met, int | None]:
        """The unit as it is met, and the number of the decision that it has already."""
        met, number = self.ask.check(book.design), book.units.get(self.ask.place)
        if number is not None:
            self._look(book, at, (number,))
            self.ask.agree(book, number, met)
        return met, number

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> Decision:
        return Decision.of(book, book.records[answered_numbers(event)[0]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide(ForUnit):
    """What do we propose to this unit? A unit (and occasion) that is asked for twice gets the same answer."""

    def _act(self, book: Book, at: int) -> Decision:
        met, number = self.standing(book, at)
        if number is None:
            number = book.decisions + 1
            book.append(decided_event(book, number, self.ask.place, met, **self._stamp(at)))
        else:
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
        units = tuple(ask.place for ask in self.units)
        return Needs(self.key, units, makers=units if self.blinded else ())

    @property
    def asked(self) -> object:
        """All units, in their order."""
        return [ask.asked for ask in self.units]

    def _act(self, book: Book, at: int) -> tuple[Decision, ...]:
        places = dict.fromkeys(ask.place for ask in self.units)
        standing = tuple(book.units[place] for place in places if place in book.units)
        self._look(book, at, standing)
        new: dict[tuple[str, str], Decided] = {}
        for place, met in self._met(book).items():
            if place not in book.units:
                number = book.decisions + len(new) + 1
                new[place] = decided_event(book, number, place, met, at=at, by=self.by, site=self.site)
        for event in new.values():
            book.append(event)
        numbers = tuple(book.units[ask.place] for ask in self.units)
        if self.key is not None:
            book.append(Answered(**self._stamp(at), decisions=numbers))
        elif standing:
            book.append(Answered(**self._stamp(at), decisions=standing))
        return tuple(Decision.of(book, book.records[number]) for number in numbers)

    def _met(self, book: Book) -> dict[tuple[str, str], Met]:
        """Each unit as it is met, in their order; it must be one and the same wherever the unit occurs."""
        found: dict[tuple[str, str], Met] = {}
        for ask in self.units:
            met = ask.check(book.design)
            if ask.place in book.units:
                ask.agree(book, book.units[ask.place], met)
            before = found.setdefault(ask.place, met)
            if before != met:
                differing = "in two contexts" if before.context != met.context else "with different covariates"
                raise ConflictError(f"unit {ask.unit!r} is in the batch twice, {differing}")
        return found

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> tuple[Decision, ...]:
        return tuple(Decision.of(book, book.records[number]) for number in answered_numbers(event))


def decided_event(
    book: Book,
    number: int,
    place: tuple[str, str],
    met: Met,
    proposal: Proposal | None = None,
    **stamp: Unpack[Stamp],
) -> Decided:
    """The policy's decision for a unit and occasion; `proposal` is given where it cannot be derived."""
    if book.state != "running":
        raise StateError(f"trial {book.trial} is {book.state}; decisions are made while it is running")
    design = book.design
    if proposal is None:
        if design.refused is not None:
            words = "comes from a version that allowed its policy, and this one makes no decisions from it"
            raise StateError(f"trial {book.trial} {words}: {design.refused}")
        features = features_of(design.shown, met.covariates if design.shown.covariates else None)
        if design.looks is None:
            proposal = propose(design, book.secret, book.seen_by(number), met.context, number, features, book.models)
        else:
            state = book.seen_by(number)
            proposal = proposed_between_looks(design, book.secret, state, number, book.look, features, book.models)
    return Decided(
        **stamp,
        number=number,
        unit=place[0],
        occasion=place[1],
        context=design.space.contexts[met.context],
        proposal=design.space.proposals[proposal.index],
        probability=proposal.probability,
        best=None if proposal.best == proposal.probability else proposal.best,
        version=book.version,
        due=None if design.window is None else stamp["at"] + design.window,
        software=software(design),
        covariates=values_of(met.covariates) or None,
    )
