"""What a trial knows of a lease: what its event says, and what has become of it."""

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from takeup.trial.events import Leased
from takeup.trial.leases import GRAIN, Lease, key_of

if TYPE_CHECKING:
    from takeup.trial.book import Book

Vectors = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """A lease as far as it has been used.

    Attributes:
        lease: what its holder has.
        sequence: where the log says so.
        probability: what is drawn from, by context.
        best: the probability that each proposal is best, by context.
        software: what computed it.
        by: who asked for it.
        taken: how many decisions under it have been recorded.
        revoked: since when nothing may be drawn under it; None where it was not revoked.
    """

    lease: Lease
    sequence: int
    probability: Vectors
    best: Vectors
    software: str
    by: str | None = None
    taken: int = 0
    revoked: int | None = None

    @classmethod
    def of(
        cls, book: "Book", event: Leased, sequence: int, taken: int = 0, revoked: int | None = None
    ) -> "LeaseRecord":
        """Of an event of a book's log."""
        probability = _vectors(event.probability)
        best = probability if event.best is None else _vectors(event.best)
        space = book.design.space
        lease = Lease(
            trial=book.trial,
            number=event.lease,
            spec=event.spec,
            version=event.version,
            issued=event.at,
            expires=event.expires,
            most=event.most,
            key=key_of(book.secret.number, event.lease).hex(),
            contexts=tuple(space.contexts),
            proposals=tuple(space.proposals),
            ends=tuple(tuple(accumulate(int(p * GRAIN) for p in each)) for each in probability),
            many=book.design.spec.decisions == "many",
        )
        return cls(lease, sequence, probability, best, event.software, event.by, taken, revoked)


def _vectors(given: object) -> Vectors:
    """As values; a log has lists of lists."""
    assert isinstance(given, list | tuple)  # the event has them
    return tuple(tuple(each) for each in given)
