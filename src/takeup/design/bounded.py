"""The bounded reading: what a promise about those who refuse is worth, in units.

The readings by what was proposed and by what was taken are the ends of one family, whose members are weighted sums of
the means of the cells with a bias that is known at its worst (`takeup.policies.bounded_reading` has the promise, the
estimate and the bias). Which of them needs the fewest units is a small convex program with an exact solution,
see docs/theory.md: bias-aware intervals, Armstrong & Kolesár (2018).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from takeup import checks
from takeup.analysis.shortest import Moves
from takeup.checks import FloatArray
from takeup.design.cells import Cells
from takeup.design.plan import Plan
from takeup.design.sizes import Goal, Size
from takeup.errors import InputError
from takeup.policies.bounded_reading import BoundedReading
from takeup.trial.rules import BoundedTable, MovedTable

USUAL = 0.975
"""The threshold that weights are chosen for where a plan has none for superiority."""
POWER = 0.8
"""The power that they are chosen for."""
DIGITS = 9
"""With how many digits they are written down."""


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A bounded reading that was chosen before the trial, and what it takes.

    Attributes:
        cells: what was expected.
        bound: Δ[a], what was promised for each action.
        moved: moved[z, a], the weight that goes from the control's cell to that of z, of the least size. With two
            proposals and a control that all take the estimate is c T + (1 - c - λ) R - (1 - λ) Z, λ = -moved[1, 0].
        one: which proposal is compared with the control, the first row.
        goal: error, power and sides.
        allocation: the share of the units that is offered each proposal.
    """

    cells: Cells
    bound: FloatArray
    moved: FloatArray
    one: int
    goal: Goal
    allocation: tuple[float, ...]

    @property
    def weights(self) -> FloatArray:
        """W[z, a], of the means of the cells."""
        found = self.cells.against_control(self.one) + self.moved
        found[0] -= self.moved.sum(axis=0)
        return found

    @property
    def bias(self) -> float:
        """The largest bias that the promise allows."""
        return float((self._reach * self.bound).sum())

    @property
    def size(self) -> Size:
        """How many units all proposals need together."""
        need, left = self.goal.critical + self.goal.margin, abs(self.cells.effect(self.one)) - self.bias
        return Size(self._variance * (need / left) ** 2, self.allocation)

    def error(self, difference: float, units: float | None = None) -> float:
        """The probability of a false alarm, one-sided, where groups differ by this much in truth.

        Args:
            difference: with any one action, between groups that differ in what they take, towards a false alarm.
            units: of all proposals; as many as `size` says where left out.
        """
        deviation = np.sqrt(self._variance / (units or self.size.units))
        excess = float((self._reach * (difference - self.bound)).sum())
        return float(ndtr(excess / deviation - self.goal.critical))

    def power(self, units: float) -> float:
        """The probability that an effect as expected is found, where groups do not differ."""
        deviation = np.sqrt(self._variance / units)
        return float(ndtr((abs(self.cells.effect(self.one)) - self.bias) / deviation - self.goal.critical))

    def reading(self) -> BoundedReading:
        """To read data by, with the first proposal as the control."""
        proposals = len(self.moved)
        moved = np.zeros((proposals, proposals, *self.moved.shape))
        moved[self.one, 0], moved[0, self.one] = self.moved, -self.moved
        return BoundedReading(self.bound, 0, moved)

    @property
    def _reach(self) -> FloatArray:
        """What a difference of 1 between groups does to the estimate, by action."""
        return np.asarray((np.abs(self.moved) * self.cells.apart).sum(axis=0))

    @property
    def _variance(self) -> float:
        return self.cells.variance(self.weights, np.asarray(self.allocation))


