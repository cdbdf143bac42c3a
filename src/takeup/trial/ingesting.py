"""Ingestion: what clients decided from leases comes back in batches, exactly once, whatever is sent twice.

A batch is taken in chunks, a transaction each, so that others have their turn; the log says how far it got. The same
batch sent again goes on from there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from takeup.errors import ConflictError, InputError, NotFoundError, StateError, TakeupError
from takeup.outcomes import Plain
from takeup.trial.book import Book
from takeup.trial.bounds import text
from takeup.trial.commands import MOST_NAME, Needs
from takeup.trial.edge_draws import EdgeDraw, drawn_event
from takeup.trial.edge_fold import EdgeFold
from takeup.trial.edge_rows import EdgeColumns, EdgeRows
from takeup.trial.events import Decided, Stamp, TakenIn, link
from takeup.trial.ingested import MOST_TOLD, SET_ASIDE, Ingested, Lapse, first_of_each
from takeup.trial.leases import digest_of
from takeup.trial.reporting import known_of, labels_of, reported_event

CHUNK = 5_000
"""How many rows are taken in one transaction."""
MOST_BATCH_NAME = 150
MOST_WHY = 600
"""How many letters the log has of why a row was not recorded: rows may say anything."""
REQUEST = 32
"""How many hexadecimal digits of a batch's digest the log has."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it was sent, by somebody who is not blinded: what they are told says what others reported.

    Attributes:
        name: what its sender calls it.
        rows: what is in it.
        by: who sends it.
        site: where they work.
    """

    name: str
    rows: EdgeRows
    by: str | None = None
    site: str | None = None

    @classmethod
    def of(cls, name: str, rows: Iterable[Mapping[str, Any]], by: str | None = None) -> "Batch":
        """A batch with these rows; errors name what is wrong with the whole of it."""
        return cls(name, EdgeRows.of(rows), by)

    def __post_init__(self) -> None:
        text("batch", self.name, MOST_BATCH_NAME)
        for argument, value in (("by", self.by), ("site", self.site)):
            if value is not None:
                text(argument, value, MOST_NAME)

    @property
    def keys(self) -> list[str]:
        """The idempotency keys of its chunks, in their order."""
        return [key_of(self.name, start) for start in range(0, len(self.rows), CHUNK)]

    def begun(self, events: Iterable[object]) -> Ingested:
        """How far it has got, where these events have been logged under its keys, in their order.

        Raises:
            ConflictError: another batch was sent under its name.
        """
        found = Ingested(batch=self.name, rows=len(self.rows))
        for event in events:
            chunk = Ingested.of(_same(self.name, event, self.rows.digest))
            if chunk.taken <= found.taken:
                break
            found = found.plus(chunk)
        return found

    def chunk(self, start: int) -> "Ingest":
        """The rows from `start` on that are taken together."""
        after = min(start + CHUNK, len(self.rows))
        return Ingest(
            key=key_of(self.name, start),
            by=self.by,
            site=self.site,
            batch=self.name,
            rows=len(self.rows),
            start=start,
            digest=self.rows.digest,
            columns=self.rows.columns.part(start, after),
            problems={place - start: why for place, why in self.rows.problems.items() if start <= place < after},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingest:
    """Rows of a batch that are taken together; each is recorded as far as it can be, and stops no other.

    Attributes:
        key: which part of which batch it is.
        by: who sends it.
        site: where they work.
        batch: what its sender calls it.
        rows: how many rows it has.
        start: the place of the first of these.
        digest: of all that is in the batch.
        columns: these rows.
        problems: what is wrong with some of them, by their place among these.
    """

    key: str
    by: str | None = None
    site: str | None = None
    batch: str
    rows: int
    start: int
    digest: str
    columns: EdgeColumns
    problems: Mapping[int, str] = field(default_factory=dict)

    @property
    def needs(self) -> Needs:
        """The key, the units, who decided about them, and the leases."""
        columns, problems = self.columns, self.problems
        places = list(zip(columns.unit, columns.occasion, columns.lease, strict=True))
        sound = [each for place, each in enumerate(places) if place not in problems] if problems else places
        leases = tuple({lease for *_, lease in sound if lease is not None})
        units = tuple(dict.fromkeys((unit, occasion) for unit, occasion, _ in sound))
        decided = tuple({(unit, occasion) for unit, occasion, lease in sound if lease is not None})
        return Needs(self.key, units, leases=leases, makers=decided)

    @property
    def request(self) -> str:
        """Which batch it is."""
        return self.digest[:REQUEST]

    def run(self, book: Book, at: int) -> Ingested:
        """What became of these rows; as the log has it, where they were taken before.

        Raises:
            ConflictError: another batch was sent under this name.
            StateError: the trial is a draft.
        """
        if self.key in book.keys:
            return Ingested.of(_same(self.batch, book.answers[self.key], self.digest))
        if book.state == "draft":
            raise StateError(f"trial {book.trial} is a draft; nothing can have been decided")
        taken = _Taking(book, self, {"at": at, "by": self.by, "site": self.site}).all()
        book.append(taken)
        return Ingested.of(taken)


class _Taking:
    """The rows of one chunk as they are taken, one after the other."""

    def __init__(self, book: Book, ingest: Ingest, stamp: Stamp) -> None:
        self.book, self.ingest, self.stamp = book, ingest, stamp
        self.spec = digest_of(book.design.text)
        self.recorded = self.standing = self.set_aside = self.reported = 0
        self.refused: list[tuple[int, str]] = []
        self.lapsed: list[Lapse] = []

    def all(self) -> TakenIn:
        """Append to the book what the rows lead to; the event that closes them."""
        ingest, fold = self.ingest, EdgeFold(self.book)
        fold.stamp(self.stamp)
        for place, row in enumerate(zip(*ingest.columns, strict=True)):
            *drawn, missing, _, spec, lease_hash = row
            if place not in ingest.problems and row[4] is not None and not missing and spec in (None, self.spec):
                derived = fold.derive(*drawn, lease_hash=lease_hash)
                if derived is not None:
                    fold.add(derived, link(self.book.hash, self.book.sequence + 1, derived.body))
                    self.recorded += 1
                    continue
            fold.flush()
            try:
                self.take(place)
            except TakeupError as error:
                self.refuse(place, str(error))
        fold.flush()
        return TakenIn(
            at=self.stamp["at"],
            by=ingest.by,
            site=ingest.site,
            key=ingest.key,
            request=ingest.request,
            batch=ingest.batch,
            rows=ingest.rows,
            taken=ingest.start + len(ingest.columns.unit),
            recorded=self.recorded,
            standing=self.standing,
            set_aside=self.set_aside,
            reported=self.reported,
            refused=tuple(self.refused),
            lapsed=first_of_each(self.lapsed),
        )

    def take(self, place: int) -> None:
        """One row."""
        columns = self.ingest.columns
        if place in self.ingest.problems:
            self.refuse(place, self.ingest.problems[place])
        elif columns.lease[place] is None:
            self.report(place, self.number(place), columns.reason[place])
        else:
            self.decide(place, self.draw(place))

    def draw(self, place: int) -> EdgeDraw:
        """What a row says that was drawn."""
        c, design = self.ingest.columns, self.book.design
        if c.spec[place] not in (None, self.spec):
            raise InputError("spec", repr(c.spec[place])[:100], f"{self.spec}, the trial's; take another lease")
        check_occasion(self.book, c.occasion[place])
        labels = labels_of(self.book.design, c.implemented[place], c.outcome[place], c.missing[place], said=True)
        implemented = labels.get("implemented")
        return EdgeDraw(
            c.unit[place],
            c.occasion[place],
            design.context_index(c.context[place]),
            design.index("proposal", c.proposal[place]),
            c.lease[place] or 0,
            c.drawn[place] or 0,
            None if implemented is None else str(implemented),
            labels.get("outcome"),
            c.missing[place],
            c.lease_hash[place],
        )

    def decide(self, place: int, draw: EdgeDraw) -> None:
        """A row that decides: recorded, standing, or set aside."""
        number = self.book.units.get((draw.unit, draw.occasion))
        if number is not None and self.same(number, draw):
            if draw.implemented is None and draw.outcome is None and not draw.missing:
                self.standing += 1  # whoever has the lease knows what it gives
            else:
                self.report(place, number, None)
            return
        event = drawn_event(self.book, draw, **self.stamp)
        self.book.append(event)
        if isinstance(event, Decided):
            self.recorded += 1
        else:
            self.set_aside += 1
            self.refuse(place, f"{SET_ASIDE}{event.reason}")
            if event.decision is None:
                self.lapsed.append(Lapse(draw.lease, draw.lease_hash, draw.drawn))

    def same(self, number: int, draw: EdgeDraw) -> bool:
        """Whether a unit's decision is what was drawn: the row was sent again."""
        maker, record, held = self.book.makers.get(number), self.book.records[number], self.book.leases.get(draw.lease)
        lease = None if maker is None else maker.lease
        drawn = (lease, record.context, record.proposal) == (draw.lease, draw.context, draw.proposal)
        return drawn and held is not None and draw.names(held.lease)

    def report(self, place: int, number: int, reason: str | None) -> None:
        """A report of a decision that is there; what it says already needs no event."""
        c, book = self.ingest.columns, self.book
        said: tuple[str | int | None, Plain | None, tuple[str, ...]]
        said = c.implemented[place], c.outcome[place], c.missing[place]
        labels = labels_of(book.design, *said, said=False)
        known = known_of(book, book.records[number], labels)
        if len(known) == len(labels) and all(old == new for old, new in known.values()):
            self.standing += 1
            return
        implemented, outcome, missing = said
        book.append(
            reported_event(
                book,
                number,
                implemented=implemented,
                outcome=outcome,
                missing=missing,
                covariates=None,
                reason=reason,
                disputing=False,
                **self.stamp,
            )
        )
        self.reported += 1

    def number(self, place: int) -> int:
        """The decision that a row without a lease is about."""
        unit, occasion = self.ingest.columns.unit[place], self.ingest.columns.occasion[place]
        check_occasion(self.book, occasion)
        number = self.book.units.get((unit, occasion))
        if number is None:
            which = f", occasion {occasion!r}" if occasion else ""
            raise NotFoundError(f"trial {self.book.trial} has no decision for unit {unit!r}{which}")
        return number

    def refuse(self, place: int, why: str) -> None:
        """Tell of a row that was not recorded."""
        if len(self.refused) < MOST_TOLD:
            self.refused.append((self.ingest.start + place, _shortened(why)))


def check_occasion(book: Book, occasion: str) -> None:
    """Refuse an occasion that the trial does not have, or the lack of one."""
    many = book.design.spec.decisions == "many"
    if many != bool(occasion):
        allowed = "which of the unit's decisions" if many else "nothing: this trial makes one decision for a unit"
        raise InputError("occasion", repr(occasion), allowed)


def _shortened(why: str) -> str:
    """What a row says is told first, and what is allowed last."""
    half = MOST_WHY // 2 - 2
    return why if len(why) <= MOST_WHY else f"{why[:half]} .. {why[-half:]}"


def key_of(batch: str, start: int) -> str:
    """What the log calls a part of a batch among idempotency keys, none of which a client may choose."""
    return f"batch {batch} {start}"


def _same(batch: str, event: object, digest: str) -> TakenIn:
    """An event that answers a chunk, if it is one of this batch."""
    if not isinstance(event, TakenIn) or event.batch != batch or event.request != digest[:REQUEST]:
        raise ConflictError(f"batch {batch!r} was sent before with other rows; give these another name")
    return event
