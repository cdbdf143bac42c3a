"""Intention to treat, each proposal's value and compliance, with intervals that survive adaptive allocation.

An interval is shown where each proposal that it is about was offered to at least five people, effectively; see `LEAST`.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.analysis import targets
from takeup.analysis.estimate import Estimate, Measure
from takeup.analysis.intervals import Comparison, normal_interval, score_interval
from takeup.analysis.moments import moments
from takeup.analysis.scores import Scores, scores
from takeup.analysis.targets import Target
from takeup.analysis.weights import Weights
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.log import Log
from takeup.space import Label

LEAST = 5.0
"""How many people each proposal must have had, effectively, for an interval to be shown.

With stabilised weights u the variance of a proposal's mean is σ² Σ u² / p, as if it had been offered to 1 / Σ u² / p.
Below five a normal limit, and what is known of the mean, are not to be relied upon: docs/analysis.md has the figures.
"""

EVEN = 20.0
"""How many would be offered a proposal if its probability were the smallest that was logged, for even weights alone.

Below that a few decisions can decide an evenly weighted mean, and whether they do depends on how the trial went: its
interval is then widened to hold the stabilised one too.
"""

Method: TypeAlias = Literal["score", "normal"]
"""How an interval is found: by the score test, or as 1.96 errors to either side, which is known to be too short."""

COMPLETE = "Those of whom something was never reported are like the others."
SEPARATE = "What becomes of one person does not depend on what others were offered."
LOGGED = "The logged probabilities are those that proposals were drawn with."
CAME = "It is about those who came, in the mixture of contexts that they came in."
CONSTANT: dict[Measure, str] = {
    "mean": "The mean of a context is the same throughout the trial.",
    "difference": "The difference in a context is the same throughout the trial; both may rise or fall together.",
    "ratio": "The ratio in a context is the same throughout the trial; both may rise or fall together.",
    "odds ratio": "The odds ratio in a context is the same throughout the trial.",
}
PLAIN = "the plain method is too short after adaptive allocation: ask for method='score'"


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Estimates of many trials side by side; arrays have the shape of the log's leading axes.

    Attributes:
        value: the estimates.
        low: the lower ends.
        high: the upper ends.
        effective: how many people each proposal had, effectively, (.., J).
        possible: whether each could have been offered to everybody whom the estimate is about; whether it was, in
            every batch.
        n: how many decisions each rests on.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    effective: FloatArray
    possible: NDArray[np.bool_]
    n: FloatArray

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Whether the interval is to be relied upon."""
        return np.asarray(self.possible & (self.effective.min(axis=-1) >= LEAST - 1e-9))

    def covers(self, truth: float) -> NDArray[np.bool_]:
        """Whether the interval holds the truth."""
        return np.asarray((self.low <= truth) & (truth <= self.high))


def intervals(
    of: Scores,
    proposals: tuple[int, ...],
    measure: Measure,
    *,
    weights: Weights = "uniform",
    level: float = 0.95,
    context: int | None = None,
    method: Method = "score",
) -> Intervals:
    """Estimates and intervals for one proposal's mean, or for how the second of two compares with the first."""
    low, high = of.target.low, of.target.high
    comparison = Comparison(measure, -low / (high - low))
    known = moments(of, proposals, weights, context)
    used = of.known if context is None else of.known & (of.log.context == context)
    n = used.sum(axis=-1).astype(np.float64)
    chance = np.where(used[..., np.newaxis], of.log.probability[..., list(proposals)], 1.0)
    least = chance.min(axis=(-1, -2), initial=1.0)
    if method == "normal":
        found = normal_interval(known, comparison, level)
    else:
        found = score_interval(known, comparison, level)
    effective, possible = known.effective, known.complete
    if weights == "uniform":
        possible = least > 0
        stable = moments(of, proposals, "stabilised", context)
        effective = stable.effective
        few = n * least < EVEN - 1e-9
        if method == "score" and few.any():
            _, below, above = score_interval(stable, comparison, level)
            value, left, right = found
            found = value, np.where(few, np.fmin(left, below), left), np.where(few, np.fmax(right, above), right)
    if measure in ("mean", "difference"):
        zero = low if measure == "mean" else 0.0
        value, left, right = (zero + (high - low) * each for each in found)
        found = value, left, right
    found = np.where(n > 0, found[0], np.nan), *found[1:]
    return Intervals(*found, np.nan_to_num(effective, nan=0.0, posinf=0.0), possible, n)


