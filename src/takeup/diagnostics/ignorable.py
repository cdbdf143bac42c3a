"""Is compliance ignorable? Whether the outcome depends on the proposal once the implemented action is known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Conjugate, Likelihood, likelihood_for
from takeup.diagnostics import tables
from takeup.diagnostics.cases import Cases, complete_cases
from takeup.errors import InputError
from takeup.evidence import Evidence
from takeup.outcomes import Count, Levels, Outcome, Time
from takeup.randomness import stream
from takeup.space import Space

DRAWS = 9999
"""Random tables behind a p-value where counts are small."""

FEW_DRAWS = 999
"""The same where readers of a page wait."""

BINS = (20, 8, 4, 2)
"""How many bins outcomes without levels are put in, at most. p-values are by the first; e-values are means over all, as
two wide bins show within 100 decisions what 20 narrow ones take 1,000 for."""


@dataclass(frozen=True, slots=True)
class GroupMean:
    """Those with one implemented action and some proposals.

    Attributes:
        label: the proposals, or "complied" and "did not comply".
        patients: how many they are.
        mean: the mean worth of their outcomes; of times, and of counts over exposures that differ, the rate, events by
            time; nan where there are none.
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
        log_bayes_factor: log of how much more probable the outcomes are if the groups differ; without levels, by a
            model of the outcome.
        log_e_value: as the Bayes factor of levels, or of bins, but against the best shared rates: valid after every
            patient.
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
        """The part that speaks loudest, of those in which there is something to compare."""
        return max(self.parts, key=lambda part: (part.degrees > 0, part.log_bayes_factor))


@dataclass(frozen=True, slots=True)
class Ignorable:
    """What the data say about the assumption of TS-Obs and TS-Lat that compliance is ignorable.

    Attributes:
        complied: those who complied against those who did not; None where the space does not say what complying means.
        cells: every proposal against the others.
        used: decisions with compliance and outcome seen.
        left_out: the others.
        level: the rate of false alarms that `doubtful` and `doubtful_at_any_time` keep to.
        bins: how many bins of the outcome p-values and e-values are about; 0 where outcomes have levels.
        model: what the likelihood is called by which Bayes factors are; empty where outcomes have levels.
        rates: whether groups are described by rates, as times and exposures differ.
    """

    complied: Contrasts | None
    cells: Contrasts
    used: int
    left_out: int
    level: float
    bins: int = 0
    model: str = ""
    rates: bool = False

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
        if self.bins:
            by = f"p-values and e-values are by up to {self.bins} bins, Bayes factors by the {self.model} model."
            lines.append(by)
        for name, each in (("Complied against did not", self.complied), ("Proposal by proposal", self.cells)):
            if each is not None:
                lines.append(
                    f"{name}: p = {each.p_value:.2g}, Bayes factor {_power(each.log_bayes_factor)}, "
                    f"e-value {_power(each.log_e_value)}."
                )
        if self.doubtful or self.doubtful_at_any_time:
            contrasts = self.complied or self.cells
            part, several = contrasts.worst, len({each.context for each in contrasts.parts}) > 1
            what = "rate" if self.rates else "mean"
            told = "; ".join(f"{g.label}: {what} {g.mean:.3f} of {g.patients:,}" for g in part.groups if g.patients)
            where = f"in context {part.context}, " if several else ""
            lines.append(f"Most of it: {where}among those with {part.implemented} implemented. {told}.")
            looks = "however often you looked" if self.doubtful_at_any_time else "if this was the only look"
            lines.append(
                f"Compliance is not ignorable ({looks}): who complies differs from who does not. "
                "TS-Obs and TS-Lat can be wrong for ever here; TS and TS-Robust need no such assumption."
            )
        else:
            lines.append(
                "Nothing speaks against ignorable compliance. That is no proof of it: small differences need many "
                "decisions to show."
            )
        return "\n".join(lines)


