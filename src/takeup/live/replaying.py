"""The replay of a trial's log: each event checked against what follows from all before it, and folded in."""

import json
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple

from sqlalchemy import Connection

from takeup.errors import NotFoundError, TakeupError
from takeup.live.anchors import Anchor
from takeup.live.rederive import UnexpectedError, expected, otherwise
from takeup.store import reading
from takeup.store.books import cell_values, head_values, key_values, record_values, rollup_values, secret_of
from takeup.store.epoch_rows import epoch_values
from takeup.store.lease_rows import lease_values
from takeup.store.reading import Logged
from takeup.store.sealing import UnsealableError
from takeup.store.sum_rows import places, sum_values
from takeup.trial.book import Book, Changes, decision_number
from takeup.trial.bounds import text
from takeup.trial.commands import MOST_NAME
from takeup.trial.edge_fold import Derived, EdgeFold
from takeup.trial.epoch_counts import Cell, Place
from takeup.trial.events import Created, Decided, Event, Leased, Looked, Refitted, TakenOver, body_of, event_of, link
from takeup.trial.fitting import Refit, rows_of_records
from takeup.trial.models import fits
from takeup.trial.secret import Secret

_COLUMNS = attrgetter(*(each.name for each in fields(Logged)))
_LEASE = '"lease":'
TOGETHER = 10_000
"""How many decisions under leases are folded in together."""
_LOGGED = [(int, str, str, int, decision, str) for decision in (int, NoneType)]
"""The types of a row of the log."""


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


class Shape(NamedTuple):
    """What of takeup's the database lacks or has otherwise, and what it has beside that."""

    ours: list[Difference]
    extra: list[Difference]


