"""Two groups compared within strata: how surprising it is that their means differ, and by how much they do.

Arrays are [stratum, group]: how many there are, the sum of their outcomes and that of the squares. In each stratum the
sizes of both groups are taken as given, and so are all outcomes: which of them are in which group is what is random.
Strata are weighted as Mantel and Haenszel (1959) do, by n_0 n_1 / n.
"""

import numpy as np
from scipy.special import gammaln, ndtr, ndtri

from takeup.checks import FloatArray, IntArray

EXACT = 4_000
"""With more possible sums than this the normal distribution is as good as the exact one."""


def score(n: IntArray, total: FloatArray, squares: FloatArray) -> float:
    """The sum of the first group less its mean, by its standard deviation over all ways to choose the group."""
    size, weight = n.sum(axis=1), _weights(n)
    variance = float((weight * _spread(size, total.sum(axis=1), squares.sum(axis=1))).sum())
    gap = float((weight * _gaps(n, total)).sum())
    return gap / np.sqrt(variance) if variance > 0 else 0.0


def normal_p(score: float) -> float:
    """Of a score, to either side."""
    return float(min(1.0, 2 * ndtr(-abs(score))))


def exact_p(tables: IntArray) -> float | None:
    """How probable it is that successes of the first group are as far from their mean as they are, to either side.

    Of n[stratum, group, failure or success], by all hypergeometric distributions together; None where there are more
    than `EXACT` sums.
    """
    chosen, success, size = tables[:, 0].sum(axis=1), tables[..., 1].sum(axis=1), tables.sum(axis=(1, 2))
    low, high = np.maximum(0, chosen - (size - success)), np.minimum(chosen, success)
    if (high - low).sum() > EXACT:
        return None
    p = np.ones(1)
    for m, k, n, first, last in zip(chosen, success, size, low, high, strict=True):
        hits = np.arange(first, last + 1)
        p = np.convolve(p, np.exp(_log_choose(k, hits) + _log_choose(n - k, m - hits) - _log_choose(n, m)))
    sums = low.sum() + np.arange(p.size)
    mean = (chosen * success / np.maximum(size, 1)).sum()
    as_far = np.abs(sums - mean) >= abs(tables[:, 0, 1].sum() - mean) - 1e-9
    return float(min(1.0, p[as_far].sum()))


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
