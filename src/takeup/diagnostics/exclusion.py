"""Can any model without a direct effect of the proposal explain the table? The instrumental inequality, tested.

Pearl (1995): if proposals are randomised given the context and act on the outcome through the implemented action alone,
then, whatever is hidden, for every action a

    Σ_y max_z p(a, y given z) <= 1.

That is one linear inequality Σ_y p(a, y given f(y)) <= 1 for every way f of giving a proposal to each outcome level. In
each there is a sum of independent binomial proportions, one for every proposal that f uses: that of decisions with
action a and an outcome that f gives to the proposal.
"""

from dataclasses import dataclass
from itertools import combinations, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri, xlogy

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.diagnostics.cases import Cases, complete_cases
from takeup.diagnostics.tables import average, log_mixture
from takeup.evidence import Evidence
from takeup.outcomes import Levels
from takeup.space import Space

Counts: TypeAlias = IntArray | FloatArray
"""Whole numbers, or such from which something was taken."""

MANY = 20_000
"""How many ways are tested at most; where there are more, those that use two proposals."""

MOST_BINS = 8
"""How many bins outcomes without levels are put in, at most."""

MOST_INEQUALITIES = 8_000
"""With more of them a check would keep readers of a page waiting."""

BINNED = 8_000
"""Bins are so few that there are at most so many ways."""

CONTINUITY = 0.5
"""Taken from each count for p-values and limits, as counts are whole and the normal distribution is not: without it a
single inequality raises up to three times the false alarms that it should, with it, by enumeration, never more."""

STEPS = 60
"""Halvings of an interval, to the last bit of what is sought."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What the data say about the exclusion restriction: that proposals act through the implemented action alone.

    Attributes:
        largest: the greatest of the sums, estimated; none is above 1 if the inequality holds. Those that compare no
            two proposals cannot be, and are left out.
        lower: its lower confidence limit.
        upper: its upper confidence limit.
        p_value: that the inequality holds; by likelihood ratio, with Bonferroni's correction, for a single look.
        log_e_value: against the inequality, after any number of looks.
        worst: the inequality that is violated most clearly, in words; empty where there is nothing to compare.
        inequalities: how many were tested.
        used: decisions with compliance and outcome seen.
        left_out: the others.
        level: the rate of false alarms; the limits hold together with probability 1 - level.
        bins: how many bins of the outcome it is about; 0 where outcomes have levels.
    """

    largest: float
    lower: float
    upper: float
    p_value: float
    log_e_value: float
    worst: str
    inequalities: int
    used: int
    left_out: int
    level: float
    bins: int = 0

    @property
    def violated(self) -> bool:
        """Whether p is at most the level: for one look."""
        return self.p_value <= self.level

    @property
    def violated_at_any_time(self) -> bool:
        """Whether the e-value has reached 1 / level: for as many looks as one likes."""
        return bool(self.log_e_value >= -np.log(self.level))

    def summary(self) -> str:
        """What it means, in plain language."""
        lines = [f"{self.used:,} decisions with compliance and outcome seen; {self.left_out:,} others left out."]
        lines[0] += f" Outcomes are taken by {self.bins} bins." if self.bins else ""
        if not self.inequalities:
            return lines[0] + "\nNo two proposals to compare."
        lines.append(
            f"Instrumental inequality: {self.largest:.3f} ({100 * (1 - self.level):g} % limits {self.lower:.3f} to "
            f"{self.upper:.3f}), at most 1 if proposals act through the implemented action alone; "
            f"p = {self.p_value:.2g}, e-value {np.exp(self.log_e_value):.3g}."
        )
        if self.violated or self.violated_at_any_time:
            looks = "however often you looked" if self.violated_at_any_time else "if this was the only look"
            lines.append(
                f"It is violated ({looks}), most clearly in {self.worst}. Either the proposal itself changes outcomes, "
                "or actions or outcomes are recorded in another way after one proposal than after another."
            )
        else:
            lines.append("It is not violated. That is no proof: many direct effects leave the inequality standing.")
        return "\n".join(lines)


