"""Rows of Dirichlet parameters in a policy's state, and the one draw that Thompson sampling takes from them.

A state is two arrays of columns, one column a replication: `counts` (int32) and `real` (float32, or float64 where a
kernel keeps other numbers beside these). Dirichlet rows lie one after the other, each padded to an even width so that
gammas are drawn in pairs; pair p of a context occupies its slots 2 p and 2 p + 1. Slot s holds how often its cell was
seen in counts[s], and what the next draw needs of the shape prior[s] + counts[s], float32 in any case, in real[s] and
real[slots + s]. As shapes come from whole numbers, they never drift.
"""

from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.gammas import ZERO, gamma_pair, scale
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
        d = np.float32(shape - 0.3333333333333333)
        real[slot, column] = d
        real[slots + slot, column] = scale(d)
    else:
        real[slot, column] = ZERO
        real[slots + slot, column] = ZERO


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
    counts, column = state.counts, state.column
    counts[slot, column] += 1
    put(state, slot, slots, prior[slot] + np.float64(counts[slot, column]))


class DirichletRow(NamedTuple):
    """Where a row lies in a state.

    Attributes:
        base: the first slot of its context.
        slots: how many slots all contexts have.
        pair: the number of its first pair within its context.
        width: its padded width.
        weights: where w_j lies in `real`; 1 - w_j lies `width` further on.
    """

    base: Number
    slots: Number
    pair: Number
    width: Number
    weights: Number


@inlined
def drawn_pair(state: State, row: DirichletRow, pair: Number, moment: Number, block: Number) -> Number:
    """The two gammas of a pair, and the words of its Philox block, of which every second pair takes the other half."""
    real, column = state.real, state.column
    if pair & 1 == 0:
        block = words(moment, POLICY + np.uint32(pair >> 1), 0)
    radius = block[0] if pair & 1 == 0 else block[2]
    angle = block[1] if pair & 1 == 0 else block[3]
    slot = row.base + 2 * pair
    d = (np.float32(real[slot, column]), np.float32(real[slot + 1, column]))
    c = (np.float32(real[row.slots + slot, column]), np.float32(real[row.slots + slot + 1, column]))
    g_1, g_2 = gamma_pair(d, c, (radius, angle), moment, pair)
    return g_1, g_2, block


def weigh(state: State, row: DirichletRow, moment: Number, block: Number) -> Number:
    """What a draw from one row is worth, as gain : loss = E[w] : 1 - E[w] under the drawn distribution.

    With gammas g_j of the row's shapes, g / Σ g is the Dirichlet draw, so gain = Σ g_j w_j and loss = Σ g_j (1 - w_j)
    for weights w_j in [0, 1]; rows are compared by cross-multiplication, and neither end of the scale loses digits.
    Takes and returns, as the third, the words of the last Philox block.
    """
    real, column = state.real, state.column
    pair = row.pair
    gain, loss = ZERO, ZERO
    for j in range(0, row.width, 2):
        g_1, g_2, block = drawn_pair(state, row, pair, moment, block)
        own, more = row.weights + j, row.weights + row.width + j
        w_1, w_2 = np.float32(real[own, column]), np.float32(real[own + 1, column])
        v_1, v_2 = np.float32(real[more, column]), np.float32(real[more + 1, column])
        gain = fused(g_2, w_2, fused(g_1, w_1, gain))
        loss = fused(g_2, v_2, fused(g_1, v_1, loss))
        pair += 1
    return gain, loss, block
