"""A live trial in Python: the same thing that the service offers, without HTTP."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any, TypeVar

from sqlalchemy import Connection

from takeup import checks
from takeup.errors import InputError
from takeup.evidence import Evidence
from takeup.frames.columns import Frame
from takeup.live import export as exporting
from takeup.live.anchors import Anchor
from takeup.live.auditing import Audit, audit
from takeup.live.in_memory import check_database
from takeup.live.learning import learnt_of
from takeup.live.learnt import Learnt
from takeup.live.log import log_of
from takeup.live.model_checks import Withheld
from takeup.live.past import Past
from takeup.live.progress import Progress, progress_of
from takeup.live.summary import TrialSummary, summary_of
from takeup.live.tally import tally_of
from takeup.live.time_series import TimeSeries, time_series_of
from takeup.live.trial_run import TriedSpec, tried
from takeup.log import Log
from takeup.outcomes import Plain
from takeup.specfile import SpecError
from takeup.store import Store, Witness, now, reading
from takeup.store.reading import Logged
from takeup.trial import spec as specs
from takeup.trial.commands import Ask, Command, Decide, DecideMany, Decision, asks
from takeup.trial.design import Design
from takeup.trial.fallbacks import Fallback
from takeup.trial.formats import Format
from takeup.trial.ingested import Ingested
from takeup.trial.ingesting import Batch
from takeup.trial.leases import Lease
from takeup.trial.leasing import Lend, Revoke
from takeup.trial.past import TakeOver
from takeup.trial.reporting import Receipt, Report
from takeup.trial.secret import Secret
from takeup.trial.spec import TrialSpec
from takeup.trial.steering import Amend, Move, Tick

LOG = logging.getLogger("takeup.live")

Reply = TypeVar("Reply")
Spec = TrialSpec | Mapping[str, Any] | str | Path | TriedSpec
"""A spec: a value, a mapping, the path of a TOML or JSON file, or one that has passed its trial run already."""

_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


class Trial:
    """A trial in a database. Every method returns after what it did is on the disk; any number of threads may call.

    Use `Trial.create` and `Trial.open`; a trial that opened its database itself closes it with `close`, or at the end
    of a `with` block.
    """

    def __init__(self, store: Store, trial: str, *, owner: bool = False) -> None:
        self.store = store
        self.id = trial
        self._owner = owner

    @classmethod
    def create(
        cls,
        database: str | Path | Store,
        spec: Spec,
        *,
        trial: str | None = None,
        by: str | None = None,
        clock: Callable[[], int] = now,
        witness: Witness | None = None,
        past: "Past | Frame | None" = None,
    ) -> "Trial":
        """A new trial, in draft.

        Args:
            database: a URL, a file's path or an open store.
            spec: what the trial is.
            trial: its identifier; made from its name where left out.
            by: who creates it.
            clock: what time it is, in microseconds since 1970, UTC.
            witness: who is told of every committed head, such as `takeup.live.Anchors`.
            past: those who were assigned before, where it takes over a running trial: a table whose columns are called
                unit, assigned, outcome and, where there, as `takeup.live.Past` calls them; or a `Past`, which says what
                they are called. All of them are taken over with the trial's creation, or there is no trial.
        """
        checked = _tried(spec)
        taken = None if past is None else TakeOver(past=Past.of(past).assignments(checked.design), by=by)
        identifier = _slug(checked.design.spec.name) if trial is None else trial
        if not _IDENTIFIER.fullmatch(identifier):
            raise InputError("trial", repr(identifier), "up to 64 small letters, digits and hyphens")
        store, owner = _opened(database, clock, witness)
        made = cls(store, identifier, owner=owner)
        try:
            made.store.create(identifier, checked.design, Secret.new(checked.seed), by, taken).result()
        except BaseException:
            made.close()
            raise
        return made

    @classmethod
    def open(
        cls,
        database: str | Path | Store,
        trial: str | None = None,
        *,
        clock: Callable[[], int] = now,
        witness: Witness | None = None,
    ) -> "Trial":
        """A trial that exists; which one may be left out where the database holds one."""
        store, owner = _opened(database, clock, witness)
        opened = cls(store, trial or "", owner=owner)
        try:
            opened.id = opened.store.read(lambda connection: reading.named(connection, trial))
        except BaseException:
            opened.close()
            raise
        return opened

    def close(self) -> None:
        """Close the database, if it was opened for this trial alone."""
        if self._owner:
            self.store.close()

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, command: Command[Reply]) -> "Future[Reply]":
        """Hand in a command without waiting; the reply comes after the commit."""
        return self.store.submit(self.id, command)

    def decide(
        self,
        unit: str,
        context: str | int | None = None,
        *,
        occasion: str | None = None,
        covariates: Mapping[str, Any] | None = None,
        key: str | None = None,
        by: str | None = None,
    ) -> Decision:
        """What to propose to a unit. Asked twice for the same unit and occasion, it gives the same answer.

        Args:
            unit: who it is for.
            context: which of the trial's contexts the unit is in; may be left out where there is one.
            occasion: which of the unit's decisions, where a unit has many.
            covariates: the value of each by name, where the trial has some; None where it is missing.
            key: an idempotency key.
            by: who asks.

        Raises:
            StateError: the trial is not running.
            ConflictError: the key was used for something else, or the unit was decided in another context, or has other
                covariates.
            InputError: a covariate that there is not, one that was left out, or a value that is not allowed.
        """
        ask = Ask(unit=unit, context=context, occasion=occasion, covariates=covariates)
        return self.submit(Decide(ask=ask, key=key, by=by)).result()

    def decide_many(
        self, units: Sequence[str | Mapping[str, Any] | Ask], *, key: str | None = None, by: str | None = None
    ) -> tuple[Decision, ...]:
        """What to propose to many units, who all see the same evidence: all are decided, or none.

        Args:
            units: names, or mappings with unit, context, occasion and covariates.
            key: an idempotency key for all of them.
            by: who asks.
        """
        return self.submit(DecideMany(units=asks(units), key=key, by=by)).result()

    def fallback(
        self,
        unit: str,
        proposal: str | int,
        context: str | int | None = None,
        *,
        occasion: str | None = None,
        covariates: Mapping[str, Any] | None = None,
        drawn: int | None = None,
        key: str | None = None,
        by: str | None = None,
    ) -> Decision:
        """Record a proposal that a client drew from the spec's fallback probabilities; a standing decision wins.

        Takes what `decide` takes, what was drawn, and when, in microseconds since 1970, UTC.

        Raises:
            StateError: it comes later, or there are more of them, than the spec's `fallback_limits` allow.
        """
        ask = Ask(unit=unit, context=context, occasion=occasion, covariates=covariates)
        return self.submit(Fallback(ask=ask, proposal=proposal, drawn=drawn, key=key, by=by)).result()

    def report(
        self,
        decision: Decision | int | None = None,
        *,
        unit: str | None = None,
        occasion: str | None = None,
        implemented: str | int | None = None,
        outcome: Plain | None = None,
        missing: Sequence[str] = (),
        covariates: Mapping[str, Any] | None = None,
        reason: str | None = None,
        key: str | None = None,
        by: str | None = None,
    ) -> Receipt:
        """Tell what became of a decision: the action, the outcome or both, in any order, at any time.

        Args:
            decision: the decision or its number; or else `unit` and `occasion` say which.
            unit: whose decision it is.
            occasion: which of the unit's.
            implemented: a, the action.
            outcome: y: the outcome level, a number, or a table such as {"time": 90, "censored": True}.
            missing: "implemented", "outcome" or both, where they will never be known.
            covariates: those that are not what was said before the decision, by name; what was proposed stays.
            reason: why, where something that was reported before is corrected; the log keeps both.
            key: an idempotency key.
            by: who reports.

        Raises:
            ConflictError: it contradicts an earlier report and gives no reason.
            NotFoundError: there is no such decision.
        """
        if isinstance(missing, str):
            raise InputError("missing", repr(missing), 'a list of "implemented" and "outcome"')
        number = decision.number if isinstance(decision, Decision) else decision
        if isinstance(decision, Decision) and decision.trial != self.id:
            raise InputError("decision", f"one of trial {decision.trial}", f"one of trial {self.id}")
        report = Report(
            decision=number,
            unit=unit,
            occasion=occasion,
            implemented=implemented,
            outcome=outcome,
            missing=tuple(missing),
            covariates=covariates,
            reason=reason,
            key=key,
            by=by,
        )
        return self.submit(report).result()

    def take_over(self, past: "Past | Frame", *, key: str | None = None, by: str | None = None) -> int:
        """Take over those who were assigned before into a draft, as `create` does; how many there are.

        Args:
            past: as `create` takes it.
            key: an idempotency key.
            by: who does.

        Raises:
            StateError: the trial is no draft any more.
            ConflictError: it has taken over others already.
        """
        rows = Past.of(past).assignments(self.design)
        return self.submit(TakeOver(past=rows, key=key, by=by)).result()

    def lease(self, *, key: str | None = None, by: str | None = None) -> Lease:
        """What a client may decide from by itself for a while, where the spec's `[edge]` allows it.

        Args:
            key: an idempotency key; asked again under it, the answer is the same lease.
            by: who will decide from it.

        Raises:
            StateError: the trial allows no leases, or is not running.
        """
        return self.submit(Lend(key=key, by=by)).result()

    def revoke(self, lease: int, *, reason: str | None = None, by: str | None = None) -> int:
        """Let nothing stand that is drawn under a lease from now on; what was drawn before does. The lease's number.

        Raises:
            NotFoundError: there is no such lease.
        """
        return self.submit(Revoke(lease=lease, reason=reason, by=by)).result()

    def ingest(self, batch: str, rows: Iterable[Mapping[str, Any]], *, by: str | None = None) -> Ingested:
        """Record what clients decided from leases, and what became of it; a row that cannot be never stops the others.

        A row that decides has `unit`, `occasion` where a unit has many, `context` where there are several, `proposal`,
        `lease` (its number), `drawn` (when, in microseconds since 1970, UTC), and may have `implemented`, `outcome` and
        `missing` at once. A row without `lease` reports: it has `unit`, `occasion`, and `implemented`, `outcome`,
        `missing` and `reason`, as `report` takes them.

        Args:
            batch: what its sender calls it; the same batch sent again has no second effect, and goes on where it broke
                off.
            rows: at most 100,000 of them.
            by: who sends them.

        Raises:
            ConflictError: another batch was sent under this name.
            InputError: too many rows, or something that is no row.
        """
        sent = Batch.of(batch, rows, by)
        found = self.store.read(lambda connection: sent.begun(reading.answers(connection, self.id, sent.keys)))
        while found.taken < found.rows:
            found = found.plus(self.submit(sent.chunk(found.taken)).result())
        return found

    def start(self, *, reason: str | None = None, by: str | None = None) -> str:
        """Begin to decide, or go on after a pause; from then on the spec cannot change."""
        return self.submit(Move(state="running", reason=reason, by=by)).result()

    def pause(self, *, reason: str | None = None, by: str | None = None) -> str:
        """Make no decisions for a while; reports are still taken."""
        return self.submit(Move(state="paused", reason=reason, by=by)).result()

    def stop(self, *, reason: str | None = None, by: str | None = None) -> str:
        """Make no more decisions; reports are still taken, and the log shows the seed."""
        return self.submit(Move(state="stopped", reason=reason, by=by)).result()

    def amend(self, spec: Spec, *, by: str | None = None) -> str:
        """Another spec for a draft; its seed stays."""
        checked = _tried(spec)
        if checked.seed is not None:
            raise InputError("seed", "one", "none: a trial keeps the seed that it was created with")
        return self.submit(Amend(design=checked.design, by=by)).result()

    def tick(self) -> int:
        """Let outcomes in whose window has closed by now; any other request does so too. The evidence's version."""
        return self.submit(Tick()).result()

    @property
    def design(self) -> Design:
        """What the spec says; it never holds the seed."""
        return self.store.read(lambda connection: Design.of_text(reading.head(connection, self.id).spec))

    @property
    def state(self) -> str:
        """Draft, running, paused or stopped."""
        return self.store.read(lambda connection: str(reading.head(connection, self.id).state))

    def progress(self) -> Progress:
        """How the trial is getting on, without a word about any arm."""
        at = self.store.clock()
        return self.store.read(lambda connection: progress_in(connection, self.id, at))

    def summary(self) -> TrialSummary:
        """What the trial has found so far; unblinds."""
        at = self.store.clock()
        book, late = self.store.read(
            lambda connection: (reading.snapshot(connection, self.id), reading.late(connection, self.id, at))
        )
        return summary_of(book, late)

    def evidence(self) -> Evidence:
        """The table of counts that the policy learns from; unblinds."""
        book = self.store.read(lambda connection: reading.snapshot(connection, self.id, time_series=False))
        return Evidence(book.design.space, book.counts)

    def course(self) -> TimeSeries:
        """Allocation and probability best over time; unblinds."""
        return time_series_of(self.store.read(lambda connection: reading.snapshot(connection, self.id)))

    def learnt(self) -> Learnt | Withheld:
        """What the policy has learnt about whom, as it believes, by covariate; or why there is nothing; unblinds."""

        def look(connection: Connection) -> Learnt | Withheld:
            book = reading.snapshot(connection, self.id, time_series=False)
            return learnt_of(book, tally_of(connection, self.id, book.design))

        return self.store.read(look)

    def log(self) -> Log:
        """Every decision with what it was drawn from, and what became of it when: what an analysis needs; unblinds."""
        return self.store.read(lambda connection: log_of(connection, self.id, self.store.clock()))

    def events(
        self,
        *,
        after: int = 0,
        limit: int = 100,
        decision: int | None = None,
        kind: str | None = None,
        backwards: bool = False,
    ) -> list[Logged]:
        """A part of the log of events, as it is stored; unblinds."""
        limit = checks.whole("limit", limit, least=1)

        def look(connection: Connection) -> list[Logged]:
            found = reading.log(
                connection, self.id, after=after, limit=limit, decision=decision, kind=kind, backwards=backwards
            )
            return list(found)

        return self.store.read(look)

    def export(
        self,
        file: str | Path | IO[bytes],
        format: Format | None = None,  # noqa: A002  # the word that people use
        *,
        blinded: bool = False,
    ) -> None:
        """Write a row a decision to a path or a binary file.

        Args:
            file: where to; the name's ending says which format: .csv, .parquet, .jsonl, .json or .xlsx.
            format: one of them, whatever the name; for a file without one csv where left out.
            blinded: leave out arms, outcomes and probabilities, and when and how often these were reported.
        """
        at = self.store.clock()
        self.store.read(lambda connection: exporting.export(connection, self.id, file, format, at=at, blinded=blinded))

    def audit(self, anchors: Sequence[Anchor] | None = None, *, at_rest: bool = False) -> Audit:
        """Derive everything again from the log, and compare; see `takeup.live.auditing`."""
        return self.store.read(lambda connection: audit(connection, self.id, anchors, at_rest=at_rest))


