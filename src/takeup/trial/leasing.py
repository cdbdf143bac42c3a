"""Giving out leases, and taking them back."""

from dataclasses import dataclass, field
from typing import Unpack

from takeup.errors import AccessError, InputError, NotFoundError, ReusedKeyError, StateError
from takeup.trial.book import Book, Maker
from takeup.trial.bounds import text
from takeup.trial.commands import MOST_REASON, KeyedCommand, Needs
from takeup.trial.design import MICROSECONDS
from takeup.trial.events import KeyedEvent, Leased, Revoked, Stamp
from takeup.trial.lease_records import LeaseRecord
from takeup.trial.leases import Lease, digest_of
from takeup.trial.proposal import best_of, known_to, spread
from takeup.trial.software import software


@dataclass(frozen=True, slots=True, kw_only=True)
class Lend(KeyedCommand[Lease]):
    """Let a client decide by itself for a while."""

    @property
    def asked(self) -> object:
        """A lease is like another."""
        return []

    @property
    def needs(self) -> Needs:
        """The key."""
        return Needs(self.key)

    def _act(self, book: Book, at: int) -> Lease:
        book.append(leased_event(book, **self._stamp(at)))
        return book.leases[book.leased].lease

    def _owns(self, event: KeyedEvent | Maker) -> bool:
        """A lease is for whoever asked for it: others could foresee what they are proposed."""
        return self.by == event.by

    def _answer(self, book: Book, event: KeyedEvent, sequence: int) -> Lease:
        if not isinstance(event, Leased):
            raise ReusedKeyError(self.key or "")
        return LeaseRecord.of(book, event, sequence).lease


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoke:
    """Let nothing be drawn under a lease any more. Asked for again, it changes nothing.

    Attributes:
        lease: its number.
        reason: why.
        by: who asks.
        own: whether they may revoke what they asked for themselves alone.
    """

    lease: int
    reason: str | None = None
    by: str | None = None
    own: bool = False
    needs: Needs = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if type(self.lease) is not int or self.lease < 1:
            raise InputError("lease", repr(self.lease), "the number of a lease, counted from 1")
        if self.reason is not None:
            text("reason", self.reason, MOST_REASON)
        object.__setattr__(self, "needs", Needs(leases=(self.lease,)))

    def run(self, book: Book, at: int) -> int:
        """The lease's number.

        Raises:
            AccessError: it is somebody else's.
            NotFoundError: there is no such lease.
        """
        known = book.leases.get(self.lease)
        if known is not None and self.own and known.by != self.by:
            words = "a key with the scope lease revokes its own; one with the scope design revokes any"
            raise AccessError(f"lease {self.lease} of trial {book.trial} was given to somebody else; {words}")
        if known is None or known.revoked is None:
            book.append(revoked_event(book, self.lease, self.reason, at, self.by))
        return self.lease


def leased_event(book: Book, **stamp: Unpack[Stamp]) -> Leased:
    """The next lease: what the policy would propose now, in every context.

    Raises:
        StateError: the trial allows none, or does not run.
    """
    design = book.design
    if not design.spec.edge.allowed:
        words = "its spec has no [edge] with allowed = true; ask for decisions one by one, or make a trial that has"
        raise StateError(f"trial {book.trial} gives no leases: {words}")
    if book.state != "running":
        raise StateError(f"trial {book.trial} is {book.state}; leases are given while it is running")
    if design.refused is not None:
        words = "comes from a version that allowed its policy, and this one gives no leases from it"
        raise StateError(f"trial {book.trial} {words}: {design.refused}")
    number = book.decisions + 1
    counts, contexts = book.seen_by(number), range(len(design.space.contexts))
    best = tuple(best_of(design, book.secret, x, known_to(design, counts, x)) for x in contexts)
    even = number <= design.spec.burn_in
    probability = tuple(spread(design, None if even else each)[0] for each in best)
    return Leased(
        **stamp,
        lease=book.leased + 1,
        spec=digest_of(design.text),
        version=book.version,
        expires=stamp["at"] + design.spec.edge.seconds * MICROSECONDS,
        most=design.spec.edge.most,
        probability=probability,
        best=None if best == probability else best,
        software=software(design),
    )


def revoked_event(book: Book, lease: int, reason: str | None, at: int, by: str | None) -> Revoked:
    """The end of a lease that there is, and that was not revoked before."""
    known = book.leases.get(lease)
    if known is None:
        raise NotFoundError(f"trial {book.trial} has no lease {lease}; it has given {book.leased}")
    if known.revoked is not None:
        raise StateError(f"lease {lease} of trial {book.trial} has been revoked already")
    return Revoked(at=at, by=by, lease=lease, reason=reason)
