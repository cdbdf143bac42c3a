"""The family of sums that a bounded reading is one of: weight is moved between cells of one action, as far as it pays.

Nothing moved is intention to treat; where a promise is Δ = 0 compliance and outcomes are read apart, as TS-Obs does.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from takeup.analysis.cell_scores import CellScores, cell_scores
from takeup.analysis.cell_sums import Summed, deviations, summed
from takeup.analysis.mean_intervals import Intervals, intervals
from takeup.analysis.shortest import Moves
from takeup.analysis.targets import Target, outcome
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.log import Log
from takeup.policies.bounded_reading import FEWEST, apart, most
from takeup.space import Label, Space

HEAVIEST = 0.06
"""Where one decision could count for a larger part of all, means of scores are far from normal: no interval."""


@dataclass(frozen=True, slots=True, eq=False)
class BoundedInterval:
    """What a promise leaves of a comparison; leading axes are trials side by side.

    Attributes:
        value: the estimate of v_one - v_other.
        bias: the largest that the promise allows.
        error: the standard error of the estimate.
        ends: of the interval of what the estimate is expected to be, bias and all.
        moved: the weight that goes from the control's cells to those of each row, (.., z, a).
    """

    value: FloatArray
    bias: FloatArray
    error: FloatArray
    ends: tuple[FloatArray, FloatArray]
    moved: FloatArray

    @property
    def low(self) -> FloatArray:
        """The lower end."""
        return self.ends[0] - self.bias

    @property
    def high(self) -> FloatArray:
        """The upper end."""
        return self.ends[1] + self.bias


@dataclass(frozen=True, eq=False)
class Compared:
    """Two proposals of a log, to be read under one promise after another.

    Attributes:
        cells: what there is to put together.
        one: which row is compared.
        other: with which row.
        apart: d[.., z, a], how far the groups that do a under z and under the control can be apart, of Δ.
    """

    cells: CellScores
    one: int
    other: int
    apart: FloatArray

    @classmethod
    def of(
        cls, log: Log, one: Label, other: Label, control: Label | None, of: Target | None, more: Iterable[int] = ()
    ) -> "Compared":
        """Two proposals, by index or name, and the control that weight is moved from: `other` where there is none."""
        space = log.space
        first, second = (space.index("proposal", each) for each in (one, other))
        if first == second:
            raise InputError("other", repr(other), "another proposal than the one that is compared with it")
        hub = second if control is None else space.index("proposal", control)
        rows = tuple(dict.fromkeys((hub, first, second, *more)))
        cells = cell_scores(log, outcome(space) if of is None else of, rows)
        return cls(cells, rows.index(first), rows.index(second), _apart(cells.share, rows, space))

    def within(self, bound: FloatArray, level: float, moved: FloatArray | None = None) -> BoundedInterval:
        """What a promise leaves.

        Args:
            bound: Δ[a].
            level: of the interval.
            moved: the weight that was planned, (z, a); the shortest interval's where there was no plan. Of what was
                planned no more is moved than lets two cells vary least together.
        """
        if moved is None:
            moved = self._shortest(bound, level)
        else:
            limit = most(self.cells.units, self.cells.offered, 0)
            limit = np.where(self._free, limit, 0.0)
            moved = np.clip(moved, -limit, limit)
        bias = np.asarray((np.abs(moved) * self.apart * bound).sum(axis=(-2, -1)))
        between = np.zeros(len(self.cells.rows))
        between[self.one], between[self.other] = 1.0, -1.0
        found = summed(self.cells, between, from_control(moved), level)
        return BoundedInterval(found.value, bias, found.error, self._as_offered(found, moved, level), moved)

    def _as_offered(self, found: Summed, moved: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        """The ends of an interval: where nothing is moved those of intention to treat itself."""
        still = ~moved.any(axis=(-2, -1))
        if not still.any():
            return found.low, found.high
        if level not in self._offered:
            pair = self.cells.rows[self.other], self.cells.rows[self.one]
            self._offered[level] = intervals(self.cells.whole, pair, "difference", level=level)
        offered = self._offered[level]
        return np.where(still, offered.low, found.low), np.where(still, offered.high, found.high)

    def moves(self, bound: FloatArray, level: float, trial: tuple[int, ...] = ()) -> Moves:
        """How weight may be moved in one of the trials.

        What decides is who does what, with which probabilities things were proposed, and how outcomes of an action vary
        whatever was proposed: not how those fared who were offered one thing or the other.
        """
        cells, many = self.cells, deviations(level)
        share, units = cells.share[trial], cells.units[trial]
        error = np.where(units > 0, self._spread[trial] / np.sqrt(np.where(units > 0, units, 1.0)), 0.0)
        base = np.zeros(share.shape)
        base[self.one], base[self.other] = share[self.one], -share[self.other]
        rest = np.sqrt(self._between[trial][[self.one, self.other]].sum())
        return Moves.of(base, many * error, bound * self.apart[trial], self._free[trial], many * rest)

    @cached_property
    def _offered(self) -> dict[float, Intervals]:
        """Intention to treat by level, which is the same under every promise."""
        return {}

    @cached_property
    def _spread(self) -> FloatArray:
        """The standard deviation of the outcomes of those who do a, within cells, (.., 1, a)."""
        counts, variance = self.cells.counts, self.cells.variance(self.cells.rate)
        total = (variance * counts).sum(axis=-2, keepdims=True)
        return np.asarray(np.sqrt(total / np.maximum(counts.sum(axis=-2, keepdims=True), 1)))

    @cached_property
    def _between(self) -> FloatArray:
        """What the means of a proposal's cells vary around its own, over the units that tell of it, (.., z)."""
        centre = self.cells.value[..., np.newaxis]
        around = (self.cells.share * (self.cells.mean - centre) ** 2).sum(axis=-1)
        return np.asarray(around / self.cells.offered)

    def contrast(self, space: Space) -> str:
        """Of which proposals, in words."""
        one, other = (space.proposals[self.cells.rows[row]] for row in (self.one, self.other))
        return f"{one} - {other}"

    def withheld(self, space: Space) -> str:
        """Why a single trial has no interval to be relied upon; empty where it has."""
        cells = self.cells
        for row in (self.one, self.other):
            if (many := int(cells.counts[row].sum())) < FEWEST:
                name = space.proposals[cells.rows[row]]
                return f"of {many} decisions with {name} it is known what was taken and what came of it"
        if cells.heaviest > HEAVIEST * cells.n:
            few = HEAVIEST * cells.n < len(space.proposals)  # with equal probabilities, too
            why = "there are so few decisions" if few else "a proposal was so improbable at times"
            return (
                f"{why} that one of {cells.n} decisions could count for"
                f" {min(float(cells.heaviest / cells.n), 1.0):.0%} of all; an interval needs {HEAVIEST:.0%} at most"
            )
        return ""

    @property
    def _free(self) -> NDArray[np.bool_]:
        return (self.cells.counts >= FEWEST) & (self.cells.share > 0)

    def _shortest(self, bound: FloatArray, level: float) -> FloatArray:
        moved = np.zeros(self.apart.shape)
        for trial in np.ndindex(moved.shape[:-2]):
            moved[trial] = self.moves(bound, level, trial).shortest()
        return moved


def from_control(moved: FloatArray) -> FloatArray:
    """The weights of all cells where these are moved to them from those of the control, the first row."""
    weight = moved.copy()
    weight[..., 0, :] -= moved.sum(axis=-2)
    return weight


def _apart(share: FloatArray, rows: tuple[int, ...], space: Space) -> FloatArray:
    """d[.., z, a]: of the larger of two groups that do a, how many may be other people than the smaller.

    Where a is what one of the two proposals asks for, nobody does the opposite of what he is told, and the smaller
    group is part of the larger. Nothing says so of other actions: who refuses one drug need not refuse another. There
    no more are in both than must be, as shares sum to one.
    """
    nested = apart(share, 0)
    same = share[..., :1, :]
    larger = np.maximum(share, same)
    loose = 1 - np.maximum(share + same - 1, 0.0) / np.where(larger > 0, larger, 1.0)
    loose[..., 0, :] = 0.0
    asked = np.zeros(share.shape[-2:], dtype=bool)
    if space.intended is not None:
        for row, z in enumerate(rows):
            asked[row, [space.intended[z], space.intended[rows[0]]]] = True
    return np.where(asked, nested, loose * (larger > 0))
