"""Obvious, slow twins of the regressions: inverses, densities and a Gibbs sampler, row by row."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FloatArray = NDArray[np.float64]


def ridge(features: FloatArray, outcome: FloatArray, penalty: FloatArray, centre: FloatArray) -> FloatArray:
    """(V'V + P)^-1 (V'y + P m)."""
    return np.asarray(np.linalg.inv(features.T @ features + penalty) @ (features.T @ outcome + penalty @ centre))


def log_density(features: FloatArray, outcome: FloatArray, penalty: FloatArray, square: float, freedom: float) -> float:
    """Of y given v, with θ ~ N(0, σ² P^-1): a normal distribution in n dimensions, or Student's t."""
    shape = square * (np.eye(len(outcome)) + features @ np.linalg.inv(penalty) @ features.T)
    if np.isinf(freedom):
        return float(stats.multivariate_normal(np.zeros(len(outcome)), shape).logpdf(outcome))
    return float(stats.multivariate_t(np.zeros(len(outcome)), shape, df=int(freedom)).logpdf(outcome))


def polya_gamma(shape: FloatArray, tilt: FloatArray, rng: np.random.Generator, terms: int = 40) -> FloatArray:
    """Draws of PG(b, c): the sum of Polson, Scott & Windle (2013), eq. 1, whose tail beyond `terms` is at its mean."""
    k = np.arange(1, terms + 1) - 0.5
    weight = 1 / (k**2 + (tilt[..., np.newaxis] / (2 * np.pi)) ** 2) / (2 * np.pi**2)
    mean = np.where(abs(tilt) < 1e-8, 0.25, np.tanh(tilt / 2) / (2 * np.where(tilt == 0, 1.0, tilt)))
    gammas = rng.standard_gamma(np.broadcast_to(shape, tilt.shape)[..., np.newaxis], size=(*tilt.shape, terms))
    return np.asarray((gammas * weight).sum(-1) + shape * (mean - weight.sum(-1)))


def gibbs_logit(
    features: FloatArray, counts: FloatArray, precision: FloatArray, sweeps: int, chains: int, rng: np.random.Generator
) -> FloatArray:
    """Draws of the coefficients of a logit model, (chains, p), each chain at its last sweep.

    Counts are of failures and successes, (n, 2). Given ω ~ PG(n, v'δ) the coefficients are normal with the precision
    P + Σ ω v v', whose product with the mean is Σ (successes - n / 2) v.
    """
    many = counts.sum(axis=1)
    pull = features.T @ (counts[:, 1] - many / 2)
    found = np.zeros((chains, features.shape[1]))
    for _ in range(sweeps):
        omega = polya_gamma(many, found @ features.T, rng)
        curve = precision + np.einsum("cn,ni,nj->cij", omega, features, features)
        lower = np.linalg.cholesky(curve)
        mean = np.linalg.solve(curve, np.broadcast_to(pull, found.shape)[..., np.newaxis])[..., 0]
        noise = rng.standard_normal(found.shape)[..., np.newaxis]
        found = mean + np.linalg.solve(np.swapaxes(lower, -1, -2), noise)[..., 0]
    return found