@dataclass(slots=True)
class Replay:
    """A log as it is folded into a book."""

    connection: Connection
    trial: str
    anchors: list[Anchor] | None
    at_rest: bool
    shape: Shape
    book: Book | None = None
    cells: set[Cell] = field(default_factory=set)
    summed: set[Place] = field(default_factory=set)
    events: int = 0
    rederived: int = 0
    fallbacks: int = 0
    past: int = 0
    looks: int = 0
    other_looks: int = 0
    refits: int = 0
    other_refits: int = 0
    leases: int = 0
    other_leases: int = 0
    leased: int = 0
    points: set[int] = field(default_factory=set)
    fits: dict[int, Refit] = field(default_factory=dict)
    leasing: EdgeFold | None = None
    seeded: bool | None = None
    other: Counter[str] = field(default_factory=Counter)

    def differences(self) -> Generator[Difference, None, None]:
        """All that is wrong, beginning with the first in the log; after that one nothing can be relied on."""
        yield from self.shape.ours
        hashes: dict[int, set[str]] = {}
        for anchor in self.anchors or ():
            hashes.setdefault(anchor.sequence, set()).add(anchor.hash)
        try:
            head = reading.head(self.connection, self.trial)
        except NotFoundError:
            if not hashes:
                raise
            yield Difference("the trial", f"event {max(hashes)}, which is anchored", "no such trial")
            return
        try:
            secret = secret_of(head)
        except UnsealableError:
            raise
        except Exception as error:  # whatever a forged one leads to is a difference too
            yield Difference("the trial's secret", "a seed and its salt", repr(error))
            return
        for logged in reading.log(self.connection, self.trial, kind=Refitted.kind):
            self.points.add(_point(logged.body))
        for logged in reading.log(self.connection, self.trial):
            if not self._drawn_under_lease(logged):
                self._flush()
                yield from self._event(logged, secret)
            anchored = hashes.get(logged.sequence, {logged.hash})
            if anchored != {logged.hash}:
                where = f"event {logged.sequence}"
                yield Difference(where, f"the anchored hash {' and '.join(sorted(anchored))}", logged.hash)
        self._flush()
        if self.book is None:
            yield Difference("event 1", "the trial's creation", "an empty log")
            return
        if hashes and max(hashes) > self.book.sequence:
            yield Difference("the log", f"event {max(hashes)}, which is anchored", f"an end after {self.book.sequence}")
        if self.book.taking != (0, 0):
            yield Difference(
                "the log", "an event that closes the rows of a batch", f"an end after {self.book.sequence}"
            )
        if self.anchors == [] and self.book.design.spec.anchored and self.book.sequence > 1:
            yield Difference("the anchors", "some of this trial, as its spec says `anchored`", "none")
        if self.at_rest and max(hashes, default=0) < self.book.sequence:
            yield Difference("the log", f"an end after event {max(hashes, default=0)}", f"event {self.book.sequence}")
        yield from self._head(head._asdict(), self.book)
        yield from self._tables(self.book)
        yield from self.shape.extra

    def _drawn_under_lease(self, logged: Logged) -> bool:
        """Check and fold in a plain decision under a lease, of which there may be millions.

        Where this is no such event, or anything differs from what follows from the book, it is left as it is, and
        `_event` says what should have been there.
        """
        book = self.book
        if book is None or logged.kind != Decided.kind or _LEASE not in logged.body or book.design.looks is not None:
            return False
        if self.leasing is None:
            self.leasing = EdgeFold(book)
        derived = _derived(self.leasing, logged)
        if derived is None or derived.body != logged.body:
            return False
        places = (logged.sequence, logged.at, logged.decision)
        if places != (book.sequence + 1, self.leasing.at, book.decisions + 1) or set(map(type, places)) != {int}:
            return False
        if link(book.hash, book.sequence + 1, logged.body) != logged.hash:
            return False
        self.leasing.add(derived, logged.hash)
        self.events += 1
        self.rederived += 1
        self.leased += 1
        if self.leasing.folded >= TOGETHER:
            self._flush()
        return True

    def _flush(self) -> None:
        """Fold in the decisions under leases that have not been."""
        if self.leasing is not None and self.book is not None:
            self.leasing.flush()
            self._forget(self.book)

    def _forget(self, book: Book) -> None:
        """Keep which cells moved, and drop what a store would write down."""
        self.cells |= book.changes.cells
        self.summed |= book.changes.sums
        book.changes = Changes()
        book.answers.clear()
        book.makers.clear()

    def _event(self, logged: Logged, secret: Secret) -> Iterator[Difference]:
        """Check one event, and fold it in."""
        where = f"event {self.events + 1}"
        if tuple(map(type, _COLUMNS(logged))) not in _LOGGED:
            yield Difference(where, "whole numbers and texts", str(logged))
            return
        if logged.sequence != self.events + 1:
            yield Difference(where, f"the number {self.events + 1}", str(logged.sequence))
        before = "0" * 64 if self.book is None else self.book.hash
        if logged.hash != link(before, logged.sequence, logged.body):
            yield Difference(where, f"the hash {link(before, logged.sequence, logged.body)}", logged.hash)
        try:
            event = event_of(logged.body)
            body = body_of(event)
            columns = (event.kind, event.at, decision_number(event))
            again = expected(self.book, self.trial, event, secret, self.fits)
            same = body_of(again) == body
            possible = same or (self.book is not None and otherwise(self.book, again, event))
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
        if not possible:
            yield Difference(where, body_of(again), body)
        self._fold(event, body, secret, same=same)

    def _fold(self, event: Event, body: str, secret: Secret, *, same: bool) -> None:
        if self.book is None:
            assert isinstance(event, Created)  # `expected` refuses any other beginning
            self.book, self.seeded = Book.begin(event, secret), event.seeded
        else:
            self.book.append(event, body)
        self._forget(self.book)
        self.events += 1
        if isinstance(event, Leased):
            self.leases += 1
            self.other_leases += not same
        if isinstance(event, Looked):
            self.looks += 1
            self.other_looks += not same
        if isinstance(event, Refitted):
            self.refits += 1
            self.other_refits += not same
            self.fits.pop(event.known, None)
        if self.book.sequence in self.points and self.book.decisions and fits(self.book.design):
            rows = rows_of_records(self.book.design, self.book.records.values())
            self.fits[self.book.sequence] = Refit.of(self.book, rows)
        self.past += isinstance(event, TakenOver)
        if isinstance(event, Decided):
            self.leased += event.lease is not None
            if event.software is None:
                self.fallbacks += 1
            elif same:
                self.rederived += 1
            else:
                self.other[event.software] += 1

    def _head(self, found: Mapping[str, Any], book: Book) -> Iterator[Difference]:
        for name, value in head_values(book).items():
            if _exact(found[name]) != _exact(value):
                yield Difference(f"the trial's {name}", repr(value), repr(found[name]))

    def _tables(self, book: Book) -> Iterator[Difference]:
        """The tables that are folds of the log: every row that it leads to, as it leads to it, and no other."""
        cells = dict.fromkeys(self.cells)
        yield from self._compare("decisions", book.records, lambda _, record: record_values(self.trial, record))
        yield from self._compare("evidence", cells, lambda cell, _: cell_values(book, cell))
        yield from self._epochs(book)
        yield from self._compare("evidence_sums", places(book, self.summed), lambda place, _: sum_values(book, place))
        yield from self._compare("leases", book.leases, lambda _, held: lease_values(self.trial, held))
        yield from self._compare("keys", book.keys, lambda key, answer: key_values(self.trial, key, answer))
        yield from self._compare("rollup", book.rollup.rows, lambda place, row: rollup_values(self.trial, place, row))

    def _epochs(self, book: Book) -> Iterator[Difference]:
        """The evidence by epoch; where the policy does not forget there is none."""
        epochs = book.epochs
        if epochs is None:
            yield from self._compare("evidence_epochs", {}, lambda *_: {})
            return
        places = dict.fromkeys(epochs.changed)
        yield from self._compare("evidence_epochs", places, lambda place, _: epoch_values(self.trial, epochs, place))

    def _compare(
        self, table: str, wanted: Mapping[Any, Any], values_of: Callable[[Any, Any], dict[str, Any]]
    ) -> Iterator[Difference]:
        """A table against what its rows are made of, by their places in it."""
        left = dict(wanted)
        for place, row in reading.stored(self.connection, self.trial, table):
            if place not in left:
                yield Difference(f"{table} {place}", "no such row", str(row))
                return
            values = values_of(place, left.pop(place))
            if _exact(*row.values()) != _exact(*(values[name] for name in row)):
                yield Difference(f"{table} {place}", str(values), str(row))
        for place, value in left.items():
            yield Difference(f"{table} {place}", str(values_of(place, value)), "nothing")


