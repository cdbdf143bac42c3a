"""Ingestion: what clients decided from leases comes back in batches, exactly once, whatever is sent twice.

A batch is taken in chunks, a transaction each, so that others have their turn; the log says how far it got. The same
batch sent again goes on from there.
"""

from dataclasses import dataclass, replace

MOST_ROWS = 100_000
"""How many rows a batch may have."""
MOST_TOLD = 100
"""How many rows that were not recorded a reply tells of."""


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
    """

    batch: str
    rows: int
    taken: int = 0
    recorded: int = 0
    standing: int = 0
    set_aside: int = 0
    reported: int = 0
    refused: tuple[tuple[int, str], ...] = ()

    @property
    def unrecorded(self) -> int:
        """How many rows of those that were taken say nothing that could be recorded."""
        return self.taken - self.recorded - self.standing - self.set_aside - self.reported

    def plus(self, chunk: "Ingested") -> "Ingested":
        """With the chunk that follows."""
        return replace(
            chunk,
            recorded=self.recorded + chunk.recorded,
            standing=self.standing + chunk.standing,
            set_aside=self.set_aside + chunk.set_aside,
            reported=self.reported + chunk.reported,
            refused=(*self.refused, *chunk.refused)[:MOST_TOLD],
        )
