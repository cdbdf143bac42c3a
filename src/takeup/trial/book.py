"""A trial as its log tells it: the fold of the events, in memory.

A Book holds all of a trial, or as much of it as the next commands touch; either way the same functions move it. A store
loads a book, lets commands append to it, and writes down what changed; an audit folds a whole log into one.
"""

import heapq
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from takeup.checks import IntArray
from takeup.space import UNSEEN
from takeup.trial.computing import BY
from takeup.trial.design import Design, canonical
from takeup.trial.draws import ClientDraws
from takeup.trial.epoch_counts import Cell, EpochCounts, Place
from takeup.trial.events import (
    GENESIS,
    Amended,
    Answered,
    Closed,
    Created,
    Decided,
    Event,
    KeyedEvent,
    Leased,
    Looked,
    Moved,
    Refitted,
    Refused,
    Reported,
    Revoked,
    SetAside,
    TakenIn,
    TakenOver,
    Unblinded,
    body_of,
    event_of,
    link,
)
from takeup.trial.lease_records import LeaseRecord
from takeup.trial.met import amended, features_of, kept
from takeup.trial.rollup import Rollup
from takeup.trial.secret import Secret


class Entry(NamedTuple):
    """An event as the log has it.

    Attributes:
        sequence: its place.
        hash: covers it and all before it.
        kind: what kind of event.
        at: when it happened.
        decision: the one decision that it is about.
        body: all that it says, as canonical JSON.
    """

    sequence: int
    hash: str
    kind: str
    at: int
    decision: int | None
    body: str

    @property
    def event(self) -> Event:
        """What its body says."""
        return event_of(self.body)


class Maker(NamedTuple):
    """Who made a decision.

    Attributes:
        by: who asked for it.
        site: where they work.
        lease: the lease that it was drawn under; None where it was none.
    """

    by: str | None
    site: str | None
    lease: int | None


class Record(NamedTuple):
    """One decision as far as it is known, in indices.

    Attributes:
        number: i.
        unit: who it was for.
        occasion: which of the unit's decisions; empty where a unit has one.
        context: x.
        proposal: z.
        at: when it was decided.
        due: when its outcome window closes.
        sequence: where the log says so.
        implemented: a, or UNSEEN.
        outcome: the code of y, or UNSEEN.
        missing_implemented: whether a was declared missing.
        missing_outcome: whether y was declared missing.
        counted: whether the outcome has entered the evidence.
        covariates: what was known before the decision, or is known of it by now, as `takeup.trial.met` keeps it.
    """

    number: int
    unit: str
    occasion: str
    context: int
    proposal: int
    at: int
    due: int | None
    sequence: int
    implemented: int = UNSEEN
    outcome: int = UNSEEN
    missing_implemented: bool = False
    missing_outcome: bool = False
    counted: bool = False
    covariates: str | None = None

    @property
    def cell(self) -> Cell:
        """Its context, proposal, action and outcome, as far as they count."""
        return self.context, self.proposal, self.implemented, self.outcome if self.counted else UNSEEN

    @property
    def informs(self) -> bool:
        """Whether anything is known of what became of it, as far as that counts."""
        return self.implemented != UNSEEN or self.counted

    @property
    def waiting(self) -> bool:
        """Whether an outcome has been reported whose window is still open."""
        return self.outcome != UNSEEN and not self.counted


@dataclass(slots=True)
class StatusCounts:
    """Counts that the table of evidence does not show.

    Attributes:
        missing_implemented: whose implemented action was declared missing.
        missing_outcome: whose outcome was declared missing.
        waiting: with an outcome whose window is still open.
        corrections: how many reports corrected an earlier one.
        fallbacks: decisions that a client drew when it could not reach the service.
        disputes: how many reports contradicted an earlier one without a reason.
        past: decisions from before the trial came to takeup.
    """

    missing_implemented: int = 0
    missing_outcome: int = 0
    waiting: int = 0
    corrections: int = 0
    fallbacks: int = 0
    disputes: int = 0
    past: int = 0