def check_exclusion(evidence: Evidence, *, level: float = 0.05) -> Exclusion:
    """Test the instrumental inequality, which every model without a direct effect of the proposal satisfies.

    It says nothing about whether compliance is ignorable: confounded compliance satisfies it too. Decisions with
    compliance and outcome seen are used, which is fair where being seen depends on context and proposal alone.

    Of numbers, counts and times it asks the same of a few wide bins, for which the inequality holds, too. Who is in
    which bin of a count or a time depends on the exposure or the watch as well: these may not depend on the proposal.

    Args:
        evidence: the table.
        level: the rate of false alarms, and that of the limits.
    """
    cases = complete_cases(evidence, levels_of(evidence.space))
    counts, used, left_out = cases.counts, cases.used, cases.left_out
    level = checks.share("level", level)
    ways = [_ways(table) for table in counts]
    hits, sizes = (np.concatenate([way[i] for way in ways]) for i in (0, 1))
    if not len(hits):
        return Exclusion(float("nan"), 0.0, float("inf"), 1.0, 0.0, "", 0, used, left_out, level, cases.bins)
    root = signed_root(hits, sizes)
    log_p = log_ndtr(-root)
    worst = int(log_p.argmin())
    low = limits(hits, sizes, float(ndtri(1 - level / 2 / len(hits)))).max()
    high = (sizes > 0).sum(axis=1) - limits(sizes - hits, sizes, float(ndtri(1 - level / 2)))
    return Exclusion(
        float((hits / np.maximum(sizes, 1)).sum(axis=1).max()),
        float(low),
        float(high.max()),
        float(min(1.0, len(hits) * np.exp(log_p[worst]))),
        log_e_value(counts),
        _words(evidence.space, cases, ways, worst),
        len(hits),
        used,
        left_out,
        level,
        cases.bins,
    )


def levels_of(space: Space) -> int:
    """How many levels of the outcome it is about: those of the space, or as many bins as can be told apart."""
    contexts, proposals, actions, size = space.shape
    if isinstance(space.outcome, Levels):
        return size
    feasible = [many for many in range(2, MOST_BINS + 1) if contexts * actions * proposals**many <= BINNED]
    return max(feasible, default=2)


