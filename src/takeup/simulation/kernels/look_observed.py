"""TS-Obs at a look: what is done and what comes of it, believed apart; a proposal is worth Σ_a π[z, a] μ[a].

With two proposals and two actions v_0 - v_1 = (π_00 - π_10)(μ_0 - μ_1), so that proposal 0 is best with probability
A B + (1 - A)(1 - B), where A = P(μ_0 > μ_1) and B = P(π_00 > π_10): two comparisons of betas. Elsewhere values are
drawn, 32 draws side by side, as in `observed`: pair a of gammas is that of the outcomes of action a, the others are
those of what is done with each proposal.
"""

from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.comparing import Grids, exceeds, lay_out_all
from takeup.simulation.kernels.gammas import ONE, ZERO, scale
from takeup.simulation.kernels.lane_gammas import draw_stock
from takeup.simulation.kernels.lane_streams import open_at
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.look_cells import outcomes_of
from takeup.simulation.kernels.look_tables import LookInput, LookMemory
from takeup.simulation.kernels.machine import LANES, Array, Number
from takeup.simulation.kernels.observed import MEANS, ROW_GAIN, ROW_LOSS, add, clear, mean
from takeup.simulation.kernels.rows import padded

STEP = np.uint32(0)
"""The step of all draws of a look: their key is that of the look."""


class Apart(NamedTuple):
    """What TS-Obs believes before any data.

    Attributes:
        outcome: (better, other) of each action, (Ka, 2).
        compliance: β[z, a], (K, Ka).
        draws: how many, where there are any.
        grids: where densities are laid out, where they are compared.
    """

    outcome: Array
    compliance: Array
    draws: Number
    grids: Grids


def outcome_shapes(a: Number, given: LookInput, memory: LookMemory) -> Number:
    """Of the beta distribution of the better outcome of an action, whatever was proposed."""
    one, other = given.policy.outcome[a, 0], given.policy.outcome[a, 1]
    for z in range(memory.known.shape[0]):
        better, worse = outcomes_of(z, a, given, memory)
        one, other = one + better, other + worse
    return one, other


def taken_shape(z: Number, a: Number, given: LookInput, memory: LookMemory) -> Number:
    """The Dirichlet parameter of doing a where z is proposed."""
    return given.policy.compliance[z, a] + memory.known[z, 2 * a] + memory.known[z, 2 * a + 1]


def wish_two(look: Number, scenario: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """As probable as each of two proposals is best, where there are two actions."""
    work = memory.policy
    for k in range(2):
        work.shapes[k, 0], work.shapes[k, 1] = outcome_shapes(k, given, memory)
    lay_out_all(work.densities, work.shapes, memory.offered, given.policy.grids)
    a = exceeds(work.densities, 0, 1)
    for k in range(2):
        work.shapes[k, 0], work.shapes[k, 1] = taken_shape(k, 0, given, memory), taken_shape(k, 1, given, memory)
    lay_out_all(work.densities, work.shapes, memory.offered, given.policy.grids)
    b = exceeds(work.densities, 0, 1)
    memory.wish[0] = a * b + (1.0 - a) * (1.0 - b)
    memory.wish[1] = 1.0 - memory.wish[0]


def largest_of_two(given: LookInput, memory: LookMemory) -> None:
    """The probability that each of those that are offered is the best of them, which `wish_two` has found."""
    both = memory.offered[0] and memory.offered[1]
    for k in range(2):
        memory.best[k] = memory.wish[k] if both else np.float64(memory.offered[k])


def exceeds_of_two(one: Number, other: Number, given: LookInput, memory: LookMemory) -> Number:
    """P(V_one > V_other)."""
    return memory.wish[one]


def prepare(given: LookInput, memory: LookMemory) -> None:
    """The shapes of all gammas, which are the same in all draws."""
    actions = memory.known.shape[1] // 2
    slots = 2 * pairs_of(memory)
    clear_means(memory)
    for a in range(actions):
        one, other = outcome_shapes(a, given, memory)
        put_all(memory.policy.lanes.shapes, 2 * a, slots, one)
        put_all(memory.policy.lanes.shapes, 2 * a + 1, slots, other)
    put_taken(2 * actions, slots, given, memory)


def clear_means(memory: LookMemory) -> None:
    """Rows of means that stand for no action, where their number is odd, are read and count nothing."""
    work = memory.policy.lanes.work
    for i in range(MEANS, work.size):
        work[i] = ZERO


def pairs_of(memory: LookMemory) -> Number:
    """How many pairs of gammas a draw takes."""
    return memory.policy.lanes.shapes.size // (4 * LANES)


def put_taken(slot: Number, slots: Number, given: LookInput, memory: LookMemory) -> None:
    """The shapes of what is done with each proposal, from a slot on."""
    proposals, actions = memory.known.shape[0], memory.known.shape[1] // 2
    for z in range(proposals):
        for a in range(padded(actions)):
            shape = taken_shape(z, a, given, memory) if a < actions else 0.0
            put_all(memory.policy.lanes.shapes, slot + z * padded(actions) + a, slots, shape)


def put_all(shapes: Array, slot: Number, slots: Number, shape: Number) -> None:
    """The same shape in all lanes of a slot, as d and c of `gammas`; 0 for one that is not there."""
    d, c = ZERO, ZERO
    if shape > 0.0:
        d = np.float32(shape - 0.3333333333333333)
        c = scale(d)
    for i in range(LANES):
        shapes[slot * LANES + i] = d
        shapes[(slots + slot) * LANES + i] = c


def draw_values(first: Number, keys: Number, given: LookInput, memory: LookMemory) -> None:
    """What each proposal is worth in 32 draws, of which the first has this number."""
    lanes, actions = memory.policy.lanes, memory.known.shape[1] // 2
    moment = (keys, np.uint32(first), STEP)
    open_at(lanes.words, keys, np.uint32(first))
    for a in range(actions):
        draw_next(lanes, a, pairs_of(memory), moment)
        mean(lanes.gammas, a & 1, lanes.work[MEANS:], a, padded(actions), ONE, ZERO)
    weigh_values(actions, 0, moment, memory)


def draw_next(lanes: LaneDraws, pair: Number, pairs: Number, moment: Number) -> None:
    """The next pair of gammas: two at a time, as they share a block of random words."""
    if pair & 1 == 0:
        draw_stock(lanes, pair, min(2, pairs - pair), 2 * pairs, moment)


def weigh_values(pair: Number, rows: Number, moment: Number, memory: LookMemory) -> None:
    """Σ_a π[z, a] m_a of each proposal, with the m_a of each in as many rows behind those of the one before."""
    lanes, values = memory.policy.lanes, memory.policy.values
    work, wide = lanes.work, padded(memory.known.shape[1] // 2)
    for z in range(values.shape[0]):
        clear(work)
        for a in range(0, wide, 2):
            draw_next(lanes, pair, pairs_of(memory), moment)
            add(lanes.gammas, pair & 1, work, work[MEANS + z * rows * LANES :], a, wide)
            pair += 1
        for i in range(LANES):
            gain = work[np.uintp(i) + ROW_GAIN]
            values[z, i] = gain / (gain + work[np.uintp(i) + ROW_LOSS])
