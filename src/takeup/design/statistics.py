"""What is kept of the units of a trial, in whole numbers, and what is read off it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.design.plan import Plan


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

    def variances(self, table: IntArray) -> FloatArray:
        """That of the rate that was seen."""
        with np.errstate(invalid="ignore"):
            rate = table[..., 1] / table[..., 0]
        return np.asarray((self.better - self.worse) ** 2 * rate * (1 - rate))


@dataclass(frozen=True, slots=True)
class Cells:
    """Levels, and what was done: n[a, y], a row of the evidence.

    Attributes:
        actions: how many there are.
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


def sees_actions(plan: Plan) -> bool:
    """Whether what was done matters to the policy, or to what the rules read."""
    return plan.design.policy.compliance != "not used" or plan.reading not in ("intention to treat", "policy")


def statistic_of(plan: Plan) -> Statistic:
    """What is kept of the units of this plan's trials."""
    space = plan.design.space
    if sees_actions(plan) or space.reward.size > 2:
        return Cells(len(space.implemented), tuple(map(float, space.reward)))
    return Rates(float(space.reward.min()), float(space.reward.max()))
