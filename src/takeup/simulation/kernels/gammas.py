"""Gamma draws in pairs: Box-Muller normals and the method of Marsaglia & Tsang (2000), in float32.

A Gamma(s) draw with s >= 1 is d (1 + t)^3 with d = s - 1/3, t = c x, c = 1 / sqrt(9 d) and x normal, accepted with
probability exp(3 d (log(1 + t) - t + t^2/2 - t^3/3)). The exponent is -3 d times the integral of s^3 / (1 + s) from 0
to t, so at least -0.75 d t^4 / (1 + min(t, 0)), and a draw with

    u (1 + min(t, 0)) > 0.75 d t^4,    u uniform,

is accepted without a logarithm: all but about 0.03 / d of them are. One Box-Muller pair makes two gammas, which are
accepted together against the sum of both terms. Two words make a pair: 32 bits for the radius, 20 for the angle and
12 for u, whose finer bits are drawn in the rare case that they matter; so a Philox block makes four gammas.
"""

import math

import numpy as np

from takeup.simulation.kernels.machine import Number, bits, fused, inlined, number_of, quotient, root, smaller, times
from takeup.simulation.kernels.streams import POLICY, uniform, words

ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)
THIRD = np.float32(1 / 3)
_BOUND = np.float32(0.75 * 2**12)
_COARSE_BITS = np.uint32(0xFFF)

# The logarithm of 1 + g for -1/4 <= g <= 1/2, and sine and cosine up to a quarter of pi: Cephes, single precision.
_LOG = tuple(
    np.float32(c)
    for c in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
)
_LOG_0, _LOG_1, _LOG_2, _LOG_3, _LOG_4, _LOG_5, _LOG_6, _LOG_7, _LOG_8 = _LOG
LOG_OF_TWO = np.float32(math.log(2))
_SIN_0, _SIN_1, _SIN_2 = np.float32(-1.9515295891e-4), np.float32(8.3321608736e-3), np.float32(-1.6666654611e-1)
_COS_0, _COS_1, _COS_2 = np.float32(2.443315711809948e-5), np.float32(-1.388731625493765e-3), np.float32(4.16666456e-2)
_ANGLE = np.float32(math.pi / 2**19)
THREE_QUARTERS = np.uint32(0x3F400000)
_SIGN, _SWAP = np.uint32(0x80000000), np.uint32(0x40000000)
_ONE, _TWO, _ANGLE_SHIFT, EXPONENT = np.uint32(1), np.uint32(2), np.int32(14), np.uint32(23)
_RADIUS_BITS = np.float32(31)


@inlined
def scale(d: Number) -> Number:
    """The factor c = 1 / sqrt(9 d) that makes t of a normal; float32."""
    return quotient(THIRD, root(d))


@inlined
def log_mantissa(g: Number) -> Number:
    """The logarithm of 1 + g for -1/4 <= g <= 1/2; float32."""
    p = fused(_LOG_0, g, _LOG_1)
    p = fused(p, g, _LOG_2)
    p = fused(p, g, _LOG_3)
    p = fused(p, g, _LOG_4)
    p = fused(p, g, _LOG_5)
    p = fused(p, g, _LOG_6)
    p = fused(p, g, _LOG_7)
    p = fused(p, g, _LOG_8)
    square = g * g
    return fused(p * g, square, fused(-HALF, square, g))


@inlined
def exponential(word: Number) -> Number:
    """The exponential variable -log u of a word, in float32.

    It is never negative: g is at most 0 where u is in the highest binade, and elsewhere log 2 outweighs log 1.5.
    """
    u = np.float32(np.int32(np.uint32(word >> _ONE) | _ONE))
    exponent = np.uint32(np.uint32(bits(u) - THREE_QUARTERS) >> EXPONENT)
    g = number_of(np.uint32(bits(u) - np.uint32(exponent << EXPONENT))) - ONE
    return fused(_RADIUS_BITS - np.float32(np.int32(exponent)), LOG_OF_TWO, -log_mantissa(g))


@inlined
def turned(r: Number, angle: Number) -> Number:
    """A length r as the two coordinates of a point at an angle from a word, in float32.

    The angle's upper 20 bits are a sign, a swap and a point of (-π/4, π/4): together they go round the circle.
    """
    r = number_of(np.uint32(bits(r) | np.uint32(angle & _SIGN)))
    point = np.int32(np.int32(np.uint32(angle << _TWO)) >> _ANGLE_SHIFT)
    theta = (np.float32(point) + HALF) * _ANGLE
    q = theta * theta
    sine = fused(fused(fused(_SIN_0, q, _SIN_1), q, _SIN_2) * q, theta, theta)
    cosine = fused(fused(fused(_COS_0, q, _COS_1), q, _COS_2) * q, q, fused(-HALF, q, ONE))
    swapped = (angle & _SWAP) != np.uint32(0)
    return r * (sine if swapped else cosine), r * (cosine if swapped else sine)


@inlined
def normal_pair(radius: Number, angle: Number) -> Number:
    """Two independent normals from two words: r cos and r sin with r^2 = -2 log u (Box & Muller 1958), in float32."""
    return turned(root(np.float32(2) * exponential(radius)), angle)


@inlined
def coarse(angle: Number) -> Number:
    """The 12 coarse bits of u, as a whole number; float32."""
    return np.float32(np.int32(angle & _COARSE_BITS))


