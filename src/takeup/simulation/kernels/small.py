"""Rows with shapes below one: the boost, on the log scale.

Marsaglia & Tsang need shapes of at least one. A Gamma(s) draw with s < 1 is one of Gamma(s + 1) times U^(1/s), which
underflows for small s; the row is therefore weighed on the log scale, log g = log g(s + 1) + log(U) / s, relative to
its largest member. These functions stand in for those of `rows` where a prior has a parameter below one.
"""

import math

import numpy as np

from takeup.simulation.kernels.gammas import ZERO, gamma_pair, scale
from takeup.simulation.kernels.machine import Number, inlined
from takeup.simulation.kernels.rows import NOWHERE, DirichletRows, padded, shapes
from takeup.simulation.kernels.streams import POLICY, uniform, words
from takeup.simulation.kernels.tables import State

_BOOST = np.uint32(1 << 31)
"""The attempt whose words are those of the boost."""


@inlined
def end(slots: Number) -> Number:
    """The first row of `real` behind the shapes: d, c and 1/s of the boost."""
    return 3 * slots


@inlined
def put(state: State, slot: Number, slots: Number, shape: Number) -> None:
    """Store d and c, of shape + 1 where the shape is below one, and 1 / shape where it is."""
    real, column = state.real, state.column
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


@inlined
def weigh_rows(state: State, rows: DirichletRows, means: Number, moment: Number) -> Number:
    """The same as `rows.weigh_rows`, with gain : loss relative to the largest gamma of the row; float64."""
    real, column = state.real, state.column
    best, best_gain, best_loss = 0, -1.0, 1.0
    for row in range(rows.many):
        gain, loss = weigh(state, rows, row, moment)
        if means != NOWHERE:
            whole = gain + loss
            real[means + row, column] = gain / whole
            real[means + padded(rows.many) + row, column] = loss / whole
        elif gain * best_loss > best_gain * loss:
            best, best_gain, best_loss = row, gain, loss
    return best


def weigh(state: State, rows: DirichletRows, row: Number, moment: Number) -> Number:
    """Gain and loss of a row, relative to its largest gamma."""
    real, column = state.real, state.column
    half = rows.width >> 1
    gain, loss, top = 0.0, 0.0, -1e300
    for k in range(half):
        pair, j = rows.first + row * half + k, 2 * k
        block = words(moment, POLICY + np.uint32(pair >> 1), 0)
        odd = pair & 1 == 1
        word = (block[2], block[3]) if odd else (block[0], block[1])
        d_1, d_2, c_1, c_2 = shapes(state, rows, pair)
        g_1, g_2 = gamma_pair((d_1, d_2), (c_1, c_2), word, moment, pair)
        boosts = words(moment, POLICY + np.uint32(pair), _BOOST)
        boost = 2 * rows.slots + rows.base + 2 * pair
        log_1 = _log(g_1, real[boost, column], boosts[0])
        log_2 = _log(g_2, real[boost + 1, column], boosts[1])
        larger = max(top, max(log_1, log_2))
        kept, e_1, e_2 = math.exp(top - larger), math.exp(log_1 - larger), math.exp(log_2 - larger)
        own, more = rows.weights + j, rows.weights + rows.width + j
        gain = gain * kept + e_1 * real[own, column] + e_2 * real[own + 1, column]
        loss = loss * kept + e_1 * real[more, column] + e_2 * real[more + 1, column]
        top = larger
    return gain, loss
