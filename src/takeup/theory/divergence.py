"""The Kullback-Leibler divergence between two coins, to full precision however close they are."""

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray

_SERIES = 1.0 / np.arange(23, 1, -2)


def divergence(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """kl(p, q) = p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)), between coins that show success at rates p and q.

    Args:
        p: rates between 0 and 1.
        q: likewise; the two broadcast.
    """
    return coins(checks.rates("p", p), checks.rates("q", q))


def coins(p: FloatArray, q: FloatArray) -> FloatArray:
    """`divergence`, unchecked: p h((q - p) / p) + (1 - p) h((p - q) / (1 - p)) with h(t) = t - ln(1 + t).

    The terms of first order in q - p cancel on paper here, not in the machine.
    """
    return _scaled(p, q - p) + _scaled(1 - p, p - q)


def excess(t: FloatArray) -> FloatArray:
    """h(t) = t - ln(1 + t) for t >= -1, to full precision near 0, by ln(1 + t) = 2 atanh(t / (2 + t))."""
    s = t / (2 + t)
    near = np.abs(t) < 0.25
    squared = np.where(near, s * s, 0.0)
    series = t * s - 2 * s * squared * np.polyval(_SERIES, squared)
    with np.errstate(divide="ignore"):
        return np.where(near, series, t - np.log1p(np.where(near, 0.0, t)))


def _scaled(mass: FloatArray, change: FloatArray) -> FloatArray:
    """With mass m and change c: m h(c / m), and its limit c at m = 0."""
    relative = change / np.where(mass > 0, mass, 1.0)
    return np.where(mass > 0, mass * excess(np.maximum(relative, -1.0)), change)
