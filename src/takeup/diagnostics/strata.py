"""Two groups compared within strata: how surprising it is that their means differ, and by how much they do.

Arrays are [stratum, group]: how many there are, the sum of their outcomes and that of the squares. In each stratum the
sizes of both groups are taken as given, and so are all outcomes: which of them are in which group is what is random.
Strata are weighted as Mantel and Haenszel (1959) do, by n_0 n_1 / n.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp, ndtr, ndtri

from takeup.checks import FloatArray, IntArray

EXACT = 4_000
"""With more possible sums than this the normal distribution is as good as the exact one."""

RATIOS = np.linspace(-5, 5, 501)
"""Log odds ratios over which is summed: finer than a likelihood of `EXACT` sums is wide."""

GAP = 0.5
"""By how many standard deviations means are thought to differ, if they do; a log odds ratio of one is about that."""


def score(n: IntArray, total: FloatArray, squares: FloatArray) -> float:
    """The sum of the first group less its mean, by its standard deviation over all ways to choose the group."""
    size, weight = n.sum(axis=1), _weights(n)
    variance = float((weight * _spread(size, total.sum(axis=1), squares.sum(axis=1))).sum())
    gap = float((weight * _gaps(n, total)).sum())
    return gap / np.sqrt(variance) if variance > 0 else 0.0


def normal_p(score: float) -> float:
    """Of a score, to either side."""
    return float(min(1.0, 2 * ndtr(-abs(score))))


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """How many successes are in the first group, all strata together: how probable each number is.

    Attributes:
        numbers: the successes, less their mean.
        probability: of each.
        found: how many there are, less the mean.
    """

    numbers: FloatArray
    probability: FloatArray
    found: float

    @classmethod
    def of(cls, tables: IntArray) -> "Hits | None":
        """Of n[stratum, group, failure or success]: hypergeometric ones; None where there are more than `EXACT`."""
        chosen, success, size = tables[:, 0].sum(axis=1), tables[..., 1].sum(axis=1), tables.sum(axis=(1, 2))
        low, high = np.maximum(0, chosen - (size - success)), np.minimum(chosen, success)
        if (high - low).sum() > EXACT:
            return None
        p = np.ones(1)
        for m, k, n, first, last in zip(chosen, success, size, low, high, strict=True):
            hits = np.arange(first, last + 1)
            p = np.convolve(p, np.exp(_log_choose(k, hits) + _log_choose(n - k, m - hits) - _log_choose(n, m)))
        mean = (chosen * success / np.maximum(size, 1)).sum()
        return cls(low.sum() + np.arange(p.size) - mean, p, float(tables[:, 0, 1].sum() - mean))

    @property
    def p_value(self) -> float:
        """How probable it is to be as far from the mean, to either side."""
        return float(min(1.0, self.probability[np.abs(self.numbers) >= abs(self.found) - 1e-9].sum()))

    @property
    def log_e_value(self) -> float:
        """Log of the mean, over log odds ratios ψ from N(0, 1) within ±5, of p(found given ψ) / p(found given 0).

        Given the margins p(t given ψ) is p(t) exp(ψ t) / Σ p(t) exp(ψ t).
        """
        log_prior = -(RATIOS**2) / 2
        log_p = np.log(np.maximum(self.probability, 1e-300))
        total = logsumexp(log_p + RATIOS[:, np.newaxis] * self.numbers, axis=1)
        return float(logsumexp(log_prior + RATIOS * self.found - total) - logsumexp(log_prior))


def normal_log_e(score: float, n: IntArray) -> float:
    """The same by the normal distribution: Robbins' (1970) mixture, of gaps in standard deviations from N(0, 1/4)."""
    weight, prior = float(_weights(n).sum()), 1 / GAP**2
    return score**2 / 2 * weight / (weight + prior) - float(np.log1p(weight / prior)) / 2


def difference(n: IntArray, total: FloatArray, squares: FloatArray, level: float) -> tuple[float, float, float]:
    """The mean of the first group less that of the second, and its limits, of which 1 - level cover; for one look.

    Each group's variance has one more outcome in it that varies as all of its stratum do, so that a group of one, or
    one without a single success, is not taken to be known for sure.
    """
    weight = _weights(n)
    if not weight.any():
        return float("nan"), float("nan"), float("nan")
    spread = _spread(n.sum(axis=1), total.sum(axis=1), squares.sum(axis=1))
    own = np.maximum(squares - total**2 / np.maximum(n, 1), 0.0)
    variance = ((own + spread[:, np.newaxis]) / np.maximum(n, 1) ** 2).sum(axis=1)
    middle = float((weight * _gaps(n, total)).sum() / weight.sum())
    error = float(np.sqrt((weight**2 * variance).sum()) / weight.sum()) * float(ndtri(1 - level / 2))
    return middle, middle - error, middle + error


def _weights(n: IntArray) -> FloatArray:
    return np.asarray(n.prod(axis=1) / np.maximum(n.sum(axis=1), 1))


def _gaps(n: IntArray, total: FloatArray) -> FloatArray:
    means = total / np.maximum(n, 1)
    return np.asarray(means[:, 0] - means[:, 1])


def _spread(size: IntArray, total: FloatArray, squares: FloatArray) -> FloatArray:
    """The variance of all outcomes of each stratum."""
    return np.asarray(np.maximum(squares - total**2 / np.maximum(size, 1), 0.0) / np.maximum(size - 1, 1))


def _log_choose(n: IntArray, k: IntArray) -> FloatArray:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
