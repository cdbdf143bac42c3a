"""The effect among compliers: those who take an action where it is offered, and do not where something else is.

Offering changes the outcome by c τ, where c is the share of compliers and τ what taking it does for them, so that τ is
the intention-to-treat effect on the outcome over that on taking (Imbens & Angrist 1994). The region is that of Anderson
& Rubin (1949): all β at which y - β took has means under both proposals that do not differ, by their scores. It keeps
its level however few compliers there are, and after adaptive allocation, as the scores do.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from takeup import checks
from takeup.analysis import regions, targets
from takeup.analysis.effects import left_out
from takeup.analysis.estimate import Estimate, Ray, honest
from takeup.analysis.lacking import lacking
from takeup.analysis.ratio_test import BoolArray, RatioSums, accepted, ratio_sums, region
from takeup.analysis.scores import Scores, scores
from takeup.analysis.targets import Target
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.log import Log
from takeup.space import Label

EXCLUSION = "What is offered changes the outcome through what is taken alone."
EVEN = 40.0
"""How many would be offered a proposal at its smallest probability, for evenly weighted scores to do alone."""

LEAST = 5.0
"""How many people each proposal must have had, effectively, for a region to be shown."""

Method: TypeAlias = Literal["score", "normal"]
"""How a region is found."""

ROUNDING = 1e-14
"""A mean square, as a part of the range's, that is none but for rounding."""

PLAIN = "the plain method is too short after adaptive allocation: ask for method='score'"
ALIKE = "all who were offered the same had the same outcome, so that it cannot be told how outcomes vary"
LARGE = "There are enough people for means to vary as the normal distribution says."


def complier_effect(
    log: Log, one: Label, other: Label, *, action: Label | None = None, level: float = 0.95, method: Method = "score"
) -> Estimate:
    """What taking an action does for those who take it where `one` is offered and not where `other` is.

    Args:
        log: a single trial.
        one: the proposal that is meant to have the action taken.
        other: the proposal that it is compared with.
        action: what is taken; the intended action of `one` where left out.
        level: how often the region holds the truth.
        method: "score" inverts the test of `takeup.analysis.ratio_test`; "normal" takes the errors of scores from their
            squares, which is too short at small sizes and is there to be compared with.

    Returns:
        An estimate whose region may be no interval: `region` has its parts and `withheld` says why.
    """
    level = checks.share("level", level)
    first, second, a = pair_and_action(log, one, other, action)
    lacks = lacking(_both_scores(log, a)[0], (first, second))
    counted = possible(log, first, second) & ~lacks.rows
    known = counted & (log.implemented >= 0) & (log.outcome >= 0)
    n, missing = int(known.sum()), int((counted & ~known).sum())
    space, impossible = log.space, int((~counted & ~lacks.rows).sum())
    contrast = f"{space.implemented[a]} taken or not, by {space.proposals[first]} against {space.proposals[second]}"
    checks.one_of("method", method, ("score", "normal"))
    withheld = _too_few(log, known, first, second)
    found: tuple[Ray, ...] = ()
    value = math.nan
    if not withheld and method == "score":
        test = complier_test(log, first, second, a)
        value = test.estimate
        found = test.region(level) if test.shown else ()
        withheld = _rare(log, (first, second), test) if not test.shown else ALIKE if found and test.alike else ""
        found = () if withheld else found
    elif not withheld:
        outcome, taken = complier_scores(log, first, second, a)
        value = float(ratio(outcome, taken))
        found = regions.rays(anderson_rubin(outcome, taken, level))
        withheld = "" if log.fixed else PLAIN
    unbounded = "" if withheld else regions.said(found)
    low, high = regions.hull(found)
    return honest(
        log,
        Estimate(
            "complier effect",
            contrast,
            "difference",
            value,
            low,
            high,
            level,
            _assumed(log, first, second, a, missing, impossible, str(lacks)),
            survives_adaptation=not withheld,
            survives_drift=not withheld and not missing,
            n=n,
            missing=missing,
            region=found if unbounded else (),
            withheld=withheld or unbounded,
            left_out="" if withheld else lacks.left_out,
        ),
    )


def complier_scores(log: Log, one: int, other: int, action: int) -> tuple[FloatArray, FloatArray]:
    """By how much offering one and not the other changes outcome and taking, (.., n) each: scores of every decision.

    NaN where outcome or action was never reported, or one of the two could not be offered.
    """
    found = _both_scores(log, action)
    counted = _counted(found, one, other)
    outcome, taken = (np.where(counted, of.score[..., one] - of.score[..., other], np.nan) for of in found)
    return outcome, taken


