"""Decisions under leases, many at a time: derived as text and folded together, without an event's value for each.

`drawn_event` and `Book.append` say what has to come out, to the letter; a test holds it. Whatever is not plain (a unit
that has its decision, a draw that does not stand, something that is missing) is left to them.
"""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from heapq import heappush
from json.encoder import encode_basestring
from typing import Any, NamedTuple

import numpy as np

from takeup.errors import TakeupError
from takeup.space import UNSEEN
from takeup.trial.book import Book, Entry, Maker, Record
from takeup.trial.design import canonical
from takeup.trial.edge_draws import ends_of, first_drawn
from takeup.trial.epoch_counts import Cell
from takeup.trial.events import Decided, Stamp
from takeup.trial.lease_records import LeaseRecord
from takeup.trial.leases import drawn_bits
from takeup.trial.rollup import Row, first_of

MOST_OUTCOMES = 10_000
"""How many different outcomes are remembered."""
_PLAIN = (str, int, float)


@dataclass(slots=True)
class _Held:
    """A lease as it is used: between which times it may be drawn from, how often it was, and texts by context."""

    record: LeaseRecord
    key: bytes
    first: int
    last: int
    taken: int
    maker: Maker
    heads: list[str]
    tails: list[list[str]]
    end: str
    hash: str

    def word(self, x: int, fold: "EdgeFold") -> None:
        """The texts of a context: of many, few may be met under a lease."""
        record, lease = self.record, self.record.lease
        probability, best = record.probability[x], record.best[x]
        said = "" if best == probability else f'"best":{canonical(best)},'
        by = "" if fold.by is None else f'"by":{canonical(fold.by)},'
        site = "" if fold.site is None else f'"site":{canonical(fold.site)},'
        self.heads[x] = f'{{"at":{fold.at},{said}{by}"context":{canonical(lease.contexts[x])},"drawn":'
        vector, after = canonical(probability), f'{site}"software":{canonical(record.software)},"unit":'
        proposals = map(canonical, lease.proposals)
        self.tails[x] = [f'"probability":{vector},"proposal":{proposal},{after}' for proposal in proposals]


class Derived(NamedTuple):
    """A decision that stands: its event's body, and what it is folded by."""

    body: str
    unit: str
    occasion: str
    context: int
    proposal: int
    implemented: int
    outcome: int
    held: _Held


