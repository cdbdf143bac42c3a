"""The audit: everything that a database says about a trial, derived again from its log."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from takeup.live.anchors import Anchor
from takeup.live.rederive import UnexpectedError, expected
from takeup.space import UNSEEN
from takeup.store import reading
from takeup.store.books import decision_number, head_values, record_values, rollup_values
from takeup.store.reading import Logged
from takeup.trial.book import Book, Changes
from takeup.trial.events import Created, Decided, Event, body_of, event_of, link
from takeup.trial.proposal import forget
from takeup.trial.secret import Secret
from takeup.trial.software import software


@dataclass(frozen=True, slots=True)
class Difference:
    """Where the database differs from its log.

    Attributes:
        where: an event, or a row of a table.
        expected: what follows from the log up to there.
        found: what is there.
    """

    where: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, found {self.found}"


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found.

    Attributes:
        trial: the trial's identifier.
        difference: the first difference; None where all is as it should be.
        events: how many events were read.
        decisions: how many of them are decisions.
        rederived: decisions that were derived again, with their probabilities, and came out the same.
        other_software: decisions that another version made, by version: they are checked, but not derived again.
        fallbacks: decisions that clients drew by themselves.
        anchors: how many signed anchors were compared; None where none were given, so that a log whose end was cut
            off would not be noticed.
        unanchored: how many events follow the last anchor; None where none were given.
        fallbacks_by: how many of the fallbacks each of those who recorded them did.
        seeded: whether somebody chose the seed, so that they could foresee every proposal.
    """

    trial: str
    difference: Difference | None
    events: int
    decisions: int
    rederived: int
    other_software: dict[str, int]
    fallbacks: int
    anchors: int | None
    unanchored: int | None
    fallbacks_by: dict[str, int] = field(default_factory=dict)
    seeded: bool = False

    @property
    def passed(self) -> bool:
        """Whether no difference was found."""
        return self.difference is None


def audit(
    connection: Connection, trial: str, anchors: Sequence[Anchor] | None = None, *, at_rest: bool = False
) -> Audit:
    """Audit a trial, in one consistent state of its database.

    Args:
        connection: to the database, in a transaction.
        trial: the trial's identifier.
        anchors: signed anchors, of this and of other trials.
        at_rest: that nothing writes to the log, so that its last event must be anchored: events that somebody added
            without the key are then a difference.
    """
    forget()
    own = None if anchors is None else [anchor for anchor in anchors if anchor.trial == trial]
    replay = _Replay(connection, trial, own, at_rest)
    difference = next(replay.differences(), None)
    return Audit(
        trial,
        difference,
        replay.events,
        sum(replay.other.values()) + replay.rederived + replay.fallbacks,
        replay.rederived,
        dict(replay.other),
        replay.fallbacks,
        None if own is None else len(own),
        None if own is None else max(0, replay.events - max((anchor.sequence for anchor in own), default=0)),
        {} if replay.book is None else {by: sum(each.proposals) for by, each in replay.book.draws.items()},
        replay.seeded,
    )


