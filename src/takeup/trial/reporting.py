"""Reporting what became of a decision."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from takeup import checks
from takeup.errors import NOTHING, ConflictError, InputError, NotFoundError, ReusedKeyError
from takeup.outcomes import Plain
from takeup.space import UNSEEN
from takeup.trial.book import Book, Maker, Record
from takeup.trial.bounds import text
from takeup.trial.commands import MOST_NAME, MOST_REASON, KeyedCommand, Needs
from takeup.trial.design import Design
from takeup.trial.events import KeyedEvent, Reported, Stamp
from takeup.trial.met import amended, plain, values_of

MOST_NUMBER = 2**53


@dataclass(frozen=True, slots=True)
class Receipt:
    """That a report is in the log.

    Attributes:
        sequence: where.
        decision: the decision it is about.
        corrected: what it replaced; always empty for those who report blinded.
    """

    sequence: int
    decision: int
    corrected: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(KeyedCommand[Receipt]):
    """What became of a decision: the action, the outcome or both, or what will never be known of them.

    Attributes:
        decision: its number, or None where `unit` says which.
        unit: the unit of the decision, instead of its number.
        occasion: and its occasion.
        implemented: a.
        outcome: y: a label or its index, a number, or a table such as {"time": 90, "censored": true}.
        missing: "implemented", "outcome" or both: declared missing.
        covariates: those that are not what was said before the decision, by name; the proposal stays what it was.
        reason: why, where it corrects what was reported before; from the blinded, what contradicts it without a
            reason is logged and changes nothing.
    """

    decision: int | None = None
    unit: str | None = None
    occasion: str | None = None
    implemented: str | int | None = None
    outcome: Plain | None = None
    missing: tuple[str, ...] = ()
    reason: str | None = None
    covariates: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        KeyedCommand.__post_init__(self)
        object.__setattr__(self, "covariates", plain(self.covariates))
        if (self.decision is None) == (self.unit is None):
            raise InputError("decision", repr(self.decision), "either a decision's number or its unit")
        if self.decision is not None and checks.whole("decision", self.decision, least=1) > MOST_NUMBER:
            raise InputError("decision", self.decision, f"at most {MOST_NUMBER}")
        for name, value, most in (
            ("unit", self.unit, MOST_NAME),
            ("occasion", self.occasion, MOST_NAME),
            ("reason", self.reason, MOST_REASON),
        ):
            if value is not None:
                text(name, value, most)

    @property
    def asked(self) -> object:
        """All that is said."""
        where = [self.decision, self.unit, self.occasion]
        said = [*where, self.implemented, self.outcome, sorted(set(self.missing)), self.reason]
        return said if self.covariates is None else [*said, self.covariates]

    @property
    def needs(self) -> Needs:
        """The key and the decision."""
        if self.decision is not None:
            return Needs(self.key, numbers=(self.decision,))
        return Needs(self.key, ((self.unit or "", self.occasion or ""),))

    def _act(self, book: Book, at: int) -> Receipt:
        event = reported_event(
            book,
            self._number(book),
            implemented=self.implemented,
            outcome=self.outcome,
            missing=self.missing,
            covariates=self.covariates,
            reason=self.reason,
            disputing=self.blinded,
            **self._stamp(at),
        )
        entry = book.append(event)
        return self._answer(book, event, entry.sequence)

    def _owns(self, event: KeyedEvent | Maker) -> bool:
        """Sites share decisions, not what became of them: whoever else could test guesses under a report's key."""
        return not self.blinded or (self.by is not None and self.by == event.by)

    def _number(self, book: Book) -> int:
        if self.decision is not None:
            return self.decision
        number = book.units.get((self.unit or "", self.occasion or ""))
        if number is None:
            which = "" if self.occasion is None else f", occasion {self.occasion!r}"
            raise NotFoundError(f"trial {book.trial} has no decision for unit {self.unit!r}{which}")
        return number

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> Receipt:
        if not isinstance(event, Reported):
            raise ReusedKeyError(self.key or "")
        return Receipt(sequence, event.decision, () if self.blinded else tuple(event.before or ()))


