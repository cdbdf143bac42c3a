"""Gammas that the squeeze does not accept, 16 of them at a time: `lane_gammas.settle` where SIMD instructions pay.

They are few and come from any lane and pair, so their numbers are brought together first. Most are decided in float32,
with a margin far above its rounding, and of those that are rejected most are accepted by the squeeze with their second
draw. What is left goes to `gammas.settled`, which comes to the same numbers.
"""

import numpy as np

from takeup.simulation.kernels.gammas import (
    EXPONENT,
    HALF,
    LOG_OF_TWO,
    ONE,
    THIRD,
    THREE_QUARTERS,
    accepted,
    coarse,
    cubed,
    log_mantissa,
    normal_pair,
    settled,
)
from takeup.simulation.kernels.lane_gammas import moment_of, second_half, word_of
from takeup.simulation.kernels.lane_streams import ROW_1, all_rounds, behind
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.machine import LANES, Number, bits, either, fused, inlined, number_of
from takeup.simulation.kernels.streams import POLICY

BATCH = 16
"""How many are settled together."""

ROWS = 14
"""Rows of a batch."""

_NUMBER, _PAIR, _PLACE, _RADIUS, _ANGLE, _D_1, _D_2, _C_1, _C_2, _NEW_RADIUS, _NEW_ANGLE, _FINE, _G_1, _G_2 = (
    np.uintp(row * BATCH) for row in range(ROWS)
)
_DONE = _FINE  # whether a pair is settled: written where its fine bits have been read
_FAR, _SMALL = np.float32(-0.95), np.float32(0.25)
_LESS, _MORE = np.float32(0.998), np.float32(1.002)
_THREE = np.float32(3)
_T_4, _T_5, _T_7 = np.float32(3 / 4), np.float32(-3 / 5), np.float32(-3 / 7)
_E_3, _E_4, _E_5, _E_6 = (np.float32(1 / whole) for whole in (6, 24, 120, 720))
_BIAS = 127
_FINE_BITS = np.float32(2.0**-31)
_COARSE = np.float32(2.0**-12)
_FIRST_ATTEMPT = np.uint64(1)


def settle_together(draws: LaneDraws, first: Number, pairs: Number, slots: Number, moment: Number) -> None:
    """The gammas that the squeeze did not accept."""
    shapes, words, late, batch = draws.shapes, draws.words, draws.late, draws.batch
    count = 0
    for i in range(LANES):
        lane, marks = np.uintp(i), late[np.uintp(i)]
        while marks != np.uint32(0):
            rest = np.uint32(marks & np.uint32(marks - np.uint32(1)))
            k = np.int64(bits(np.float32(marks ^ rest)) >> EXPONENT) - _BIAS  # which bit that is
            marks = rest
            at, to = np.uintp(2 * (first + k) * LANES) + lane, np.uintp(count)
            scales, word = np.uintp(slots * LANES) + at, word_of(first, k) + lane
            batch[to + _NUMBER] = np.uint32(moment[1] + np.uint32(i))
            batch[to + _PAIR] = np.uint32(first + k)
            batch[to + _PLACE] = np.uint32(k * LANES + i)
            batch[to + _RADIUS], batch[to + _ANGLE] = words[word], words[word + behind(words)]
            batch[to + _D_1], batch[to + _D_2] = bits(np.float32(shapes[at])), bits(np.float32(shapes[at + ROW_1]))
            batch[to + _C_1] = bits(np.float32(shapes[scales]))
            batch[to + _C_2] = bits(np.float32(shapes[scales + ROW_1]))
            count += 1
            if count == BATCH:
                _settle_batch(draws, count, moment)
                count = 0
    if count > 0:
        _settle_batch(draws, count, moment)


@inlined
def _log(u: Number) -> Number:
    """The logarithm of a positive float32."""
    exponent = np.int32(np.int32(np.uint32(bits(u) - THREE_QUARTERS)) >> np.int32(EXPONENT))
    g = number_of(np.uint32(bits(u) - np.uint32(np.uint32(exponent) << EXPONENT))) - ONE
    return fused(np.float32(exponent), LOG_OF_TWO, log_mantissa(g))


