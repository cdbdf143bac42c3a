"""Is compliance ignorable? Whether the outcome depends on the proposal once the implemented action is known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.diagnostics import tables
from takeup.evidence import Evidence
from takeup.randomness import stream
from takeup.space import Space

DRAWS = 9999
"""Random tables behind a p-value where counts are small."""


@dataclass(frozen=True, slots=True)
class GroupMean:
    """Those with one implemented action and some proposals.

    Attributes:
        label: the proposals, or "complied" and "did not comply".
        patients: how many they are.
        mean: the mean utility of their outcomes; nan where there are none.
    """

    label: str
    patients: int
    mean: float


@dataclass(frozen=True, slots=True)
class Contrast:
    """Whether groups with the same context and implemented action differ in their outcomes.

    Attributes:
        context: its label.
        implemented: the label of the action.
        groups: who is compared.
        statistic: the likelihood ratio G.
        degrees: its degrees of freedom; 0 where there is nothing to compare.
        p_value: of G, by chi-square, or by random tables with the same margins where counts are small.
        log_bayes_factor: log of how much more probable the outcomes are if the groups differ.
        log_e_value: as the Bayes factor, but against the best shared rates: valid after every patient.
    """

    context: str
    implemented: str
    groups: tuple[GroupMean, ...]
    statistic: float
    degrees: int
    p_value: float
    log_bayes_factor: float
    log_e_value: float


@dataclass(frozen=True, slots=True)
class Contrasts:
    """One way of grouping, over all contexts and actions.

    Attributes:
        parts: a contrast for each context and action.
        statistic: the sum of their G.
        degrees: of it.
        p_value: of it.
        log_bayes_factor: log of how much more probable the outcomes are if some of the parts may differ.
        log_e_value: of the mean of their e-values, valid after every patient.
    """

    parts: tuple[Contrast, ...]
    statistic: float
    degrees: int
    p_value: float
    log_bayes_factor: float
    log_e_value: float

    @property
    def worst(self) -> Contrast:
        """The part that speaks loudest."""
        return max(self.parts, key=lambda part: part.log_bayes_factor)


@dataclass(frozen=True, slots=True)
class Ignorable:
    """What the data say about the assumption of TS-Obs and TS-Lat that compliance is ignorable.

    Attributes:
        complied: those who complied against those who did not; None where the space does not say what complying means.
        cells: every proposal against the others.
        used: decisions with compliance and outcome seen.
        left_out: the others.
        level: the rate of false alarms that `doubtful` and `doubtful_at_any_time` keep to.
    """

    complied: Contrasts | None
    cells: Contrasts
    used: int
    left_out: int
    level: float

    @property
    def p_value(self) -> float:
        """For both groupings together, by Bonferroni; of one look, planned beforehand."""
        both = self._both
        return min(1.0, len(both) * min(each.p_value for each in both))

    @property
    def log_e_value(self) -> float:
        """For both groupings together, their mean; of any number of looks."""
        return float(tables.average(np.array([each.log_e_value for each in self._both])))

    @property
    def doubtful(self) -> bool:
        """Whether p is at most the level: for one look."""
        return self.p_value <= self.level

    @property
    def doubtful_at_any_time(self) -> bool:
        """Whether the e-value has reached 1 / level: for as many looks as one likes."""
        return bool(self.log_e_value >= -np.log(self.level))

    @property
    def _both(self) -> list[Contrasts]:
        return [each for each in (self.complied, self.cells) if each is not None]

    def summary(self) -> str:
        """What it means, in plain language."""
        lines = [f"{self.used:,} decisions with compliance and outcome seen; {self.left_out:,} others left out."]
        for name, each in (("Complied against did not", self.complied), ("Proposal by proposal", self.cells)):
            if each is not None:
                lines.append(
                    f"{name}: p = {each.p_value:.2g}, Bayes factor {_power(each.log_bayes_factor)}, "
                    f"e-value {_power(each.log_e_value)}."
                )
        if self.doubtful or self.doubtful_at_any_time:
            contrasts = self.complied or self.cells
            part, several = contrasts.worst, len({each.context for each in contrasts.parts}) > 1
            told = "; ".join(f"{g.label}: mean {g.mean:.3f} of {g.patients:,}" for g in part.groups if g.patients)
            where = f"in context {part.context}, " if several else ""
            lines.append(f"Most of it: {where}among those with {part.implemented} implemented. {told}.")
            looks = "however often you looked" if self.doubtful_at_any_time else "if this was the only look"
            lines.append(
                f"Compliance is not ignorable ({looks}): who complies differs from who does not. "
                "TS-Obs and TS-Lat can be wrong for ever here; TS needs no such assumption."
            )
        else:
            lines.append(
                "Nothing speaks against ignorable compliance. That is no proof of it: small differences need many "
                "decisions to show."
            )
        return "\n".join(lines)


def check_ignorable(evidence: Evidence, *, level: float = 0.05, seed: int = 0, draws: int = DRAWS) -> Ignorable:
    """Test that y does not depend on z given x and a: what TS-Obs and TS-Lat assume, and TS does not.

    It uses decisions with compliance and outcome seen, which is fair where being seen does not depend on the outcome,
    given context, proposal and action. p-values are for data of which the size was set beforehand, and for proposals
    that did not depend on outcomes; policies that adapt stretch this a little (docs/benchmarks.md says how much), and
    repeated looks a lot. The e-value allows for both.

    Args:
        evidence: the table.
        level: the rate of false alarms.
        seed: of the random tables that p-values rest on where counts are small.
        draws: how many of them.
    """
    counts, left_out = tables.complete_cases(evidence)
    level = checks.share("level", level)
    draws = checks.whole("draws", draws, least=1)
    rng = stream(seed, "ignorable")
    space = evidence.space
    by_action = counts.swapaxes(1, 2)  # x, a, z, y
    cells = _contrasts(by_action, [list(space.proposals)] * by_action.shape[1], space, draws, rng)
    complied = None
    if space.intended is not None:
        follows = np.array(space.intended)[np.newaxis] == np.arange(by_action.shape[1])[:, np.newaxis]
        grouping = np.stack([follows, ~follows], axis=1).astype(np.int64)  # a, complied or not, z
        grouped = np.einsum("agz,xazy->xagy", grouping, by_action)
        complied = _contrasts(grouped, [["complied", "did not comply"]] * len(follows), space, draws, rng)
    return Ignorable(complied, cells, int(counts.sum()), left_out, level)


def _contrasts(
    grouped: IntArray, labels: Sequence[Sequence[str]], space: Space, draws: int, rng: np.random.Generator
) -> Contrasts:
    """The contrast of each context and action, of n[x, a, group, y], and all together."""
    contexts, actions = grouped.shape[:2]
    flat = grouped.reshape(contexts * actions, *grouped.shape[2:])
    statistic = tables.likelihood_ratio(flat)
    bayes, e = tables.log_bayes_factor(flat), tables.log_e_value(flat)
    sparse = [tables.is_sparse(table) for table in flat]
    drawn = np.zeros((len(flat), draws))
    if any(sparse):  # then all are drawn, as their sum is needed, too
        drawn = np.stack([tables.likelihood_ratio(tables.random_tables(table, draws, rng)) for table in flat])
    df = [tables.degrees(table) for table in flat]
    parts = tuple(
        Contrast(
            space.contexts[i // actions],
            space.implemented[i % actions],
            _groups(table, labels[i % actions], space.reward),
            float(statistic[i]),
            df[i],
            _drawn_p(statistic[i], drawn[i]) if sparse[i] else tables.p_value_of(float(statistic[i]), df[i]),
            float(bayes[i]),
            float(e[i]),
        )
        for i, table in enumerate(flat)
    )
    total = float(statistic.sum())
    p = _drawn_p(total, drawn.sum(axis=0)) if any(sparse) else tables.p_value_of(total, sum(df))
    return Contrasts(parts, total, sum(df), p, float(tables.somewhere(bayes)), float(tables.average(e)))


def _drawn_p(statistic: float, drawn: FloatArray) -> float:
    """The share of random tables, this one included, that are as extreme."""
    return float((1 + (drawn >= statistic - 1e-9).sum()) / (1 + drawn.size))


def _groups(table: IntArray, labels: Sequence[str], reward: FloatArray) -> tuple[GroupMean, ...]:
    size = table.sum(axis=1)
    return tuple(
        GroupMean(label, int(n), float(row @ reward / n) if n else float("nan"))
        for label, n, row in zip(labels, size, table, strict=True)
    )


def _power(log: float) -> str:
    """A ratio for people: plain where it is near one, a power of ten where it is not."""
    return f"{np.exp(log):.3g}" if abs(log) < np.log(1e4) else f"1e{log / np.log(10):+.0f}"
