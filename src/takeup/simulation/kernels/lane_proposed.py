"""TS and TS-Check with two outcomes, 32 replications side by side: `proposed.propose`, lane by lane."""

import numpy as np

from takeup.simulation.kernels.gammas import ONE, cubed
from takeup.simulation.kernels.lane_gammas import draw_pair
from takeup.simulation.kernels.lane_streams import ROW_1, draw_words
from takeup.simulation.kernels.machine import LANES, Array, Number, fused, inlined
from takeup.simulation.kernels.streams import POLICY

_GAIN, _LOSS, _BEST = np.uintp(3 * LANES), np.uintp(4 * LANES), np.uintp(5 * LANES)
WORK = 6
"""Rows of work: three of `draw_pair`, then gain, loss and number of the best proposal so far."""


def forget(work: Array) -> None:
    """No best proposal yet."""
    for i in range(LANES):
        lane = np.uintp(i)
        work[lane + _GAIN] = np.float32(-1)
        work[lane + _LOSS] = np.float32(1)
        work[lane + _BEST] = np.float32(0)


def decide(work: Array, z: Array) -> None:
    """The best proposal of each lane."""
    for i in range(LANES):
        lane = np.uintp(i)
        z[lane] = np.int32(work[lane + _BEST])


def _compare(shapes: Array, pair: Number, work: Array, w_1: Number, w_2: Number) -> None:
    """The proposal whose pair was drawn is the best where its odds are higher; w are the outcomes' weights."""
    at = np.uintp(2 * pair * LANES)
    v_1, v_2, number = np.float32(1) - w_1, np.float32(1) - w_2, np.float32(pair)
    for i in range(LANES):
        lane = np.uintp(i)
        g_1 = cubed(shapes[at + lane], work[lane])
        g_2 = cubed(shapes[at + lane + ROW_1], work[lane + ROW_1])
        gain, loss = fused(g_2, w_2, g_1 * w_1), fused(g_2, v_2, g_1 * v_1)
        best_gain, best_loss, best = work[lane + _GAIN], work[lane + _LOSS], work[lane + _BEST]
        better = np.float32(gain * best_loss > best_gain * loss)  # as a factor, 0 or 1: a branch would cost more
        kept = ONE - better
        work[lane + _GAIN] = fused(gain, better, best_gain * kept)
        work[lane + _LOSS] = fused(loss, better, best_loss * kept)
        work[lane + _BEST] = fused(number, better, best * kept)


@inlined
def propose_lanes(
    shapes: Array,
    slots: Number,
    patients: Array,
    words: Array,
    work: Array,
    late: Array,
    z: Array,
    shape: Number,
    parameters: Number,
    keys: Number,
    number: Number,
    step: Number,
) -> None:
    """argmax_z of the odds of a success, in a draw for each lane.

    Args:
        shapes: d of the lane's context in rows 0 to slots - 1, c in the next as many.
        slots: see shapes.
        patients: the words of the decision, of which row 3 is the policy's.
        words: room for the words of draws.
        work: room for `WORK` rows and more.
        late: room for one row of marks.
        z: the proposals, to be filled in.
        shape: (X, Kz, Ka, Y).
        parameters: those of the policy.
        keys: the words of the key in all rounds of Philox.
        number: the replication in lane 0.
        step: the step.
    """
    forget(work)
    w_1, w_2 = parameters.weight[0], parameters.weight[1]
    for pair in range(shape[1]):
        if pair & 1 == 0:
            draw_words(words, keys, step, POLICY + np.uint32(pair >> 1))
        draw_pair(shapes, pair, slots, words, work, late, keys, number, step)
        _compare(shapes, pair, work, w_1, w_2)
    decide(work, z)
