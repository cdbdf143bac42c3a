"""What a client drew under a lease, as an event: a decision, or set aside with the reason."""

from typing import NamedTuple, Unpack

from takeup.outcomes import Plain
from takeup.trial.book import Book
from takeup.trial.events import Decided, SetAside, Stamp
from takeup.trial.fallbacks import SKEW
from takeup.trial.lease_records import LeaseRecord
from takeup.trial.leases import Lease

HAS_DECISION = "the unit has another decision, which stands"
NO_LEASE = "the trial has given no lease with this number"
OTHER_LEASE = (
    "it was drawn under another lease of this number, of another trial or of this one before a backup was restored;"
    " take another lease"
)
FULL = "as many decisions as the lease allows have been recorded"
EARLY = "it was drawn before the lease was given"
TO_COME = "it was drawn at a time to come"
EXPIRED = "it was drawn after the lease had expired; take another lease"
REVOKED = "it was drawn after the lease was revoked; take another lease"
OTHER = "the lease gives another proposal to this unit"


class EdgeDraw(NamedTuple):
    """What a client says that it drew, checked against the trial's space.

    Attributes:
        unit: who it is for.
        occasion: which of the unit's decisions; empty where a unit has one.
        context: x, an index.
        proposal: z, an index.
        lease: the lease's number.
        drawn: when, in microseconds since 1970, UTC.
        implemented: a, as a label, where that came with it.
        outcome: y, as a report has it; likewise.
        missing: what will never be known; likewise.
        lease_hash: the fingerprint of the lease, where the client says it.
    """

    unit: str
    occasion: str
    context: int
    proposal: int
    lease: int
    drawn: int
    implemented: str | None = None
    outcome: Plain | None = None
    missing: tuple[str, ...] = ()
    lease_hash: str | None = None

    def names(self, lease: Lease) -> bool:
        """Whether it can be this lease that it was drawn under."""
        return self.lease_hash in (None, lease.fingerprint)


def drawn_event(book: Book, draw: EdgeDraw, **stamp: Unpack[Stamp]) -> Decided | SetAside:
    """A decision that was drawn under a lease, with the lease's probabilities; set aside where it does not stand."""
    space, lease = book.design.space, book.leases.get(draw.lease)
    context, proposal = space.contexts[draw.context], space.proposals[draw.proposal]
    standing = book.units.get((draw.unit, draw.occasion))
    why = HAS_DECISION if standing is not None else why_not(lease, draw, stamp["at"])
    if why is not None or lease is None:
        return SetAside(
            **stamp,
            decision=standing,
            proposal=proposal,
            lease=draw.lease,
            lease_hash=draw.lease_hash,
            reason=why,
            unit=draw.unit,
            occasion=draw.occasion,
            context=context,
            drawn=draw.drawn,
            implemented=draw.implemented,
            outcome=draw.outcome,
        )
    probability, best, window = lease.probability[draw.context], lease.best[draw.context], book.design.window
    return Decided(
        **stamp,
        number=book.decisions + 1,
        unit=draw.unit,
        occasion=draw.occasion,
        context=context,
        proposal=proposal,
        probability=probability,
        best=None if best == probability else best,
        version=lease.lease.version,
        due=None if window is None else stamp["at"] + window,
        software=lease.software,
        drawn=draw.drawn,
        lease=draw.lease,
        implemented=draw.implemented,
        outcome=draw.outcome,
        missing=draw.missing,
    )


def why_not(held: LeaseRecord | None, draw: EdgeDraw, at: int) -> str | None:
    """Why a draw does not stand that comes at this time; None where it does.

    It may come at any time after it was drawn: a client that cannot reach anybody keeps it.
    """
    if held is None:
        return NO_LEASE
    lease = held.lease
    if not draw.names(lease):
        return OTHER_LEASE
    if draw.drawn < lease.issued - SKEW:
        return EARLY
    if draw.drawn > at + SKEW:
        return TO_COME
    if draw.drawn > lease.expires:
        return EXPIRED
    if held.revoked is not None and draw.drawn >= held.revoked:
        return REVOKED
    if held.taken >= lease.most:
        return FULL
    if lease.draw(draw.unit, draw.occasion, draw.context) != draw.proposal:
        return OTHER
    return None