def reported_event(
    book: Book,
    decision: int,
    *,
    implemented: str | int | None,
    outcome: Plain | None,
    missing: tuple[str, ...],
    covariates: Mapping[str, Any] | None,
    reason: str | None,
    disputing: bool,
    **stamp: Unpack[Stamp],
) -> Reported:
    """What became of a decision; what contradicts an earlier report needs a reason.

    Without one it is refused, or `disputing` is logged: what was known stands, and the rest of the report counts.
    """
    record = book.records.get(decision)
    if record is None:
        raise NotFoundError(f"trial {book.trial} has no decision {decision}; it has made {book.decisions}")
    labels = labels_of(book.design, implemented, outcome, missing, said=covariates is not None)
    differing: dict[str, Any] = {name: old for name, (old, new) in known_of(book, record, labels).items() if old != new}
    now = None
    if covariates is not None:
        before, after = (values_of(each) for each in (record.covariates, _amended(book, record, covariates)))
        now = {name: after[name] for name in covariates}
        others = {name: before[name] for name in now if before[name] != now[name]}
        differing |= {"covariates": others} if others else {}
    if differing and reason is None and not disputing:
        name, old = next(iter(differing.items()))
        if name == "covariates":
            name, old = next(iter(old.items()))
        said = "declared missing" if old is None else f"reported as {old!r}"
        raise ConflictError(f"{name} of decision {decision} was {said}; a correction needs a reason")
    return Reported(
        **stamp,
        decision=decision,
        implemented=None if implemented is None else str(labels["implemented"]),
        outcome=labels.get("outcome"),
        missing=tuple(sorted(set(missing))),
        reason=reason,
        before=None if reason is None else differing or None,
        stands=(differing or None) if reason is None else None,
        covariates=now,
    )


def _amended(book: Book, record: Record, covariates: Mapping[str, Any]) -> str | None:
    if not covariates:
        raise InputError("covariates", "{}", "the values of those that are not what was said, by name")
    return amended(book.design.space, record.covariates, covariates)


def labels_of(
    design: Design, implemented: str | int | None, outcome: Plain | None, missing: tuple[str, ...], *, said: bool
) -> dict[str, Plain | None]:
    """What is reported, by name; None for what is declared missing; it may be nothing where covariates are `said`."""
    labels = dict[str, Plain | None]()
    for name in missing:
        if name not in ("implemented", "outcome"):
            raise InputError("missing", repr(name), "implemented or outcome")
        labels[name] = None
    for name, value in (("implemented", implemented), ("outcome", outcome)):
        if value is not None and name in labels:
            raise InputError(name, repr(value), f"either a value or missing, not both for {name}")
    if implemented is not None:
        labels["implemented"] = design.space.implemented[design.index("implemented", implemented)]
    if outcome is not None:
        kind = design.space.outcome
        labels["outcome"] = kind.plain(kind.code(outcome))
    if not labels and not said:
        words = "the report is empty: give implemented or outcome, or name in missing what will never be known"
        raise InputError("report", NOTHING, "implemented, outcome, or the names of what is missing", words=words)
    if "implemented" in labels and design.spec.compliance == "never":
        raise InputError("implemented", repr(implemented), "nothing: the spec says that compliance is never reported")
    return labels


def known_of(
    book: Book, record: Record, labels: dict[str, Plain | None]
) -> dict[str, tuple[Plain | None, Plain | None]]:
    """Old and new, for what is reported now and has been before."""
    space, known = book.design.space, dict[str, tuple[Plain | None, Plain | None]]()
    if "implemented" in labels and (record.implemented != UNSEEN or record.missing_implemented):
        old = None if record.missing_implemented else space.implemented[record.implemented]
        known["implemented"] = (old, labels["implemented"])
    if "outcome" in labels and (record.outcome != UNSEEN or record.missing_outcome):
        before = None if record.missing_outcome else space.outcome.plain(record.outcome)
        known["outcome"] = (before, labels["outcome"])
    return known
