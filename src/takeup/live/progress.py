"""How a trial is getting on, without a word about any arm: what a blinded reader may see."""

from dataclasses import dataclass, replace

from takeup.evidence import Evidence
from takeup.space import UNSEEN
from takeup.trial.book import Book

WITHHELD = "withheld"


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of a trial.

    Attributes:
        trial: its identifier.
        name: what people call it.
        state: draft, running, paused or stopped.
        at: when its last event happened, in microseconds since 1970, UTC.
        sequence: how many events its log has.
        hash: the last one's; withheld from blinded readers.
        version: the sequence number of the last event that moved the evidence; withheld from blinded readers.
        decisions: how many there are.
        contexts: how many in each context.
        compliance_seen: decisions whose implemented action is known.
        compliance_missing: declared missing.
        compliance_pending: neither; zero where the spec says that compliance is never reported.
        outcomes_counted: decisions whose outcome is in the evidence.
        outcomes_waiting: with an outcome whose window is still open.
        outcomes_missing: declared missing.
        outcomes_pending: none of these.
        outcomes_late: those of the pending ones whose window has closed.
        corrections: reports that corrected an earlier one; withheld from blinded readers.
        disputes: reports that contradicted an earlier one without a reason, and changed nothing; likewise.
        fallbacks: decisions that clients drew when they could not reach the service.
        fallbacks_by: how many each of them recorded.
        rehearsal: whether it is no real trial.
        past: decisions from before the trial came to takeup.
    """

    trial: str
    name: str
    state: str
    at: int
    sequence: int
    hash: str
    version: int | None
    decisions: int
    contexts: dict[str, int]
    compliance_seen: int
    compliance_missing: int
    compliance_pending: int
    outcomes_counted: int
    outcomes_waiting: int
    outcomes_missing: int
    outcomes_pending: int
    outcomes_late: int
    corrections: int | None
    disputes: int | None
    fallbacks: int
    fallbacks_by: dict[str, int]
    rehearsal: bool
    past: int

    @property
    def over(self) -> bool:
        """Whether nothing more is to come: it has stopped, and waits for no outcome but those that are late."""
        return self.state == "stopped" and not self.outcomes_waiting and self.outcomes_pending == self.outcomes_late

    @property
    def blinded(self) -> "Progress":
        """The same for blinded readers: without what would tell them whether a report agreed with an earlier one."""
        return replace(self, hash=WITHHELD, version=None, corrections=None, disputes=None)


def progress_of(book: Book, late: int) -> Progress:
    """The progress that a book shows."""
    tally, spec = book.tally, book.design.spec
    decisions = Evidence(book.design.space, book.counts).decisions
    unseen = int(decisions[..., UNSEEN].sum())
    uncounted = int(book.counts[..., UNSEEN].sum())
    return Progress(
        trial=book.trial,
        name=spec.name,
        state=book.state,
        at=book.at,
        sequence=book.sequence,
        hash=book.hash,
        version=book.version,
        decisions=book.decisions,
        contexts=dict(zip(book.design.space.contexts, decisions.sum(axis=(1, 2)).tolist(), strict=True)),
        compliance_seen=book.decisions - unseen,
        compliance_missing=tally.missing_implemented,
        compliance_pending=0 if spec.compliance == "never" else unseen - tally.missing_implemented,
        outcomes_counted=book.decisions - uncounted,
        outcomes_waiting=tally.waiting,
        outcomes_missing=tally.missing_outcome,
        outcomes_pending=uncounted - tally.waiting - tally.missing_outcome,
        outcomes_late=late,
        corrections=tally.corrections,
        disputes=tally.disputes,
        fallbacks=tally.fallbacks,
        fallbacks_by={by: sum(each.proposals) for by, each in book.draws.items()},
        rehearsal=spec.rehearsal,
        past=tally.past,
    )
