"""How outcomes are spread, from the counts in their bins: quantiles, and the share who have had no event yet."""

from dataclasses import dataclass

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.outcomes.count import Count
from takeup.outcomes.number import Number
from takeup.outcomes.time import Time


def quantiles(outcome: Number | Count, cells: IntArray, levels: tuple[float, ...]) -> FloatArray:
    """The numbers below which these shares of the outcomes are, to within a bin; nan where there are no outcomes.

    Outcomes are taken to be spread evenly over their bin.

    Args:
        outcome: what they are.
        cells: how many are in each bin.
        levels: the shares, each from 0 to 1.
    """
    total = int(cells.sum())
    if not total:
        return np.full(len(levels), np.nan)
    step = outcome.step if isinstance(outcome, Number) else 1.0
    filled = cells > 0
    first, last = outcome.binned.first[filled] - step / 2, outcome.binned.last[filled] + step / 2
    above = np.cumsum(cells[filled]) / total
    below = above - cells[filled] / total
    found = []
    for level in levels:
        bin_ = min(int(np.searchsorted(above, level)), above.size - 1)
        share = (level - below[bin_]) / (above[bin_] - below[bin_])
        found.append(first[bin_] + share * (last[bin_] - first[bin_]))
    limits = outcome.binned.first[0], outcome.binned.last[-1]
    return np.asarray(np.clip(found, *limits))


def average(outcome: Number | Count, statistic: IntArray) -> float:
    """The mean of the outcomes in a statistic, in their unit, or their rate; nan where there are none."""
    many, total = int(outcome.seen(statistic)), int(statistic[outcome.cells])
    if not many:
        return float("nan")
    if isinstance(outcome, Count):
        return total / (outcome.step * int(statistic[outcome.cells + 1]))
    return outcome.low + outcome.step * total / many


@dataclass(frozen=True, slots=True)
class SurvivalStep:
    """A step of a survival curve.

    Attributes:
        time: when.
        share: the estimated share who have had no event up to and including then.
        at_risk: how many had had none and were still watched just before.
        events: how many had one then.
    """

    time: float
    share: float
    at_risk: int
    events: int


def survival(time: Time, cells: IntArray) -> tuple[SurvivalStep, ...]:
    """The estimate of Kaplan and Meier (1958), a step for each bin with events, which is put at the bin's end.

    Whoever is censored in a bin counts as watched until its end.

    Args:
        time: the outcome.
        cells: how many had their event in each bin, and then how many were censored in each.
    """
    return kaplan_meier(time.binned.last, *cells.reshape(2, -1))


def kaplan_meier(ends: FloatArray, events: IntArray, censored: IntArray) -> tuple[SurvivalStep, ...]:
    """The same from how many had their event and how many were censored up to each of these times, and no earlier."""
    at_risk, share, steps = int(events.sum() + censored.sum()), 1.0, []
    for end, had, left in zip(ends, events.tolist(), censored.tolist(), strict=True):
        if had:
            share *= 1 - had / at_risk
            steps.append(SurvivalStep(float(end), share, at_risk, had))
        at_risk -= had + left
    return tuple(steps)


def restricted_mean(steps: tuple[SurvivalStep, ...], longest: float) -> float:
    """The mean time within the longest watch: the area below the survival curve."""
    times = np.array([0.0, *(step.time for step in steps), longest])
    return float(np.diff(times) @ np.array([1.0, *(step.share for step in steps)]))
