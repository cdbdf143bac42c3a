"""Philox for 32 replications side by side: the words of `streams`, with what the lanes share worked out once.

Of a counter (replication, step, slot, attempt) the replication alone differs from lane to lane, and an attempt of zero
leaves nothing to multiply. So the first two of the ten rounds come to three words a lane, which `opened` works out once
for all steps and slots, and to a few words that are the same in all lanes.
"""

import numpy as np

from takeup.simulation.kernels.machine import LANES, Array, Number, inlined, maker
from takeup.simulation.kernels.streams import _LOW, _MULTIPLIER_0, _MULTIPLIER_2, _WORD, round_key

ROW_1, ROW_2, ROW_3 = np.uintp(LANES), np.uintp(2 * LANES), np.uintp(3 * LANES)
PAIRS = np.uintp(7 * LANES)
"""Where in the room of words those of `draw_blocks` are."""
_MANY = 4
"""From how many blocks on two at a time pay."""
_FIRST, _SECOND, _THIRD = np.uintp(4 * LANES), np.uintp(5 * LANES), np.uintp(6 * LANES)


@inlined
def round_keys(key: Number) -> Number:
    """The two words of the key in each of the ten rounds; the first two are the key."""
    return (
        round_key(key[0], 0, 0), round_key(key[1], 1, 0), round_key(key[0], 0, 1), round_key(key[1], 1, 1),
        round_key(key[0], 0, 2), round_key(key[1], 1, 2), round_key(key[0], 0, 3), round_key(key[1], 1, 3),
        round_key(key[0], 0, 4), round_key(key[1], 1, 4), round_key(key[0], 0, 5), round_key(key[1], 1, 5),
        round_key(key[0], 0, 6), round_key(key[1], 1, 6), round_key(key[0], 0, 7), round_key(key[1], 1, 7),
        round_key(key[0], 0, 8), round_key(key[1], 1, 8), round_key(key[0], 0, 9), round_key(key[1], 1, 9),
    )  # fmt: skip


@maker
def opened(keys: Number, number: Number) -> Array:
    """Room for a block of words a lane, in four rows, and three more with what is known of the lanes beforehand."""
    room = np.empty(7 * LANES, np.uint32)
    open_at(room, keys, number)
    return room


def open_at(room: Array, keys: Number, number: Number) -> None:
    """What is known of the lanes beforehand, where the first of them has this number."""
    for i in range(LANES):
        lane = np.uintp(i)
        first = np.uint64(np.uint32(number + np.uint32(i))) * _MULTIPLIER_0
        second = ((first >> _WORD) ^ keys[1]) * _MULTIPLIER_2
        room[lane + _FIRST] = np.uint32((second >> _WORD) ^ keys[2])
        room[lane + _SECOND] = np.uint32(second & _LOW)
        room[lane + _THIRD] = np.uint32((first & _LOW) ^ keys[3])


@inlined
def _round(c0: Number, c1: Number, c2: Number, c3: Number, k0: Number, k1: Number) -> Number:
    """`streams._round` in words of 64 bits, of which the lower 32 count: no lane has to be split or joined."""
    product_0, product_2 = (c0 & _LOW) * _MULTIPLIER_0, (c2 & _LOW) * _MULTIPLIER_2
    return (product_2 >> _WORD) ^ c1 ^ k0, product_2, (product_0 >> _WORD) ^ c3 ^ k1, product_0


@inlined
def _last_rounds(c0: Number, c1: Number, c2: Number, c3: Number, keys: Number) -> Number:
    """The third to the tenth round."""
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[4], keys[5])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[6], keys[7])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[8], keys[9])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[10], keys[11])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[12], keys[13])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[14], keys[15])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[16], keys[17])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[18], keys[19])
    return np.uint32(c0), np.uint32(c1), np.uint32(c2), np.uint32(c3)


@inlined
def all_rounds(c0: Number, c1: Number, c2: Number, c3: Number, keys: Number) -> Number:
    """`streams.philox` by its round keys, of a counter of which nothing is known beforehand; words of 64 bits."""
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[0], keys[1])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, keys[2], keys[3])
    return _last_rounds(c0, c1, c2, c3, keys)


