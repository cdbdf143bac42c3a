"""How fast Thompson sampling approaches its constant, where all but one coin is known."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincc, binom

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError

_EULER = 11
"""Terms of the inversion; seven digits."""

_NEGLIGIBLE = 1e-14
"""States with a smaller probability are left out."""


def expected_trials(rate: float, target: float, horizon: ArrayLike) -> FloatArray:
    """E n(T): how often Thompson sampling tries an inferior coin within T decisions, its rival being known.

    A coin of rate q, tried n times with s successes, is tried next with probability P(Beta(1 + s, 1 + n - s) > q*).
    Decisions come as a Poisson process here, which matters only for the first few. n(T) is then a pure birth process
    over (n, s), whose Laplace transform is a product along each path; Euler's method (Abate & Whitt 2006) inverts it.

    E n(T) / ln T tends to 1 / kl(q, q*), and slowly. This is TS with two proposals of values q and q*, the
    latter known; and TS-Obs with two proposals and two supported actions that knows all but the inferior row: q and q*
    are then the probabilities of the better action.

    Args:
        rate: q, below the target.
        target: q*, below 1.
        horizon: T, at least 1; any shape.
    """
    q, known = float(checks.rates("rate", rate)), float(checks.rates("target", target))
    times = checks.positive("horizon", horizon)
    if not q < known < 1:
        raise InputError("target", target, f"a rate above {rate} and below 1")
    if (times < 1).any():
        raise InputError("horizon", horizon, "numbers of at least 1")
    weights, nodes = _euler()
    sigma = nodes[:, np.newaxis] / times.ravel()
    flow = np.zeros_like(sigma)
    reached, successes = np.ones((1, *sigma.shape), dtype=complex), np.zeros(1)
    n = 0
    while successes.size:
        hazard = betaincc(1 + successes, 1 + n - successes, known)[:, np.newaxis, np.newaxis]
        tried = reached * hazard / (sigma + hazard)
        flow += tried.sum(axis=0)
        reached = np.concatenate([(1 - q) * tried, np.zeros_like(tried[:1])])
        reached[1:] += q * tried
        successes = np.append(successes, successes[-1] + 1)
        kept = np.abs(reached).max(axis=(1, 2)) > _NEGLIGIBLE
        reached, successes = reached[kept], successes[kept]
        n += 1
    inverse = np.sum(weights[:, np.newaxis] * np.real(flow / sigma), axis=0) / times.ravel()
    return np.asarray(inverse.reshape(times.shape))


def _euler() -> tuple[FloatArray, np.ndarray[tuple[int, ...], np.dtype[np.complex128]]]:
    """Weights and nodes: f(t) is about Σ_k w_k Re F(s_k / t) / t, F being the Laplace transform of f."""
    m = _EULER
    tail = np.cumsum(binom(m, np.arange(m))) / 2.0**m
    xi = np.concatenate([[0.5], np.ones(m), tail[::-1]])
    k = np.arange(2 * m + 1)
    return 10 ** (m / 3) * (-1.0) ** k * xi, m * np.log(10) / 3 + 1j * np.pi * k