def bounded(
    cells: Cells, bound: ArrayLike, *, one: int = 1, goal: Goal = Goal(), allocation: ArrayLike | None = None
) -> Bounded:
    """The reading of the least size under a promise.

    All cells are used: where there are several treatments, those who refuse one say something about all.

    Args:
        cells: what is expected; the first proposal is the control.
        bound: Δ, by how much groups may differ, one number or one for each action.
        one: which proposal is compared with the control.
        goal: error, power and sides, and of two proposals the shares.
        allocation: the share of the units that is offered each proposal; even where left out and there are several.
    """
    proposals, actions = cells.share.shape
    checks.whole("one", one, 1, proposals - 1)
    promised = np.broadcast_to(checks.real("bound", bound), actions)
    if (promised < 0).any():
        raise InputError("bound", bound, "a number of at least 0")
    effect = cells.effect(one)
    if effect == 0:
        raise InputError("mean", cells.mean.tolist(), "means by which the two proposals differ in value")
    even = goal.allocation if proposals == 2 else np.full(proposals, 1 / proposals)
    share = checks.probabilities("allocation", even if allocation is None else allocation)
    checks.shaped("allocation", share, (proposals,), "proposal")
    moved = moves(cells, cells.against_control(one), promised, share).least_ratio(abs(effect))
    return Bounded(cells, promised, moved, one, goal, tuple(map(float, share)))


def moves(cells: Cells, base: FloatArray, bound: FloatArray, allocation: FloatArray, deviations: float = 1.0) -> Moves:
    """How weight may be moved from `base`, where so many deviations of a single unit's share count as the error."""
    units = cells.share * allocation[:, np.newaxis]
    error = np.where(units > 0, cells.sd / np.sqrt(np.where(units > 0, units, 1.0)), 0.0)
    return Moves.of(base, deviations * error, bound * cells.apart, units > 0)


def reading_of(plan: Plan) -> BoundedReading:
    """The bounded reading of a plan that has one: with the weights that it says, or else those that are chosen."""
    if not isinstance(plan.reading, BoundedTable) or plan.rules.control is None:
        raise InputError("stopping.reading", plan.reading, "a bounded reading, and a control")
    table = _chosen(plan, plan.reading, plan.rules.control) if plan.reading.moved is None else plan.reading
    return table.read(plan.space, plan.rules.control)


def with_reading(plan: Plan) -> Plan:
    """The plan with the weights of its bounded reading written down, as a live trial needs them.

    A plan that says them already, or reads otherwise, is returned as it is.
    """
    if not isinstance(plan.reading, BoundedTable) or plan.reading.moved is not None or plan.rules.control is None:
        return plan
    chosen = _chosen(plan, plan.reading, plan.rules.control).model_dump()
    return plan.changed(stopping={**plan.content["stopping"], "reading": chosen})


def _chosen(plan: Plan, promise: BoundedTable, control: int) -> BoundedTable:
    """The weights of a plan that says none.

    For every two proposals the interval is the shortest at the last look, at the compliance and the outcomes of the
    first scenario in which something is to be found, where as many are offered each as at the start, at the threshold
    for superiority and 80 % power. Other truths change how short it is, not that it holds. Weight is moved among the
    two and the control alone: a third proposal may be dropped early.
    """
    space, bound = plan.space, np.full(len(plan.space.implemented), promise.bounded)
    truths = sorted(plan.scenarios.values(), key=lambda each: each.role == "null")
    last = USUAL if plan.rules.superiority is None else float(plan.rules.superiority[-1])
    deviations = float(ndtri(max(last, 0.5)) + ndtri(POWER)) / np.sqrt(plan.looks.at[-1])
    even, moved = np.asarray(plan.design.even), []
    for one in range(len(space.proposals)):
        for other in range(one):
            rows = [control, *(z for z in (one, other) if z != control)]
            cells = Cells.of_environment(truths[0].environment, rows)
            base = np.zeros(cells.share.shape)
            base[rows.index(one)] += cells.share[rows.index(one)]
            base[rows.index(other)] -= cells.share[rows.index(other)]
            found = moves(cells, base, bound, even[rows], deviations).shortest().round(DIGITS)
            moved += [
                MovedTable(
                    one=space.proposals[one],
                    other=space.proposals[other],
                    proposed=space.proposals[rows[z]],
                    implemented=space.implemented[a],
                    weight=float(found[z, a]),
                )
                for z, a in np.argwhere(found != 0)
            ]
    return promise.model_copy(update={"moved": moved})