@dataclass(slots=True)
class _Replay:
    """A log as it is folded into a book."""

    connection: Connection
    trial: str
    anchors: list[Anchor] | None
    at_rest: bool
    book: Book | None = None
    events: int = 0
    rederived: int = 0
    fallbacks: int = 0
    seeded: bool = False
    other: Counter[str] = field(default_factory=Counter)

    def differences(self) -> Iterator[Difference]:
        """All that is wrong, beginning with the first in the log; after that one nothing can be relied on."""
        head = reading.head(self.connection, self.trial)
        secret = Secret.of_text(head.secret)
        hashes: dict[int, set[str]] = {}
        for anchor in self.anchors or ():
            hashes.setdefault(anchor.sequence, set()).add(anchor.hash)
        for logged in reading.log(self.connection, self.trial):
            yield from self._event(logged, secret)
            anchored = hashes.get(logged.sequence, {logged.hash})
            if anchored != {logged.hash}:
                where = f"event {logged.sequence}"
                yield Difference(where, f"the anchored hash {' and '.join(sorted(anchored))}", logged.hash)
        if self.book is None:
            yield Difference("event 1", "the trial's creation", "an empty log")
            return
        if hashes and max(hashes) > self.book.sequence:
            yield Difference("the log", f"event {max(hashes)}, which is anchored", f"an end after {self.book.sequence}")
        if self.at_rest and max(hashes, default=0) < self.book.sequence:
            yield Difference("the log", f"an end after event {max(hashes, default=0)}", f"event {self.book.sequence}")
        yield from self._head(head._asdict(), self.book)
        yield from self._tables(self.book)
        for name in reading.missing_triggers(self.connection):
            yield Difference("the log", f"the trigger {name}, which keeps it append-only", "nothing")

    def _event(self, logged: Logged, secret: Secret) -> Iterator[Difference]:
        """Check one event, and fold it in."""
        where = f"event {self.events + 1}"
        if logged.sequence != self.events + 1:
            yield Difference(where, f"the number {self.events + 1}", str(logged.sequence))
        before = "0" * 64 if self.book is None else self.book.hash
        if logged.hash != link(before, logged.sequence, logged.body):
            yield Difference(where, f"the hash {link(before, logged.sequence, logged.body)}", logged.hash)
        try:
            event = event_of(logged.body)
            body = body_of(event)
            columns = (event.kind, event.at, decision_number(event))
            again = expected(self.book, self.trial, event, secret)
        except UnexpectedError as error:
            yield Difference(where, str(error), logged.body)
            return
        except Exception as error:  # whatever a forged body leads to is a difference too
            yield Difference(where, "an event that can have happened", f"{logged.body} ({error!r})")
            return
        if body != logged.body:
            yield Difference(where, body, logged.body)
        if columns != (logged.kind, logged.at, logged.decision):
            yield Difference(where, f"columns {columns}", str((logged.kind, logged.at, logged.decision)))
        if body_of(again) != body:
            yield Difference(where, body_of(again), body)
        self._fold(event, secret)

    def _fold(self, event: Event, secret: Secret) -> None:
        if self.book is None:
            assert isinstance(event, Created)  # `expected` refuses any other beginning
            self.book, self.seeded = Book.begin(event, secret), event.seeded
        else:
            self.book.append(event)
        self.book.changes = Changes()
        self.book.answers.clear()
        self.book.makers.clear()
        self.events += 1
        if isinstance(event, Decided):
            if event.software is None:
                self.fallbacks += 1
            elif event.software == software():
                self.rederived += 1
            else:
                self.other[event.software] += 1

    def _head(self, found: dict[str, Any], book: Book) -> Iterator[Difference]:
        for name, value in head_values(book).items():
            if found[name] != value:
                yield Difference(f"the trial's {name}", str(value), str(found[name]))

    def _tables(self, book: Book) -> Iterator[Difference]:
        """The tables that are folds of the log."""
        numbers = iter(sorted(book.records))
        for row in reading.stored(self.connection, self.trial, "decisions"):
            number = next(numbers, None)
            if number is None:
                yield Difference("decisions", "no more rows", str(row))
                return
            values = record_values(self.trial, book.records[number])
            if row != values:
                yield Difference(f"decision {number}", str(values), str(row))
        for number in numbers:
            yield Difference(f"decision {number}", "its row", "nothing")
        yield from self._compare("evidence", _cells(book), ("context", "proposal", "implemented", "outcome"))
        yield from self._compare(
            "keys",
            {(key,): {"request": request, "sequence": sequence} for key, (request, sequence) in book.keys.items()},
            ("key",),
        )
        rows = {place: rollup_values(self.trial, place, row) for place, row in book.rollup.rows.items()}
        yield from self._compare("rollup", rows, ("first", "context"))

    def _compare(self, table: str, wanted: dict[Any, dict[str, Any]], names: tuple[str, ...]) -> Iterator[Difference]:
        """A table that stays small, or has small rows, against what it should hold."""
        left = dict(wanted)
        for row in reading.stored(self.connection, self.trial, table):
            place = tuple(row[name] for name in names)
            values = left.pop(place, None)
            if values is None and table == "evidence" and row["decisions"] == 0:
                continue
            if values is None or any(row[name] != value for name, value in values.items()):
                yield Difference(f"{table} {place}", str(values), str(row))
        for place, values in left.items():
            yield Difference(f"{table} {place}", str(values), "nothing")


def _cells(book: Book) -> dict[Any, dict[str, Any]]:
    """The cells that hold a decision, with UNSEEN as it is stored."""
    _, _, a, y = book.design.space.shape
    cells = {}
    for place in zip(*book.counts.nonzero(), strict=True):
        x, z, implemented, outcome = (int(i) for i in place)
        stored = (x, z, UNSEEN if implemented == a else implemented, UNSEEN if outcome == y else outcome)
        cells[stored] = {"decisions": int(book.counts[place])}
    return cells
