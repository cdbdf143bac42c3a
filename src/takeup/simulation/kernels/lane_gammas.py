"""Gamma pairs of 32 replications side by side: the loops that the compiler turns into SIMD instructions.

Everything is the arithmetic of `gammas`, lane by lane, so lanes and scalars come to the same bits. Arrays are flat,
row r of lane l at r LANES + l, with unsigned indices and rows at constant distances: the vectoriser then sees that
nothing overlaps. The few lanes that the squeeze does not accept are settled one by one.
"""

import numpy as np

from takeup.simulation.kernels.gammas import accepted, normal_pair, settled
from takeup.simulation.kernels.lane_streams import ROW_1
from takeup.simulation.kernels.machine import LANES, Array, Number

_HALVES = np.uintp(2 * LANES)


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
        t_1 = shapes[scales + lane] * t[lane]
        t_2 = shapes[scales + lane + ROW_1] * t[lane + ROW_1]
        t[lane] = t_1
        t[lane + ROW_1] = t_2
        squeezed = accepted(shapes[at + lane], shapes[at + lane + ROW_1], t_1, t_2, words[half + lane + ROW_1])
        late[lane] = np.uint8(0) if squeezed else np.uint8(1)
    some = np.uint8(0)
    for i in range(LANES):
        some = np.uint8(some | late[np.uintp(i)])
    return some != np.uint8(0)


def draw_pair(
    shapes: Array,
    pair: Number,
    slots: Number,
    words: Array,
    t: Array,
    late: Array,
    keys: Number,
    number: Number,
    step: Number,
) -> None:
    """T of the gammas of one pair, in rows 0 and 1."""
    at, scales = np.uintp(2 * pair * LANES), np.uintp((slots + 2 * pair) * LANES)
    half = _HALVES if pair & 1 else np.uintp(0)
    _normals(words, half, t)
    if _candidates(shapes, at, scales, words, half, t, late):
        for i in range(LANES):
            lane = np.uintp(i)
            if late[lane] != np.uint8(0):
                moment = (np.uint32(keys[0]), np.uint32(keys[1]), np.uint32(number + np.uint32(i)), np.uint32(step))
                t[lane], t[lane + ROW_1] = settled(
                    shapes[at + lane],
                    shapes[at + lane + ROW_1],
                    shapes[scales + lane],
                    shapes[scales + lane + ROW_1],
                    words[half + lane],
                    words[half + lane + ROW_1],
                    moment,
                    pair,
                )
