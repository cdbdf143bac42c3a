"""The decisions that a check rests on, and their outcomes as levels: those of the space, or bins where it has none."""

from dataclasses import dataclass, replace

import numpy as np

from takeup.checks import IntArray
from takeup.errors import InputError
from takeup.evidence import Evidence
from takeup.outcomes import Count, Levels, Number, Outcome, Time
from takeup.space import UNSEEN


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Decisions with the outcome seen.

    Attributes:
        outcome: what came out.
        statistic: what they add up to, [x, z, group, .]; the groups are actions, or whether the action was seen.
        left_out: how many other decisions there are.
        starts: the cell of the statistic at which each level begins.
        labels: of the levels.
    """

    outcome: Outcome
    statistic: IntArray
    left_out: int
    starts: IntArray
    labels: tuple[str, ...]

    @property
    def used(self) -> int:
        """How many they are."""
        return int(self.outcome.seen(self.statistic).sum())

    @property
    def counts(self) -> IntArray:
        """n[x, z, a, y], y being a level."""
        return self.by_level(self.statistic)

    @property
    def bins(self) -> int:
        """How many bins the outcomes were put in; 0 where they have levels."""
        return 0 if isinstance(self.outcome, Levels) else len(self.labels)

    def in_bins(self, most: int) -> "Cases":
        """The same in fewer bins, where outcomes have no levels."""
        starts, labels = _levels(self.outcome, most)
        return replace(self, starts=starts, labels=labels)

    def by_level(self, statistic: IntArray) -> IntArray:
        """How many outcomes of a statistic are in each level."""
        return np.asarray(np.add.reduceat(statistic[..., : self.outcome.cells], self.starts, axis=-1))


def complete_cases(evidence: Evidence, most: int) -> Cases:
    """Those with compliance and outcome seen; outcomes without levels in at most so many bins.

    Bins are those of the outcome, neighbours taken together as its range has them, never as the data do: a table of
    them is then as honest as one of levels.
    """
    return _cases(evidence, np.asarray(_single(evidence).statistic[..., :-1, :]), most)


def seen_and_unseen(evidence: Evidence, most: int) -> Cases:
    """Those with the outcome seen, in two groups: action seen, action unseen; bins are as of `complete_cases`."""
    statistic = _single(evidence).statistic
    groups = np.stack([statistic[..., :-1, :].sum(axis=-2), statistic[..., UNSEEN, :]], axis=-2)
    return _cases(evidence, groups, most)


def _single(evidence: Evidence) -> Evidence:
    if evidence.counts.ndim != 4:
        raise InputError("evidence", f"shape {evidence.counts.shape}", "a single table, not many side by side")
    return evidence


def _cases(evidence: Evidence, statistic: IntArray, most: int) -> Cases:
    outcome = evidence.space.outcome
    left_out = int(evidence.total - outcome.seen(statistic).sum())
    return Cases(outcome, statistic, left_out, *_levels(outcome, most))


def _levels(outcome: Outcome, most: int) -> tuple[IntArray, tuple[str, ...]]:
    """The cell at which each level begins, and what it is called."""
    if isinstance(outcome, Levels):
        return np.arange(outcome.size), outcome.names
    assert isinstance(outcome, Number | Count | Time)
    bins, kinds = outcome.binned, ("event at ", "censored at ") if isinstance(outcome, Time) else ("",)
    many = min(bins.size, max(most // len(kinds), 1))
    starts = -(-np.arange(many) * bins.size // many)
    ends = np.append(starts[1:], bins.size) - 1
    ranges = [_range(bins.first[i], bins.last[j], outcome.unit) for i, j in zip(starts, ends, strict=True)]
    everywhere = np.concatenate([starts + kind * bins.size for kind in range(len(kinds))])
    return everywhere, tuple(kind + each for kind in kinds for each in ranges)


def _range(first: float, last: float, unit: str) -> str:
    return (f"{first:g}" if first == last else f"{first:g} to {last:g}") + f" {unit}".rstrip()