@inlined
def _bounds(d: Number, t: Number) -> Number:
    """Between which numbers minus the log acceptance is, up to the margin.

    For small t, where t - t^2/2 + t^3/3 - log(1 + t) would lose its digits, as in `gammas`, to two more powers of t.
    """
    square, size = t * t, np.float32(abs(t))
    fourth = d * (square * square)
    low = fourth * fused(square, fused(_T_7, t, HALF), fused(_T_5, t, _T_4))
    high = fused(fourth * (square * square), HALF, low)
    whole = (_THREE * d) * (fused(square, fused(t, THIRD, -HALF), t) - _log(ONE + t))
    return either(size < _SMALL, low, whole), either(size < _SMALL, high, whole)


@inlined
def _least(e: Number) -> Number:
    """Not more than 1 - exp(-e): its power series up to e^6."""
    return fused(-e * e * e * _E_6, e * e * e, _most(e))


@inlined
def _most(e: Number) -> Number:
    """Not less than 1 - exp(-e): its power series up to e^5."""
    return e * fused(e, fused(e, fused(e, fused(e, _E_5, -_E_4), _E_3), -HALF), ONE)


def _settle_batch(draws: LaneDraws, count: Number, moment: Number) -> None:
    """So many pairs, whose numbers are in the rows of the batch."""
    gammas, batch = draws.gammas, draws.batch
    keys, _, step = moment
    for i in range(BATCH):
        one = np.uintp(i)
        slot = np.uint64(batch[one + _PAIR]) + np.uint64(POLICY)
        w_0, w_1, w_2, _ = all_rounds(np.uint64(batch[one + _NUMBER]), np.uint64(step), slot, _FIRST_ATTEMPT, keys)
        batch[one + _NEW_RADIUS], batch[one + _NEW_ANGLE], batch[one + _FINE] = w_0, w_1, w_2
    for i in range(BATCH):
        one = np.uintp(i)
        angle, new_angle = batch[one + _ANGLE], batch[one + _NEW_ANGLE]
        d_1, d_2 = number_of(batch[one + _D_1]), number_of(batch[one + _D_2])
        c_1, c_2 = number_of(batch[one + _C_1]), number_of(batch[one + _C_2])
        x_1, x_2 = normal_pair(batch[one + _RADIUS], angle)
        t_1, t_2 = c_1 * x_1, c_2 * x_2
        near = (t_1 > _FAR) & (t_2 > _FAR)
        v = (coarse(angle) + np.float32(np.int32(batch[one + _FINE] >> np.uint32(1))) * _FINE_BITS) * _COARSE
        low_1, high_1 = _bounds(d_1, t_1)
        low_2, high_2 = _bounds(d_2, t_2)
        passes = near & (v * _LESS > _most(high_1 + high_2))
        fails = near & (v * _MORE < _least(low_1 + low_2))
        fails |= (t_1 <= -ONE) | (t_2 <= -ONE)
        y_1, y_2 = normal_pair(batch[one + _NEW_RADIUS], new_angle)
        s_1, s_2 = c_1 * y_1, c_2 * y_2
        redrawn = fails & accepted(d_1, d_2, s_1, s_2, new_angle)
        batch[one + _G_1] = bits(cubed(d_1, either(passes, t_1, s_1)))
        batch[one + _G_2] = bits(cubed(d_2, either(passes, t_2, s_2)))
        batch[one + _DONE] = either(passes | redrawn, np.uint32(1), np.uint32(0))
    for i in range(count):
        one = np.uintp(i)
        to = np.uintp(batch[one + _PLACE])
        g_1, g_2 = number_of(batch[one + _G_1]), number_of(batch[one + _G_2])
        if batch[one + _DONE] == np.uint32(0):
            d = (number_of(batch[one + _D_1]), number_of(batch[one + _D_2]))
            c = (number_of(batch[one + _C_1]), number_of(batch[one + _C_2]))
            own = moment_of(keys, batch[one + _NUMBER], 0, step)
            t_1, t_2 = settled(d, c, (batch[one + _RADIUS], batch[one + _ANGLE]), own, batch[one + _PAIR])
            g_1, g_2 = cubed(d[0], t_1), cubed(d[1], t_2)
        gammas[to], gammas[to + second_half(gammas)] = g_1, g_2
