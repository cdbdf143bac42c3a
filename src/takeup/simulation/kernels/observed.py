"""TS-Obs: the value of a proposal is Σ_a π[z, a] Σ_y μ[a, y] w_y, from two kinds of Dirichlet rows.

Rows of a context: α'[x, a, y], one an action, then β'[x, z, a], one a proposal: Stirn & Jebara (2019), section 3.3.
"""

from typing import NamedTuple

import numpy as np

from takeup.policies import TSObs
from takeup.simulation.kernels import host
from takeup.simulation.kernels.lane_gammas import (
    WORK,
    draw_stock,
    forget_best,
    keep_better,
    second_half,
    stock_of,
    take_best,
)
from takeup.simulation.kernels.lane_rows import see_lanes
from takeup.simulation.kernels.lane_streams import ROW_1, ROW_2
from takeup.simulation.kernels.lanes import LaneDraws, Lanes
from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, fused, inlined
from takeup.simulation.kernels.proposed import in_lanes
from takeup.simulation.kernels.rows import NOWHERE, DirichletRows, end, padded, see, start, weigh_rows
from takeup.simulation.kernels.tables import KernelInput, KernelMemory, Observation, State
from takeup.space import Space

__all__ = [
    "begin",
    "in_lanes",
    "learn",
    "learn_lanes",
    "parameters",
    "propose",
    "propose_lanes",
    "reveal",
    "size",
    "switches",
]

REAL = np.float32

SUCCESS = False
"""Whether there are two outcomes, of which the second is worth more."""

ROW_GAIN, ROW_LOSS = np.uintp(WORK * LANES), np.uintp((WORK + 1) * LANES)
"""Where in the work of the lanes gain and loss of the row at hand are."""
MEANS = (WORK + 2) * LANES
"""Where in the work of the lanes the means of the actions are."""


class Parameters(NamedTuple):
    """What a policy is told.

    Attributes:
        prior: the Dirichlet parameter of each slot, 0 for padding.
        weight: w_y, the utilities rescaled to [0, 1], and then 1 - w_y; each padded.
    """

    prior: Array
    weight: Array