@inlined
def _shared(keys: Number, step: Number, slot: Number) -> Number:
    """What step and slot come to in the first two rounds, the same in all lanes."""
    of_slot = np.uint64(slot) * _MULTIPLIER_2
    of_step = ((of_slot >> _WORD) ^ np.uint64(step) ^ keys[0]) * _MULTIPLIER_0
    return of_slot & _LOW, of_step >> _WORD, of_step & _LOW


@inlined
def _block(room: Array, rows: Number, keys: Number, step: Number, slot: Number) -> None:
    """One Philox block for each lane: its four words where these four rows begin."""
    slot_low, step_high, step_low = _shared(keys, step, slot)
    row_0, row_1, row_2, row_3 = rows
    for i in range(LANES):
        lane = np.uintp(i)
        w_0, w_1, w_2, w_3 = _last_rounds(
            np.uint64(room[lane + _FIRST]) ^ slot_low,
            np.uint64(room[lane + _SECOND]),
            np.uint64(room[lane + _THIRD]) ^ step_high,
            step_low,
            keys,
        )
        room[row_0 + lane] = w_0
        room[row_1 + lane] = w_1
        room[row_2 + lane] = w_2
        room[row_3 + lane] = w_3


@inlined
def _both(a: Number, b: Number, k0: Number, k1: Number) -> Number:
    """A round of two blocks: side by side they hide how long a product takes."""
    return _round(a[0], a[1], a[2], a[3], k0, k1), _round(b[0], b[1], b[2], b[3], k0, k1)


@inlined
def _two_blocks(room: Array, first: Number, apart: Number, keys: Number, step: Number, slot: Number) -> None:
    """Two blocks for each lane, as four pairs of words."""
    slot_a, high_a, low_a = _shared(keys, step, slot)
    slot_b, high_b, low_b = _shared(keys, step, slot + np.uint32(1))
    second = first + apart
    for i in range(LANES):
        lane = np.uintp(i)
        one, two, three = (
            np.uint64(room[lane + _FIRST]),
            np.uint64(room[lane + _SECOND]),
            np.uint64(room[lane + _THIRD]),
        )
        a, b = (one ^ slot_a, two, three ^ high_a, low_a), (one ^ slot_b, two, three ^ high_b, low_b)
        a, b = _both(a, b, keys[4], keys[5])
        a, b = _both(a, b, keys[6], keys[7])
        a, b = _both(a, b, keys[8], keys[9])
        a, b = _both(a, b, keys[10], keys[11])
        a, b = _both(a, b, keys[12], keys[13])
        a, b = _both(a, b, keys[14], keys[15])
        a, b = _both(a, b, keys[16], keys[17])
        a, b = _both(a, b, keys[18], keys[19])
        room[first + lane] = np.uint32(a[0])
        room[second + lane] = np.uint32(a[1])
        room[first + lane + ROW_1] = np.uint32(a[2])
        room[second + lane + ROW_1] = np.uint32(a[3])
        room[first + lane + ROW_2] = np.uint32(b[0])
        room[second + lane + ROW_2] = np.uint32(b[1])
        room[first + lane + ROW_3] = np.uint32(b[2])
        room[second + lane + ROW_3] = np.uint32(b[3])


def draw_words(room: Array, keys: Number, step: Number, slot: Number) -> None:
    """One Philox block for each lane: its four words in the first four rows of what `opened` gave."""
    _block(room, (np.uintp(0), ROW_1, ROW_2, ROW_3), keys, step, slot)


@inlined
def behind(room: Array) -> Number:
    """How far behind the first words of pairs their second words lie in the room."""
    return np.uintp((room.size - 7 * LANES) >> 1)


def draw_blocks(room: Array, keys: Number, step: Number, slot: Number, count: Number) -> None:
    """So many blocks for each lane, of this slot and the next ones, as two pairs of words each.

    The first words of all pairs are in rows from `PAIRS` on, one after the other, the second ones likewise `behind`.
    """
    apart, done = behind(room), 0
    if count >= _MANY:
        for block in range(0, count - 1, 2):
            _two_blocks(room, PAIRS + np.uintp(2 * block * LANES), apart, keys, step, slot + np.uint32(block))
        done = count - (count & 1)
    for block in range(done, count):
        first = PAIRS + np.uintp(2 * block * LANES)
        rows = (first, first + apart, first + ROW_1, first + ROW_1 + apart)
        _block(room, rows, keys, step, slot + np.uint32(block))
