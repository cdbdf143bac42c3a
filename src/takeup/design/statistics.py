"""What is kept of the units of a trial, in whole numbers, and what is read off it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Conjugate
from takeup.design.plan import Plan
from takeup.outcomes import Count, Number, Time
from takeup.policies import TS
from takeup.policies.meeting import uses_covariates

MILLION = 1_000_000
PRIOR_UNITS = 2.0
"""How many units halfway between the least and the greatest worth stand beside those of a proposal with levels."""


class Statistic(Protocol):
    """A table of whole numbers for each proposal; shape (.., K, columns)."""

    @property
    def columns(self) -> int:
        """How many there are."""

    def units(self, table: IntArray) -> IntArray:
        """How many were randomised to each proposal; shape (.., K)."""

    def rewards(self, table: IntArray) -> FloatArray:
        """What their outcomes are worth together, in units of the outcome; shape (.., K)."""

    def variances(self, table: IntArray) -> FloatArray:
        """The variance of the outcomes of each, as the units themselves have it; shape (.., K), nan without units."""

    def means(self, table: IntArray) -> FloatArray:
        """What each proposal seems to be worth, also without units; shape (.., K)."""

    def added(self, actions: IntArray, outcomes: IntArray) -> IntArray:
        """What units add that did this and had these outcomes, by their codes; shape (units, columns)."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Two outcomes: units, and how many of them have the better one.

    Attributes:
        worse: what the worse outcome is worth.
        better: what the better one is.
        good: which of them it is.
    """

    worse: float = 0.0
    better: float = 1.0
    good: int = 1
    columns: int = 2

    def units(self, table: IntArray) -> IntArray:
        """The first column."""
        return table[..., 0]

    def rewards(self, table: IntArray) -> FloatArray:
        """From both."""
        return np.asarray(self.worse * table[..., 0] + (self.better - self.worse) * table[..., 1])

    def variances(self, table: IntArray) -> FloatArray:
        """That of the rate that was seen."""
        with np.errstate(invalid="ignore"):
            rate = table[..., 1] / table[..., 0]
        return np.asarray((self.better - self.worse) ** 2 * rate * (1 - rate))

    def means(self, table: IntArray) -> FloatArray:
        """With two units more, one of each outcome."""
        return _shrunk(self, table, (self.worse + self.better) / 2)

    def added(self, actions: IntArray, outcomes: IntArray) -> IntArray:
        """One, and whether it is the better outcome."""
        return np.stack([np.ones_like(outcomes), outcomes == self.good], axis=1)


@dataclass(frozen=True, slots=True)
class Cells:
    """Levels, and what was done: n[a, y], a row of the evidence.

    Attributes:
        actions: how many there are; 1 where what was done does not matter.
        reward: what each level is worth.
    """

    actions: int
    reward: tuple[float, ...]

    @property
    def columns(self) -> int:
        """A level after the other, action by action."""
        return self.actions * len(self.reward)

    def units(self, table: IntArray) -> IntArray:
        """The sum of all cells."""
        return np.asarray(table.sum(axis=-1))

    def rewards(self, table: IntArray) -> FloatArray:
        """From all cells."""
        return np.asarray(table @ np.tile(self.reward, self.actions))

    def variances(self, table: IntArray) -> FloatArray:
        """That of the shares that were seen."""
        worth, units = np.tile(self.reward, self.actions), self.units(table)
        with np.errstate(invalid="ignore"):
            return np.asarray(table @ worth**2 / units - (table @ worth / units) ** 2)

    def means(self, table: IntArray) -> FloatArray:
        """With two units more, that are worth what levels are worth on average."""
        return _shrunk(self, table, float(np.mean(self.reward)))

    def added(self, actions: IntArray, outcomes: IntArray) -> IntArray:
        """One in a cell."""
        return np.asarray(
            np.eye(self.columns, dtype=np.int64)[np.minimum(actions, self.actions - 1) * len(self.reward) + outcomes]
        )


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Numbers, counts and times: units, and sums of what their outcomes add.

    Of a number k and k^2, in steps from the low end of its range; of a count events and exposure, of a time events,
    time and its square, in steps.

    Attributes:
        outcome: what they are.
        prior: what each proposal is thought to be worth before any data; shape (K,).
    """

    outcome: Number | Count | Time
    prior: FloatArray

    @property
    def columns(self) -> int:
        """Units, and the sums."""
        return 4 if isinstance(self.outcome, Time) else 3

    def amounts(self, codes: IntArray) -> IntArray:
        """What outcomes add to the sums; shape (codes, columns - 1)."""
        added = self.outcome.parts_of(codes)[1]
        if isinstance(self.outcome, Time):
            return np.concatenate([added, added[:, 1:] ** 2], axis=1)
        return np.ascontiguousarray(added[:, :2])

    def units(self, table: IntArray) -> IntArray:
        """The first column."""
        return table[..., 0]

    def rewards(self, table: IntArray) -> FloatArray:
        """As outcomes are worth; of counts whose exposure differs, their rate for each unit."""
        outcome, units = self.outcome, table[..., 0]
        sign = 1.0 if outcome.better == "higher" else -1.0
        if isinstance(outcome, Number):
            total = outcome.low * units + outcome.step * table[..., 1]
        elif isinstance(outcome, Time):
            total = outcome.step * table[..., 2]
        else:
            total = units * table[..., 1] / (outcome.step * np.maximum(table[..., 2], 1))
        return np.asarray(sign * total)

    def variances(self, table: IntArray) -> FloatArray:
        """The variance of what outcomes are worth; of counts as of Poisson's, over their mean exposure."""
        outcome = self.outcome
        with np.errstate(divide="ignore", invalid="ignore"):
            if isinstance(outcome, Count):
                return np.asarray(np.abs(self.rewards(table)) / (outcome.step * table[..., 2]))
            mean, square = (table[..., column] / table[..., 0] for column in (-2, -1))
            return np.asarray(outcome.step**2 * np.maximum(square - mean**2, 0.0))

    def added(self, actions: IntArray, outcomes: IntArray) -> IntArray:
        """One, and the sums."""
        return np.concatenate([np.ones((outcomes.size, 1), dtype=np.int64), self.amounts(outcomes)], axis=1)

    def means(self, table: IntArray) -> FloatArray:
        """Of the outcomes, and of the prior where there are none."""
        units = table[..., 0]
        return np.where(units > 0, self.rewards(table) / np.maximum(units, 1), self.prior)


