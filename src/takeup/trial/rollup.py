"""Time series that hardly grow: what pages show of a trial's course, and what the sample-ratio check needs.

The first decisions have buckets of their own; later ones share them, by twos, by fours and so on, as the trial grows.
A bucket is never touched again when it is full: whoever reads merges the old, fine ones, so that nobody who writes has
to. There are 64 more of them each time that a trial doubles.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

BUCKETS = 128
"""At most this many points are shown; all cover as many decisions as the last bucket."""


def step_of(number: int) -> int:
    """How many decisions share a bucket with decision `number`, counted from 1."""
    return 1 << ((number - 1) // BUCKETS).bit_length()


def first_of(number: int, step: int | None = None) -> int:
    """The first decision of its bucket, or of the one that it would be in with buckets of this size."""
    size = step or step_of(number)
    return (number - 1) // size * size + 1


@dataclass(slots=True)
class Row:
    """The decisions of one bucket in one context. Lists have an entry for each proposal z.

    Attributes:
        proposed: how often z was proposed.
        probability: Σ p[z], of the probabilities that were drawn from.
        variance: Σ p[z] (1 - p[z]), what chance alone adds to `proposed`.
        best: Σ P(z is best).
        until: when the last of them was decided.
    """

    proposed: list[int]
    probability: list[float]
    variance: list[float]
    best: list[float]
    until: int

    @classmethod
    def empty(cls, proposals: int) -> "Row":
        """No decisions."""
        return cls([0] * proposals, [0.0] * proposals, [0.0] * proposals, [0.0] * proposals, 0)

    def merge(self, later: "Row") -> None:
        """Take in the bucket that follows."""
        for mine, others in (
            (self.probability, later.probability),
            (self.variance, later.variance),
            (self.best, later.best),
        ):
            mine[:] = [a + b for a, b in zip(mine, others, strict=True)]
        self.proposed = [a + b for a, b in zip(self.proposed, later.proposed, strict=True)]
        self.until = max(self.until, later.until)


@dataclass(slots=True)
class Rollup:
    """The rows of a trial, or those that the next decisions touch.

    Attributes:
        rows: by (first decision of the bucket, context).
        changed: the rows that differ from what was loaded.
    """

    rows: dict[tuple[int, int], Row] = field(default_factory=dict)
    changed: set[tuple[int, int]] = field(default_factory=set)

    def add(
        self,
        number: int,
        context: int,
        proposal: int,
        probability: Sequence[float],
        best: Sequence[float],
        at: int,
    ) -> None:
        """Take in one decision."""
        place = (first_of(number), context)
        row = self.rows.get(place)
        if row is None:
            row = self.rows[place] = Row.empty(len(probability))
        row.proposed[proposal] += 1
        for z, p in enumerate(probability):
            row.probability[z] += p
            row.variance[z] += p * (1 - p)
            row.best[z] += best[z]
        row.until = at
        self.changed.add(place)

    def forget(self, number: int) -> None:
        """Keep the bucket of decision `number`, the next one, and drop the others."""
        first = first_of(number)
        self.rows = {place: row for place, row in self.rows.items() if place[0] == first}
        self.changed = set()
