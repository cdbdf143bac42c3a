"""The tipping point: how far takers and refusers may differ before a conclusion falls, and what the data say of that.

Everything here is about the effect of *offering* one thing and not another, as intention to treat is; a promise about
those who refuse makes it surer. For each promise Δ there is the shortest interval that it allows, from Δ = 0, which
reads compliance and outcomes apart, to intention to treat. The data do not say which is right, but they say something:
the groups that do a under two proposals differ by no more than the part of the larger one that is not in the smaller,
times Δ. With a control that all take, (Z - R) / c estimates by how much takers and refusers differ without the
treatment. A Δ below what they show at the interval's level is contradicted.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from takeup import checks
from takeup.analysis.bounded import bound_of
from takeup.analysis.bounded_family import Compared, from_control
from takeup.analysis.cell_sums import Summed, summed
from takeup.analysis.estimate import Estimate
from takeup.analysis.targets import Target
from takeup.errors import InputError
from takeup.log import Log
from takeup.space import Label, Space

POINTS = 25
"""Into how many steps promises are divided where none are given."""
BEYOND = 1.1
"""How far these go, of the promise from which on nothing is better than intention to treat."""
HALVINGS = 20
"""How often the promise at which a conclusion falls is looked for between two points."""


@dataclass(frozen=True, slots=True)
class TippingPoint:
    """What one promise leaves.

    Attributes:
        promise: Δ.
        value: the estimate.
        low: the lower end of its interval.
        high: the upper end.
        bias: the largest that the promise allows.
        error: the standard error.
        contradicted: whether the data show that groups differ by more than that.
    """

    promise: float
    value: float
    low: float
    high: float
    bias: float
    error: float
    contradicted: bool

    @property
    def conclusion(self) -> int:
        """1 where the one has the higher mean for sure, -1 where the other has, else 0."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True, slots=True)
class Difference:
    """What the data say of Δ, with one action: of who does it only if offered one thing, less who does it anyway.

    Attributes:
        action: what both do.
        only: the proposal under which more do it.
        whatever: the proposal under which fewer do it.
        value: the estimate of the difference.
        low: the lower end of its interval.
        high: the upper end.
    """

    action: str
    only: str
    whatever: str
    value: float
    low: float
    high: float

    @property
    def least(self) -> float:
        """The least difference in size that the interval holds."""
        return max(0.0, self.low, -self.high)


@dataclass(frozen=True, slots=True)
class Tipping:
    """Estimate and interval over what may be promised.

    Attributes:
        space: what was offered, and what came of it.
        one: which proposal is compared.
        other: with which one.
        level: of each interval; together those of `differences` have it, too.
        points: by promise, from the least; none where intervals are withheld.
        falls_at: the least promise at which the conclusion of Δ = 0 does not hold; None where it holds at every one,
            0 where there is none to begin with.
        differences: what the data say of Δ, for each two groups that can be compared.
        withheld: why there are no intervals; empty where there are.
        alike: what is concluded if takers and refusers are alike: 1 where the one has the higher mean for sure, -1
            where the other has, else 0.
        unpromised: the same by intention to treat, as `takeup.analysis.effect` has it of the same decisions.
        missing: of how many what was taken, or what came of it, is not known.
        n: of how many both are.
        offered: intention to treat as it is shown beside it, of all whose outcome is known; None where nothing is.
    """

    space: Space
    one: int
    other: int
    level: float
    points: tuple[TippingPoint, ...]
    falls_at: float | None
    differences: tuple[Difference, ...]
    withheld: str = ""
    alike: int = 0
    unpromised: int = 0
    missing: int = 0
    n: int = 0
    offered: Estimate | None = None

    @property
    def contrast(self) -> str:
        """Of which proposals, in words."""
        return f"{self.space.proposals[self.one]} - {self.space.proposals[self.other]}"

    @property
    def least_promise(self) -> float:
        """What the data show: a promise below this is contradicted."""
        return max((each.least for each in self.differences), default=0.0)

    def sentences(self) -> tuple[str, ...]:
        """What it says, for people."""
        from takeup.analysis.tipping_words import sentences

        return sentences(self)

    def leading(self) -> tuple[str, ...]:
        """The same in short, to stand beside the answer."""
        from takeup.analysis.tipping_words import leading

        return leading(self)

    def records(self) -> list[dict[str, Any]]:
        """The points, for a chart."""
        return [asdict(point) for point in self.points]

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "contrast": self.contrast,
            "level": self.level,
            "points": self.records(),
            "falls_at": self.falls_at,
            "differences": [asdict(each) for each in self.differences],
            "least_promise": self.least_promise,
            "withheld": self.withheld or None,
        }


