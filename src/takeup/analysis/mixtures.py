"""How far a sum that drifts nowhere may stray, at any time: mixture boundaries of Howard, Ramdas, McAuliffe & Sekhon.

For every λ the process exp(λ S - ψ(λ) V) is at most one on average, where S is the sum and V what is known of its
variance; so is its mean over any distribution of λ, chosen before. By Ville's inequality that mean is ever at least
1 / α with a probability of at most α: the boundary is where it is. Howard et al. (2021), "Time-uniform, nonparametric,
nonasymptotic confidence sequences", propositions 5, 6, 7 and 9.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammainc, gammaln, log_ndtr

from takeup.checks import FloatArray

_STEPS = 60
"""Of Newton's method, at most; six are usual."""
_HALVINGS = 60


def tightest(variance: ArrayLike, alpha: float, *, two_sided: bool = True) -> FloatArray:
    """ρ, with which a normal mixture is about as tight as can be where V is `variance`.

    ρ = V / (2 log(1 / α) + log(1 + 2 log(1 / α))); with 2 α in the place of α for one side.
    """
    twice = -2 * np.log(alpha if two_sided else 2 * alpha)
    return np.asarray(np.asarray(variance, dtype=np.float64) / (twice + np.log1p(twice)))


def log_normal_mixture(total: ArrayLike, variance: ArrayLike, rho: ArrayLike, *, two_sided: bool = True) -> FloatArray:
    """Log of the mean of exp(λ S - λ^2 V / 2) over λ ~ N(0, 1 / ρ), or over its positive half."""
    s, v, r = (np.asarray(each, dtype=np.float64) for each in (total, variance, rho))
    both = np.log(r / (v + r)) / 2 + s**2 / (2 * (v + r))
    return np.asarray(both if two_sided else both + np.log(2) + log_ndtr(s / np.sqrt(v + r)))


def normal_bound(variance: ArrayLike, alpha: float, rho: ArrayLike, *, two_sided: bool = True) -> FloatArray:
    """What a sum with normal tails exceeds with a probability of at most α, whenever it is looked at."""
    v, r = (np.asarray(each, dtype=np.float64) for each in (variance, rho))
    both = np.sqrt((v + r) * (np.log((v + r) / r) - 2 * np.log(alpha)))
    if two_sided:
        return np.asarray(both)
    low, high = np.zeros_like(both), both  # the positive half of the mixture is the higher one for s > 0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        over = log_normal_mixture(middle, v, r, two_sided=False) >= -np.log(alpha)
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return np.asarray(high)


def log_exponential_mixture(total: ArrayLike, variance: ArrayLike, rho: ArrayLike) -> FloatArray:
    """Log of the mean of exp(λ S + (log(1 - λ) + λ) V), where 1 - λ ~ Gamma(ρ, ρ) below one.

    It is for sums of what is never below -1, with V the sum of its squares (Fan, Grama & Liu 2015). A total far below
    zero, which is no evidence, counts as -.9 (V + ρ).
    """
    s, v, r = (np.asarray(each, dtype=np.float64) for each in (total, variance, rho))
    shape, tail = v + r, _tail(v + r, np.maximum(s, -0.9 * (v + r)))
    rest = np.log(2 * np.pi / shape) / 2 + _stirling(shape) - r
    return np.asarray(r * np.log(r) - gammaln(r) - np.log(gammainc(r, r)) + tail.exponent + np.log(tail.below) + rest)


def exponential_bound(variance: ArrayLike, alpha: float, rho: ArrayLike) -> FloatArray:
    """What a sum of values that are never below -1 exceeds with a probability of at most α, at any time.

    By Newton's method: the log mixture is convex in the sum, and its slope the mean of λ given the sum.
    """
    v, r = np.broadcast_arrays(np.asarray(variance, dtype=np.float64), np.asarray(rho, dtype=np.float64))
    shape, s = v + r, normal_bound(v, alpha, r)
    for _ in range(_STEPS):
        tail = _tail(shape, s)
        density = np.exp(-tail.exponent - _stirling(shape)) * np.sqrt(shape / (2 * np.pi))
        slope = (s + density / tail.below) / (s + shape)
        step = (log_exponential_mixture(s, v, r) + np.log(alpha)) / slope
        s = s - step
        if not s.size or np.max(np.abs(step) / s) < 1e-10:
            break
    return np.asarray(s)


class _Tail(NamedTuple):
    """Of a Gamma(b, 1) at b + s: P, the probability below, and s - b log(1 + s / b)."""

    below: FloatArray
    exponent: FloatArray


def _tail(shape: FloatArray, s: FloatArray) -> _Tail:
    """Without loss where s is far smaller than b, as it is after a weight of a million."""
    u = s / shape
    series = u**2 * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u / 5)))
    return _Tail(gammainc(shape, shape + s), shape * np.where(np.abs(u) < 1e-3, series, u - np.log1p(u)))


def _stirling(b: FloatArray) -> FloatArray:
    """Log Γ(b) less what Stirling's formula says."""
    small = np.minimum(b, 100.0)
    direct = gammaln(small) - (small - 0.5) * np.log(small) + small - np.log(2 * np.pi) / 2
    return np.asarray(np.where(b < 100, direct, 1 / (12 * b) - 1 / (360 * b**3)))


def bernoulli_sequence(successes: int, n: int, alpha: float, best_at: float = 100.0) -> tuple[float, float]:
    """The rates that `successes` of `n` do not contradict, at any time: a confidence sequence for one constant rate.

    A rate θ is tested with the mean of the likelihood over a Beta(r / (1 - θ), r / θ) around θ, against θ itself;
    `best_at` is after how many it is tightest.
    """

    def kept(rate: float) -> bool:
        variance = rate * (1 - rate)
        r = max(float(tightest(best_at * variance, alpha)) - variance, 1e-3 * variance)
        a, b = r / (1 - rate), r / rate
        mixed = betaln(a + successes, b + n - successes) - betaln(a, b)
        return bool(mixed - successes * np.log(rate) - (n - successes) * np.log1p(-rate) < -np.log(alpha))

    def end(inside: float, outside: float) -> float:
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if kept(middle) else (inside, middle)
        return outside

    middle = (successes + 0.5) / (n + 1)
    return end(middle, 0.0) if successes else 0.0, end(middle, 1.0) if successes < n else 1.0
