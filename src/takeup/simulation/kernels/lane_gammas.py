"""Gamma pairs of 32 replications side by side: the loops that the compiler turns into SIMD instructions.

Everything is the arithmetic of `gammas`, lane by lane, so lanes and scalars come to the same bits. Arrays are flat,
row r of lane l at r LANES + l, with unsigned indices, and rows that nothing depends on at run time are at constant
distances: the vectoriser then sees that they do not overlap. A stock of pairs is drawn at a time, each step of all of
them in one loop, so that what surrounds a loop (constants, checks of what overlaps, branches) is paid once for a stock.
What the squeeze does not accept is settled at the end: one by one here, together in `lane_late`.
"""

import numpy as np

from takeup.simulation.kernels.gammas import accepted, cubed, normal_pair, settled
from takeup.simulation.kernels.lane_streams import PAIRS, ROW_1, behind, draw_blocks
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.machine import LANES, Array, Number, either, inlined
from takeup.simulation.kernels.streams import POLICY

_GAIN, _LOSS, _BEST = np.uintp(0), np.uintp(LANES), np.uintp(2 * LANES)
WORK = 3
"""Rows of work: gain, loss and number of the best proposal so far."""

STOCK = 32
"""How many pairs are drawn at a time at most: a word has a bit for each."""


@inlined
def draw_stock(draws: LaneDraws, first: Number, pairs: Number, slots: Number, moment: Number) -> None:
    """The gammas of so many pairs of all lanes, two rows each; a moment is (round keys, replication, step)."""
    keys, _, step = moment
    block, blocks = first >> 1, ((first + pairs + 1) >> 1) - (first >> 1)
    draw_blocks(draws.words, keys, step, POLICY + np.uint32(block), blocks)
    _normals(draws.words, draws.gammas, first, pairs)
    _candidates(draws, first, pairs, slots)
    settle(draws, first, pairs, slots, moment)


@inlined
def word_of(first: Number, k: Number) -> Number:
    """Where the first words of a stock's k-th pair are: its first block may begin with one of the stock before."""
    return PAIRS + np.uintp((k + (first & 1)) * LANES)


@inlined
def second_half(gammas: Array) -> Number:
    """How far behind the first gammas of all pairs the second ones are."""
    return np.uintp(gammas.size >> 1)


def _normals(words: Array, gammas: Array, first: Number, pairs: Number) -> None:
    """Two normals a pair, where its gammas will be: of all pairs in one loop, which keeps its constants at hand."""
    start, apart, half = word_of(first, 0), behind(words), second_half(gammas)
    for i in range(pairs * LANES):
        at = np.uintp(i)
        x_1, x_2 = normal_pair(words[start + at], words[start + apart + at])
        gammas[at] = x_1
        gammas[half + at] = x_2


def _candidates(draws: LaneDraws, first: Number, pairs: Number, slots: Number) -> None:
    """Gammas of these normals that may have to be drawn again: bits of `late` say which the squeeze does not accept."""
    shapes, words, gammas, late = draws.shapes, draws.words, draws.gammas, draws.late
    half = second_half(gammas)
    for i in range(LANES):
        late[np.uintp(i)] = np.uint32(0)
    for k in range(pairs):
        at, scales = np.uintp(2 * (first + k) * LANES), np.uintp((slots + 2 * (first + k)) * LANES)
        angle, into, bit = word_of(first, k) + behind(words), np.uintp(k * LANES), np.uint32(1) << np.uint32(k)
        for i in range(LANES):
            lane = np.uintp(i)
            t_1 = np.float32(shapes[scales + lane]) * gammas[into + lane]
            t_2 = np.float32(shapes[scales + lane + ROW_1]) * gammas[into + half + lane]
            d_1, d_2 = np.float32(shapes[at + lane]), np.float32(shapes[at + lane + ROW_1])
            gammas[into + lane] = cubed(d_1, t_1)
            gammas[into + half + lane] = cubed(d_2, t_2)
            late[lane] |= either(accepted(d_1, d_2, t_1, t_2, words[angle + lane]), np.uint32(0), bit)


def settle(draws: LaneDraws, first: Number, pairs: Number, slots: Number, moment: Number) -> None:
    """The gammas that the squeeze did not accept, one by one."""
    shapes, words, gammas, late = draws.shapes, draws.words, draws.gammas, draws.late
    keys, number, step = moment
    half = second_half(gammas)
    for i in range(LANES):
        lane, k = np.uintp(i), 0
        marks = late[lane]
        while marks != np.uint32(0):
            if marks & np.uint32(1) != np.uint32(0):
                at, scales = (
                    np.uintp(2 * (first + k) * LANES) + lane,
                    np.uintp((slots + 2 * (first + k)) * LANES) + lane,
                )
                d = (np.float32(shapes[at]), np.float32(shapes[at + ROW_1]))
                c = (np.float32(shapes[scales]), np.float32(shapes[scales + ROW_1]))
                word, into = word_of(first, k) + lane, np.uintp(k * LANES) + lane
                pair = (words[word], words[word + behind(words)])
                t_1, t_2 = settled(d, c, pair, moment_of(keys, number, i, step), first + k)
                gammas[into], gammas[into + half] = cubed(d[0], t_1), cubed(d[1], t_2)
            marks = np.uint32(marks >> np.uint32(1))
            k += 1


@inlined
def stock_of(draws: LaneDraws) -> Number:
    """How many pairs there is room for."""
    return min(STOCK, draws.gammas.size // (2 * LANES))


@inlined
def moment_of(keys: Number, number: Number, lane: Number, step: Number) -> Number:
    """The moment of one lane, as `streams.words` takes it."""
    return np.uint32(keys[0]), np.uint32(keys[1]), np.uint32(number + np.uint32(lane)), np.uint32(step)


@inlined
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
    better = gain * best_loss > best_gain * loss
    work[lane + _GAIN] = either(better, gain, best_gain)
    work[lane + _LOSS] = either(better, loss, best_loss)
    work[lane + _BEST] = either(better, proposal, best)


@inlined
def take_best(work: Array, z: Array) -> None:
    """The best proposal of each lane."""
    for i in range(LANES):
        lane = np.uintp(i)
        z[lane] = np.int32(work[lane + _BEST])
