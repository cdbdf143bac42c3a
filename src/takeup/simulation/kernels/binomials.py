"""Binomial draws of any size: inversion where few are expected, transformed rejection elsewhere.

Rejection is algorithm BTRS of Hörmann (1993): a ratio of uniforms whose quick test accepts about six in seven draws
without a logarithm. Both take a number of operations that does not grow with n.
"""

import math

import numpy as np

from takeup.simulation.kernels.log_gammas import log_gamma
from takeup.simulation.kernels.machine import Number, inlined
from takeup.simulation.kernels.streams import POLICY, words

FEW = 24.0
"""Below this mean draws go by inversion, which costs less; BTRS needs a mean of ten."""

MOST = 160
"""Where inversion stops looking: beyond it lies less than 1e-70 of what a mean of 24 leaves."""

POWERED = 1024
"""Up to this n a power is made of products, to 1e-13; beyond it of an exponential and a logarithm."""


@inlined
def fine(high: Number, low: Number) -> Number:
    """A float64 strictly between 0 and 1 from two words, of 53 bits."""
    return (np.float64(high >> np.uint32(5)) * 67108864.0 + np.float64(low >> np.uint32(6)) + 0.5) * 2.0**-53


def binomial(n: Number, p: Number, moment: Number, slot: Number) -> Number:
    """How many of n succeed with probability p; the words are those of one slot of the policy."""
    if n <= 0 or p <= 0.0:
        return np.int64(0)
    if p >= 1.0:
        return np.int64(n)
    rare = min(p, 1.0 - p)
    found = few(n, rare, moment, slot) if n * rare < FEW else many(n, rare, moment, slot)
    return found if p <= 0.5 else np.int64(n) - found


def few(n: Number, p: Number, moment: Number, slot: Number) -> Number:
    """By inversion, from zero upwards: P(k + 1) = P(k) (n - k) p / (1 - p) / (k + 1)."""
    block = words(moment, np.uint32(POLICY + np.uint32(slot)), 0)
    u, odds = fine(block[0], block[1]), p / (1.0 - p)
    chance = powered(1.0 - p, n) if n <= POWERED else math.exp(n * math.log1p(-p))
    up_to = chance
    k, most = np.int64(0), min(np.int64(n), np.int64(MOST))
    while u > up_to and k < most:
        chance *= (n - k) * odds * (1.0 / (k + 1.0))
        up_to += chance
        k += 1
    return k


@inlined
def powered(base: Number, n: Number) -> Number:
    """The n-th power, by squaring."""
    power = 1.0
    while n > 0:
        if n & 1:
            power *= base
        base *= base
        n >>= 1
    return power


def many(n: Number, p: Number, moment: Number, slot: Number) -> Number:
    """By transformed rejection, for p up to 1/2 and n p of at least 10."""
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    middle, quick = n * p + 0.5, 0.92 - 4.2 / b
    attempt = 0
    while True:
        block = words(moment, np.uint32(POLICY + np.uint32(slot)), attempt)
        u, v = fine(block[0], block[1]) - 0.5, fine(block[2], block[3])
        edge = 0.5 - abs(u)
        k = math.floor((2.0 * a / edge + b) * u + middle)
        if edge >= 0.07 and v <= quick:
            return np.int64(k)
        if 0 <= k <= n:
            mode = math.floor((n + 1) * p)
            height = log_gamma(mode + 1.0) - log_gamma(k + 1.0)
            height += log_gamma(n - mode + 1.0) - log_gamma(n - k + 1.0)
            height += (k - mode) * math.log(p / (1.0 - p))
            if math.log(v * (2.83 + 5.1 / b) * spread / (a / (edge * edge) + b)) <= height:
                return np.int64(k)
        attempt += 1
