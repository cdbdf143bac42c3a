"""What a client drew under a lease, as an event: a decision, or set aside with the reason."""

from typing import NamedTuple, Unpack

from takeup.outcomes import Plain
from takeup.trial.book import Book
from takeup.trial.design import MICROSECONDS
from takeup.trial.events import Decided, SetAside, Stamp
from takeup.trial.fallbacks import SKEW
from takeup.trial.lease_records import LeaseRecord
from takeup.trial.leases import Lease
from takeup.trial.spec import duration

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
    why = HAS_DECISION if standing is not None else why_not(book, draw, stamp["at"])
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
            missing=draw.missing,
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


class Until(NamedTuple):
    """Until when a draw under a lease stands, and why a later one does not."""

    last: int
    why: str


def first_drawn(lease: Lease) -> int:
    """From when on a draw under a lease stands: a clock may have been behind when it was given."""
    return lease.issued - SKEW


def ends_of(held: LeaseRecord, at: int, within: int | None) -> list[Until]:
    """Until when draws under a lease stand that come at this time, in the order in which reasons are told.

    They may come late, as a client that cannot reach anybody keeps them; and not forever, as the seed of a trial that
    is stopped is no secret any more.
    """
    found = [Until(at + SKEW, TO_COME), Until(held.lease.expires, EXPIRED)]
    if held.revoked is not None:
        found.append(Until(held.revoked - 1, REVOKED))
    if within is not None and at > held.lease.expires + within * MICROSECONDS:
        found.append(Until(-1, f"it came more than {duration(within)} after the lease had expired"))
    return found


def why_not(book: Book, draw: EdgeDraw, at: int) -> str | None:
    """Why a draw does not stand that comes at this time; None where it does."""
    held = book.leases.get(draw.lease)
    if held is None:
        return NO_LEASE
    lease = held.lease
    if not draw.names(lease):
        return OTHER_LEASE
    if draw.drawn < first_drawn(lease):
        return EARLY
    for last, why in ends_of(held, at, book.design.spec.edge.within):
        if draw.drawn > last:
            return why
    if held.taken >= lease.most:
        return FULL
    if lease.draw(draw.unit, draw.occasion, draw.context) != draw.proposal:
        return OTHER
    return None