def trials(store: Store) -> list[Progress]:
    """How every trial of a database is getting on."""
    at = store.clock()

    return store.read(lambda connection: progress_of_all(connection, reading.identifiers(connection), at))


def progress_of_all(connection: Connection, names: Iterable[str], at: int) -> list[Progress]:
    """The same of these trials; one that cannot be read, say as its policy is not installed, is logged and left out."""
    found = []
    for name in names:
        try:
            found.append(progress_in(connection, name, at))
        except SpecError as error:
            LOG.error("trial %s cannot be read: %s", name, error)
    return found


def progress_in(connection: Connection, trial: str, at: int) -> Progress:
    """How a trial is getting on, as a connection sees it."""
    return progress_of(reading.snapshot(connection, trial, time_series=False), reading.late(connection, trial, at))


def _tried(spec: Spec) -> TriedSpec:
    if isinstance(spec, TriedSpec):
        return spec
    if isinstance(spec, str | Path):
        return tried(specs.load(spec), Path(spec).name)
    return tried(spec)


def _opened(database: str | Path | Store, clock: Callable[[], int], witness: Witness | None) -> tuple[Store, bool]:
    """A store, and whether it was opened here."""
    if isinstance(database, Store):
        return database, False
    check_database("database", database)
    return Store(database, clock=clock, witness=witness), True


def _slug(name: str) -> str:
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")[:64].strip("-") or "trial"
