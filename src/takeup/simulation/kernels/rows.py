"""Rows of Dirichlet parameters in a policy's state, and the one draw that Thompson sampling takes from them.

A state is two arrays of columns, one column a replication: `counts` (int32) and `real` (float32, or float64 where a
kernel keeps other numbers beside these). Dirichlet rows lie one after the other, each padded to an even width so that
gammas are drawn in pairs; pair p of a context occupies its slots 2 p and 2 p + 1. Slot s holds how often its cell was
seen in counts[s], and what the next draw needs of the shape prior[s] + counts[s], float32 in any case, in real[s] and
real[slots + s]. As shapes come from whole numbers, they never drift.
"""

from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.gammas import ZERO, gamma_pairs, scale
from takeup.simulation.kernels.machine import Array, Number, fused, inlined
from takeup.simulation.kernels.streams import POLICY, words
from takeup.simulation.kernels.tables import State


@inlined
def padded(width: Number) -> Number:
    """The even number of slots that a row of this width takes."""
    return width + (width & 1)


@inlined
def end(slots: Number) -> Number:
    """The first row of `real` behind the shapes."""
    return 2 * slots


@inlined
def put(state: State, slot: Number, slots: Number, shape: Number) -> None:
    """Store d = shape - 1/3 and c = 1 / sqrt(9 d); zeros for a padding slot, whose shape is 0."""
    real, column = state.real, state.column
    if shape > 0.0:
        put_positive(state, slot, slots, shape)
    else:
        real[slot, column] = ZERO
        real[slots + slot, column] = ZERO


@inlined
def put_positive(state: State, slot: Number, slots: Number, shape: Number) -> None:
    """The same of a slot that is no padding."""
    real, column = state.real, state.column
    d = np.float32(shape - 0.3333333333333333)
    real[np.uintp(slot), column] = d
    real[np.uintp(slots + slot), column] = scale(d)


@inlined
def start(state: State, slots: Number, prior: Array) -> None:
    """Nothing seen yet."""
    counts, column = state.counts, state.column
    for slot in range(slots):
        counts[slot, column] = 0
        put(state, slot, slots, prior[slot])


@inlined
def see(state: State, slot: Number, slots: Number, prior: Array) -> None:
    """One more of this cell."""
    counts, column, at = state.counts, state.column, np.uintp(slot)
    seen = counts[at, column] + np.int32(1)
    counts[at, column] = seen
    put_positive(state, slot, slots, prior[at] + np.float64(seen))


class DirichletRows(NamedTuple):
    """Where rows of one width lie in a state, one after the other.

    Attributes:
        base: the first slot of their context.
        slots: how many slots all contexts have.
        first: the number of their first pair within the context.
        many: how many rows.
        width: their padded width.
        weights: where w_j lies in `real`; 1 - w_j lies `width` further on.
        success: whether they have two entries of which the second is worth all and the first nothing.
    """

    base: Number
    slots: Number
    first: Number
    many: Number
    width: Number
    weights: Number
    success: Number


NOWHERE = -1
"""Where means are left that nobody asks for."""


@inlined
def shapes(state: State, rows: DirichletRows, pair: Number) -> Number:
    """(d_1, d_2, c_1, c_2) of a pair."""
    real, column = state.real, state.column
    d, c = np.uintp(rows.base + 2 * pair), np.uintp(rows.slots + rows.base + 2 * pair)
    one = np.uintp(1)
    return (
        np.float32(real[d, column]),
        np.float32(real[d + one, column]),
        np.float32(real[c, column]),
        np.float32(real[c + one, column]),
    )


@inlined
def block_words(pair: Number, moment: Number) -> Number:
    """The four words of the Philox block of an even pair and the next."""
    return words(moment, POLICY + np.uint32(pair >> 1), 0)


