"""TS and TS-Check: the value of a proposal is the mean utility of one Dirichlet row, α'[x, z, y].

Rows of a context: one a proposal, in order. TS counts every seen outcome, TS-Check those of the people who did what
was proposed: Stirn & Jebara (2019), sections 3.1 and 3.2.
"""

from typing import Any, NamedTuple

import numpy as np

from takeup.policies import TS, TSCheck
from takeup.simulation.kernels import host
from takeup.simulation.kernels.lane_gammas import draw_stock, forget_best, keep_better, second_half, stock_of, take_best
from takeup.simulation.kernels.lane_rows import see_lanes
from takeup.simulation.kernels.lane_streams import ROW_2
from takeup.simulation.kernels.lanes import LaneDraws, Lanes
from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, fused, inlined
from takeup.simulation.kernels.rows import NOWHERE, DirichletRows, end, padded, see, start, weigh_rows
from takeup.simulation.kernels.tables import KernelInput, KernelMemory, Observation, State
from takeup.space import Space

REAL = np.float32

CHECKING = False
"""Whether the outcomes of those who did something else than was proposed are left out."""

SUCCESS = False
"""Whether there are two outcomes, of which the second is worth more."""


class Parameters(NamedTuple):
    """What a policy is told.

    Attributes:
        prior: the Dirichlet parameter of each slot, 0 for padding.
        weight: w_y, the utilities rescaled to [0, 1], and then 1 - w_y; each padded.
        intended: the action that complying with each proposal means, to TS-Check; -1 to TS.
    """

    prior: Array
    weight: Array
    intended: Array


def parameters(policy: TS, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    prior = host.padded_rows(policy.prior(space).outcome).ravel()
    return Parameters(prior, host.weights(space), host.intended(policy, space))


def switches(policy: TS, space: Space) -> dict[str, bool]:
    """The switches of this file."""
    return {"CHECKING": isinstance(policy, TSCheck), "SUCCESS": host.is_success(space)}


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
    rows = DirichletRows(base, slots, 0, shape[1], width, end(slots), SUCCESS)
    return weigh_rows(state, rows, NOWHERE, moment)


@inlined
def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """α'[x, z, y] += 1 where y is seen and, for TS-Check, a is what was intended."""
    x, z, a, y = event
    if y != UNSEEN and (not CHECKING or parameters.intended[np.uintp(z)] == a):
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
    gammas, work, proposals, stock = draws.gammas, draws.work, shape[1], stock_of(draws)
    forget_best(work)
    for first in range(0, proposals, stock):
        pairs = min(stock, proposals - first)
        draw_stock(draws, first, pairs, 2 * proposals, moment)
        compare(gammas, first, pairs, work, parameters.weight[0], parameters.weight[1])
    take_best(work, lanes.z)


@inlined
def compare(gammas: Array, first: Number, pairs: Number, work: Array, w_1: Number, w_2: Number) -> None:
    """Weigh the proposals whose pairs were drawn, of which there is one a proposal; w are the outcomes' weights."""
    v_1, v_2, half = np.float32(1) - w_1, np.float32(1) - w_2, second_half(gammas)
    for k in range(pairs):
        at, number = np.uintp(k * LANES), np.float32(first + k)
        for i in range(LANES):
            lane = np.uintp(i)
            g_1, g_2 = gammas[at + lane], gammas[at + half + lane]
            keep_better(work, lane, fused(g_2, w_2, g_1 * w_1), fused(g_2, v_2, g_1 * v_1), number)


@inlined
def learn_lanes(lanes: Lanes, memory: KernelMemory, table: Array, given: KernelInput, moment: Number) -> None:
    """`learn` in all lanes."""
    x, z, answer, intended = lanes.x, lanes.z, lanes.answer, given.parameters.intended
    slot, more, _ = lanes.room
    contexts, proposals = np.int32(given.shape[0]), np.int32(given.shape[1])
    for i in range(LANES):
        lane = np.uintp(i)
        slot[lane] = np.int32(np.int32(2) * np.int32(x[lane] * proposals + z[lane]) + (answer[lane] & np.int32(1)))
        more[lane] = np.int32(1)
    if CHECKING:
        for i in range(LANES):
            lane = np.uintp(i)
            complied = np.int32(intended[np.uintp(z[lane])] == answer[lane] >> 1)
            more[lane] = complied & np.int32(np.uint64(lanes.patients[lane + ROW_2]) < given.visibility.threshold)
    see_lanes(lanes, slot, more, 2 * contexts * proposals, given.parameters.prior)
