"""What became of a batch of what clients decided: the service's answer, which they read."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from takeup.trial.events import TakenIn

MOST_TOLD = 100
"""How many rows that were not recorded a reply tells of, and how many leases."""
SET_ASIDE = "set aside: "
"""What stands before the reason where a draw does not stand."""


class Lapse(NamedTuple):
    """What was drawn from a lease at this time or later is set aside: nobody should go by it any more.

    Attributes:
        lease: the lease's number.
        lease_hash: its fingerprint, as the rows said it.
        drawn: when the first of them was drawn.
    """

    lease: int
    lease_hash: str | None
    drawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of a batch, or of a chunk of it.

    Attributes:
        batch: what its sender calls it.
        rows: how many rows it has.
        taken: how many of them have been taken, from the first on.
        recorded: decisions that are in the log now.
        standing: rows that say what the log says already.
        set_aside: decisions that do not stand: the log has them, and why.
        reported: reports of decisions that were there.
        refused: the first of those that were not recorded, by their place in the batch, counted from 0, and why: those
            that were set aside, and those that say nothing that could be recorded.
        lapsed: the first leases of which draws were set aside. Draws for units that have another decision do not count.
    """

    batch: str
    rows: int
    taken: int = 0
    recorded: int = 0
    standing: int = 0
    set_aside: int = 0
    reported: int = 0
    refused: tuple[tuple[int, str], ...] = ()
    lapsed: tuple[Lapse, ...] = ()

    @property
    def unrecorded(self) -> int:
        """How many rows of those that were taken say nothing that could be recorded."""
        return self.taken - self.recorded - self.standing - self.set_aside - self.reported

    @classmethod
    def of(cls, event: TakenIn) -> "Ingested":
        """What became of the rows that an event is about."""
        return cls(
            batch=event.batch,
            rows=event.rows,
            taken=event.taken,
            recorded=event.recorded,
            standing=event.standing,
            set_aside=event.set_aside,
            reported=event.reported,
            refused=tuple((place, why) for place, why in event.refused),
            lapsed=tuple(Lapse(*each) for each in event.lapsed),
        )

    def plus(self, chunk: "Ingested") -> "Ingested":
        """With the chunk that follows."""
        return replace(
            chunk,
            recorded=self.recorded + chunk.recorded,
            standing=self.standing + chunk.standing,
            set_aside=self.set_aside + chunk.set_aside,
            reported=self.reported + chunk.reported,
            refused=(*self.refused, *chunk.refused)[:MOST_TOLD],
            lapsed=first_of_each((*self.lapsed, *chunk.lapsed)),
        )


def first_of_each(lapses: Iterable[Lapse]) -> tuple[Lapse, ...]:
    """Each lease once, with the first draw."""
    first: dict[tuple[int, str | None], int] = {}
    for lease, lease_hash, drawn in lapses:
        if (lease, lease_hash) in first or len(first) < MOST_TOLD:
            first[lease, lease_hash] = min(drawn, first.get((lease, lease_hash), drawn))
    return tuple(Lapse(*which, drawn) for which, drawn in first.items())