def tipping(
    log: Log,
    one: Label,
    other: Label,
    promises: Sequence[float] | None = None,
    *,
    level: float = 0.95,
    control: Label | None = None,
    of: Target | None = None,
) -> Tipping:
    """What is left of the difference between two proposals over what may be promised of takers and refusers.

    Args:
        log: a single trial, in which what was taken is known.
        one: a proposal, by name or index.
        other: what it is compared with.
        promises: each Δ, from 0 on; where left out from 0 to a little beyond where it is intention to treat.
        level: of the intervals.
        control: the proposal that weight is moved from and to; `other` where left out.
        of: what outcomes are worth; the outcome in its own units where left out.
    """
    checks.share("level", level)
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial")
    compared, space = Compared.of(log, one, other, control, of), log.space
    pair = compared.cells.rows[compared.one], compared.cells.rows[compared.other]
    missing, n = int(compared.cells.missing), int(compared.cells.n)
    if reason := compared.withheld(space):
        return Tipping(space, *pair, level, (), None, (), reason, missing=missing, n=n)
    shown = _differences(compared, level, space)
    least = max((each.least for each in shown), default=0.0)

    def point(promise: float) -> TippingPoint:
        found = compared.within(bound_of(space, promise), level)
        return TippingPoint(
            float(promise),
            float(found.value),
            float(found.low),
            float(found.high),
            float(found.bias),
            float(found.error),
            bool(promise < least),
        )

    if promises is None:
        top = BEYOND * max(compared.moves(bound_of(space, 1.0), level).enough(), least)
        given = np.linspace(0.0, top, POINTS + 1) if top > 0 else np.zeros(1)
    else:
        given = np.unique(checks.real("promises", promises))
    points = tuple(point(promise) for promise in given)
    start = points[0] if given[0] == 0 else point(0.0)
    plain = compared.within(bound_of(space, 0.0), level, np.zeros(compared.apart.shape))
    unpromised = int(plain.low > 0) - int(plain.high < 0)
    falls_at = _falls_at((start, *points), point)
    return Tipping(space, *pair, level, points, falls_at, shown, "", start.conclusion, unpromised, missing, n)


def _falls_at(points: Sequence[TippingPoint], point: Callable[[float], TippingPoint]) -> float | None:
    """The least promise at which the conclusion of the first point does not hold."""
    first = points[0].conclusion
    if first == 0:
        return 0.0
    after = next((place for place, each in enumerate(points) if each.conclusion != first), None)
    if after is None:
        return None
    low, high = points[after - 1].promise, points[after].promise
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if point(middle).conclusion == first else (low, middle)
    return high


def difference(compared: Compared, z: int, a: int, level: float) -> Summed:
    """By how much the groups differ that do a under row z and under the control; leading axes are trials side by side.

    It is the larger group less the smaller, over the part of the larger one that is not in the smaller.
    """
    share, moved = compared.cells.share, np.zeros(compared.apart.shape)
    fewer = share[..., 0, a] >= share[..., z, a]
    moved[..., z, a] = np.where(fewer, -1.0, 1.0) / np.maximum(compared.apart[..., z, a], np.finfo(np.float64).tiny)
    return summed(compared.cells, np.zeros(share.shape[-2]), from_control(moved), level)


def _differences(compared: Compared, level: float, space: Space) -> tuple[Difference, ...]:
    """What the data say of Δ; intervals hold together, each with its part of what the level leaves."""
    cells, found = compared.cells, []
    moves = compared.moves(bound_of(space, 1.0), level)
    places = [(z, a) for z, a in moves.places.tolist() if compared.apart[z, a] > 0]
    for z, a in places:
        larger, smaller = (0, z) if cells.share[0, a] >= cells.share[z, a] else (z, 0)
        told = difference(compared, z, a, 1 - (1 - level) / len(places))
        only, whatever = (space.proposals[cells.rows[row]] for row in (larger, smaller))
        value, low, high = (float(each) for each in (told.value, told.low, told.high))
        found.append(Difference(space.implemented[a], only, whatever, value, low, high))
    return tuple(found)