@dataclass(frozen=True, slots=True, eq=False)
class ByUnit:
    """What another statistic keeps, and how well what was proposed suited each unit.

    The last two columns: how many units had their own best proposal in it, and what it cost the others together, in
    millionths of what outcomes can differ by.

    Attributes:
        base: the other.
        width: what outcomes can differ by.
    """

    base: Statistic
    width: float

    @property
    def columns(self) -> int:
        """Two more."""
        return self.base.columns + 2

    def units(self, table: IntArray) -> IntArray:
        """As of the other, and so are the next four."""
        return self.base.units(table[..., :-2])

    def rewards(self, table: IntArray) -> FloatArray:
        """Likewise."""
        return self.base.rewards(table[..., :-2])

    def variances(self, table: IntArray) -> FloatArray:
        """Likewise."""
        return self.base.variances(table[..., :-2])

    def means(self, table: IntArray) -> FloatArray:
        """Likewise."""
        return self.base.means(table[..., :-2])

    def added(self, actions: IntArray, outcomes: IntArray) -> IntArray:
        """Likewise; how well a proposal suited a unit is added by who knows the unit."""
        return np.pad(self.base.added(actions, outcomes), ((0, 0), (0, 2)))

    def suited(self, value: FloatArray, nearly: float) -> IntArray:
        """What the last columns have of units to whom proposals are worth so much, (.., K, 2)."""
        highest = value.max(axis=-1, keepdims=True)
        cost = np.rint((highest - value) / self.width * MILLION)
        return np.stack([value >= highest - nearly, cost], axis=-1).astype(np.int64)

    def best(self, table: IntArray) -> IntArray:
        """How many units had their own best proposal."""
        return np.asarray(table[..., -2].sum(axis=-1))

    def regret(self, table: IntArray) -> FloatArray:
        """What proposals cost all units together, as compared with the best for each."""
        return np.asarray(table[..., -1].sum(axis=-1) * (self.width / MILLION))


def sees_actions(plan: Plan) -> bool:
    """Whether what was done matters to the policy, or to what the rules read."""
    return plan.design.policy.compliance != "not used" or plan.reading not in (
        "intention to treat",
        "adjusted",
        "policy",
    )


def statistic_of(plan: Plan) -> Statistic:
    """What is kept of the units of this plan's trials."""
    outcome, base = plan.space.outcome, _base(plan)
    return ByUnit(base, outcome.highest - outcome.lowest) if uses_covariates(plan.design.policy) else base


def _base(plan: Plan) -> Statistic:
    space = plan.space
    if isinstance(space.outcome, Number | Count | Time):
        return Sums(space.outcome, prior_of(plan).mean().mean_worth()[0])
    reward = tuple(map(float, space.reward))
    if sees_actions(plan) or len(reward) > 2:
        return Cells(len(space.implemented) if sees_actions(plan) else 1, reward)
    return Rates(min(reward), max(reward), int(np.argmax(reward)))


def prior_of(plan: Plan) -> Conjugate:
    """What is believed of proposals before any data: the prior of the policy, or that of TS where it has none."""
    policy = plan.design.policy
    return (policy if isinstance(policy, TS) else TS()).prior(plan.space).block


def _shrunk(statistic: Statistic, table: IntArray, middle: float) -> FloatArray:
    return np.asarray((statistic.rewards(table) + PRIOR_UNITS * middle) / (statistic.units(table) + PRIOR_UNITS))
