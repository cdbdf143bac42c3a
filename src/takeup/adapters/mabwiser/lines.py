"""MABWiser's linear policies: a ridge regression of rewards on contexts for each arm."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.adapters.mabwiser.history import History
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError, LabelError
from takeup.inference.linear import Regression, Sums
from takeup.outcomes import UNSEEN
from takeup.policies.arms import CREDITS, Credit
from takeup.policies.beliefs import highest

ALIKE = 1e-6
"""Values of a context with at most this standard deviation are moved and not divided, as in MABWiser."""


class Linear(ABC):
    """A learning policy by MABWiser's name, with a regression for each arm.

    Attributes:
        l2_lambda: the ridge: the precision of each coefficient before any data, in units of the noise.
        scale: whether an arm's contexts are moved and divided so that each value has mean 0 and variance 1.
        credit: which arm a reward goes to, as in `takeup.Protocol`: the one that was proposed ("chosen"), the one that
            was implemented ("actual"), or the one that was both ("comply"). MABWiser knows the first alone.
    """

    l2_lambda: float
    scale: bool
    credit: Credit
    least: ClassVar[str] = "0 or more"

    def __post_init__(self) -> None:
        ridge = float(checks.real("l2_lambda", self.l2_lambda))
        if ridge < 0 or (ridge == 0 and self.least != "0 or more"):
            raise InputError("l2_lambda", self.l2_lambda, f"a number, {self.least}")
        if not isinstance(self.scale, bool):
            raise InputError("scale", self.scale, "True or False")
        if self.credit not in CREDITS:
            raise LabelError("credit", repr(self.credit), f"one of {', '.join(CREDITS)}")

    @property
    def spread(self) -> float:
        """The standard deviation of the noise."""
        return 1.0

    @abstractmethod
    def values(self, mean: FloatArray, width: FloatArray, rng: np.random.Generator) -> FloatArray:
        """What decides, given the means and the widths sqrt(v' B^-1 v) of all arms, (n, arms)."""

    def explore(self, best: IntArray, arms: int, rng: np.random.Generator) -> IntArray:
        """What is proposed where this is best."""
        return best


@dataclass(frozen=True, slots=True)
class Line:
    """What is known of one arm: a regression on contexts less `centre`, over `divisor`."""

    regression: Regression
    centre: FloatArray
    divisor: FloatArray

    @classmethod
    def of(cls, rows: History, rule: Linear) -> "Line":
        """Of the decisions that count for the arm, with rewards that are known."""
        size = rows.context.shape[1]
        centre, divisor = np.zeros(size), np.ones(size)
        if rule.scale and len(rows):
            centre = np.average(rows.context, axis=0, weights=rows.count)
            spread = np.sqrt(np.average((rows.context - centre) ** 2, axis=0, weights=rows.count))
            divisor = np.where(spread <= ALIKE, 1.0, spread)
        prior = Regression.prior(np.full(size, float(rule.l2_lambda)), square=rule.spread**2)
        features = (rows.context - centre) / divisor
        if rule.l2_lambda == 0 and np.linalg.matrix_rank(features) < size:
            allowed = f"a number above 0 where an arm has contexts that do not tell its {size} coefficients"
            raise InputError("l2_lambda", rule.l2_lambda, allowed)
        return cls(prior.plus(Sums.of(features, rows.reward, rows.count)), centre, divisor)

    def plus(self, rows: History) -> "Line":
        """After more decisions that count for the arm; contexts are moved and divided as before."""
        features = (rows.context - self.centre) / self.divisor
        return replace(self, regression=self.regression.plus(Sums.of(features, rows.reward, rows.count)))

    def at(self, contexts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean and the width at each of many contexts."""
        from scipy.linalg import solve_triangular

        features = (contexts - self.centre) / self.divisor
        half = solve_triangular(self.regression.factor, features.T, lower=True)
        return features @ self.regression.mean, np.sqrt((half**2).sum(axis=0))


class Lines:
    """A line for each arm; those of the same past are found once."""

    def __init__(self, rule: Linear, numbers: Sequence[int]) -> None:
        self.rule = rule
        self.numbers = list(numbers)
        self._found: tuple[History, list[Line]] | None = None

    def of(self, past: History, size: int) -> list[Line]:
        """In the order of the arms; before any data for contexts of this size."""
        if not len(past):
            return [Line.of(past.sized(size), self.rule)] * len(self.numbers)
        if self._found is None or self._found[0] is not past:
            label = _credited(past, self.rule.credit)
            self._found = past, [Line.of(past.only(label == k), self.rule) for k in self.numbers]
        return self._found[1]

    def learn(self, before: History, rows: History, after: History) -> None:
        """Brings the lines of what was before up to date: a decision more costs the same however many there are.

        Only where contexts are scaled an arm is begun anew.
        """
        if self._found is None or self._found[0] is not before:
            return
        label = _credited(rows, self.rule.credit)
        lines = list(self._found[1])
        for i in np.flatnonzero(np.isin(self.numbers, label)):
            k = self.numbers[i]
            if self.rule.scale:
                lines[i] = Line.of(after.only(_credited(after, self.rule.credit) == k), self.rule)
            else:
                lines[i] = lines[i].plus(rows.only(label == k))
        self._found = after, lines

    def check(self, rows: History, implemented: object) -> None:
        """Contexts have to be numbers, and what was done may be needed."""
        numeric(rows.context)
        if self.rule.credit != "chosen" and implemented is None:
            allowed = f"what was done, which {type(self.rule).__name__} with credit={self.rule.credit!r} learns from"
            raise InputError("implemented", "nothing", allowed)

    def proposals(self, past: History, contexts: NDArray[Any], rng: np.random.Generator) -> IntArray:
        """The arm of the highest value, the first of those that tie; any before there are data."""
        if not len(past):
            return rng.integers(len(self.numbers), size=len(contexts))
        best = highest(self.rule.values(*self._at(past, contexts), rng))
        return self.rule.explore(best, len(self.numbers), rng)

    def expectations(self, past: History, contexts: NDArray[Any], rng: np.random.Generator) -> FloatArray:
        """What decides."""
        return self.rule.values(*self._at(past, contexts), rng)

    def _at(self, past: History, contexts: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        numeric(contexts)
        found = [line.at(contexts) for line in self.of(past, contexts.shape[1])]
        return np.stack([mean for mean, _ in found], axis=1), np.stack([width for _, width in found], axis=1)


def numeric(contexts: NDArray[Any]) -> None:
    """Refuses contexts that a line cannot be drawn in."""
    if not contexts.shape[1]:
        raise InputError("contexts", "nothing", "a row of numbers for each, which a linear policy learns from")
    if contexts.dtype.kind != "f":
        raise InputError("contexts", "texts", "numbers", "make a column of 0 and 1 of every level")
    if not np.isfinite(contexts).all():
        raise InputError("contexts", "one that is missing or infinite", "finite numbers")


def _credited(past: History, credit: Credit) -> IntArray:
    """The label each reward goes to, and UNSEEN where it goes nowhere or is not known yet.

    What was copied by a warm start counts for the arm that it was copied for.
    """
    known = ~np.isnan(past.reward)
    if credit != "chosen":
        known &= (past.implemented == past.proposal) | (past.own if credit == "actual" else False)
    return np.where(known, past.proposal if credit == "chosen" else past.implemented, UNSEEN)