def parameters(policy: TSObs, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    prior = policy.prior(space)
    assert prior.compliance is not None
    contexts = space.shape[0]
    rows = [host.padded_rows(block).reshape(contexts, -1) for block in (prior.outcome, prior.compliance)]
    return Parameters(np.concatenate(rows, axis=1).ravel(), host.weights(space))


def switches(policy: TSObs, space: Space) -> dict[str, bool]:
    """The switch of this file."""
    return {"SUCCESS": host.is_success(space)}


def size(policy: TSObs, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    contexts, proposals, actions, levels = space.shape
    slots = contexts * (actions * host.even(levels) + proposals * host.even(actions))
    return slots, slots * host.BLOCKS + 2 * host.even(levels) + 2 * host.even(actions)


@inlined
def per_context(shape: Number) -> Number:
    """The slots of one context."""
    return shape[2] * padded(shape[3]) + shape[1] * padded(shape[2])


def begin(state: State, shape: Number, parameters: Number) -> None:
    """The prior, the weights of the outcomes behind it, and room for those of the actions."""
    real, column = state.real, state.column
    slots = shape[0] * per_context(shape)
    start(state, slots, parameters.prior)
    weights = end(slots)
    means = weights + 2 * padded(shape[3])
    for j in range(2 * padded(shape[3])):
        real[weights + j, column] = parameters.weight[j]
    for j in range(2 * padded(shape[2])):
        real[means + j, column] = np.float32(0)


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """argmax_z of Σ_a π[z, a] m_a, where m_a = Σ_y μ[a, y] w_y, in a draw of μ and π."""
    width = padded(shape[3])
    slots = shape[0] * per_context(shape)
    weights = end(slots)
    means = weights + 2 * width
    rows = DirichletRows(x * per_context(shape), slots, 0, shape[2], width, weights, SUCCESS)
    weigh_rows(state, rows, means, moment)
    return weigh_proposals(state, x, shape, means, moment)


@inlined
def weigh_proposals(state: State, x: Number, shape: Number, means: Number, moment: Number) -> Number:
    """argmax_z of Σ_a π[z, a] m_a in a draw of π, with m_a in row `means` + a and 1 - m_a as many rows further on."""
    slots, first = shape[0] * per_context(shape), shape[2] * (padded(shape[3]) >> 1)
    rows = DirichletRows(x * per_context(shape), slots, first, shape[1], padded(shape[2]), means, False)
    return weigh_rows(state, rows, NOWHERE, moment)


@inlined
def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """β'[x, z, a] += 1 where a is seen, and α'[x, a, y] += 1 where both are."""
    if event.a != UNSEEN:
        see_action(state, event, shape, parameters.prior)
        reveal(state, event, shape, parameters, moment)


@inlined
def see_action(state: State, event: Observation, shape: Number, prior: Array) -> None:
    """β'[x, z, a] += 1."""
    row = event.x * per_context(shape) + shape[2] * padded(shape[3]) + event.z * padded(shape[2])
    see(state, row + event.a, shape[0] * per_context(shape), prior)


@inlined
def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """α'[x, a, y] += 1 where a and y are seen."""
    x, a, y = event.x, event.a, event.y
    if a != UNSEEN and y != UNSEEN:
        slots = shape[0] * per_context(shape)
        row = x * per_context(shape) + a * padded(shape[3])
        see(state, row + y, slots, parameters.prior)


@inlined
def propose_lanes(lanes: Lanes, draws: LaneDraws, shape: Number, parameters: Number, moment: Number) -> None:
    """`propose` for 32 replications side by side: argmax_z of Σ_a π[z, a] m_a in a draw for each lane."""
    gammas, work, place, stock = draws.gammas, draws.work, 0, stock_of(draws)
    means, wide, slots = work[MEANS:], padded(shape[2]), per_context(shape)
    w_1, w_2 = parameters.weight[0], parameters.weight[1]
    for pair in range(shape[2]):
        if pair % stock == 0:
            draw_stock(draws, pair, min(stock, slots // 2 - pair), slots, moment)
            place = 0
        mean(gammas, place, means, pair, wide, w_1, w_2)
        place += 1
    weigh_proposals_lanes(lanes, draws, shape, place, moment)


@inlined
def weigh_proposals_lanes(lanes: Lanes, draws: LaneDraws, shape: Number, place: Number, moment: Number) -> None:
    """`weigh_proposals` in all lanes, with the m_a in the rows of the work from MEANS on.

    So many pairs of a stock are used up, or all of them.
    """
    gammas, work, stock = draws.gammas, draws.work, stock_of(draws)
    slots, pair = per_context(shape), shape[2]
    forget_best(work)
    while 2 * pair < slots:
        if place == stock:
            draw_stock(draws, pair, min(stock, slots // 2 - pair), slots, moment)
            place = 0
        pairs = min(stock - place, slots // 2 - pair)
        _weigh_pairs(gammas, place, work, shape[2], pair - shape[2], pairs)
        pair, place = pair + pairs, place + pairs
    take_best(work, lanes.z)


def _weigh_pairs(gammas: Array, place: Number, work: Array, actions: Number, pair: Number, pairs: Number) -> None:
    """So many pairs of what is done with the proposals, from this one on; rows that end are compared."""
    wide, means = padded(actions), work[MEANS:]
    proposal = pair // (wide >> 1)
    action = 2 * pair - proposal * wide
    for k in range(pairs):
        if action == 0:
            clear(work)
        add(gammas, place + k, work, means, action, wide)
        action += 2
        if action == wide:
            _compare(work, np.float32(proposal))
            proposal, action = proposal + 1, 0


def mean(gammas: Array, place: Number, means: Array, action: Number, wide: Number, w_1: Number, w_2: Number) -> None:
    """m_a in row a of `means` and 1 - m_a in row wide + a, for the action whose pair is at this place of the stock."""
    at, own, rest = np.uintp(place * LANES), np.uintp(action * LANES), np.uintp((wide + action) * LANES)
    v_1, v_2, half = np.float32(1) - w_1, np.float32(1) - w_2, second_half(gammas)
    for i in range(LANES):
        lane = np.uintp(i)
        g_1, g_2 = gammas[at + lane], gammas[at + half + lane]
        gain, loss = fused(g_2, w_2, g_1 * w_1), fused(g_2, v_2, g_1 * v_1)
        whole = gain + loss
        means[own + lane] = gain / whole
        means[rest + lane] = loss / whole


@inlined
def clear(work: Array) -> None:
    """A new row: nothing gained or lost."""
    for i in range(LANES):
        lane = np.uintp(i)
        work[lane + ROW_GAIN] = np.float32(0)
        work[lane + ROW_LOSS] = np.float32(0)


@inlined
def add(gammas: Array, place: Number, work: Array, means: Array, action: Number, wide: Number) -> None:
    """What the two drawn actions add to the row's gain and loss."""
    at, own, rest = np.uintp(place * LANES), np.uintp(action * LANES), np.uintp((wide + action) * LANES)
    half = second_half(gammas)
    for i in range(LANES):
        lane = np.uintp(i)
        g_1, g_2 = gammas[at + lane], gammas[at + half + lane]
        gain, loss = work[lane + ROW_GAIN], work[lane + ROW_LOSS]
        work[lane + ROW_GAIN] = fused(g_2, means[own + lane + ROW_1], fused(g_1, means[own + lane], gain))
        work[lane + ROW_LOSS] = fused(g_2, means[rest + lane + ROW_1], fused(g_1, means[rest + lane], loss))


@inlined
def _compare(work: Array, proposal: Number) -> None:
    """The proposal whose row was weighed is the best where its odds are higher."""
    for i in range(LANES):
        lane = np.uintp(i)
        keep_better(work, lane, work[lane + ROW_GAIN], work[lane + ROW_LOSS], proposal)


@inlined
def learn_lanes(lanes: Lanes, memory: KernelMemory, table: Array, given: KernelInput, moment: Number) -> None:
    """`learn` in all lanes."""
    x, z, answer = lanes.x, lanes.z, lanes.answer
    taken, followed, more = lanes.room
    actions, wide, own = np.int32(given.shape[2]), np.int32(padded(given.shape[2])), np.int32(per_context(given.shape))
    for i in range(LANES):
        lane = np.uintp(i)
        base, a = np.int32(x[lane] * own), np.int32(answer[lane] >> 1)
        taken[lane] = np.int32(base + answer[lane])
        followed[lane] = np.int32(np.int32(base + 2 * actions) + np.int32(np.int32(z[lane] * wide) + a))
        more[lane] = np.int32(np.uint64(lanes.patients[lane + ROW_2]) < given.visibility.threshold)
    slots = given.shape[0] * per_context(given.shape)
    see_lanes(lanes, taken, more, slots, given.parameters.prior)
    see_lanes(lanes, followed, more, slots, given.parameters.prior)
