"""When a claim in words holds: rules that are fixed here, before any run.

A claim makes several comparisons of estimates with standard errors. The intervals are simultaneous (Bonferroni): a
claim that is true fails once in 1,000 runs under normal errors, however many comparisons it makes. A claim that
something rises, falls or turns needs evidence for that as well: no clear change does not count as a rise.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from takeup.checks import FloatArray

FALSE_ALARM = 1e-3
"""The probability that a true claim is said to fail, all its comparisons together."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, and whether our runs confirm it.

    Attributes:
        claim: what is said.
        rule: what has to be so for it to hold.
        holds: whether it is so.
        found: the figures that decided.
    """

    claim: str
    rule: str
    holds: bool
    found: str


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimates in order, with their standard errors, independent of each other.

    Attributes:
        labels: where each was taken.
        value: the estimates.
        error: their standard errors.
    """

    labels: tuple[str, ...]
    value: FloatArray
    error: FloatArray

    @classmethod
    def means(cls, labels: ArrayLike, runs: FloatArray) -> "Estimates":
        """Of the mean over runs, (places, replications)."""
        return cls(_text(labels), runs.mean(axis=1), runs.std(axis=1, ddof=1) / runs.shape[1] ** 0.5)

    @classmethod
    def variances(cls, labels: ArrayLike, runs: FloatArray) -> "Estimates":
        """Of the variance over runs: the mean of squared deviations, and its error as such."""
        return cls.means(labels, squares(runs))

    def shown(self, i: int) -> str:
        """An estimate and where it was taken."""
        return f"{self.value[i]:.4g} at {self.labels[i]}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a rule is met, and the figures that decided."""

    holds: bool
    found: str


RISES = "no step falls, and the last estimate lies above the first; simultaneous intervals"
FALLS = "no step rises, and the last estimate lies below the first; simultaneous intervals"
NEVER_ABOVE = "no difference lies above zero; simultaneous one-sided intervals on the same patients"
TURNS = "one pair of estimates rises and another falls; simultaneous intervals over all pairs"


def squares(runs: FloatArray) -> FloatArray:
    """Squared deviations from the mean over runs, whose mean is the unbiased variance."""
    many = runs.shape[1]
    return np.asarray((runs - runs.mean(axis=1, keepdims=True)) ** 2 * (many / (many - 1)))


def threshold(comparisons: int) -> float:
    """How many standard errors a one-sided comparison needs, where a claim makes this many comparisons."""
    return float(ndtri(1 - FALSE_ALARM / comparisons))


def rises(series: Estimates, of: int = 1) -> Verdict:
    """Whether the estimates rise from first to last, by the rule RISES.

    Args:
        series: the estimates in order.
        of: how many rules the claim consists of; they share its false-alarm rate.
    """
    return _goes(series, 1, of)


def falls(series: Estimates, of: int = 1) -> Verdict:
    """Whether the estimates fall from first to last, by the rule FALLS; the arguments are those of `rises`."""
    return _goes(series, -1, of)


def _goes(series: Estimates, direction: int, of: int) -> Verdict:
    steps = [direction * _step(series, i, i + 1) for i in range(len(series.labels) - 1)]
    whole = direction * _step(series, 0, -1)
    limit = threshold(of * len(steps))
    worst = int(np.argmin(steps))
    return Verdict(
        bool(steps[worst] >= -limit and whole > limit),
        f"{series.shown(0)} to {series.shown(-1)}, {direction * whole:+.1f} errors; the step most against it is from "
        f"{series.shown(worst)} to {series.shown(worst + 1)}, {direction * steps[worst]:+.1f} errors",
    )


def never_above(differences: Estimates) -> Verdict:
    """Whether no difference lies above zero, by the rule NEVER_ABOVE."""
    distance = in_errors(differences.value, differences.error)
    worst = int(distance.argmax())
    above = [differences.labels[i] for i in np.flatnonzero(distance > threshold(distance.size))]
    return Verdict(
        not above,
        f"the largest is {differences.value[worst]:+.3g} at {differences.labels[worst]}, {distance[worst]:+.1f} errors"
        + (f"; above zero at {', '.join(above)}" if above else ""),
    )


def turns(series: Estimates, of: int = 1) -> Verdict:
    """Whether the estimates both rise and fall, by the rule TURNS; the arguments are those of `rises`."""
    pairs = list(combinations(range(len(series.labels)), 2))
    steps = [_step(series, i, j) for i, j in pairs]
    limit = threshold(2 * len(pairs) * of)

    def shown(k: int) -> str:
        i, j = pairs[k]
        return f"from {series.shown(i)} to {series.shown(j)}, {steps[k]:+.1f} errors"

    up, down = int(np.argmax(steps)), int(np.argmin(steps))
    return Verdict(bool(steps[up] > limit and steps[down] < -limit), f"{shown(up)}; {shown(down)}")


def together(*verdicts: Verdict) -> Verdict:
    """Several rules as one; each must have been given their number as `of`."""
    return Verdict(all(v.holds for v in verdicts), "; ".join(v.found for v in verdicts))


def _step(series: Estimates, i: int, j: int) -> float:
    """The change from estimate i to estimate j, in standard errors."""
    return float(in_errors(series.value[j] - series.value[i], np.hypot(series.error[i], series.error[j])))


def in_errors(value: ArrayLike, error: ArrayLike) -> FloatArray:
    """Values over their errors; a value of exactly zero is no errors away from it, whatever they are."""
    above, below = np.asarray(value, dtype=np.float64), np.asarray(error, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(above == 0, 0.0, above / below)


def _text(labels: ArrayLike) -> tuple[str, ...]:
    return tuple(f"p = {label:.2f}" for label in np.asarray(labels))
