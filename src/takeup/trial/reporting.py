"""Reporting what became of a decision."""

from dataclasses import dataclass

from takeup import checks
from takeup.errors import InputError, NotFoundError, ReusedKeyError
from takeup.trial import steps
from takeup.trial.book import Book
from takeup.trial.commands import MOST_NAME, MOST_REASON, Keyed, Needs
from takeup.trial.design import text
from takeup.trial.events import Keyed as KeyedEvent
from takeup.trial.events import Reported

MOST_NUMBER = 2**53


@dataclass(frozen=True, slots=True)
class Receipt:
    """That a report is in the log.

    Attributes:
        sequence: where.
        decision: the decision it is about.
        corrected: what it replaced.
    """

    sequence: int
    decision: int
    corrected: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Keyed[Receipt]):
    """What became of a decision: the action, the outcome or both, or what will never be known of them.

    Attributes:
        decision: its number, or None where `unit` says which.
        unit: the unit of the decision, instead of its number.
        occasion: and its occasion.
        implemented: a.
        outcome: y.
        missing: "implemented", "outcome" or both: declared missing.
        reason: why, where it corrects what was reported before.
    """

    decision: int | None = None
    unit: str | None = None
    occasion: str | None = None
    implemented: str | int | None = None
    outcome: str | int | None = None
    missing: tuple[str, ...] = ()
    reason: str | None = None

    def __post_init__(self) -> None:
        Keyed.__post_init__(self)
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
        return [*where, self.implemented, self.outcome, sorted(set(self.missing)), self.reason]

    @property
    def needs(self) -> Needs:
        """The key and the decision."""
        if self.decision is not None:
            return Needs(self.key, numbers=(self.decision,))
        return Needs(self.key, ((self.unit or "", self.occasion or ""),))

    def _act(self, book: Book, at: int) -> Receipt:
        event = steps.reported(
            book,
            decision=self._number(book),
            implemented=self.implemented,
            outcome=self.outcome,
            missing=self.missing,
            reason=self.reason,
            **self._event(at),
        )
        entry = book.append(event)
        return self._answer(book, event, entry.sequence)

    def _number(self, book: Book) -> int:
        if self.decision is not None:
            return self.decision
        number = book.units.get((self.unit or "", self.occasion or ""))
        if number is None:
            raise NotFoundError(f"trial {book.trial} has no decision for unit {self.unit!r}, occasion {self.occasion}")
        return number

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> Receipt:
        if not isinstance(event, Reported):
            raise ReusedKeyError(self.key or "")
        return Receipt(sequence, event.decision, tuple(event.before or ()))
