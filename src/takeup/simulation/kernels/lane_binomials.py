"""Binomial draws of 32 replications side by side: the numbers of `binomials`, lane by lane.

Lanes with few to expect go by inversion in step with each other, the others have one try at the quick test of BTRS. The
few that fail it are drawn one by one.
"""

import math

import numpy as np

from takeup.simulation.kernels.binomials import FEW, MOST, POWERED, few, fine, many
from takeup.simulation.kernels.lane_gammas import moment_of
from takeup.simulation.kernels.lane_streams import ROW_1, ROW_2, ROW_3, draw_words
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.machine import LANES, Array, Number, either, inlined
from takeup.simulation.kernels.streams import POLICY

COUNT, CHANCE, TAKEN = np.uintp(0), np.uintp(LANES), np.uintp(2 * LANES)
"""Rows of a work space of seven: n and p, which stay as they are, and what is drawn."""

_UNIFORM, _UP_TO, _TERM, _ODDS = np.uintp(3 * LANES), np.uintp(4 * LANES), np.uintp(5 * LANES), np.uintp(6 * LANES)
_NONE, _REJECTED, _FAR = np.uint32(0), np.uint32(1), np.uint32(2)


def binomial_lanes(draws: LaneDraws, at: Number, moment: Number, slot: Number) -> None:
    """How many of n succeed with probability p, in the rows of a work space that begins at `at`."""
    real, words, late = draws.shapes, draws.words, draws.late
    keys, number, step = moment
    draw_words(words, keys, step, np.uint32(POLICY + np.uint32(slot)))
    most = _prepare(real, at, words, late)
    bit = np.int64(0)
    while most > 0:
        _square(real, at, bit)
        bit, most = bit + 1, most >> 1
    _open(real, at, late)
    k = 0
    while k < MOST and _invert(real, at, k):
        k += 4
    some = np.uint32(0)
    for i in range(LANES):
        some = np.uint32(some | late[np.uintp(i)])
    if some != _NONE:
        _reject(real, at, words, late)
        for i in range(LANES):
            lane = np.uintp(i)
            if late[lane] != _NONE:
                n, p = np.int64(real[at + lane + COUNT]), _rare(real[at + lane + CHANCE])
                own = moment_of(keys, number, i, step)
                found = few(n, p, own, slot) if late[lane] == _FAR else many(n, p, own, slot)
                real[at + lane + TAKEN] = np.float64(found)
    _finish(real, at)


@inlined
def _rare(p: Number) -> Number:
    """The smaller of p and 1 - p, and no less than zero."""
    rare = either(p <= 0.5, p, 1.0 - p)
    return either(rare > 0.0, rare, 0.0)


def _prepare(real: Array, at: Number, words: Array, late: Array) -> Number:
    """Uniform numbers, odds, and a start for the powers (1 - p)^n; the largest n of a lane that goes by inversion."""
    for i in range(LANES):
        lane = np.uintp(i)
        rare = _rare(real[at + lane + CHANCE])
        real[at + lane + _UNIFORM] = fine(words[lane], words[lane + ROW_1])
        real[at + lane + _ODDS] = rare / (1.0 - rare)
        real[at + lane + _UP_TO] = 1.0 - rare
        real[at + lane + _TERM] = 1.0
        real[at + lane + TAKEN] = 0.0
    most = 0.0
    for i in range(LANES):
        lane = np.uintp(i)
        n = real[at + lane + COUNT]
        rejected, far = n * _rare(real[at + lane + CHANCE]) >= FEW, n > POWERED
        late[lane] = either(rejected, _REJECTED, either(far, _FAR, _NONE))
        near = either(rejected or far, 0.0, n)
        most = either(near > most, near, most)
    return np.int64(most)


def _square(real: Array, at: Number, bit: Number) -> None:
    """One bit of n in the power, and the base squared."""
    for i in range(LANES):
        lane = np.uintp(i)
        base, odd = real[at + lane + _UP_TO], (np.int64(real[at + lane + COUNT]) >> bit) & 1
        real[at + lane + _TERM] *= either(odd != 0, base, 1.0)
        real[at + lane + _UP_TO] = base * base


def _open(real: Array, at: Number, late: Array) -> None:
    """The probability of none; lanes that do not go by inversion have nothing to look for."""
    for i in range(late.size):
        lane = np.uintp(i)
        near = late[lane] == _NONE
        real[at + lane + _UP_TO] = real[at + lane + _TERM]
        real[at + lane + _UNIFORM] = either(near, real[at + lane + _UNIFORM], 0.0)


def _invert(real: Array, at: Number, k: Number) -> Number:
    """Four steps of `few` from k on; whether a lane has to go further."""
    r_1, r_2, r_3, r_4 = 1.0 / (k + 1.0), 1.0 / (k + 2.0), 1.0 / (k + 3.0), 1.0 / (k + 4.0)
    more = np.int64(0)
    for i in range(LANES):
        lane = np.uintp(i)
        u, up_to, term = real[at + lane + _UNIFORM], real[at + lane + _UP_TO], real[at + lane + _TERM]
        left, odds = real[at + lane + COUNT] - k, real[at + lane + _ODDS]
        taken = real[at + lane + TAKEN] + either(u > up_to, 1.0, 0.0)
        term *= left * odds * r_1
        up_to += term
        taken += either(u > up_to, 1.0, 0.0)
        term *= (left - 1.0) * odds * r_2
        up_to += term
        taken += either(u > up_to, 1.0, 0.0)
        term *= (left - 2.0) * odds * r_3
        up_to += term
        taken += either(u > up_to, 1.0, 0.0)
        term *= (left - 3.0) * odds * r_4
        up_to += term
        real[at + lane + TAKEN] = taken
        real[at + lane + _UP_TO] = up_to
        real[at + lane + _TERM] = term
        more |= either(u > up_to, 1, 0)
    return more != 0


def _reject(real: Array, at: Number, words: Array, late: Array) -> None:
    """The first attempt of `many` up to its quick test; a lane that passes is no longer late."""
    for i in range(LANES):
        lane = np.uintp(i)
        n, p = real[at + lane + COUNT], _rare(real[at + lane + CHANCE])
        spread = math.sqrt(n * p * (1.0 - p))
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * p
        middle, quick = n * p + 0.5, 0.92 - 4.2 / b
        u, v = fine(words[lane], words[lane + ROW_1]) - 0.5, fine(words[lane + ROW_2], words[lane + ROW_3])
        edge = 0.5 - abs(u)
        k = np.float64(np.int64((2.0 * a / edge + b) * u + middle))
        passed = (late[lane] == _REJECTED) & (edge >= 0.07) & (v <= quick)
        real[at + lane + TAKEN] = either(passed, k, real[at + lane + TAKEN])
        late[lane] = either(passed, _NONE, late[lane])


def _finish(real: Array, at: Number) -> None:
    """No more than n, and of the common kind where p is above a half."""
    for i in range(LANES):
        lane = np.uintp(i)
        n, taken = real[at + lane + COUNT], real[at + lane + TAKEN]
        taken = either(taken < n, taken, n)
        real[at + lane + TAKEN] = either(real[at + lane + CHANCE] <= 0.5, taken, n - taken)