@dataclass(frozen=True, slots=True, eq=False)
class ComplierTest:
    """The score test of trials side by side; see `takeup.analysis.ratio_test`.

    Attributes:
        even: what it needs with every decision weighted the same.
        stable: the same with stabilised weights; None with fixed randomisation.
        few: where evenly weighted means may rest on few decisions, so that an effect agrees if either test accepts it.
        effective: how many people each proposal had, effectively, (.., 2): 1 / Σ u² / p with stabilised weights u.
        width: how far apart outcomes may be, which effects are measured in here.
        counted: which decisions are used, (.., n).
    """

    even: RatioSums
    stable: RatioSums | None
    few: BoolArray
    effective: FloatArray
    width: float
    counted: BoolArray

    def accepts(self, angle: FloatArray, level: float) -> BoolArray:
        """Whether effects agree with each trial."""
        found = accepted(self.even, angle, level)
        return found if self.stable is None else np.asarray(found | (self.few & accepted(self.stable, angle, level)))

    def covers(self, effect: float, level: float = 0.95) -> BoolArray:
        """Whether the region of each trial holds an effect, (..)."""
        return self.accepts(np.broadcast_to(np.arctan(effect / self.width), self.few.shape), level)

    @property
    def estimate(self) -> float:
        """The ratio of what offering does to both, of a single trial; NaN where it does nothing to what is taken."""
        outcome, taken = self.even.estimate[0] - self.even.estimate[1]
        return float(self.width * outcome / taken) if taken else math.nan

    def region(self, level: float = 0.95) -> tuple[Ray, ...]:
        """All effects that agree with a single trial."""
        difference = self.even.estimate[0] - self.even.estimate[1]
        found = region(difference, lambda angle: self.accepts(angle, level))
        return tuple((self.width * low, self.width * high) for low, high in found)

    @property
    def shown(self) -> BoolArray:
        """Whether regions are to be relied upon, (..)."""
        return np.asarray(self.effective.min(axis=-1) >= LEAST - 1e-9)

    @property
    def alike(self) -> BoolArray:
        """Whether all outcomes under a proposal are the same, for both, (..)."""
        return np.asarray(self.even.squares[..., 0, 0].sum(axis=-1) <= ROUNDING * self.even.seen.sum(axis=(-1, -2)))


def complier_test(log: Log, one: int, other: int, action: int) -> ComplierTest:
    """The test of what taking an action does, by two proposals."""
    whole = targets.outcome(log.space)
    width = whole.high - whole.low
    low, scale = np.array([whole.low, 0.0]), np.array([width, 1.0])
    found = _both_scores(log, action)
    counted = _counted(found, one, other)
    pair, each = [one, other], counted[..., np.newaxis]
    value = np.where(each, (np.stack([of.value for of in found], axis=-1) - low) / scale, 0.0)
    offered = (each & (log.proposal[..., np.newaxis] == pair)).astype(np.float64)
    guess = (np.stack([of.guess[..., pair] for of in found], axis=-1) - low) / scale
    guess = np.where(each[..., np.newaxis], guess, 0.0)
    chance = np.where(each, found[0].chance[..., pair], 0.0)
    context = (each & (log.context[..., np.newaxis] == np.arange(len(log.space.contexts)))).astype(np.float64)
    begun = np.array([1.0 if of.target.two_valued else 0.0 for of in found])
    arrays = value, offered, chance, guess, context, begun
    if found[0].plain:
        even, stable, few = ratio_sums(*arrays, plain=True), None, np.zeros(log.batch, dtype=np.bool_)
    else:
        even = ratio_sums(*arrays)
        stable = ratio_sums(*arrays, weights="stabilised", like=even)
        few = np.where(each, chance, 1.0).min(axis=(-1, -2), initial=1.0) * counted.sum(axis=-1) < EVEN
    with np.errstate(divide="ignore"):
        effective = np.nan_to_num(1.0 / (stable or even).inverse.sum(axis=-2), nan=0.0, posinf=0.0)
    return ComplierTest(even, stable, np.asarray(few), effective, width, counted)


def _both_scores(log: Log, action: int) -> tuple[Scores, Scores]:
    """Of outcome and of taking, in decisions of which both are known."""
    wanted = targets.outcome(log.space), targets.took(log.space, action)
    outcome, taken = (scores(log, both_seen(of)) for of in wanted)
    return outcome, taken


def _counted(found: tuple[Scores, Scores], one: int, other: int) -> BoolArray:
    """The decisions that have both scores of both proposals, and could have had either."""
    counted = found[0].counted((one, other)) & found[1].counted((one, other))
    return np.asarray(counted & possible(found[0].log, one, other))


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

    return replace(of, values=values)


def _too_few(log: Log, known: NDArray[np.bool_], one: int, other: int) -> str:
    for z in (one, other):
        many = int((known & (log.proposal == z)).sum())
        if many < 2:
            return f"only {many} decisions with {log.space.proposals[z]} have a known action and outcome"
    return ""


def _rare(log: Log, pair: tuple[int, int], test: ComplierTest) -> str:
    few = int(np.argmin(test.effective))
    name, many = log.space.proposals[pair[few]], float(test.effective[few])
    return f"{name} was offered to too few: effectively {many:.1f}, and an interval needs {LEAST:.0f}"


def _assumed(log: Log, one: int, other: int, action: int, missing: int, impossible: int, lacks: str) -> tuple[str, ...]:
    space = log.space
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
        found.append(left_out(log))
    if impossible:
        found.append(f"It is the effect in decisions where both could be offered: {impossible} others are left out.")
    if lacks:
        found.append(f"It is about the other contexts: {lacks}.")
    return tuple(found)
