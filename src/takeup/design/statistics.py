"""What is kept of the units of a trial, in whole numbers, and what is read off it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Conjugate
from takeup.design.plan import Plan
from takeup.outcomes import Count, Number, Time
from takeup.policies import TS

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

    def means(self, table: IntArray) -> FloatArray:
        """What each proposal seems to be worth, also without units; shape (.., K)."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Two outcomes: units, and how many of them have the better one.

    Attributes:
        worse: what the worse outcome is worth.
        better: what the better one is.
    """

    worse: float = 0.0
    better: float = 1.0
    columns: int = 2

    def units(self, table: IntArray) -> IntArray:
        """The first column."""
        return table[..., 0]

    def rewards(self, table: IntArray) -> FloatArray:
        """From both."""
        return np.asarray(self.worse * table[..., 0] + (self.better - self.worse) * table[..., 1])

    def means(self, table: IntArray) -> FloatArray:
        """With two units more, one of each outcome."""
        return _shrunk(self, table, (self.worse + self.better) / 2)


@dataclass(frozen=True, slots=True)
class Levels:
    """More outcomes: how many units have each.

    Attributes:
        utility: what each is worth.
    """

    utility: tuple[float, ...]

    @property
    def columns(self) -> int:
        """One for each outcome."""
        return len(self.utility)

    def units(self, table: IntArray) -> IntArray:
        """All columns together."""
        return np.asarray(table.sum(axis=-1))

    def rewards(self, table: IntArray) -> FloatArray:
        """Σ_y n_y u_y."""
        return np.asarray(table @ np.array(self.utility))

    def means(self, table: IntArray) -> FloatArray:
        """With two units more, that are worth what outcomes are worth on average."""
        return _shrunk(self, table, float(np.mean(self.utility)))


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

    def means(self, table: IntArray) -> FloatArray:
        """Of the outcomes, and of the prior where there are none."""
        units = table[..., 0]
        return np.where(units > 0, self.rewards(table) / np.maximum(units, 1), self.prior)


def statistic_of(plan: Plan) -> Statistic:
    """What is kept of the units of this plan's trials."""
    outcome = plan.design.space.outcome
    if isinstance(outcome, Number | Count | Time):
        return Sums(outcome, prior_of(plan).mean().mean_worth()[0])
    reward = plan.design.space.reward
    return Rates(float(reward.min()), float(reward.max())) if reward.size == 2 else Levels(tuple(reward.tolist()))


def prior_of(plan: Plan) -> Conjugate:
    """What is believed of proposals before any data: the prior of the policy, or that of TS where it has none."""
    policy = plan.design.policy
    return (policy if isinstance(policy, TS) else TS()).prior(plan.design.space).block


def _shrunk(statistic: Statistic, table: IntArray, middle: float) -> FloatArray:
    return np.asarray((statistic.rewards(table) + PRIOR_UNITS * middle) / (statistic.units(table) + PRIOR_UNITS))