@dataclass(slots=True)
class Changes:
    """What a store has to write down.

    Attributes:
        entries: new events.
        cells: cells of the evidence that moved.
        sums: places whose sums of covariates did.
        records: new or changed decisions, by number.
        created: the numbers of the new ones.
        keys: idempotency keys with the hash of their request and the sequence number of their answer.
        leases: the numbers of leases that are new, or were used or revoked.
    """

    entries: list[Entry] = field(default_factory=list)
    cells: set[Cell] = field(default_factory=set)
    sums: set[Place] = field(default_factory=set)
    records: dict[int, Record] = field(default_factory=dict)
    created: set[int] = field(default_factory=set)
    keys: dict[str, tuple[str, int]] = field(default_factory=dict)
    leases: set[int] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class Book:
    """The state of a trial after an event.

    Attributes:
        trial: its identifier.
        design: what its spec says.
        secret: its seed.
        state: draft, running, paused or stopped.
        sequence: the number of the last event.
        hash: the last event's.
        at: when it happened.
        decisions: how many there are.
        version: the sequence number of the last event that moved a cell of the evidence that informs.
        counts: the evidence, n[x, z, a, y].
        tally: what the evidence does not show.
        moved: when it came into its state.
        draws: the fallbacks that clients drew, by who recorded them.
        look: the last planned look; None before the first.
        look_body: what the log has of it.
        fit: the models that were fitted last; None before the first, or where the policy fits none.
        fitted: the number of the event that has them, 0 where there is none.
        unlooked: that takeup paused the trial, so that no look is held before somebody resumes it.
        rollup: the time series.
        records: decisions by number; all, or those that were loaded.
        units: numbers by (unit, occasion), likewise.
        keys: the request and the answer's sequence number of every idempotency key, likewise.
        answers: the events that answer these keys.
        makers: who made decisions, by number, where that matters.
        leased: how many leases were given.
        leases: those that were loaded, by number.
        taking: how many decisions of leases were recorded, and how many set aside, since rows of a batch were closed by
            their event: none but within a transaction.
        open: a heap of (due, number) of outcomes that wait for their window to close.
        epochs: the evidence by epoch, where the policy forgets; None where it does not.
        horizon: the last decision that `due` knows of, where more are due than were loaded; None where all were.
        changes: what was appended since the last `forget`.
    """

    trial: str
    design: Design
    secret: Secret
    counts: IntArray
    state: str = "draft"
    sequence: int = 0
    hash: str = GENESIS
    at: int = 0
    decisions: int = 0
    version: int = 0
    tally: StatusCounts = field(default_factory=StatusCounts)
    moved: int = 0
    draws: dict[str, ClientDraws] = field(default_factory=dict)
    look: Looked | None = None
    look_body: str | None = None
    unlooked: bool = False
    fit: Refitted | None = None
    fitted: int = 0
    rollup: Rollup = field(default_factory=Rollup)
    records: dict[int, Record] = field(default_factory=dict)
    units: dict[tuple[str, str], int] = field(default_factory=dict)
    keys: dict[str, tuple[str, int]] = field(default_factory=dict)
    answers: dict[str, KeyedEvent] = field(default_factory=dict)
    makers: dict[int, Maker] = field(default_factory=dict)
    open: list[tuple[int, int]] = field(default_factory=list)
    horizon: int | None = None
    changes: Changes = field(default_factory=Changes)
    leased: int = 0
    leases: dict[int, LeaseRecord] = field(default_factory=dict)
    taking: tuple[int, int] = (0, 0)
    epochs: EpochCounts | None = field(init=False)

    def __post_init__(self) -> None:
        self._begin_epochs()

    @classmethod
    def begin(cls, created: Created, secret: Secret) -> "Book":
        """The book of a trial that has just been created."""
        design = Design.of_text(canonical(created.spec))
        book = cls(created.trial, design, secret, blank(design))
        book.append(created)
        return book

    def append(self, event: Event, body: str | None = None) -> Entry:
        """Add an event to the log, and fold it in; `body` is its body, where that is at hand."""
        self.sequence += 1
        body = body_of(event) if body is None else body
        self.hash = link(self.hash, self.sequence, body)
        self.at = event.at
        entry = Entry(self.sequence, self.hash, event.kind, event.at, decision_number(event), body)
        self.changes.entries.append(entry)
        match event:
            case Decided():
                self._decided(event)
            case TakenOver():
                self._taken_over(event)
            case Reported():
                self._reported(event)
            case Closed():
                self._closed(event)
            case Moved():
                self.state, self.moved = event.state, event.at
                self.unlooked = event.state == "paused" and event.by == BY
            case Amended():
                self.design = Design.of_text(canonical(event.spec))
                if not self.decisions:  # with past assignments the space stays, and what they add up to
                    self.counts = blank(self.design)
                    self._begin_epochs()
                self.fit, self.fitted = None, 0
            case Refitted():
                self.fit, self.fitted = event, self.sequence
            case Looked():
                self.look, self.look_body = event, body
            case Created():
                self.moved = event.at
            case Leased():
                self.leased = event.lease
                self._held(LeaseRecord.of(self, event, self.sequence))
            case Revoked():
                self._held(replace(self.leases[event.lease], revoked=event.at))
            case SetAside():
                if event.lease is not None:
                    self.taking = self.taking[0], self.taking[1] + 1
            case TakenIn():
                self.taking = 0, 0
            case Answered() | Refused() | Unblinded():
                pass
        if isinstance(event, KeyedEvent) and event.key is not None:
            self.keys[event.key] = self.changes.keys[event.key] = (event.request or "", self.sequence)
            self.answers[event.key] = event
        return entry

    @property
    def known(self) -> int:
        """How many outcomes are in the evidence."""
        return self.decisions - int(self.counts[..., UNSEEN].sum())

    def seen_by(self, number: int) -> IntArray:
        """The counts that the policy's state has in decision `number`, see `Design.start`."""
        return self.shown if self.epochs is None else self.epochs.seen_by(number, self.shown)

    @property
    def models(self) -> str | None:
        """Those that the next decision is made by, where the policy fits some."""
        return None if self.fit is None else self.fit.models

    @property
    def shown(self) -> IntArray:
        """The evidence as its policy is shown it: without the sums of covariates, unless it learns from them."""
        width = self.design.shown.table[-1]
        if width == self.counts.shape[-1]:
            return self.counts
        return np.concatenate([self.counts[..., : width - 1], self.counts[..., UNSEEN:]], axis=-1)

    def due(self, at: int) -> list[int]:
        """The decisions whose outcome has been reported and whose window has closed by `at`, uncounted so far.

        Only those up to the horizon: a log closes the lowest first, and what was loaded beyond it has others before it.
        """
        found = set()
        while self.open and self.open[0][0] <= at:
            number = heapq.heappop(self.open)[1]
            if self.records[number].waiting:
                found.add(number)
        for number in found:
            heapq.heappush(self.open, (self.records[number].due or 0, number))
        return sorted(number for number in found if self.horizon is None or number <= self.horizon)

    def remember(self, record: Record) -> None:
        """Take in a decision that was stored."""
        self.records[record.number] = record
        self.units[record.unit, record.occasion] = record.number
        if record.waiting:
            heapq.heappush(self.open, (record.due or 0, record.number))

    def forget(self) -> None:
        """Keep what every decision needs, and drop what belongs to single ones."""
        for collection in (self.records, self.units, self.keys, self.answers, self.makers, self.open, self.leases):
            collection.clear()
        self.horizon = None
        self.changes = Changes()
        self.rollup.forget(self.decisions + 1)
        if self.epochs is not None:
            self.epochs.forget(self.decisions)

    def _decided(self, event: Decided) -> None:
        space, known = self.design.space, event.outcome is not None
        x, z = space.contexts.index(event.context), space.proposals.index(event.proposal)
        record = Record(
            number=event.number,
            unit=event.unit,
            occasion=event.occasion,
            context=x,
            proposal=z,
            at=event.at,
            due=event.due,
            sequence=self.sequence,
            implemented=UNSEEN if event.implemented is None else space.implemented.index(event.implemented),
            outcome=UNSEEN if event.outcome is None else space.outcome.code(event.outcome),
            missing_implemented="implemented" in event.missing,
            missing_outcome="outcome" in event.missing,
            counted=known and event.due is None,
            covariates=kept(space, event.covariates),
        )
        self._created(record)
        self.makers[event.number] = Maker(event.by, event.site, event.lease)
        if event.lease is not None:
            used = self.leases[event.lease]
            self._held(replace(used, taken=used.taken + 1))
            self.taking = self.taking[0] + 1, self.taking[1]
        elif event.software is None:
            self.tally.fallbacks += 1
            who = event.by or ""
            self.draws[who] = self.draws.get(who, ClientDraws.none(len(space.proposals))).plus(z, event.at)
        best = event.probability if event.best is None else event.best
        self.rollup.add(event.number, x, z, event.probability, best, event.at)

    def _taken_over(self, event: TakenOver) -> None:
        """Like a decision with what was reported of it. The time series has what was drawn here alone."""
        space, known = self.design.space, event.outcome is not None
        record = Record(
            number=event.number,
            unit=event.unit,
            occasion=event.occasion,
            context=space.contexts.index(event.context),
            proposal=space.proposals.index(event.proposal),
            at=event.at if event.decided is None else event.decided,
            due=event.due,
            sequence=self.sequence,
            implemented=UNSEEN if event.implemented is None else space.implemented.index(event.implemented),
            outcome=UNSEEN if event.outcome is None else space.outcome.code(event.outcome),
            counted=known and (event.due is None or event.at >= event.due),
            covariates=kept(space, event.covariates),
        )
        self._created(record)
        self.makers[event.number] = Maker(event.by, event.site, None)
        self.tally.past += 1

    def _created(self, record: Record) -> None:
        """A new decision, with what came with it."""
        self.decisions = record.number
        self.changes.created.add(record.number)
        self.changes.records[record.number] = record
        self.remember(record)
        self._count(record, 1)
        self.tally.missing_implemented += record.missing_implemented
        self.tally.missing_outcome += record.missing_outcome
        self.tally.waiting += record.waiting
        if record.informs:
            self.version = self.sequence

    def _held(self, lease: LeaseRecord) -> None:
        """Another state of a lease."""
        number = lease.lease.number
        self.leases[number] = lease
        self.changes.leases.add(number)

    def _reported(self, event: Reported) -> None:
        before, space, stands = self.records[event.decision], self.design.space, event.stands or {}
        known: dict[str, Any] = {}
        if "implemented" in stands:
            pass
        elif event.implemented is not None:
            known |= {"implemented": space.implemented.index(event.implemented), "missing_implemented": False}
        elif "implemented" in event.missing:
            known |= {"implemented": UNSEEN, "missing_implemented": True}
        if "outcome" in stands:
            pass
        elif event.outcome is not None:
            counted = before.counted or before.due is None or event.at >= before.due
            known |= {"outcome": space.outcome.code(event.outcome), "missing_outcome": False, "counted": counted}
        elif "outcome" in event.missing:
            known |= {"outcome": UNSEEN, "missing_outcome": True, "counted": False}
        if event.covariates is not None and "covariates" not in stands:
            known["covariates"] = amended(space, before.covariates, event.covariates)
        after = before._replace(**known)
        self.tally.corrections += event.before is not None
        self.tally.disputes += event.stands is not None
        self._move(before, after)

    def _closed(self, event: Closed) -> None:
        for number in event.decisions:
            record = self.records[number]
            self._move(record, record._replace(counted=True))

    def _move(self, before: Record, after: Record) -> None:
        """Another state of one decision."""
        self.records[after.number] = self.changes.records[after.number] = after
        self.tally.missing_implemented += after.missing_implemented - before.missing_implemented
        self.tally.missing_outcome += after.missing_outcome - before.missing_outcome
        self.tally.waiting += after.waiting - before.waiting
        if after.waiting and not before.waiting:
            heapq.heappush(self.open, (after.due or 0, after.number))
        if after.cell != before.cell or after.covariates != before.covariates:
            self._count(before, -1)
            self._count(after, 1)
            if before.informs or after.informs:
                self.version = self.sequence

    def _count(self, record: Record, sign: int) -> None:
        """Add to the evidence what a decision adds as far as it is known, or take it away."""
        space, (x, z, a, outcome) = self.design.space, record.cell
        for slot, amount in space.outcome.parts(outcome):
            cell = (x, z, a, slot)
            self.counts[cell] += sign * amount
            self.changes.cells.add(cell)
            if self.epochs is not None:
                self.epochs.add(record.number, cell, sign * amount)
        features = features_of(space, record.covariates)
        if features is not None:
            assert space.sums is not None
            amounts = sign * space.sums.amounts(np.asarray(outcome), features)
            self.counts[x, z, a, space.outcome.width : UNSEEN] += amounts
            self.changes.sums.add((x, z, a))
            if self.epochs is not None:
                self.epochs.add_sums(record.number, (x, z, a), amounts)

    def _begin_epochs(self) -> None:
        epochs = self.design.epochs
        self.epochs = None if epochs is None else EpochCounts(epochs)


def decision_number(event: Event) -> int | None:
    """The one decision that an event is about."""
    return getattr(event, "number", None) or getattr(event, "decision", None)


def blank(design: Design) -> IntArray:
    """An empty table of evidence that may be written to."""
    return np.zeros(design.space.table, dtype=np.int64)
