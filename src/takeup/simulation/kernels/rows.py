"""Rows of Dirichlet parameters in a policy's state, and the one draw that Thompson sampling takes from them.

A state is two arrays of columns, one column a replication: `counts` (int32) and `real` (float32). Dirichlet rows lie
one after the other, each padded to an even width so that gammas are drawn in pairs; pair p of a context occupies its
slots 2 p and 2 p + 1. Slot s holds how often its cell was seen in counts[s], and what the next draw needs of the shape
prior[s] + counts[s] in real[s] and real[slots + s]. As shapes come from whole numbers, they never drift.
"""

import numpy as np

from takeup.simulation.kernels.gammas import ZERO, gamma_pair, scale
from takeup.simulation.kernels.machine import Array, Number, fused, inlined
from takeup.simulation.kernels.streams import POLICY, words


@inlined
def padded(width: Number) -> Number:
    """The even number of slots that a row of this width takes."""
    return width + (width & 1)


@inlined
def end(slots: Number) -> Number:
    """The first row of `real` behind the shapes."""
    return 2 * slots


@inlined
def put(real: Array, column: Number, slot: Number, slots: Number, shape: Number) -> None:
    """Store d = shape - 1/3 and c = 1 / sqrt(9 d); zeros for a padding slot, whose shape is 0."""
    if shape > 0.0:
        d = np.float32(shape - 0.3333333333333333)
        real[slot, column] = d
        real[slots + slot, column] = scale(d)
    else:
        real[slot, column] = ZERO
        real[slots + slot, column] = ZERO


@inlined
def start(counts: Array, real: Array, column: Number, slots: Number, prior: Array) -> None:
    """Nothing seen yet."""
    for slot in range(slots):
        counts[slot, column] = 0
        put(real, column, slot, slots, prior[slot])


@inlined
def see(counts: Array, real: Array, column: Number, slot: Number, slots: Number, prior: Array) -> None:
    """One more of this cell."""
    counts[slot, column] += 1
    put(real, column, slot, slots, prior[slot] + np.float64(counts[slot, column]))


def weigh(
    real: Array,
    column: Number,
    base: Number,
    slots: Number,
    pair: Number,
    width: Number,
    weights: Number,
    moment: Number,
    block: Number,
) -> Number:
    """What a draw from one row is worth, as gain : loss = E[w] : 1 - E[w] under the drawn distribution.

    With gammas g_j of the row's shapes, g / Σ g is the Dirichlet draw, so gain = Σ g_j w_j and loss = Σ g_j (1 - w_j)
    for weights w_j in [0, 1]; rows are compared by cross-multiplication, and neither end of the scale loses digits.

    Args:
        real: the state, its `column`, and the `base` slot of the context among all `slots`.
        column: see real.
        base: see real.
        slots: see real.
        pair: the number of the row's first pair within its context.
        width: the padded width of the row.
        weights: where w_j lies in `real`; 1 - w_j lies `width` further on.
        moment: (key, key, replication, step).
        block: the words of the last Philox block: every second pair takes its other half.
    """
    gain, loss = ZERO, ZERO
    for j in range(0, width, 2):
        if pair & 1 == 0:
            block = words(moment, POLICY + np.uint32(pair >> 1), 0)
        radius = block[0] if pair & 1 == 0 else block[2]
        angle = block[1] if pair & 1 == 0 else block[3]
        slot = base + 2 * pair
        d_1, d_2 = real[slot, column], real[slot + 1, column]
        c_1, c_2 = real[slots + slot, column], real[slots + slot + 1, column]
        g_1, g_2 = gamma_pair(d_1, d_2, c_1, c_2, radius, angle, moment, pair)
        gain = fused(g_2, real[weights + j + 1, column], fused(g_1, real[weights + j, column], gain))
        more = weights + width + j
        loss = fused(g_2, real[more + 1, column], fused(g_1, real[more, column], loss))
        pair += 1
    return gain, loss, block
