"""What was never reported: how much and where, what it could change at worst, and weights that make up for it.

By default an analysis leaves out decisions whose target is not known. That is right where who is missing has nothing to
do with what would have been seen. Two readings need less, or something else:

    worst case    whatever was missing lay at either end of its range: bounds, without any assumption
    weights       within a context and a proposal, those who are missing are like those who are not; see
                  `takeup.analysis.scores`, which makes them where `missing="weighted"` is asked for
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.analysis.compliers import LARGE
from takeup.analysis.effects import ALIKE
from takeup.analysis.mean_intervals import LEAST, Intervals, intervals
from takeup.analysis.scores import scores
from takeup.analysis.targets import Target
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.log import Log
from takeup.space import UNSEEN


@dataclass(frozen=True, slots=True, eq=False)
class Missing:
    """How much is missing, by context and proposal; leading axes are trials side by side.

    Attributes:
        log: of which log.
        decisions: how many there are, (.., X, Kz).
        implemented: of how many the action is missing.
        outcome: of how many the outcome is.
    """

    log: Log
    decisions: IntArray
    implemented: IntArray
    outcome: IntArray

    def plain(self) -> list[dict[str, Any]]:
        """A row for each context and proposal of a single trial that was met, as JSON has it."""
        space = self.log.space
        return [
            {
                "context": space.contexts[x],
                "proposal": space.proposals[z],
                "decisions": int(self.decisions[x, z]),
                "implemented": int(self.implemented[x, z]),
                "outcome": int(self.outcome[x, z]),
            }
            for x, z in np.argwhere(self.decisions).tolist()
        ]


@dataclass(frozen=True, slots=True)
class WorstCase:
    """Between which values an effect lies, whatever the missing outcomes were.

    Attributes:
        contrast: of which proposals, in words.
        low: the least that the effect may be, as estimated; NaN where the target has no range.
        high: the most.
        interval: from where to where, with sampling error: holds the effect at least as often as the level says.
        level: how often.
        n: how many decisions there are.
        missing: of how many the target is missing.
        assumes: what has to be true, a sentence each.
        withheld: why there is no interval; empty where there is.
    """

    contrast: str
    low: float
    high: float
    interval: tuple[float, float]
    level: float
    n: int
    missing: int
    assumes: tuple[str, ...]
    withheld: str = ""

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "contrast": self.contrast,
            "low": self.low,
            "high": self.high,
            "interval": list(self.interval),
            "level": self.level,
            "n": self.n,
            "missing": self.missing,
            "assumes": list(self.assumes),
            "withheld": self.withheld or None,
        }


def missing(log: Log) -> Missing:
    """How much is missing, by context and proposal."""
    everyone = np.ones(log.proposal.shape, dtype=np.bool_)
    parts = (_counted(log, which) for which in (everyone, log.implemented == UNSEEN, log.outcome == UNSEEN))
    return Missing(log, *parts)


def worst_case_scores(log: Log, of: Target, proposal: int, against: int) -> tuple[FloatArray, FloatArray]:
    """Scores of the least and of the most that the effect may be, (.., n) each.

    The effect is least where all that is missing of the one was at its low end, and of the other at its high end. Each
    end is the effect on a target that is always known, so that its scores are unbiased whatever the policy did.
    """
    least, most = (scores(log, each).score for each in _filled(of, proposal))
    return least[..., proposal] - least[..., against], most[..., proposal] - most[..., against]


def worst_case_intervals(
    log: Log, of: Target, proposal: int, against: int, level: float = 0.95
) -> tuple[Intervals, Intervals]:
    """Of the least and of the most that the effect may be, of trials side by side.

    The lower end of the one and the upper of the other are those of the worst case. Neither is inside the interval of
    those of whom it is known, if that is shown.
    """
    pair = (against, proposal)
    known, least, most = (
        intervals(scores(log, each), pair, "difference", level=level) for each in (of, *_filled(of, proposal))
    )
    return (
        replace(least, low=np.where(known.shown, np.fmin(least.low, known.low), least.low)),
        replace(most, high=np.where(known.shown, np.fmax(most.high, known.high), most.high)),
    )


def worst_case(log: Log, of: Target, proposal: int, against: int = 0, level: float = 0.95) -> WorstCase:
    """Between which values the effect of one proposal against another lies, whatever was missing.

    Either end of the interval is that of an effect, with half of what the level leaves over. As that of an effect it is
    withheld where a proposal was offered to fewer than five people, effectively, or could not be.
    """
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial", "or use worst_case_intervals")
    checks.share("level", level)
    least, most = worst_case_intervals(log, of, proposal, against, level)
    names, reason = log.space.proposals, _too_few(log, (proposal, against))
    if not reason and (least.alike or most.alike):
        reason = ALIKE
    return WorstCase(
        f"{names[proposal]} - {names[against]}",
        float(least.value),
        float(most.value),
        (np.nan, np.nan) if reason else (float(least.low), float(most.high)),
        level,
        len(log),
        int(np.isnan(of.values(log)).sum()),
        (
            f"What is missing lies between {of.low:g} and {of.high:g}, and nothing else is known of it.",
            LARGE,
        ),
        reason,
    )


def _too_few(log: Log, proposals: tuple[int, ...]) -> str:
    """Why an interval of evenly weighted scores is not to be relied upon; empty where it is."""
    for z in proposals:
        name, chance = log.space.proposals[z], log.probability[:, z]
        if not (chance > 0).all():
            return f"some could not have been offered {name}: a probability was 0"
        many = float((log.proposal == z).sum() if log.fixed else len(log) ** 2 / (1 / chance).sum())
        if many < LEAST:
            return f"{name} was offered to too few: effectively to {many:.1f}, and an interval needs {LEAST:.0f}"
    return ""


def _filled(of: Target, proposal: int) -> tuple[Target, Target]:
    """The target with all that is missing of a proposal at its low end and of others at its high end; the reverse."""

    def filled(own: float, others: float) -> Target:
        def values(log: Log) -> FloatArray:
            value = of.values(log)
            return np.where(np.isnan(value), np.where(log.proposal == proposal, own, others), value)

        return replace(of, values=values)

    return filled(of.low, of.high), filled(of.high, of.low)


def _place(log: Log) -> tuple[IntArray, ...]:
    trials = tuple(index[..., np.newaxis] for index in np.indices(log.batch, sparse=True))
    return (*trials, log.context, log.proposal)


def _counted(log: Log, which: NDArray[np.bool_]) -> IntArray:
    """How many of these there are in each context with each proposal."""
    counts = np.zeros((*log.batch, len(log.space.contexts), len(log.space.proposals)), dtype=np.int64)
    np.add.at(counts, _place(log), which)
    return counts
