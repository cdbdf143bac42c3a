"""TS-Obs with outcomes that are normal numbers: the value of a proposal is Σ_a π[z, a] μ_a.

Of a context: arms of `normals`, one an action, then Dirichlet rows β'[x, z, a], one a proposal; all lies as `observed`
would have it with two outcomes. Drawn means are rescaled to m_a in [0, 1], from the lowest to the highest, and the
proposals are then weighed as there.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.policies import TSObs
from takeup.simulation.kernels import host, normals
from takeup.simulation.kernels.lane_gammas import stock_of
from takeup.simulation.kernels.lanes import LaneDraws, Lanes
from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, either, inlined
from takeup.simulation.kernels.normals import SLOTS, Arms, draw_means, drawn_mean, fill_row, see_arm, start_arm
from takeup.simulation.kernels.observed import (
    MEANS,
    per_context,
    see_action,
    weigh_proposals,
    weigh_proposals_lanes,
)
from takeup.simulation.kernels.rows import end, padded, start
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

REAL = np.float64
OUTCOMES = ("number",)


class Parameters(NamedTuple):
    """What a policy is told.

    Attributes:
        prior: the Dirichlet parameter of each slot, 0 for padding and where an arm lies.
        arms: what is believed of each action.
    """

    prior: Array
    arms: Arms


def applies(policy: TSObs, space: Space) -> bool:
    """With a normal likelihood, of numbers that are worth themselves."""
    return normals.suits(policy.prior(space).block)


def parameters(policy: TSObs, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    prior = policy.prior(space)
    assert prior.compliance is not None
    contexts, _, actions, _ = space.shape
    compliance = host.padded_rows(prior.compliance).reshape(contexts, -1)
    slots = np.concatenate([np.zeros((contexts, actions * SLOTS)), compliance], axis=1)
    return Parameters(slots.ravel(), normals.arms_of(prior.block))


def size(policy: TSObs, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals; those of the lanes' draws fit in with the rest."""
    contexts, proposals, actions, _ = space.shape
    slots = contexts * (actions * SLOTS + proposals * host.even(actions))
    return slots, slots * host.BLOCKS + 2 * host.even(actions)


@inlined
def narrow(shape: Number) -> Number:
    """The shape in which `observed` lays out an arm: one with two outcomes."""
    return shape[0], shape[1], shape[2], SLOTS


def begin(state: State, shape: Number, parameters: Number) -> None:
    """The prior, and room for the drawn means."""
    real, column = state.real, state.column
    own = per_context(narrow(shape))
    slots = shape[0] * own
    start(state, slots, parameters.prior)
    for x in range(shape[0]):
        for a in range(shape[2]):
            start_arm(state, x * own + a * SLOTS, slots, x * shape[2] + a, parameters.arms)
    for j in range(2 * padded(shape[2])):
        real[end(slots) + j, column] = 0.0


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """argmax_z of Σ_a π[z, a] μ_a in a draw of μ and π."""
    real, column = state.real, state.column
    own = per_context(narrow(shape))
    slots = shape[0] * own
    means = end(slots)
    zero = np.uint32(0)
    block = (zero, zero, zero, zero)
    low, high = math.inf, -math.inf
    for a in range(shape[2]):
        mean, block = drawn_mean(state, x * own + a * SLOTS, slots, a, moment, block)
        real[means + a, column] = mean
        low, high = min(low, mean), max(high, mean)
    for a in range(shape[2]):
        gain, loss = rescaled(real[means + a, column], low, high)
        real[means + a, column] = gain
        real[means + padded(shape[2]) + a, column] = loss
    return weigh_proposals(state, x, narrow(shape), means, moment)


@inlined
def rescaled(mean: Number, low: Number, high: Number) -> Number:
    """A mean's distances from the lowest and to the highest, as parts of theirs; 0 and 1 where there is none."""
    apart = either(high > low, high - low, 1.0)
    return (mean - low) / apart, either(high > low, high - mean, 1.0) / apart


@inlined
def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """β'[x, z, a] += 1 where a is seen, and one more outcome of a where both are."""
    if event.a != UNSEEN:
        see_action(state, event, narrow(shape), parameters.prior)
        reveal(state, event, shape, parameters, moment)


@inlined
def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """One more outcome of a where a and y are seen."""
    x, a, y = event.x, event.a, event.y
    if a != UNSEEN and y != UNSEEN:
        own = per_context(narrow(shape))
        see_arm(state, x * own + a * SLOTS, shape[0] * own, x * shape[2] + a, parameters.arms, y)


def in_lanes(shape: tuple[int, int, int, int], parameters: Parameters) -> bool:
    """Where no gamma is of a shape below one."""
    return not host.has_small_shapes(parameters)


@inlined
def propose_lanes(lanes: Lanes, draws: LaneDraws, shape: Number, parameters: Number, moment: Number) -> None:
    """`propose` for 32 replications side by side."""
    slots = per_context(narrow(shape))
    for a in range(shape[2]):
        draw_means(draws, a, slots, 2 * slots + a, moment)
    rescale_lanes(draws.shapes, 2 * slots, shape[2], draws.work[MEANS:], padded(shape[2]))
    weigh_proposals_lanes(lanes, draws, narrow(shape), stock_of(draws), moment)


def rescale_lanes(shapes: Array, first: Number, actions: Number, means: Array, wide: Number) -> None:
    """The drawn means of each lane, from row `first` on, rescaled; two rows behind them are the lowest and highest."""
    low, high = np.uintp((first + actions) * LANES), np.uintp((first + actions + 1) * LANES)
    fill_row(shapes, first + actions, math.inf)
    fill_row(shapes, first + actions + 1, -math.inf)
    for a in range(actions):
        at = np.uintp((first + a) * LANES)
        for i in range(LANES):
            lane = np.uintp(i)
            mean, least, most = shapes[at + lane], shapes[low + lane], shapes[high + lane]
            shapes[low + lane] = either(mean < least, mean, least)
            shapes[high + lane] = either(mean > most, mean, most)
    for a in range(actions):
        at, own, rest = np.uintp((first + a) * LANES), np.uintp(a * LANES), np.uintp((wide + a) * LANES)
        for i in range(LANES):
            lane = np.uintp(i)
            gain, loss = rescaled(shapes[at + lane], shapes[low + lane], shapes[high + lane])
            means[own + lane] = np.float32(gain)
            means[rest + lane] = np.float32(loss)
