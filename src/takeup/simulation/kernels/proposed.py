"""TS and TS-Check: the value of a proposal is the mean utility of one Dirichlet row, α'[x, z, y].

Rows of a context: one a proposal, in order. TS counts every seen outcome, TS-Check those of the people who did what
was proposed: Stirn & Jebara (2019), sections 3.1 and 3.2.
"""

from typing import Any, NamedTuple

import numpy as np

from takeup.policies import TS
from takeup.simulation.kernels import host
from takeup.simulation.kernels.gammas import cubed
from takeup.simulation.kernels.lane_gammas import draw_pair, forget_best, keep_better, take_best
from takeup.simulation.kernels.lane_streams import ROW_1, draw_words
from takeup.simulation.kernels.lanes import LaneDraws, Lanes
from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, fused, inlined
from takeup.simulation.kernels.rows import DirichletRow, end, padded, see, start, weigh
from takeup.simulation.kernels.streams import POLICY
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

REAL = np.float32


class Parameters(NamedTuple):
    """What a policy is told.

    Attributes:
        prior: the Dirichlet parameter of each slot, 0 for padding.
        weight: w_y, the utilities rescaled to [0, 1], and then 1 - w_y; each padded.
        intended: the action that complying with each proposal means; -1 for any, which makes TS of TS-Check.
    """

    prior: Array
    weight: Array
    intended: Array


def parameters(policy: TS, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    prior = host.padded_rows(policy.prior(space).outcome).ravel()
    return Parameters(prior, host.weights(space), host.intended(policy, space))


def size(policy: TS, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    contexts, proposals, _, levels = space.shape
    slots = contexts * proposals * host.even(levels)
    return slots, slots * host.BLOCKS + 2 * host.even(levels)


def begin(state: State, shape: Number, parameters: Number) -> None:
    """The prior, and the weights behind it."""
    real, column = state.real, state.column
    width = padded(shape[3])
    slots = shape[0] * shape[1] * width
    start(state, slots, parameters.prior)
    for j in range(2 * width):
        real[end(slots) + j, column] = parameters.weight[j]


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """argmax_z of Σ_y μ[z, y] w_y in a draw μ[z] ~ Dir(α'[x, z])."""
    width = padded(shape[3])
    slots = shape[0] * shape[1] * width
    base = x * shape[1] * width
    zero = np.uint32(0)
    block = (zero, zero, zero, zero)
    best, best_gain, best_loss = 0, np.float32(-1), np.float32(1)
    for z in range(shape[1]):
        row = DirichletRow(base, slots, z * (width >> 1), width, end(slots))
        gain, loss, block = weigh(state, row, moment, block)
        if gain * best_loss > best_gain * loss:
            best, best_gain, best_loss = z, gain, loss
    return best


@inlined
def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """α'[x, z, y] += 1 where y is seen and, for TS-Check, a is what was intended."""
    x, z, a, y = event
    if y != UNSEEN and (parameters.intended[z] == UNSEEN or parameters.intended[z] == a):
        width = padded(shape[3])
        slot = (x * shape[1] + z) * width + y
        see(state, slot, shape[0] * shape[1] * width, parameters.prior)


@inlined
def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """An outcome that comes later counts like one that comes at once."""
    learn(state, event, shape, parameters, moment)


def in_lanes(shape: tuple[int, int, int, int], parameters: Any) -> bool:
    """Whether `propose_lanes` can stand in: with two outcomes, and no gamma of a shape below one."""
    return shape[3] == 2 and not host.has_small_shapes(parameters)


@inlined
def propose_lanes(lanes: Lanes, draws: LaneDraws, shape: Number, parameters: Number, moment: Number) -> None:
    """`propose` for 32 replications side by side: argmax_z of the odds of a success, in a draw for each lane."""
    forget_best(draws.work)
    keys, _, step = moment
    w_1, w_2 = parameters.weight[0], parameters.weight[1]
    for pair in range(shape[1]):
        if pair & 1 == 0:
            draw_words(draws.words, keys, step, POLICY + np.uint32(pair >> 1))
        draw_pair(draws, pair, 2 * shape[1], moment)
        compare(draws.shapes, pair, draws.work, w_1, w_2)
    take_best(draws.work, lanes.z)


def compare(shapes: Array, pair: Number, work: Array, w_1: Number, w_2: Number) -> None:
    """Weigh the proposal whose pair was drawn, of which there is one a proposal; w are the outcomes' weights."""
    at = np.uintp(2 * pair * LANES)
    v_1, v_2, number = np.float32(1) - w_1, np.float32(1) - w_2, np.float32(pair)
    for i in range(LANES):
        lane = np.uintp(i)
        g_1 = cubed(shapes[at + lane], work[lane])
        g_2 = cubed(shapes[at + lane + ROW_1], work[lane + ROW_1])
        keep_better(work, lane, fused(g_2, w_2, g_1 * w_1), fused(g_2, v_2, g_1 * v_1), number)
