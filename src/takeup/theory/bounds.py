"""Thompson sampling's regret per ln T, and what noncompliance that it ignores does to it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.theory.divergence import coins

TIE = 1e-12
"""Values this close count as equal: they differ by rounding in Π·μ, and f of them would be meaningless."""


class Gradient(NamedTuple):
    """The slopes of f in its two arguments."""

    best: FloatArray
    other: FloatArray


def arm_cost(best: ArrayLike, other: ArrayLike) -> FloatArray:
    """f(μ_1, μ_i) = (μ_1 - μ_i) / kl(μ_i, μ_1), what an inferior arm costs per ln T; f(x, x) = 0.

    Stirn & Jebara (2019), eq. 6.

    Args:
        best: μ_1, strictly between 0 and 1.
        other: μ_i, likewise and no more than μ_1.
    """
    return cost(*_ordered(best, other))


def arm_cost_gradient(best: ArrayLike, other: ArrayLike) -> Gradient:
    """The partial derivatives of f where μ_1 > μ_i: Stirn & Jebara (2019), lemma 1.

        ∂f / ∂μ_1 = 1 / kl(μ_i, μ_1) - (μ_1 - μ_i)² / (μ_1 (1 - μ_1) kl(μ_i, μ_1)²)   < 0
        ∂f / ∂μ_i = kl(μ_1, μ_i) / kl(μ_i, μ_1)²                                      > 0

    On the diagonal there are none: f grows like 2 μ (1 - μ) / (μ_1 - μ_i) towards it and is 0 on it.
    """
    x, y = _ordered(best, other)
    if (x == y).any():
        raise InputError("other", "a rate equal to the best", "a rate below it", "f jumps there and has no gradient")
    kl = coins(y, x)
    return Gradient((1 - (x - y) ** 2 / (x * (1 - x) * kl)) / kl, coins(x, y) / kl**2)


def thompson_constant(values: ArrayLike) -> FloatArray:
    """Σ_i f(μ_1, μ_i): Thompson sampling's regret per ln T, which no policy that sees z and r alone can better.

    Args:
        values: the rate of success of each proposal, strictly between 0 and 1; shape (.., Kz). Rates within 1e-12 of
            the best are as good as it.
    """
    return constant(inside("values", values))


def thompson_bound(values: ArrayLike, horizon: float, epsilon: float = 0.0) -> FloatArray:
    """(1 + ε) Σ_i f(μ_1, μ_i) ln T: the bound of Agrawal & Goyal (2013) less its term that does not grow with T.

    Stirn & Jebara (2019), eq. 5. They give that term as O(K / ε); Agrawal & Goyal prove O(K / ε²), with constants that
    depend on μ.
    """
    return np.asarray((1 + epsilon) * thompson_constant(values) * np.log(_horizon(horizon)))


def bound_change(horizon: float, success: ArrayLike, compliance: ArrayLike) -> FloatArray:
    """Δ(T, μ, Π): the bound of Π·μ less that of μ, at ε = 0, as far as it grows with T.

    Args:
        horizon: T, at least 1.
        success: μ[a], strictly between 0 and 1; shape (.., Ka).
        compliance: π[z, a]; shape (.., Kz, Ka).
    """
    mu, pi = _world(success, compliance)
    return np.asarray(change(mu, pi) * np.log(_horizon(horizon)))


def change(mu: FloatArray, pi: FloatArray) -> FloatArray:
    """Δ per ln T, unchecked."""
    return constant(np.einsum("...za,...a->...z", pi, mu)) - constant(mu)


def constant(values: FloatArray) -> FloatArray:
    """`thompson_constant`, unchecked."""
    best = values.max(axis=-1, keepdims=True)
    total: FloatArray = cost(best, np.where(best - values <= TIE, best, values)).sum(axis=-1)
    return total


def cost(best: FloatArray, other: FloatArray) -> FloatArray:
    """`arm_cost`, unchecked."""
    gap = best - other
    return np.where(gap > 0, gap / np.where(gap > 0, coins(other, best), 1.0), 0.0)


def inside(argument: str, value: ArrayLike) -> FloatArray:
    """Rates of success that are neither 0 nor 1."""
    array = checks.rates(argument, value)
    if (array <= 0).any() or (array >= 1).any():
        raise InputError(argument, value, "rates strictly between 0 and 1", "certain success or failure has no bound")
    return array


def _ordered(best: ArrayLike, other: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = inside("best", best), inside("other", other)
    if (y > x).any():
        raise InputError("other", other, f"rates of at most the best, {x}", "the larger rate comes first")
    return x, y


def _world(success: ArrayLike, compliance: ArrayLike) -> tuple[FloatArray, FloatArray]:
    mu, pi = inside("success", success), checks.probabilities("compliance", compliance)
    checks.shaped("compliance", pi, (pi.shape[-2] if pi.ndim > 1 else 0, mu.shape[-1]), "proposal, implemented")
    return mu, pi


def _horizon(horizon: float) -> float:
    if not horizon >= 1:
        raise InputError("horizon", horizon, "a number of at least 1")
    return float(horizon)
