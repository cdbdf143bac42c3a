"""Contingency tables of counts: groups by outcome levels, and how surprising it is that the groups differ.

All functions work along the last two axes, (.., groups, levels), and on many tables side by side. Probabilities are
those of the outcomes in the order in which they came, given who is in which group: multinomial coefficients cancel in
every ratio.
"""

import numpy as np
from scipy.special import chdtrc, gammaln, xlogy

from takeup.checks import FloatArray, IntArray

LEAST_EXPECTED = 5.0
"""The smallest expected count with which chi-square is trusted; below it tables are drawn at random."""


def log_mixture(counts: IntArray, prior: float) -> FloatArray:
    """Log p(outcomes) along the last axis when their rates are drawn from Dir(prior): Dirichlet-multinomial."""
    levels = counts.shape[-1]
    rows = gammaln(counts + prior).sum(axis=-1) - gammaln(counts.sum(axis=-1) + levels * prior)
    return np.asarray(rows + gammaln(levels * prior) - levels * gammaln(prior))


def log_bayes_factor(tables: IntArray) -> FloatArray:
    """Log of p(outcomes given rates of each group's own) / p(outcomes given shared rates), under uniform priors.

    It does not depend on how patients came into their groups, adaptively or not.
    """
    return np.asarray(log_mixture(tables, 1.0).sum(axis=-1) - log_mixture(tables.sum(axis=-2), 1.0))


def log_e_value(tables: IntArray) -> FloatArray:
    """Log of p(outcomes given rates of each group's own) / max p(outcomes given shared rates).

    Above, rates are drawn from Dir(1/2); below, they are the best that there are: whatever the shared rates may be, the
    ratio has mean at most one, after every patient, and by Ville's inequality it ever passes 1 / α with probability at
    most α. This is universal inference: Wasserman, Ramdas & Balakrishnan (2020).
    """
    shared = tables.sum(axis=-2)
    total = shared.sum(axis=-1, keepdims=True)
    best = xlogy(shared, shared / np.maximum(total, 1)).sum(axis=-1)
    return np.asarray(log_mixture(tables, 0.5).sum(axis=-1) - best)


def somewhere(log_bayes_factors: FloatArray) -> FloatArray:
    """Log of the Bayes factor for "some of these differ", each with probability 1/2: Π (1 + factor) / 2."""
    return np.asarray((np.logaddexp(0.0, log_bayes_factors) - np.log(2.0)).sum(axis=-1))


def average(log_e_values: FloatArray) -> FloatArray:
    """Log of the mean along the last axis; a mean of e-values is an e-value, however they depend on each other."""
    return np.asarray(np.logaddexp.reduce(log_e_values, axis=-1) - np.log(log_e_values.shape[-1]))


def likelihood_ratio(tables: IntArray) -> FloatArray:
    """G = 2 Σ n log(n / expected), expected being what shared rates would give."""
    by_level, by_group = tables.sum(axis=-2), tables.sum(axis=-1)
    total = tables.sum(axis=(-2, -1))
    g = xlogy(tables, tables).sum(axis=(-2, -1)) + xlogy(total, total)
    shared = xlogy(by_level, by_level).sum(axis=-1) + xlogy(by_group, by_group).sum(axis=-1)
    return np.asarray(np.maximum(2 * (g - shared), 0.0))


def degrees(table: IntArray) -> int:
    """(groups - 1)(levels - 1), empty ones left out."""
    groups, levels = (table.sum(axis=axis) > 0 for axis in (1, 0))
    return max(int(groups.sum()) - 1, 0) * max(int(levels.sum()) - 1, 0)


def is_sparse(table: IntArray) -> bool:
    """Whether there is something to compare and some expected count is too small for chi-square."""
    by_level, by_group = table.sum(axis=0), table.sum(axis=1)
    expected = np.outer(by_group[by_group > 0], by_level[by_level > 0]) / max(int(table.sum()), 1)
    return degrees(table) > 0 and bool(expected.min() < LEAST_EXPECTED)


def p_value_of(statistic: float, df: int) -> float:
    """The upper tail of chi-square; one where nothing can differ."""
    return float(chdtrc(df, statistic)) if df else 1.0


def random_tables(table: IntArray, draws: int, rng: np.random.Generator) -> IntArray:
    """Tables with the margins of this one, as they fall when groups do not differ; shape (draws, groups, levels)."""
    left = np.tile(table.sum(axis=0), (draws, 1))
    tables = np.zeros((draws, *table.shape), dtype=np.int64)
    for group, size in enumerate(table.sum(axis=1)):
        wanted = np.full(draws, size)
        rest = left.sum(axis=1)
        for level in range(table.shape[1]):
            rest = rest - left[:, level]
            tables[:, group, level] = rng.hypergeometric(left[:, level], rest, wanted)
            wanted = wanted - tables[:, group, level]
        left = left - tables[:, group]
    return tables
