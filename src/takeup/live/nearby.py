"""Who was near: how many decisions were made about units with about such a value, and where those are few."""

from collections.abc import Iterator, Sequence

import numpy as np

from takeup.checks import IntArray
from takeup.covariates import Covariate, Measure
from takeup.covariates.kinds import Value
from takeup.live.learnt import LearntPoint, Stretch
from takeup.live.tally import Counts
from takeup.outcomes.grid import grid

FEW_NEAR = 10
"""Where fewer decisions were made under either proposal, what is believed is what the model assumes."""
NEAR = 1 / 20
"""How far from a value, in parts of a measure's scale, a decision is near."""


def near(kind: Covariate, value: Value, counts: Counts, proposals: int) -> IntArray:
    """How many decisions near a value had each proposal."""
    found = np.zeros(proposals, dtype=np.int64)
    if not isinstance(kind, Measure) or value is None:
        return found + counts.get(value, 0)
    return found + sum(n for other, n in counts.items() if _apart(other, value) <= _reach(kind))


def nearest(values: Sequence[Value], counts: Counts) -> list[int]:
    """How many decisions belong to each value: its own, or those nearest to it; the lower of two."""
    found = [0] * len(values)
    for value, many in counts.items():
        place = values.index(value) if value in values else int(np.argmin([_apart(value, each) for each in values]))
        found[place] += int(many.sum())
    return found


def stretches(
    kind: Covariate, proposals: Sequence[str], points: Sequence[LearntPoint], counts: Counts
) -> Iterator[Stretch]:
    """The values in a row of a measure, and the levels one by one, where few were decided about."""
    for z, label in enumerate(proposals):
        scale = [point for point in points if isinstance(kind, Measure) and point.value is not None]
        sparse = [point.differences[z].sparse for point in scale]
        for first in (i for i, few in enumerate(sparse) if few and (i == 0 or not sparse[i - 1])):
            last = next((i for i in range(first, len(sparse)) if not sparse[i]), len(sparse)) - 1
            assert isinstance(kind, Measure)  # only that has a scale
            low, high = _ends(kind, scale[first].value, scale[last].value)
            inside = [n for value, n in counts.items() if isinstance(value, int | float) and low <= value <= high]
            decisions = int(sum(n[0] for n in inside)), int(sum(n[z + 1] for n in inside))
            yield Stretch(label, low, high, decisions, first == 0, last == len(sparse) - 1)
        for point in points[len(scale) :]:
            if point.differences[z].sparse:
                yield Stretch(label, point.value, point.value, point.differences[z].decisions)


def _ends(kind: Measure, first: Value, last: Value) -> tuple[int | float, int | float]:
    """From where to where it is told of values in a row; of a single one, all that is near."""
    assert isinstance(first, int | float)  # a value of a measure
    assert isinstance(last, int | float)  # another
    if first != last:
        return first, last
    points = grid(kind.low, kind.high, kind.step)
    steps, here = int(_reach(kind) / kind.step), points.index(first)
    return points.point(max(here - steps, 0)), points.point(min(here + steps, points.size - 1))


def _reach(kind: Measure) -> float:
    """How far away is still near."""
    return max(NEAR * (kind.high - kind.low), kind.step / 2) + 1e-9 * kind.step


def _apart(one: Value, other: Value) -> float:
    """How far apart two numbers are; what is none is near to none."""
    return abs(one - other) if isinstance(one, int | float) and isinstance(other, int | float) else np.inf