class EdgeFold:
    """Decisions of one request, or of one audit, as they are folded into a book.

    Args:
        book: the trial's.
    """

    def __init__(self, book: Book) -> None:
        space, design = book.design.space, book.design
        self.book, self.many = book, design.spec.decisions == "many"
        self.contexts: dict[str | None, int] = {label: i for i, label in enumerate(space.contexts)}
        if len(space.contexts) == 1:
            self.contexts[None] = 0
        self.proposals = {label: i for i, label in enumerate(space.proposals)}
        said = design.spec.compliance != "never"
        self.actions: dict[str | None, tuple[int, str]] = {None: (UNSEEN, "")}
        self.actions |= {
            label: (i, f'"implemented":{canonical(label)},') for i, label in enumerate(space.implemented) if said
        }
        self.outcomes: dict[tuple[type, Any], tuple[int, str] | None] = {(type(None), None): (UNSEEN, "")}
        self.at = -1
        self.by: str | None = None
        self.site: str | None = None
        self.due: int | None = None
        self.told_due = ""
        self.held: dict[int, _Held | None] = {}
        self.cells: Counter[tuple[int, Cell]] = Counter()
        self.rolled: dict[tuple[int, int], list[tuple[int, _Held]]] = {}
        self.folded = 0

    def stamp(self, stamp: Stamp) -> None:
        """When what follows happened, and who asked for it."""
        said = stamp["at"], stamp.get("by"), stamp.get("site")
        if said != (self.at, self.by, self.site):
            self.flush()
            self.at, self.by, self.site = said
            window = self.book.design.window
            self.due = None if window is None else self.at + window
            self.told_due = "" if self.due is None else f'"due":{self.due},'

    def derive(
        self,
        unit: str,
        occasion: str,
        context: Any,
        proposal: Any,
        lease: int,
        drawn: int,
        implemented: Any,
        outcome: Any,
        *,
        lease_hash: str | None = None,
    ) -> Derived | None:
        """The decision that follows, where it is plain and stands."""
        book = self.book
        held = self.held[lease] if lease in self.held else self._hold(lease)
        if held is None or (unit, occasion) in book.units or bool(occasion) is not self.many:
            return None
        try:
            x, z, action = self.contexts[context], self.proposals[proposal], self.actions[implemented]
            came = self.outcomes[type(outcome), outcome]
        except KeyError:
            came = self._outcome(outcome)
            if context not in self.contexts or proposal not in self.proposals or implemented not in self.actions:
                return None
            x, z, action = self.contexts[context], self.proposals[proposal], self.actions[implemented]
        except TypeError:
            return None
        lent = held.record.lease
        if lease_hash is not None and lease_hash != held.hash:
            return None
        if came is None or not held.first <= drawn <= held.last or held.taken >= lent.most:
            return None
        if bisect_right(lent.ends[x], drawn_bits(held.key, unit, occasion)) != z:
            return None
        if not held.heads[x]:
            held.word(x, self)
        which = f'"occasion":{encode_basestring(occasion)},' if occasion else ""
        body = (
            f'{held.heads[x]}{drawn},{self.told_due}{action[1]}"kind":"decided","lease":{lease},'
            f'"number":{book.decisions + 1},{which}{came[1]}{held.tails[x][z]}{encode_basestring(unit)}{held.end}'
        )
        return Derived(body, unit, occasion, x, z, action[0], came[0], held)

    def add(self, derived: Derived, hashed: str) -> None:
        """Append it to the book, whose next hash this is."""
        body, unit, occasion, x, z, a, y, held = derived
        book, at, due = self.book, self.at, self.due
        book.sequence = sequence = book.sequence + 1
        book.decisions = number = book.decisions + 1
        book.hash, book.at = hashed, at
        known = y != UNSEEN
        counted = known and due is None
        record = Record(number, unit, occasion, x, z, at, due, sequence, a, y, False, False, counted, None)
        changes = book.changes
        changes.entries.append(Entry(sequence, hashed, Decided.kind, at, number, body))
        changes.created.add(number)
        changes.records[number] = book.records[number] = record
        book.units[unit, occasion] = number
        book.makers[number] = held.maker
        if known and due is not None:
            heappush(book.open, (due, number))
            book.tally.waiting += 1
        if a != UNSEEN or counted:
            book.version = sequence
        held.taken += 1
        self.folded += 1
        epoch = -1 if book.epochs is None else book.epochs.of(number)
        self.cells[epoch, (x, z, a, y if counted else UNSEEN)] += 1
        self.rolled.setdefault((first_of(number), x), []).append((z, held))

    def flush(self) -> None:
        """Fold in what was appended; anything else that is done with the book has to come after it."""
        if self.folded:
            book = self.book
            for (epoch, (x, z, a, y)), many in self.cells.items():
                for slot, amount in book.design.space.outcome.parts(y):
                    cell = (x, z, a, slot)
                    book.counts[cell] += many * amount
                    book.changes.cells.add(cell)
                    if book.epochs is not None:
                        book.epochs.add(epoch * book.epochs.empty.length + 1, cell, many * amount)
            for place, some in self.rolled.items():
                self._roll(place, some)
            for number, held in self.held.items():
                if held is not None and held.taken != held.record.taken:
                    book.leases[number] = replace(held.record, taken=held.taken)
                    book.changes.leases.add(number)
            book.taking = book.taking[0] + self.folded, book.taking[1]
            self.cells.clear()
            self.rolled.clear()
            self.folded = 0
        self.held.clear()

    def _hold(self, number: int) -> _Held | None:
        """What is needed of a lease; None where there is no such lease."""
        record = self.book.leases.get(number)
        if record is None:
            self.held[number] = None
            return None
        lease = record.lease
        last = min(ends_of(record, self.at, self.book.design.spec.edge.within)).last
        heads, tails = [""] * len(lease.contexts), [list[str]()] * len(lease.contexts)
        maker = Maker(self.by, self.site, number)
        end = f',"version":{lease.version}}}'
        key = bytes.fromhex(lease.key)
        found = _Held(record, key, first_drawn(lease), last, record.taken, maker, heads, tails, end, lease.fingerprint)
        self.held[number] = found
        return found

    def _outcome(self, outcome: Any) -> tuple[int, str] | None:
        """The code of an outcome and what a body says of it; None where it is not plain, or not one."""
        if type(outcome) not in _PLAIN:
            return None
        place, kind = (type(outcome), outcome), self.book.design.space.outcome
        if place not in self.outcomes:
            if len(self.outcomes) > MOST_OUTCOMES:
                self.outcomes = {(type(None), None): (UNSEEN, "")}
            try:
                code = kind.code(outcome)
                self.outcomes[place] = code, f'"outcome":{canonical(kind.plain(code))},'
            except (TakeupError, ValueError):
                self.outcomes[place] = None
        return self.outcomes[place]

    def _roll(self, place: tuple[int, int], some: list[tuple[int, _Held]]) -> None:
        """The time series of one bucket and context, one after the other: sums of floats depend on their order."""
        rollup, x = self.book.rollup, place[1]
        names = list({id(held): held for _, held in some}.values())
        index = {id(held): i for i, held in enumerate(names)}
        p = np.array([held.record.probability[x] for held in names])
        best = np.array([held.record.best[x] for held in names])
        row = rollup.rows.get(place)
        if row is None:
            row = rollup.rows[place] = Row.empty(p.shape[1])
        before = np.array([row.probability, row.variance, row.best])[np.newaxis]
        each = np.stack([p, p * (1 - p), best], axis=1)[[index[id(held)] for _, held in some]]
        after = np.add.accumulate(np.concatenate([before, each]), axis=0)[-1]
        row.probability, row.variance, row.best = after.tolist()
        for z, many in Counter(z for z, _ in some).items():
            row.proposed[z] += many
        row.until = self.at
        rollup.changed.add(place)
