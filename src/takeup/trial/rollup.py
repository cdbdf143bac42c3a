"""Time series of bounded size: what pages show of a trial's course, and what the sample-ratio check needs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

BUCKETS = 128
"""At most this many points; where there would be more, neighbours merge and a point covers twice as many decisions."""


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
        step: how many decisions a bucket covers.
        rows: by (bucket, context).
        changed: the rows that differ from what was loaded.
        merged: whether all rows were replaced.
    """

    step: int = 1
    rows: dict[tuple[int, int], Row] = field(default_factory=dict)
    changed: set[tuple[int, int]] = field(default_factory=set)
    merged: bool = False

    def bucket(self, number: int) -> int:
        """Where decision `number`, counted from 1, belongs."""
        return (number - 1) // self.step

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
        while self.bucket(number) >= BUCKETS:
            self._double()
        place = (self.bucket(number), context)
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
        """Keep the bucket of the next decision, and drop the others."""
        bucket = self.bucket(number)
        self.rows = {place: row for place, row in self.rows.items() if place[0] == bucket}
        self.changed, self.merged = set(), False

    def _double(self) -> None:
        """Merge neighbours; needs all rows."""
        rows: dict[tuple[int, int], Row] = {}
        for bucket, context in sorted(self.rows):
            row, place = self.rows[bucket, context], (bucket // 2, context)
            if place in rows:
                rows[place].merge(row)
            else:
                rows[place] = row
        self.step, self.rows, self.changed, self.merged = 2 * self.step, rows, set(rows), True