@inlined
def drawn_block(state: State, rows: DirichletRows, pair: Number, last: Number, block: Number, moment: Number) -> Number:
    """The four gammas of a Philox block, of an even pair and the next; where there is none, of the last one twice."""
    d_1, d_2, c_1, c_2 = shapes(state, rows, pair)
    d_3, d_4, c_3, c_4 = shapes(state, rows, pair + 1 if last & 1 == 0 else min(pair + 1, last - 1))
    return gamma_pairs((d_1, d_2, d_3, d_4), (c_1, c_2, c_3, c_4), block, moment, pair)


class Weighing(NamedTuple):
    """How far rows have been weighed: gain and loss of the row at hand, and the best row so far with its own."""

    gain: Number
    loss: Number
    best: Number
    best_gain: Number
    best_loss: Number


@inlined
def weigh_pair(
    state: State, rows: DirichletRows, means: Number, weighing: Weighing, pair: Number, g_1: Number, g_2: Number
) -> Weighing:
    """Go on with the two gammas of a pair."""
    real, column, one = state.real, state.column, np.uintp(1)
    gain, loss, best, best_gain, best_loss = weighing
    half, place = np.uint32(rows.width >> 1), np.uint32(pair - rows.first)
    row = np.uint32(place // half)
    entry = np.uintp(np.uint32(2) * np.uint32(place - row * half))
    own, more = np.uintp(rows.weights) + entry, np.uintp(rows.weights + rows.width) + entry
    if rows.success:  # what the weights would make of it, without a look at them
        gain, loss = g_2, g_1
    else:
        gain = fused(g_2, np.float32(real[own + one, column]), fused(g_1, np.float32(real[own, column]), gain))
        loss = fused(g_2, np.float32(real[more + one, column]), fused(g_1, np.float32(real[more, column]), loss))
    if entry + np.uintp(2) < np.uintp(rows.width):
        return Weighing(gain, loss, best, best_gain, best_loss)
    if means != NOWHERE:
        whole = gain + loss
        real[np.uintp(means) + np.uintp(row), column] = gain / whole
        real[np.uintp(means + padded(rows.many)) + np.uintp(row), column] = loss / whole
        return Weighing(ZERO, ZERO, best, best_gain, best_loss)
    if gain * best_loss > best_gain * loss:
        best, best_gain, best_loss = row, gain, loss
    return Weighing(ZERO, ZERO, best, best_gain, best_loss)


@inlined
def weigh_rows(state: State, rows: DirichletRows, means: Number, moment: Number) -> Number:
    """The row that is worth most in a draw, in gain : loss = E[w] : 1 - E[w] under the drawn distribution.

    With gammas g_j of a row's shapes, g / Σ g is the Dirichlet draw, so gain = Σ g_j w_j and loss = Σ g_j (1 - w_j)
    for weights w_j in [0, 1]; rows are compared by cross-multiplication, and neither end of the scale loses digits.
    Four gammas are drawn at a time, as a Philox block has words for so many: while one pair waits, the other goes on,
    and so does the next block, whose words are asked for before.

    Args:
        state: the policy's.
        rows: which.
        means: where to leave E[w] of each row, and 1 - E[w] as many places further on as rows take; or NOWHERE.
        moment: (key, key, replication, step).
    """
    last = rows.first + rows.many * (rows.width >> 1)
    weighing = Weighing(ZERO, ZERO, np.uint32(0), np.float32(-1), np.float32(1))
    pair = np.uint32(rows.first - (rows.first & 1))
    block = block_words(pair, moment)
    while pair < np.uint32(last):
        later = pair + np.uint32(2)
        further = block_words(later, moment) if later < np.uint32(last) else block
        g_1, g_2, g_3, g_4 = drawn_block(state, rows, pair, last, block, moment)
        if rows.first & 1 == 0 or pair >= rows.first:
            weighing = weigh_pair(state, rows, means, weighing, pair, g_1, g_2)
        if last & 1 == 0 or pair + 1 < last:
            weighing = weigh_pair(state, rows, means, weighing, pair + 1, g_3, g_4)
        pair, block = np.uint32(later), further
    return np.int64(weighing.best)