def _ways(table: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Every inequality of one context, of n[z, a, y].

    How many of each proposal's decisions it counts and how many decisions there are, (ways, z), both zero for proposals
    that it does not use; its action, and the proposal that it gives to each level, (ways, y).
    """
    proposals, actions, levels = table.shape
    size = table.sum(axis=(1, 2))
    tried = np.flatnonzero(size)
    if len(tried) ** levels * actions <= MANY:
        given = np.array(list(product(tried, repeat=levels)))
    else:
        halves = np.array(list(product((0, 1), repeat=levels)))
        given = np.concatenate([np.array(pair)[halves] for pair in combinations(tried, 2)])
        given = np.unique(given, axis=0)
    given = given.reshape(-1, levels)
    given = given[(given != given[:, :1]).any(axis=1)]  # one proposal alone gives p(a given z) <= 1, which is no news
    gives = given[:, :, np.newaxis] == np.arange(proposals)  # way, y, z
    hits = np.einsum("wyz,zay->awz", gives, table).reshape(-1, proposals)
    uses = np.tile(gives.any(axis=1), (actions, 1))
    action = np.repeat(np.arange(actions), len(given))
    return hits, np.where(uses, size, 0), action, np.tile(given, (actions, 1))


def log_e_value(counts: IntArray) -> float:
    """Of all inequalities together, of n[x, z, a, y]."""
    ways = [_ways(table) for table in counts]
    hits, sizes = (np.concatenate([way[i] for way in ways]) for i in (0, 1))
    return float(average(log_e_values(hits, sizes))) if len(hits) else 0.0


def log_likelihood(hits: Counts, sizes: IntArray, p: FloatArray) -> FloatArray:
    """Σ_z log of the binomial likelihoods."""
    return np.asarray((xlogy(hits, p) + xlogy(sizes - hits, 1 - p)).sum(axis=-1))


def tilted(hits: Counts, sizes: IntArray, pull: FloatArray) -> FloatArray:
    """The proportions that maximise Σ_z log likelihood - pull Σ_z p_z, for a pull of at least 0.

    k / p - (n - k) / (1 - p) = pull is quadratic in p; this is its root below k / n, written without cancellation.
    """
    b = sizes + pull[..., np.newaxis]
    root = np.sqrt(np.maximum(b * b - 4 * pull[..., np.newaxis] * hits, 0.0))
    return np.asarray(2 * hits / np.maximum(b + root, 1e-300))


def constrained(hits: Counts, sizes: IntArray) -> FloatArray:
    """The proportions of greatest likelihood among those that sum to at most one."""
    most = 2.0 * hits.sum(axis=-1)  # p <= 2 k / pull
    low, high = np.zeros_like(most), most
    for _ in range(STEPS):
        pull = (low + high) / 2
        over = tilted(hits, sizes, pull).sum(axis=-1) > 1
        low, high = np.where(over, pull, low), np.where(over, high, pull)
    free = tilted(hits, sizes, np.zeros_like(most))
    return np.where((free.sum(axis=-1) <= 1)[..., np.newaxis], free, tilted(hits, sizes, high))


def signed_root(hits: IntArray, sizes: IntArray) -> FloatArray:
    """sqrt(2 (log L free - log L constrained)) where the sum is above one, else 0: at most normal on the boundary."""
    fewer = np.maximum(hits - CONTINUITY, 0.0)
    free = tilted(fewer, sizes, np.zeros(hits.shape[:-1]))
    gap = log_likelihood(fewer, sizes, free) - log_likelihood(fewer, sizes, constrained(fewer, sizes))
    return np.asarray(np.sqrt(2 * np.maximum(gap, 0.0)))


def limits(hits: IntArray, sizes: IntArray, errors: float) -> FloatArray:
    """The lower limit of each sum: where the root of its likelihood ratio reaches this many standard errors."""
    fewer = np.maximum(hits - CONTINUITY, 0.0)
    free = log_likelihood(fewer, sizes, tilted(fewer, sizes, np.zeros(hits.shape[:-1])))
    low, high = np.zeros(hits.shape[:-1]), np.full(hits.shape[:-1], 1e-3)

    def far(pull: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(2 * (free - log_likelihood(fewer, sizes, tilted(fewer, sizes, pull))) >= errors**2)

    while not (enough := far(high) | (high > 1e12)).all():
        high = np.where(enough, high, 4 * high)
    for _ in range(STEPS):
        pull = (low + high) / 2
        low, high = np.where(far(pull), low, pull), np.where(far(pull), pull, high)
    return np.asarray(tilted(fewer, sizes, high).sum(axis=-1))


def log_e_values(hits: IntArray, sizes: IntArray) -> FloatArray:
    """Log of p(data) with proportions from Beta(1/2, 1/2) over the greatest p(data) with a sum of at most one.

    Whatever proportions satisfy the inequality, its mean is at most one after every decision, whoever chose the
    proposals and how; so it ever passes 1 / α with probability at most α. The mean over inequalities does the same.
    """
    mixed = log_mixture(np.stack([hits, sizes - hits], axis=-1), 0.5).sum(axis=-1)
    return np.asarray(mixed - log_likelihood(hits, sizes, constrained(hits, sizes)))


def _words(space: Space, cases: Cases, ways: list[tuple[IntArray, IntArray, IntArray, IntArray]], worst: int) -> str:
    """The inequality that a number stands for."""
    for x, (hits, _, action, given) in enumerate(ways):
        if worst < len(hits):
            a = space.implemented[action[worst]]
            terms = [f"p({a}, {y} given {space.proposals[z]})" for y, z in zip(cases.labels, given[worst], strict=True)]
            context = f"context {space.contexts[x]}: " if len(ways) > 1 else ""
            return f"{context}{' + '.join(terms)} <= 1"
        worst -= len(hits)
    raise AssertionError("a number below the count of inequalities")
