"""Effects by what was known of people before: of each group by itself, and drawn towards the others.

A group's own effect is the mean of its scores (`takeup.analysis.scores`), with the interval of any other; the
covariates are adjusted for where the log has probabilities. Groups are of different decisions, so that what they miss
is not correlated, and `takeup.analysis.pooling` draws them towards each other.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from takeup.analysis import targets
from takeup.analysis.cuts import Cuts, check_cuts, parts
from takeup.analysis.effects import effect
from takeup.analysis.estimate import Estimate
from takeup.analysis.pooling import Pooled, holm, pooled
from takeup.analysis.scores import Scores, scores
from takeup.errors import UnsuitableError
from takeup.log import Log

FEW = 20
"""Where fewer people of a group were offered one of the two and have an outcome, the group is called small."""

LARGE_DIFFERENCE = 0.25
"""By how many standard deviations of the outcome effects of groups differ before anything is known: half the time more.
"""

READING = "intention to treat, by group"
DRAWN = "intention to treat, by group, drawn towards the others"
MANY = "Each interval is of its group by itself: of many groups some miss theirs by chance."
EXCHANGEABLE = (
    "The effects of the groups of one covariate are like draws from one bell curve, whose width is not known: right on"
    " average over groups, and too near to the others for a group that is unlike all of them."
)
DIFFERENCES = "A group's own error is normal, and known as well as its interval says."


@dataclass(frozen=True, slots=True)
class Group:
    """The effect in one group.

    Attributes:
        label: what it is called.
        own: its effect by itself.
        drawn: the same drawn towards the other groups; None where there is nothing to draw it to.
        n: how many decisions are of it.
        few: why not much is to be made of it; empty where there is no reason.
    """

    label: str
    own: Estimate
    drawn: Estimate | None
    n: int
    few: str = ""

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        drawn = None if self.drawn is None else self.drawn.plain()
        return {
            "group": self.label,
            "decisions": self.n,
            "own": self.own.plain(),
            "drawn": drawn,
            "few": self.few or None,
        }


@dataclass(frozen=True, slots=True)
class Subgroups:
    """The effects of one comparison in the groups of one covariate.

    Attributes:
        covariate: its name.
        one: the proposal that is compared with the control.
        contrast: both, in words.
        groups: in their order.
        p: of the test that the effect is the same in all; None where fewer than two groups have an interval.
        corrected: the same, right for all covariates and comparisons together (Holm's correction).
        tests: how many these are.
        between: how much effects differ between groups, as a standard deviation: its median and its interval.
    """

    covariate: str
    one: int
    contrast: str
    groups: tuple[Group, ...]
    p: float | None = None
    corrected: float | None = None
    tests: int = 0
    between: tuple[float, float, float] | None = None

    def changed(self, how: Callable[[Estimate], Estimate]) -> "Subgroups":
        """The same with something done to every estimate."""
        groups = tuple(
            replace(each, own=how(each.own), drawn=None if each.drawn is None else how(each.drawn))
            for each in self.groups
        )
        return replace(self, groups=groups)

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "covariate": self.covariate,
            "contrast": self.contrast,
            "groups": [each.plain() for each in self.groups],
            "heterogeneity": {"p": self.p, "corrected": self.corrected, "tests": self.tests},
            "between": None if self.between is None else list(self.between),
        }


def subgroups(
    log: Log,
    control: int,
    *,
    level: float = 0.95,
    cuts: Cuts | None = None,
) -> tuple[Subgroups, ...]:
    """Effects of all proposals against the control, in the groups of every covariate.

    Args:
        log: a single trial with covariates.
        control: the proposal that all others are compared with.
        level: of intervals.
        cuts: of some measures, where groups begin; thirds of those who came where left out.
    """
    if log.space.covariates is None:
        raise UnsuitableError("the log has no covariates to make groups by")
    check_cuts(log, cuts)
    target = targets.outcome(log.space)
    of = None if log.estimated else scores(log, target, adjusted=True)
    value = target.values(log)
    scale = LARGE_DIFFERENCE * float(np.nanstd(value)) if (~np.isnan(value)).any() else 0.0
    found = [
        _compared(log, of, one, control, name, level, scale, cuts)
        for one in range(len(log.space.proposals))
        if one != control
        for name in log.space.covariates.names
    ]
    tested = [place for place, each in enumerate(found) if each.p is not None]
    together = holm(np.array([found[place].p for place in tested], dtype=np.float64))
    for place, p in zip(tested, together.tolist(), strict=True):
        found[place] = replace(found[place], corrected=p, tests=len(tested))
    return tuple(found)


def _compared(
    log: Log, of: Scores | None, one: int, control: int, name: str, level: float, scale: float, cuts: Cuts | None
) -> Subgroups:
    groups = []
    for label, rows in parts(log, name, cuts):
        own = _own(log, of, rows, one, control, level)
        groups.append(Group(label, own, None, int(rows.sum()), _few(log, rows, one, control)))
    contrast = " - ".join(log.space.proposals[z] for z in (one, control))
    shown = [place for place, each in enumerate(groups) if each.own.shown]
    if len(shown) < 2 or not scale:
        return Subgroups(name, one, contrast, tuple(groups))
    estimates = [groups[place].own for place in shown]
    wide = float(ndtri((1.0 + level) / 2.0))
    middle = np.array([each.value for each in estimates])
    error = np.array([(each.high - each.low) / (2.0 * wide) for each in estimates])
    drawn = pooled(middle, error, scale, level)
    for place, at in enumerate(shown):
        groups[at] = replace(groups[at], drawn=_drawn(groups[at].own, drawn, place))
    return Subgroups(name, one, contrast, tuple(groups), drawn.p, None, 0, drawn.between)


def _own(log: Log, of: Scores | None, rows: NDArray[np.bool_], one: int, control: int, level: float) -> Estimate:
    """The effect in a group by itself; without probabilities, as plain means have it."""
    here = log.only(rows)
    if of is None:
        found = effect(here.without_covariates(), one, control, level=level)
    else:
        found = effect(here, one, control, level=level, of=of.only(rows))
    return replace(found, reading=READING, assumes=(*found.assumes, MANY))


def _drawn(own: Estimate, found: Pooled, place: int) -> Estimate:
    value, low, high = (float(each[place]) for each in (found.value, found.low, found.high))
    assumes = (EXCHANGEABLE, DIFFERENCES, *(each for each in own.assumes if each != MANY))
    return replace(own, reading=DRAWN, value=value, low=low, high=high, assumes=assumes)


def _few(log: Log, rows: NDArray[np.bool_], one: int, control: int) -> str:
    """Why a group is small; empty where it is not."""
    known = rows & (log.outcome >= 0)
    many = {log.space.proposals[z]: int((known & (log.proposal == z)).sum()) for z in (one, control)}
    name = min(many, key=lambda each: many[each])
    if many[name] >= FEW:
        return ""
    return f"small: {many[name]} with an outcome were offered {name}, and below {FEW} chance decides"
