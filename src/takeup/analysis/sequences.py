"""Confidence sequences: intervals for the effect of a proposal that hold at every look, however often one looks.

They are of the running mean of the effect over those who came, whatever changed meanwhile, from the probabilities that
were logged. The scores of `takeup.analysis.scores` have no bound where probabilities have none. For the lower end they
need one below alone: with outcomes between 0 and 1 and guesses m, of which m(one) is cut to at most c p(one) and
1 - m(other) to at most c p(other), what the score

    Γ = m(one) - m(other) + 1{z = one} (y - m(one)) / p(one) - 1{z = other} (y - m(other)) / p(other)

has beyond its first two terms is never below -c, whatever the probabilities are. Sums of such residuals have the
boundary of `takeup.analysis.mixtures.exponential_bound` with the sum of their squares as V (empirical Bernstein;
Waudby-Smith, Wu, Ramdas, Karampatziakis & Mineiro 2024). The upper end is the lower one of the negative effect.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.analysis import targets
from takeup.analysis.effects import CAME, COMPLETE, LOGGED, SEPARATE
from takeup.analysis.estimate import Estimate, honest
from takeup.analysis.mixtures import exponential_bound, log_exponential_mixture, tightest
from takeup.analysis.prefix import NOT_LOGGED, closed_prefix, pair_of, single
from takeup.analysis.scores import predictable_scores
from takeup.analysis.showing import BOTH, NEVER_BOTH
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.log import Log
from takeup.space import Label

IN_ORDER = "Decisions are in the order in which they were made."

REACH = 3.0
"""C, how far below zero a residual may be: more cuts fewer guesses, and makes the boundary wider."""

PLANNED = 300
"""After how many decisions intervals are tightest where nobody says: any number is valid, if it is chosen before."""

POINTS = 1_000
"""How many points a path has at most where nobody says."""


@dataclass(frozen=True, slots=True, eq=False)
class EffectPath:
    """The interval after each of some decisions; leading axes are trials side by side.

    Attributes:
        at: after how many decisions, (points,).
        n: how many of them counted, (.., points).
        value: the mean of the scores; NaN before the first.
        low: the lower end.
        high: the upper end.
    """

    at: IntArray
    n: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray


class _Side(NamedTuple):
    """Running sums for one end, of outcomes between 0 and 1: of the scores and of the squares of residuals, (.., n)."""

    score: FloatArray
    square: FloatArray


def any_time_effect(
    log: Log, one: Label, other: Label, level: float = 0.95, *, planned: int = PLANNED, finished: bool = False
) -> Estimate:
    """The effect of proposing `one` and not `other`, by intention to treat, with an interval that holds at any time.

    It is the average effect over those who came so far, of the closed prefix of the log; the whole path is
    `effect_path`.

    Args:
        log: a single trial.
        one: a proposal.
        other: what it is compared with.
        level: how often all the intervals of a trial hold the truth together, at least.
        planned: after how many decisions the interval is to be tightest; chosen before the trial.
        finished: whether nothing is pending any more; outcomes that are not known are then left out as missing.
    """
    single(log)
    i, j = pair_of(log.space, one, other)
    path = effect_path(log, one, other, level, at=[len(log)], planned=planned, finished=finished)
    n, value, low, high = int(path.n[0]), float(path.value[0]), float(path.low[0]), float(path.high[0])
    prefix = closed_prefix(log, finished=finished)
    missing, without = int((~prefix).sum()), int(prefix.sum()) - n
    withheld, lost = _withheld(log, (i, j), n, n + without), finished and missing > 0
    assumes = ((COMPLETE,) if lost else ()) + ((BOTH.format(without),) if without else ())
    return honest(
        log,
        Estimate(
            reading="intention to treat, average over those who came",
            contrast=f"{log.space.proposals[i]} - {log.space.proposals[j]}",
            measure="difference",
            value=value,
            low=np.nan if withheld else low,
            high=np.nan if withheld else high,
            level=level,
            assumes=(*assumes, LOGGED, IN_ORDER, SEPARATE, CAME),
            survives_adaptation=not withheld,
            survives_drift=not withheld and not lost,
            n=n,
            missing=missing,
            any_time=True,
            withheld=withheld,
        ),
    )


def _withheld(log: Log, pair: tuple[int, int], n: int, known: int) -> str:
    """Why there is no interval."""
    if log.estimated:
        return NOT_LOGGED
    if not n and known:
        return NEVER_BOTH.format(" and ".join(log.space.proposals[z] for z in pair))
    if not n:
        return f"no outcome is known of the first of {len(log)} decisions" if len(log) else "there is no decision"
    return ""


def effect_path(
    log: Log,
    one: Label,
    other: Label,
    level: float = 0.95,
    *,
    at: ArrayLike | None = None,
    planned: int = PLANNED,
    finished: bool = False,
) -> EffectPath:
    """The intervals of `any_time_effect` after each of some decisions, for a chart; all hold together.

    Args:
        log: trials.
        one: a proposal.
        other: what it is compared with.
        level: how often all of them hold the truth, at least.
        at: after how many decisions; at most `POINTS`, evenly spread, where left out.
        planned: after how many decisions intervals are to be tightest.
        finished: whether outcomes that are not known are missing, and not pending.
    """
    alpha, rho = 1 - checks.share("level", level), _rho(planned)
    where, of = _points(len(log), at), targets.outcome(log.space)
    counted, *sides = _sides(log, one, other, finished=finished)
    n = _after(counted, where)
    some = np.maximum(n, 1.0)

    def lowest(side: _Side) -> FloatArray:
        bound = REACH * exponential_bound(_after(side.square, where) / REACH**2, alpha / 2, rho)
        return np.clip((_after(side.score, where) - bound) / some, -1.0, 1.0)

    low, high = np.sort(np.stack([lowest(sides[0]), -lowest(sides[1])]), axis=0)
    value = np.clip((_after(sides[0].score, where) - _after(sides[1].score, where)) / 2 / some, low, high)
    width, none = of.high - of.low, n == 0
    ends = (width * np.where(none, whole, end) for whole, end in ((-1.0, low), (1.0, high)))
    return EffectPath(where, n.astype(np.int64), width * np.where(none, np.nan, value), *ends)


def effect_against(
    log: Log, one: Label, other: Label, effect: ArrayLike, *, planned: int = PLANNED, finished: bool = False
) -> FloatArray:
    """Log evidence, after each decision, against an average effect so far of `effect`, (.., n).

    It is below log 1 / α where the interval of level 1 - α holds `effect`, which may differ from decision to decision.
    """
    of = targets.outcome(log.space)
    shift = np.asarray(effect, dtype=np.float64) / (of.high - of.low)
    n, below, above = _sides(log, one, other, finished=finished)
    rho = _rho(planned)
    found = [
        log_exponential_mixture((x.score - sign * n * shift) / REACH, x.square / REACH**2, rho)
        for sign, x in ((1.0, below), (-1.0, above))
    ]
    return np.asarray(np.maximum(*found) - np.log(2))


def _rho(planned: int) -> FloatArray:
    """For a level of .95, and residuals whose squares are 2 on average: 1 where proposals are even, else more."""
    return tightest(2 * checks.whole("planned", planned, least=1) / REACH**2, 0.05)


def _points(n: int, at: ArrayLike | None) -> IntArray:
    if at is None:
        return np.unique(np.linspace(min(n, 1), n, min(n, POINTS) or 1).astype(np.int64))
    where = checks.counts("at", at).reshape(-1)
    if where.size and where.max() > n:
        raise InputError("at", f"{where.max()}", f"at most {n}, the number of decisions")
    return where


def _after(running: FloatArray, where: IntArray) -> FloatArray:
    """Running sums after so many decisions."""
    begun = np.concatenate([np.zeros((*running.shape[:-1], 1)), running], axis=-1)
    return np.asarray(begun[..., where])


def _sides(log: Log, one: Label, other: Label, *, finished: bool) -> tuple[FloatArray, _Side, _Side]:
    """How many decisions count so far, and the sums for the lower end and, of the negative effect, for the upper."""
    i, j = pair_of(log.space, one, other)
    of = targets.outcome(log.space)
    found = predictable_scores(log, of)
    y, guess = ((x - of.low) / (of.high - of.low) for x in (found.value, found.guess))
    p = log.probability
    counts = closed_prefix(log, finished=finished) & (p[..., i] > 0) & (p[..., j] > 0)

    def side(up: int, down: int) -> _Side:
        first = np.minimum(guess[..., up], REACH * p[..., up])
        second = 1 - np.minimum(1 - guess[..., down], REACH * p[..., down])
        gap = np.where(log.proposal == up, y - first, np.where(log.proposal == down, second - y, 0.0))
        residual = np.where(counts, gap / log.probability_of_proposal, 0.0)
        score = np.where(counts, first - second + residual, 0.0)
        return _Side(np.cumsum(score, axis=-1), np.cumsum(residual**2, axis=-1))

    return np.cumsum(counts, axis=-1, dtype=np.float64), side(i, j), side(j, i)