@inlined
def accepted(d_1: Number, d_2: Number, t_1: Number, t_2: Number, angle: Number) -> Number:
    """Whether the squeeze accepts the pair, whatever the finer bits of u: u >= its 12 coarse bits."""
    square_1, square_2 = t_1 * t_1, t_2 * t_2
    bound = fused(d_1 * square_1, square_1, (d_2 * square_2) * square_2)
    least = smaller(smaller(t_1, t_2), ZERO)
    return coarse(angle) * (ONE + least) > _BOUND * bound


@inlined
def cubed(d: Number, t: Number) -> Number:
    """The gamma d (1 + t)^3."""
    v = ONE + t
    return d * (v * v * v)


def _log_acceptance(d: Number, t: Number) -> Number:
    return 3.0 * d * (math.log1p(t) - t + t * t * (0.5 - t / 3.0))


@inlined
def _bounds(d: Number, t: Number) -> Number:
    """Between which numbers minus the log acceptance is, for |t| < 1: 3 d (t^4/4 - t^5/5), and t^6/6 / (1 - |t|) more.

    It is 3 d times the integral of s^3 / (1 + s) from 0 to t, and 1 / (1 + s) is 1 - s + s^2 / (1 + s).
    """
    fourth = (t * t) * (t * t)
    low = d * fourth * (0.75 - 0.6 * t)
    return low, low + d * fourth * (t * t) * 0.5 / (1.0 - abs(t))


def _passes(d: Number, t: Number, v: Number) -> Number:
    """Whether a pair is accepted, 1 - v < its acceptance; with logarithms only where the bounds leave that open."""
    if t[0] <= -1.0 or t[1] <= -1.0:
        return False
    if t[0] < 1.0 and t[1] < 1.0:
        low_1, high_1 = _bounds(d[0], t[0])
        low_2, high_2 = _bounds(d[1], t[1])
        low = low_1 + low_2
        if v > high_1 + high_2:  # 1 - exp(-e) <= e
            return True
        if v < low * (1.0 - 0.5 * low):  # e - e^2/2 <= 1 - exp(-e)
            return False
    return math.log(1.0 - v) < _log_acceptance(d[0], t[0]) + _log_acceptance(d[1], t[1])


def settled(d: Number, c: Number, word: Number, moment: Number, pair: Number) -> Number:
    """T of both gammas where the squeeze did not accept: the exact test with all bits of u, then new draws."""
    radius, angle = word
    exact = (np.float64(d[0]), np.float64(d[1]))
    attempt = 0
    while True:
        attempt += 1
        new_radius, new_angle, fine, _ = words(moment, np.uint32(POLICY + np.uint32(pair)), attempt)
        x_1, x_2 = normal_pair(radius, angle)
        t_1, t_2 = times(c[0], x_1), times(c[1], x_2)
        v = (np.float64(angle & _COARSE_BITS) + uniform(fine)) * 0.000244140625
        if _passes(exact, (np.float64(t_1), np.float64(t_2)), v):
            return t_1, t_2
        radius, angle = new_radius, new_angle


@inlined
def gamma_pair(d: Number, c: Number, word: Number, moment: Number, pair: Number) -> Number:
    """Gamma(d_1 + 1/3) and Gamma(d_2 + 1/3) from two words; d = c = 0 stands for a gamma that is not there, 0.

    Args:
        d: (d_1, d_2).
        c: their `scale`s.
        word: two random words, for the radius and the angle of Box & Muller.
        moment: (key, key, replication, step).
        pair: the policy's slot that later attempts take their words from.
    """
    x_1, x_2 = normal_pair(word[0], word[1])
    t_1, t_2 = times(c[0], x_1), times(c[1], x_2)
    if not accepted(d[0], d[1], t_1, t_2, word[1]):
        t_1, t_2 = settled(d, c, word, moment, pair)
    return cubed(d[0], t_1), cubed(d[1], t_2)


@inlined
def gamma_pairs(d: Number, c: Number, block: Number, moment: Number, pair: Number) -> Number:
    """Four gammas, Gamma(d + 1/3) each, from a block of words; d = c = 0 stands for a gamma that is not there, 0.

    Args:
        d: (d_1, d_2, d_3, d_4).
        c: their `scale`s.
        block: four random words: radius and angle of Box & Muller for the first two, and for the others.
        moment: (key, key, replication, step).
        pair: the policy's slot that later attempts of the first two take their words from; the others', the next.
    """
    x_1, x_2 = normal_pair(block[0], block[1])
    x_3, x_4 = normal_pair(block[2], block[3])
    t_1, t_2, t_3, t_4 = times(c[0], x_1), times(c[1], x_2), times(c[2], x_3), times(c[3], x_4)
    one = accepted(d[0], d[1], t_1, t_2, block[1])
    two = accepted(d[2], d[3], t_3, t_4, block[3])
    if not (one & two):
        for second in range(2):  # one by one in one place: machine code has to be fetched
            if not (two if second else one):
                own_d = (d[2], d[3]) if second else (d[0], d[1])
                own_c = (c[2], c[3]) if second else (c[0], c[1])
                word = (block[2], block[3]) if second else (block[0], block[1])
                u_1, u_2 = settled(own_d, own_c, word, moment, pair + second)
                if second:
                    t_3, t_4 = u_1, u_2
                else:
                    t_1, t_2 = u_1, u_2
    return cubed(d[0], t_1), cubed(d[1], t_2), cubed(d[2], t_3), cubed(d[3], t_4)