def effect(
    log: Log,
    one: Label,
    other: Label,
    *,
    measure: Measure = "difference",
    weights: Weights = "uniform",
    level: float = 0.95,
    context: Label | None = None,
    of: Target | None = None,
    method: Method = "score",
) -> Estimate:
    """By intention to treat: how much better it is to offer one proposal than another, whoever takes it.

    Args:
        log: a single trial.
        one: the proposal in question.
        other: what it is compared with.
        measure: difference, ratio or odds ratio of the two means.
        weights: whom it is about: everybody the same ("uniform"), or whoever came while both were likely more
            ("stabilised", "batch"), which is shorter and assumes an effect that does not change.
        level: how often such intervals hold the truth.
        context: in one context alone; over everybody who came where left out.
        of: what is compared; the outcome where left out.
        method: "score", or the plain one, which is shown to be compared with.
    """
    pair = log.space.index("proposal", other), log.space.index("proposal", one)
    if pair[0] == pair[1]:
        raise InputError("other", repr(other), f"another proposal than {log.space.proposals[pair[0]]}")
    checks.one_of("measure", measure, ("difference", "ratio", "odds ratio"))
    target = of or targets.outcome(log.space)
    sign = " - " if measure == "difference" else " / "
    names = sign.join(log.space.proposals[z] for z in reversed(pair))
    return _estimate(log, target, pair, "intention to treat", names, measure, weights, level, context, method)


def value(
    log: Log,
    proposal: Label,
    *,
    weights: Weights = "uniform",
    level: float = 0.95,
    context: Label | None = None,
    of: Target | None = None,
    method: Method = "score",
) -> Estimate:
    """What comes of offering one proposal to everybody: the mean of the outcome, or of another target."""
    z = log.space.index("proposal", proposal)
    target = of or targets.outcome(log.space)
    name = log.space.proposals[z]
    return _estimate(log, target, (z,), "value", name, "mean", weights, level, context, method)


def compliance(
    log: Log,
    proposal: Label,
    action: Label | None = None,
    *,
    weights: Weights = "uniform",
    level: float = 0.95,
    context: Label | None = None,
    method: Method = "score",
) -> Estimate:
    """How many take an action where a proposal is made: the one that complying with it means, where left out."""
    z = log.space.index("proposal", proposal)
    a = log.space.complying("compliance")[z] if action is None else log.space.index("implemented", action)
    name = f"{log.space.implemented[a]} where {log.space.proposals[z]} is proposed"
    target = targets.took(log.space, a)
    return _estimate(log, target, (z,), "compliance", name, "mean", weights, level, context, method)


def _estimate(
    log: Log,
    target: Target,
    proposals: tuple[int, ...],
    reading: str,
    contrast: str,
    measure: Measure,
    weights: Weights,
    level: float,
    context: Label | None,
    method: Method,
) -> Estimate:
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial; `intervals` takes many")
    checks.one_of("weights", weights, ("uniform", "stabilised", "batch"))
    checks.one_of("method", method, ("score", "normal"))
    checks.share("level", level)
    x = None if context is None else log.space.index("context", context)
    of = scores(log, target)
    _comparable(of, measure)
    found = intervals(of, proposals, measure, weights=weights, level=level, context=x, method=method)
    there = len(log) if x is None else int((log.context == x).sum())
    n = int(found.n)
    reason = _withheld(log, found, proposals, weights, method)
    assumed = [SEPARATE, LOGGED]
    if weights != "uniform":
        assumed.insert(0, CONSTANT[measure])
    if n < there:
        assumed.insert(0, COMPLETE)
    if x is None and len(log.space.contexts) > 1:
        assumed.append(CAME)
    ends = (np.nan, np.nan) if reason and method == "score" else (float(found.low), float(found.high))
    return Estimate(
        reading,
        contrast if x is None else f"{contrast} ({log.space.contexts[x]})",
        measure,
        float(found.value),
        *ends,
        level,
        assumes=tuple(assumed),
        survives_adaptation=not reason,
        survives_drift=not reason and weights == "uniform",
        n=n,
        missing=there - n,
        withheld=reason,
    )


def _comparable(of: Scores, measure: Measure) -> None:
    """Whether a target has such a measure at all."""
    if measure == "ratio" and of.target.low < 0:
        raise InputError("measure", repr(measure), f"difference, as {of.target.name} may be negative")
    if measure == "odds ratio":
        value = of.value[of.known]
        if (of.target.low, of.target.high) != (0.0, 1.0) or not np.isin(value, (0.0, 1.0)).all():
            raise InputError(
                "measure", repr(measure), f"difference or ratio, as {of.target.name} has more than two values"
            )


def _withheld(log: Log, found: Intervals, proposals: tuple[int, ...], weights: Weights, method: Method) -> str:
    """Why an interval is not to be relied upon; empty where it is."""
    if found.n == 0:
        return "no decision has all that it needs"
    if weights == "batch" and len(log.space.contexts) > 1:
        return "batches of several contexts cannot be told apart: ask for weights='stabilised'"
    if not found.possible and weights == "batch":
        return "there are batches in which only one was offered: ask for weights='stabilised'"
    if not found.possible:
        return "some could not have been offered it: a probability was 0; weights='stabilised' leave them out"
    few = int(np.argmin(found.effective))
    if not found.shown:
        name, many = log.space.proposals[proposals[few]], float(found.effective[few])
        batch = " in batches in which all that is compared was offered" if weights == "batch" else ""
        return f"{name} was offered to too few{batch}: effectively to {many:.1f}, and an interval needs {LEAST:.0f}"
    return PLAIN if method == "normal" and not log.fixed else ""
