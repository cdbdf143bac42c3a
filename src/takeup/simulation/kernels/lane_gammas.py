"""Gamma pairs of 32 replications side by side: the loops that the compiler turns into SIMD instructions.

Everything is the arithmetic of `gammas`, lane by lane, so lanes and scalars come to the same bits. Arrays are flat,
row r of lane l at r LANES + l, with unsigned indices and rows at constant distances: the vectoriser then sees that
nothing overlaps. The few lanes that the squeeze does not accept are settled one by one.
"""

import numpy as np

from takeup.simulation.kernels.gammas import ONE, accepted, normal_pair, settled
from takeup.simulation.kernels.lane_streams import ROW_1
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.machine import LANES, Array, Number, fused, inlined

_HALVES = np.uintp(2 * LANES)
_GAIN, _LOSS, _BEST = np.uintp(3 * LANES), np.uintp(4 * LANES), np.uintp(5 * LANES)
WORK = 6
"""Rows of work: three of `draw_pair`, then gain, loss and number of the best proposal so far."""


def _normals(words: Array, half: Number, t: Array) -> None:
    """Two normals a lane, in rows 0 and 1."""
    for i in range(LANES):
        lane = np.uintp(i)
        x_1, x_2 = normal_pair(words[half + lane], words[half + lane + ROW_1])
        t[lane] = x_1
        t[lane + ROW_1] = x_2


def _candidates(shapes: Array, at: Number, scales: Number, words: Array, half: Number, t: Array, late: Array) -> Number:
    """T of both gammas for the normals in rows 0 and 1, and which lanes the squeeze does not accept; whether any."""
    for i in range(LANES):
        lane = np.uintp(i)
        t_1 = np.float32(shapes[scales + lane]) * t[lane]
        t_2 = np.float32(shapes[scales + lane + ROW_1]) * t[lane + ROW_1]
        t[lane] = t_1
        t[lane + ROW_1] = t_2
        d_1, d_2 = np.float32(shapes[at + lane]), np.float32(shapes[at + lane + ROW_1])
        squeezed = accepted(d_1, d_2, t_1, t_2, words[half + lane + ROW_1])
        late[lane] = np.uint8(0) if squeezed else np.uint8(1)
    some = np.uint8(0)
    for i in range(LANES):
        some = np.uint8(some | late[np.uintp(i)])
    return some != np.uint8(0)


def draw_pair(draws: LaneDraws, pair: Number, slots: Number, moment: Number) -> None:
    """T of the gammas of one pair, in rows 0 and 1 of the work; a moment is (round keys, replication, step)."""
    shapes, words, t, late = draws
    keys, number, step = moment
    at, scales = np.uintp(2 * pair * LANES), np.uintp((slots + 2 * pair) * LANES)
    half = _HALVES if pair & 1 else np.uintp(0)
    _normals(words, half, t)
    if _candidates(shapes, at, scales, words, half, t, late):
        for i in range(LANES):
            lane = np.uintp(i)
            if late[lane] != np.uint8(0):
                d = (np.float32(shapes[at + lane]), np.float32(shapes[at + lane + ROW_1]))
                c = (np.float32(shapes[scales + lane]), np.float32(shapes[scales + lane + ROW_1]))
                word = (words[half + lane], words[half + lane + ROW_1])
                t[lane], t[lane + ROW_1] = settled(d, c, word, moment_of(keys, number, i, step), pair)


@inlined
def moment_of(keys: Number, number: Number, lane: Number, step: Number) -> Number:
    """The moment of one lane, as `streams.words` takes it."""
    return np.uint32(keys[0]), np.uint32(keys[1]), np.uint32(number + np.uint32(lane)), np.uint32(step)


def forget_best(work: Array) -> None:
    """No best proposal yet."""
    for i in range(LANES):
        lane = np.uintp(i)
        work[lane + _GAIN] = np.float32(-1)
        work[lane + _LOSS] = np.float32(1)
        work[lane + _BEST] = np.float32(0)


@inlined
def keep_better(work: Array, lane: Number, gain: Number, loss: Number, proposal: Number) -> None:
    """This proposal is a lane's best so far where its odds gain : loss are higher than those of the best."""
    best_gain, best_loss, best = work[lane + _GAIN], work[lane + _LOSS], work[lane + _BEST]
    better = np.float32(gain * best_loss > best_gain * loss)  # as a factor, 0 or 1: a branch would cost more
    kept = ONE - better
    work[lane + _GAIN] = fused(gain, better, best_gain * kept)
    work[lane + _LOSS] = fused(loss, better, best_loss * kept)
    work[lane + _BEST] = fused(proposal, better, best * kept)


def take_best(work: Array, z: Array) -> None:
    """The best proposal of each lane."""
    for i in range(LANES):
        lane = np.uintp(i)
        z[lane] = np.int32(work[lane + _BEST])
