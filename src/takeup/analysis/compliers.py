"""The effect among compliers: those who take an action where it is offered, and do not where something else is.

Offering changes the outcome by c τ, where c is the share of compliers and τ what taking it does for them, so that τ is
the intention-to-treat effect on the outcome over that on taking (Imbens & Angrist 1994). The region is that of Anderson
& Rubin (1949): all β at which the scores of y - β took have a mean that does not differ from zero. It keeps its level
however few compliers there are, and after adaptive allocation, as the scores do.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from takeup import checks
from takeup.analysis import regions, targets
from takeup.analysis.estimate import Estimate
from takeup.analysis.scores import mean_scores
from takeup.analysis.targets import Target
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.log import Log
from takeup.space import Label, Space

EXCLUSION = "What is offered changes the outcome through what is taken alone."
LARGE = "There are enough decisions for a mean of scores to be nearly normal."


def complier_effect(
    log: Log, one: Label, other: Label, *, action: Label | None = None, level: float = 0.95
) -> Estimate:
    """What taking an action does for those who take it where `one` is offered and not where `other` is.

    Args:
        log: a single trial.
        one: the proposal that is meant to have the action taken.
        other: the proposal that it is compared with.
        action: what is taken; the intended action of `one` where left out.
        level: how often the region holds the truth.

    Returns:
        An estimate whose region may be no interval: `region` has its parts and `withheld` says why.
    """
    level = checks.share("level", level)
    first, second, a = pair_and_action(log, one, other, action)
    outcome, taken = complier_scores(log, first, second, a)
    known = ~np.isnan(outcome)
    n, missing = int(known.sum()), int((possible(log, first, second) & ~known).sum())
    space = log.space
    contrast = f"{space.implemented[a]} taken or not, by {space.proposals[first]} against {space.proposals[second]}"
    region = regions.rays(anderson_rubin(outcome, taken, level))
    low, high = regions.hull(region)
    withheld = _too_few(log, known, first, second) or regions.said(region)
    if n < 2:
        low = high = math.nan
    return Estimate(
        "complier effect",
        contrast,
        "difference",
        float(ratio(outcome, taken)),
        low,
        high,
        level,
        _assumed(space, first, second, a, missing, int(len(log) - n - missing)),
        survives_adaptation=True,
        survives_drift=True,
        n=n,
        missing=missing,
        region=region if regions.said(region) else (),
        withheld=withheld,
    )


def complier_scores(log: Log, one: int, other: int, action: int) -> tuple[FloatArray, FloatArray]:
    """By how much offering one and not the other changes outcome and taking, (.., n) each: scores of every decision.

    NaN where outcome or action was never reported, or one of the two could not be offered.
    """
    outcome, taken = both_seen(targets.outcome(log.space)), both_seen(targets.took(log.space, action))
    counted = possible(log, one, other)

    def difference(of: Target) -> FloatArray:
        score = mean_scores(log, of).score
        return np.where(counted, score[..., one] - score[..., other], np.nan)

    return difference(outcome), difference(taken)


def anderson_rubin(outcome: FloatArray, taken: FloatArray, level: float = 0.95) -> FloatArray:
    """Regions of the ratio of two means, (.., 2 parts, from and to), from what each decision says of both, (.., n).

    β is in the region where (mean of s - β d)^2 <= c^2 (variance of s - β d) / n, which is a quadratic in β.
    """
    known = ~np.isnan(outcome)
    n = known.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        s, d = (np.where(known, each, 0.0).sum(axis=-1) / n for each in (outcome, taken))
        above = np.where(known, outcome - s[..., np.newaxis], 0.0)
        beyond = np.where(known, taken - d[..., np.newaxis], 0.0)
        share = ndtri((1 + level) / 2) ** 2 / (n * (n - 1.0))
        square, cross, constant = (
            one * other - share * np.einsum("...n,...n->...", mine, its)
            for one, other, mine, its in ((d, d, beyond, beyond), (s, d, above, beyond), (s, s, above, above))
        )
    return regions.not_above_zero(square, cross, constant)


def ratio(outcome: FloatArray, taken: FloatArray) -> FloatArray:
    """The ratio of the means of what is known, along the last axis; NaN where offering changes nothing."""
    s, d = (np.nansum(each, axis=-1) for each in (outcome, taken))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(d == 0, np.nan, s / d))


def pair_and_action(log: Log, one: Label, other: Label, action: Label | None) -> tuple[int, int, int]:
    """The indices of two proposals of a single trial and of an action, or an error that names what is wrong."""
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial")
    first, second = log.space.index("proposal", one), log.space.index("proposal", other)
    if first == second:
        raise InputError("other", repr(other), f"another proposal than {log.space.proposals[first]}")
    if action is None:
        return first, second, log.space.complying("the complier effect")[first]
    return first, second, log.space.index("implemented", action)


def possible(log: Log, one: int, other: int) -> NDArray[np.bool_]:
    """In which decisions either of two proposals could have been made."""
    return np.asarray((log.probability[..., one] > 0) & (log.probability[..., other] > 0))


def both_seen(of: Target) -> Target:
    """A target of decisions whose action and outcome were reported alone."""

    def values(log: Log) -> FloatArray:
        return np.where((log.implemented < 0) | (log.outcome < 0), np.nan, of.values(log))

    return Target(of.name, values, of.low, of.high)


def _too_few(log: Log, known: NDArray[np.bool_], one: int, other: int) -> str:
    for z in (one, other):
        many = int((known & (log.proposal == z)).sum())
        if many < 2:
            return f"only {many} decisions with {log.space.proposals[z]} have a known action and outcome"
    return ""


def _assumed(space: Space, one: int, other: int, action: int, missing: int, impossible: int) -> tuple[str, ...]:
    taken, first, second = space.implemented[action], space.proposals[one], space.proposals[other]
    found = [EXCLUSION]
    if len(space.implemented) > 2:
        found.insert(
            0,
            f"With {len(space.implemented)} actions the ratio of two proposals mixes people who would otherwise take"
            f" different ones: it is the effect of {taken} where nobody is moved from one other action to another, and"
            f" against whatever each would have taken instead.",
        )
    found += [f"Nobody takes {taken} if offered {second} who would not if offered {first}.", LARGE]
    if missing:
        found.append("Those whose action or outcome was never reported are like the others of their proposal.")
    if impossible:
        found.append(f"It is the effect in decisions where both could be offered: {impossible} others are left out.")
    return tuple(found)