def check_ignorable(
    evidence: Evidence,
    *,
    level: float = 0.05,
    seed: int = 0,
    draws: int = DRAWS,
    likelihood: Likelihood | None = None,
) -> Ignorable:
    """Test that y does not depend on z given x and a: what TS-Obs and TS-Lat assume, and TS does not.

    It uses decisions with compliance and outcome seen, which is fair where being seen does not depend on the outcome,
    given context, proposal and action. p-values are for data of which the size was set beforehand, and for proposals
    that did not depend on outcomes; policies that adapt stretch this a little (docs/benchmarks.md says how much), and
    repeated looks a lot. The e-value allows for both.

    Numbers, counts and times are compared by the bins that they are in, which assumes nothing of their distribution;
    Bayes factors are those of a model. Who is in which bin of a count or a time depends on the exposure or the watch as
    well: p-values and e-values ask that these do not depend on the proposal either, Bayes factors do not.

    Args:
        evidence: the table.
        level: the rate of false alarms.
        seed: of the random tables that p-values rest on where counts are small.
        draws: how many of them.
        likelihood: the model by which the Bayes factors of outcomes without levels are, with the prior of each group;
            what suits the kind of outcome where left out.
    """
    cases = complete_cases(evidence, BINS[0])
    level = checks.share("level", level)
    draws = checks.whole("draws", draws, least=1)
    rng = stream(seed, "ignorable")
    space = evidence.space
    if likelihood is None and not isinstance(space.outcome, Levels):
        likelihood = likelihood_for(space.outcome)
    elif likelihood is not None and isinstance(space.outcome, Levels):
        raise InputError("likelihood", likelihood.kind, "nothing: outcomes with levels have uniform priors")
    contexts, _, actions, _ = space.shape
    block = None if likelihood is None else likelihood.prior(space.outcome, (contexts, actions))
    by_action = cases.statistic.swapaxes(1, 2)  # x, a, z, then what is added up
    cells = _contrasts(by_action, space.proposals, cases, block, space, draws, rng)
    complied = None
    if space.intended is not None:
        follows = np.array(space.intended)[np.newaxis] == np.arange(actions)[:, np.newaxis]
        grouping = np.stack([follows, ~follows], axis=1).astype(np.int64)  # a, complied or not, z
        grouped = np.einsum("agz,xazy->xagy", grouping, by_action)
        complied = _contrasts(grouped, ("complied", "did not comply"), cases, block, space, draws, rng)
    model = "" if likelihood is None else likelihood.kind
    return Ignorable(complied, cells, cases.used, cases.left_out, level, cases.bins, model, not space.outcome.valued)


def _contrasts(
    grouped: IntArray,
    labels: Sequence[str],
    cases: Cases,
    block: Conjugate | None,
    space: Space,
    draws: int,
    rng: np.random.Generator,
) -> Contrasts:
    """The contrast of each context and action, of statistics [x, a, group, .], and all together."""
    contexts, actions = grouped.shape[:2]
    rows = grouped.reshape(contexts * actions, *grouped.shape[2:])
    flat = cases.by_level(rows)
    statistic = tables.likelihood_ratio(flat)
    bayes = tables.log_bayes_factor(flat) if block is None else _by_model(grouped, block).ravel()
    coarser = [cases.in_bins(many).by_level(rows) for many in BINS[1:]] if cases.bins else []
    e = tables.average(np.stack([tables.log_e_value(each) for each in (flat, *coarser)], axis=-1))
    sparse = [tables.is_sparse(table) for table in flat]
    drawn = np.zeros((len(flat), draws))
    if any(sparse):  # then all are drawn, as their sum is needed, too
        drawn = np.stack([tables.likelihood_ratio(tables.random_tables(table, draws, rng)) for table in flat])
    df = [tables.degrees(table) for table in flat]
    parts = tuple(
        Contrast(
            space.contexts[i // actions],
            space.implemented[i % actions],
            tuple(_group(label, row, space.outcome) for label, row in zip(labels, rows[i], strict=True)),
            float(statistic[i]),
            df[i],
            _drawn_p(statistic[i], drawn[i]) if sparse[i] else tables.p_value_of(float(statistic[i]), df[i]),
            float(bayes[i]),
            float(e[i]),
        )
        for i in range(len(flat))
    )
    total = float(statistic.sum())
    p = _drawn_p(total, drawn.sum(axis=0)) if any(sparse) else tables.p_value_of(total, sum(df))
    return Contrasts(parts, total, sum(df), p, float(tables.somewhere(bayes)), float(tables.average(e)))


def _by_model(grouped: IntArray, block: Conjugate) -> FloatArray:
    """Log of p(outcomes given parameters of each group's own) / p(outcomes given shared ones), [x, a]."""
    by_group = grouped.swapaxes(1, 2)  # x, group, a
    own = block.apart(by_group.shape[1]).log_evidence(by_group).sum(axis=1)
    return np.asarray(own - block.log_evidence(grouped.sum(axis=2)))


def _drawn_p(statistic: float, drawn: FloatArray) -> float:
    """The share of random tables, this one included, that are as extreme."""
    return float((1 + (drawn >= statistic - 1e-9).sum()) / (1 + drawn.size))


def _group(label: str, row: IntArray, outcome: Outcome) -> GroupMean:
    """Who they are, of their statistic."""
    n = int(outcome.seen(row))
    if n and isinstance(outcome, Count | Time) and not outcome.valued:
        events, steps = row[-2:]
        return GroupMean(label, n, float(events / (outcome.step * steps)) if steps else float("nan"))
    return GroupMean(label, n, float(outcome.earned(row) / n) if n else float("nan"))


def _power(log: float) -> str:
    """A ratio for people: plain where it is near one, a power of ten where it is not."""
    return f"{np.exp(log):.3g}" if abs(log) < np.log(1e4) else f"1e{log / np.log(10):+.0f}"
