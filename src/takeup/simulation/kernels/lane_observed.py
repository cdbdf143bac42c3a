"""TS-Obs with two outcomes, 32 replications side by side: `observed.propose`, lane by lane."""

import numpy as np

from takeup.simulation.kernels.gammas import ONE, cubed
from takeup.simulation.kernels.lane_gammas import draw_pair
from takeup.simulation.kernels.lane_proposed import WORK, decide, forget
from takeup.simulation.kernels.lane_streams import ROW_1, draw_words
from takeup.simulation.kernels.machine import LANES, Array, Number, fused, inlined
from takeup.simulation.kernels.rows import padded
from takeup.simulation.kernels.streams import POLICY

_GAIN, _LOSS, _BEST = np.uintp(3 * LANES), np.uintp(4 * LANES), np.uintp(5 * LANES)
_ROW_GAIN, _ROW_LOSS = np.uintp(WORK * LANES), np.uintp((WORK + 1) * LANES)


def _mean(shapes: Array, pair: Number, work: Array, means: Array, wide: Number, w_1: Number, w_2: Number) -> None:
    """m_a in row a of `means` and 1 - m_a in row wide + a, for the action whose pair was drawn."""
    at, own, rest = np.uintp(2 * pair * LANES), np.uintp(pair * LANES), np.uintp((wide + pair) * LANES)
    v_1, v_2 = np.float32(1) - w_1, np.float32(1) - w_2
    for i in range(LANES):
        lane = np.uintp(i)
        g_1 = cubed(shapes[at + lane], work[lane])
        g_2 = cubed(shapes[at + lane + ROW_1], work[lane + ROW_1])
        gain, loss = fused(g_2, w_2, g_1 * w_1), fused(g_2, v_2, g_1 * v_1)
        whole = gain + loss
        means[own + lane] = gain / whole
        means[rest + lane] = loss / whole


def _clear(work: Array) -> None:
    """A new row: nothing gained or lost."""
    for i in range(LANES):
        lane = np.uintp(i)
        work[lane + _ROW_GAIN] = np.float32(0)
        work[lane + _ROW_LOSS] = np.float32(0)


def _add(shapes: Array, pair: Number, work: Array, means: Array, action: Number, wide: Number) -> None:
    """What the two drawn actions add to the row's gain and loss."""
    at, own, rest = np.uintp(2 * pair * LANES), np.uintp(action * LANES), np.uintp((wide + action) * LANES)
    for i in range(LANES):
        lane = np.uintp(i)
        g_1 = cubed(shapes[at + lane], work[lane])
        g_2 = cubed(shapes[at + lane + ROW_1], work[lane + ROW_1])
        gain, loss = work[lane + _ROW_GAIN], work[lane + _ROW_LOSS]
        work[lane + _ROW_GAIN] = fused(g_2, means[own + lane + ROW_1], fused(g_1, means[own + lane], gain))
        work[lane + _ROW_LOSS] = fused(g_2, means[rest + lane + ROW_1], fused(g_1, means[rest + lane], loss))


def _compare(work: Array, number: Number) -> None:
    """The proposal whose row was weighed is the best where its odds are higher."""
    for i in range(LANES):
        lane = np.uintp(i)
        gain, loss = work[lane + _ROW_GAIN], work[lane + _ROW_LOSS]
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
    """argmax_z of Σ_a π[z, a] m_a in a draw for each lane; the arguments are those of `lane_proposed`."""
    proposals, actions, wide = shape[1], shape[2], padded(shape[2])
    means = work[(WORK + 2) * LANES :]
    forget(work)
    w_1, w_2 = parameters.weight[0], parameters.weight[1]
    for pair in range(actions):
        if pair & 1 == 0:
            draw_words(words, keys, step, POLICY + np.uint32(pair >> 1))
        draw_pair(shapes, pair, slots, words, work, late, keys, number, step)
        _mean(shapes, pair, work, means, wide, w_1, w_2)
    pair = actions
    for proposal in range(proposals):
        _clear(work)
        for action in range(0, wide, 2):
            if pair & 1 == 0:
                draw_words(words, keys, step, POLICY + np.uint32(pair >> 1))
            draw_pair(shapes, pair, slots, words, work, late, keys, number, step)
            _add(shapes, pair, work, means, action, wide)
            pair += 1
        _compare(work, np.float32(proposal))
    decide(work, z)
