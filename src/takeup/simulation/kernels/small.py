"""Rows with shapes below one: the boost, on the log scale.

Marsaglia & Tsang need shapes of at least one. A Gamma(s) draw with s < 1 is one of Gamma(s + 1) times U^(1/s), which
underflows for small s; the row is therefore weighed on the log scale, log g = log g(s + 1) + log(U) / s, relative to
its largest member. These functions stand in for those of `rows` where a prior has a parameter below one.
"""

import math

import numpy as np

from takeup.simulation.kernels.gammas import ZERO, gamma_pair, scale
from takeup.simulation.kernels.machine import Array, Number, inlined
from takeup.simulation.kernels.streams import POLICY, uniform, words

_BOOST = np.uint32(1 << 31)
"""The attempt whose words are those of the boost."""


@inlined
def end(slots: Number) -> Number:
    """The first row of `real` behind the shapes: d, c and 1/s of the boost."""
    return 3 * slots


@inlined
def put(real: Array, column: Number, slot: Number, slots: Number, shape: Number) -> None:
    """Store d and c, of shape + 1 where the shape is below one, and 1 / shape where it is."""
    d, c, boost = ZERO, ZERO, ZERO
    if shape > 0.0:
        if shape < 1.0:
            boost = np.float32(1.0 / shape)
            shape = shape + 1.0
        d = np.float32(shape - 0.3333333333333333)
        c = scale(d)
    real[slot, column] = d
    real[slots + slot, column] = c
    real[2 * slots + slot, column] = boost


@inlined
def _log(gamma: Number, boost: Number, word: Number) -> Number:
    """The logarithm of a boosted gamma; of one that is not there, a number too small to count."""
    if gamma <= ZERO:
        return -1e300
    return math.log(np.float64(gamma)) + math.log(uniform(word)) * np.float64(boost)


def weigh(
    real: Array,
    column: Number,
    base: Number,
    slots: Number,
    pair: Number,
    width: Number,
    weights: Number,
    moment: Number,
    block: Number,
) -> Number:
    """The same as `rows.weigh`, as gain : loss relative to the largest gamma of the row; float64."""
    gain, loss, top = 0.0, 0.0, -1e300
    for j in range(0, width, 2):
        if pair & 1 == 0:
            block = words(moment, POLICY + np.uint32(pair >> 1), 0)
        radius = block[0] if pair & 1 == 0 else block[2]
        angle = block[1] if pair & 1 == 0 else block[3]
        slot = base + 2 * pair
        d_1, d_2 = real[slot, column], real[slot + 1, column]
        c_1, c_2 = real[slots + slot, column], real[slots + slot + 1, column]
        g_1, g_2 = gamma_pair(d_1, d_2, c_1, c_2, radius, angle, moment, pair)
        boosts = words(moment, POLICY + np.uint32(pair), _BOOST)
        log_1 = _log(g_1, real[2 * slots + slot, column], boosts[0])
        log_2 = _log(g_2, real[2 * slots + slot + 1, column], boosts[1])
        larger = max(top, max(log_1, log_2))
        kept, e_1, e_2 = math.exp(top - larger), math.exp(log_1 - larger), math.exp(log_2 - larger)
        more = weights + width + j
        gain = gain * kept + e_1 * real[weights + j, column] + e_2 * real[weights + j + 1, column]
        loss = loss * kept + e_1 * real[more, column] + e_2 * real[more + 1, column]
        top = larger
        pair += 1
    return gain, loss, block