def _derived(fold: EdgeFold, logged: Logged) -> Derived | None:
    """What follows from a book for the unit of a logged decision under a lease; None where it is none that is plain."""
    try:
        said = json.loads(logged.body)
        unit, occasion, at, lease, drawn = (said.get(name) for name in ("unit", "occasion", "at", "lease", "drawn"))
        whole = type(at) is int and type(lease) is int and type(drawn) is int
        if not whole or at < fold.book.at or (fold.book.open and fold.book.open[0][0] <= at):
            return None
        text("unit", unit, MOST_NAME)
        fold.stamp({"at": at, "by": said.get("by"), "site": said.get("site")})
        what = said.get("context"), said.get("proposal"), lease, drawn, said.get("implemented"), said.get("outcome")
        return fold.derive(unit, occasion or "", *what)
    except Exception:  # whatever a forged body leads to is told by whoever looks at it next
        return None


def _point(body: str) -> int:
    """The event up to which a fit says that it knew the log; 0, which is none, where it says nothing."""
    try:
        return int(event_of(body).known)  # type: ignore[union-attr]  # of another event it is an error
    except (TakeupError, AttributeError, TypeError, ValueError):
        return 0


def _exact(*values: object) -> list[tuple[type, object]]:
    """Values with their types: SQLite keeps any kind of value in any column, and 1 is 1.0 to Python."""
    return [(type(value), value) for value in values]
