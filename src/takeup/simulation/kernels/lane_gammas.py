"""Gamma pairs of 32 replications side by side: the loops that the compiler turns into SIMD instructions.

Everything is the arithmetic of `gammas`, lane by lane, so lanes and scalars come to the same bits. Arrays are flat,
row r of lane l at r LANES + l, with unsigned indices and rows at constant distances: the vectoriser then sees that
nothing overlaps. The few lanes that the squeeze does not accept are settled one by one.
"""

import numpy as np

from takeup.simulation.kernels.gammas import accepted, normal_pair, settled
from takeup.simulation.kernels.machine import LANES, Array, Number, inlined
from takeup.simulation.kernels.streams import _LOW, _MULTIPLIER_0, _MULTIPLIER_2, _WORD, round_key

ROW_1, ROW_2, ROW_3 = np.uintp(LANES), np.uintp(2 * LANES), np.uintp(3 * LANES)
_HALVES = np.uintp(2 * LANES)


@inlined
def _round(c0: Number, c1: Number, c2: Number, c3: Number, k0: Number, k1: Number) -> Number:
    """`streams._round` in words of 64 bits, of which the lower 32 count: no lane has to be split or joined."""
    product_0, product_2 = (c0 & _LOW) * _MULTIPLIER_0, (c2 & _LOW) * _MULTIPLIER_2
    return (product_2 >> _WORD) ^ c1 ^ k0, product_2, (product_0 >> _WORD) ^ c3 ^ k1, product_0


@inlined
def philox_lane(c0: Number, c1: Number, c2: Number, c3: Number, keys: Number) -> Number:
    """`streams.philox`, with the keys of the ten rounds made beforehand."""
    c0, c1, c2, c3 = np.uint64(c0), np.uint64(c1), np.uint64(c2), np.uint64(c3)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[0], keys[10])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[1], keys[11])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[2], keys[12])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[3], keys[13])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[4], keys[14])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[5], keys[15])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[6], keys[16])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[7], keys[17])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[8], keys[18])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[9], keys[19])
    return np.uint32(c0), np.uint32(c1), np.uint32(c2), np.uint32(c3)


def draw_words(into: Array, key: Number, number: Number, step: Number, slot: Number) -> None:
    """One Philox block for each lane: its four words in four rows."""
    keys = (
        round_key(key[0], 0, 0), round_key(key[0], 0, 1), round_key(key[0], 0, 2), round_key(key[0], 0, 3),
        round_key(key[0], 0, 4), round_key(key[0], 0, 5), round_key(key[0], 0, 6), round_key(key[0], 0, 7),
        round_key(key[0], 0, 8), round_key(key[0], 0, 9),
        round_key(key[1], 1, 0), round_key(key[1], 1, 1), round_key(key[1], 1, 2), round_key(key[1], 1, 3),
        round_key(key[1], 1, 4), round_key(key[1], 1, 5), round_key(key[1], 1, 6), round_key(key[1], 1, 7),
        round_key(key[1], 1, 8), round_key(key[1], 1, 9),
    )  # fmt: skip
    for i in range(LANES):
        lane = np.uintp(i)
        w_0, w_1, w_2, w_3 = philox_lane(np.uint32(number + np.uint32(i)), step, slot, 0, keys)
        into[lane] = w_0
        into[lane + ROW_1] = w_1
        into[lane + ROW_2] = w_2
        into[lane + ROW_3] = w_3


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
    key: Number,
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
                moment = (key[0], key[1], np.uint32(number + np.uint32(i)), np.uint32(step))
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
