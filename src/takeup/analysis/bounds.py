"""What can be said about taking an action where nothing is assumed of those who refuse: bounds, not a number.

Sharp ones (Balke & Pearl 1997) come from a linear program over response types, for levels of outcomes in small spaces.
The natural ones beyond (Robins 1989; Manski 1990) take the worst and the best outcome for all who took something else.
Both rest on scores, so that they survive adaptive allocation. Intervals are for the bounds themselves: with the stated
level, both are between `least` and `most`. They are conservative, as limits for everything that the bounds are made of
have to hold at once (Bonferroni).
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from takeup import checks
from takeup.analysis import targets
from takeup.analysis.cell_limits import (
    cell_moments,
    cell_shares,
    effective,
    known,
    limited_sums,
    means,
    offered_each,
    share_limits,
)
from takeup.analysis.compliers import EXCLUSION, LARGE, LEAST, both_seen
from takeup.analysis.effects import left_out
from takeup.analysis.response_types import MOST_UNKNOWNS, response_types, sharp_bounds
from takeup.analysis.targets import Target
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.log import Log
from takeup.outcomes import Levels
from takeup.space import Label, Space

ODDS = "what was seen contradicts that proposals work through what is taken alone: no response types agree with it"

POOLED = "Those whose action or outcome was never reported are like the others of their proposal."
"""What has to be true of them where contexts are taken together, as probabilities never changed."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between what a mean lies that is not identified.

    Attributes:
        contrast: of what, in words.
        low: the lower bound, as estimated.
        high: the upper bound.
        least: the lower end of an interval for both bounds; NaN where it is withheld.
        most: the upper end.
        level: how often such intervals hold both true bounds, at least.
        sharp: whether nothing better follows from the cells; natural bounds otherwise.
        moved: how much probability had to be moved for any response types to agree with the cells; 0 where they did.
        assumes: what has to be true, a sentence each.
        survives_adaptation: whether the interval keeps its level after adaptive allocation.
        survives_drift: whether it does where outcomes change over the trial.
        n: how many decisions it rests on.
        missing: how many were left out, as something about them was never reported.
        withheld: why there is no interval; empty where there is.
    """

    contrast: str
    low: float
    high: float
    least: float
    most: float
    level: float
    sharp: bool
    moved: float
    assumes: tuple[str, ...]
    survives_adaptation: bool
    survives_drift: bool
    n: int
    missing: int
    withheld: str = ""

    def plain(self) -> dict[str, Any]:
        """As JSON has it: numbers that are none are null."""
        found = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in asdict(self).items()
        }
        return found | {"assumes": list(self.assumes), "withheld": self.withheld or None}


def action_bounds(log: Log, one: Label, other: Label | None = None, *, level: float = 0.95) -> Bounds:
    """The mean outcome had everybody taken `one`; or by how much it had differed from everybody taking `other`.

    Args:
        log: a single trial.
        one: an action, among all that were taken.
        other: another; None for the mean under `one` alone.
        level: how often the interval holds both bounds.
    """
    level = checks.share("level", level)
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial")
    space = log.space
    weight = np.zeros(len(space.implemented))
    weight[space.index("implemented", one)] = 1.0
    contrast = f"mean had all taken {space.implemented[int(weight.argmax())]}"
    if other is not None:
        b = space.index("implemented", other)
        if weight[b]:
            raise InputError("other", repr(other), f"another action than {space.implemented[b]}")
        weight[b] = -1.0
        contrast = f"{contrast} - had all taken {space.implemented[b]}"
    sharp = is_small(space)
    exact = sharp and log.constant
    low, high, moved, least, most = (math.nan, math.nan, 0.0, math.nan, math.nan)
    if offered_each(log).any(axis=0).all():
        low, high, moved, least, most = _sharp(log, weight, level) if sharp else _natural(log, weight, level)
    if withheld := _too_few(log, exact):
        least, most = math.nan, math.nan
    elif math.isnan(least):
        withheld = ODDS
    n, missing = int(known(log).sum()), int(((log.implemented < 0) | (log.outcome < 0)).sum())
    assumes = (EXCLUSION, *_as_others(log, missing, len(log) - n - missing), *(() if exact else (LARGE,)))
    return Bounds(
        contrast,
        low,
        high,
        least,
        most,
        level,
        sharp,
        moved,
        assumes,
        survives_adaptation=not withheld and not log.estimated,
        survives_drift=not withheld and not missing,
        n=n,
        missing=missing,
        withheld=withheld,
    )


def _too_few(log: Log, exact: bool) -> str:
    """Why there is no interval; empty where there is.

    One that rests on a normal limit needs `LEAST` people of each proposal, effectively: evenly weighted scores have the
    variance of n² / Σ 1 / p people. Exact limits hold for any number.
    """
    offered, names = offered_each(log), log.space.proposals
    seen = offered.sum(axis=0)
    if not seen.all():
        return f"of nobody who was offered {names[int(seen.argmin())]} is it known what they took and what came of it"
    if exact:
        return ""
    many = seen if log.constant else effective(log)
    if many.min() < LEAST:
        few = int(many.argmin())
        return f"{names[few]} was offered to too few: effectively to {many[few]:.1f}, and an interval needs {LEAST:.0f}"
    return ""


def is_small(space: Space) -> bool:
    """Whether the sharp bounds of a space are computed: levels, and a program that is solved in less than seconds."""
    _, proposals, actions, outcomes = space.shape
    return isinstance(space.outcome, Levels) and actions**proposals * actions * outcomes <= MOST_UNKNOWNS


def _sharp(log: Log, weight: FloatArray, level: float) -> tuple[float, float, float, float, float]:
    """Lower and upper bound, what had to be moved, and the interval, by linear programs."""
    _, proposals, actions, outcomes = log.space.shape
    objective = np.outer(weight, log.space.outcome.shown.sign * log.space.reward)
    cells = cell_moments(log)
    low, high, moved = sharp_bounds(cell_shares(log, cells), objective)
    sums = limited_sums(actions, outcomes)
    limits = share_limits(log, sums, level, cells)
    ends = response_types(proposals, actions, outcomes).bounds(objective, sums.reshape(len(sums), -1), *limits)
    return low, high, moved, *((math.nan, math.nan) if ends is None else ends)


def _natural(log: Log, weight: FloatArray, level: float) -> tuple[float, float, float, float, float]:
    """Likewise, with the worst and the best for all who took something else, under the proposal that says most."""
    whole = targets.outcome(log.space)
    c = -ndtri((1 - level) / (2 * int(np.abs(weight).sum()) * len(log.space.proposals)))
    ends = np.zeros(4)
    crossed = 0.0
    for a in np.flatnonzero(weight):
        below, above = (_filled(log.space, int(a), end) for end in (whole.low, whole.high))
        (low, low_error), (high, high_error) = means(log, below), means(log, above)
        each = np.array([low.max(), high.min(), (low - c * low_error).max(), (high + c * high_error).min()])
        crossed = max(crossed, float(each[0] - each[1]))
        each[:2] = np.clip(each[:2] if each[0] <= each[1] else each[:2].mean(), whole.low, whole.high)
        each[2:] = np.clip(each[2:], whole.low, whole.high) if each[2] <= each[3] else math.nan
        ends += each if weight[a] > 0 else -each[[1, 0, 3, 2]]
    return float(ends[0]), float(ends[1]), max(crossed, 0.0) / (whole.high - whole.low), float(ends[2]), float(ends[3])


def _filled(space: Space, action: int, otherwise: float) -> Target:
    """The outcome of those who took an action, and one and the same for all others."""
    whole = both_seen(targets.outcome(space))

    def values(log: Log) -> FloatArray:
        value = whole.values(log)
        return np.where(np.isnan(value) | (log.implemented == action), value, otherwise)

    return replace(whole, name=f"{whole.name} under {space.implemented[action]}", values=values)


def _as_others(log: Log, missing: int, impossible: int) -> tuple[str, ...]:
    found = [POOLED if log.constant else left_out(log)] if missing else []
    if impossible:
        found.append(f"They are for decisions in which all could be offered: {impossible} others are left out.")
    return tuple(found)
