"""TS-Lat: a mean-field fit for every proposal, cold, or after every event, warm: Stirn & Jebara (2019), section 3.4.

Counts of a context: n[z, y] of outcomes with unseen compliance, n[a, y] and n[z, a] of what was seen, and how many
outcomes there are. Reals, all of float64: the blocks that a fit starts from and ends at, α'[a, y] above β'[z, a], of
every context; then room for one fit. A cold fit starts from one φ ~ Dir(β[z]) for each cell, drawn at the moment of the
proposal. A warm one starts from the last, to which the newcomer's own φ is added.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.outcomes import Levels
from takeup.policies import TSLat, WarmTSLat
from takeup.simulation.kernels.dirichlets import log_gamma_draw
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined
from takeup.simulation.kernels.meanfield import FitProblem, ascend, work_size
from takeup.simulation.kernels.meanfield_two import ascend_two, cells, cells_in_turn, contrasts, contrasts_in_turn
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

REAL = np.float64
REGISTERS = 128

WARM = False
"""Whether fits go on from the last one."""

TWO = False
"""Whether there are two proposals, two actions and two levels."""

ON_GPU = {contrasts: contrasts_in_turn, cells: cells_in_turn}
"""What stands in for what on a GPU, where machine code that is short is fast: all of it is fetched, again and again."""


class Parameters(NamedTuple):
    """What the policy is told.

    Attributes:
        alpha: α[x, a, y], the prior of the outcomes, flat.
        beta: β[x, z, a], the prior of the compliance, flat.
        utility: the reward of each level.
        soft_start: M.
        tolerance: when a fit has converged.
        max_evaluations: when it is given up.
        sweeps: how many a chain makes, where `gibbs` takes these parameters.
    """

    alpha: Array
    beta: Array
    utility: Array
    soft_start: Number
    tolerance: Number
    max_evaluations: Number
    sweeps: Number


def parameters(policy: TSLat | WarmTSLat, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    latent = policy.latent if isinstance(policy, WarmTSLat) else policy
    prior = latent.prior(space)
    assert prior.compliance is not None
    return Parameters(
        np.ascontiguousarray(prior.outcome).ravel(),
        np.ascontiguousarray(prior.compliance).ravel(),
        space.reward,
        latent.soft_start,
        float(latent.tolerance),
        latent.max_evaluations,
        latent.sweeps,
    )


def applies(policy: TSLat | WarmTSLat, space: Space) -> bool:
    """Where outcomes have levels and a fit starts once; the best of several starts is for the reference."""
    once = isinstance(policy, WarmTSLat) or (policy.inference == "meanfield" and policy.restarts == 1)
    return once and isinstance(space.outcome, Levels)


def switches(policy: TSLat | WarmTSLat, space: Space) -> dict[str, bool]:
    """The switches of this file."""
    return {"WARM": isinstance(policy, WarmTSLat), "TWO": space.shape[1:] == (2, 2, 2)}


def size(policy: TSLat | WarmTSLat, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    contexts, proposals, actions, levels = space.shape
    blocks = int(block_size(space.shape))
    room = proposals * levels + blocks + work_size(proposals, actions, levels)
    return contexts * int(table_size(space.shape)), contexts * blocks + room


@inlined
def table_size(shape: Number) -> Number:
    """Counts of one context."""
    return shape[1] * shape[3] + shape[2] * shape[3] + shape[1] * shape[2] + 1


@inlined
def block_size(shape: Number) -> Number:
    """Parameters of one context: α' above β'."""
    return shape[2] * shape[3] + shape[1] * shape[2]


def begin(state: State, shape: Number, parameters: Number) -> None:
    """Nothing seen yet: the blocks are the prior's."""
    counts, column = state.counts, state.column
    for row in range(shape[0] * table_size(shape)):
        counts[row, column] = 0
    for x in range(shape[0]):
        put_prior(state, x * block_size(shape), x, shape, parameters)


def put_prior(state: State, base: Number, x: Number, shape: Number, parameters: Number) -> None:
    """The blocks from `base` on are those of a context's prior."""
    real, column = state.real, state.column
    outcomes, responses = shape[2] * shape[3], shape[1] * shape[2]
    for i in range(outcomes):
        real[base + i, column] = parameters.alpha[x * outcomes + i]
    for i in range(responses):
        real[base + outcomes + i, column] = parameters.beta[x * responses + i]


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """argmax_z of Σ_a π[z, a] Σ_y μ[a, y] r_y in a draw from q(μ) q(π)."""
    real, column = state.real, state.column
    if not WARM:
        fit(state, x, shape, parameters, moment)
    proposals, actions, levels = shape[1], shape[2], shape[3]
    base = x * block_size(shape)
    room = shape[0] * block_size(shape)
    utility = room + actions
    for y in range(levels):
        real[utility + y, column] = parameters.utility[y]
    best, best_value = 0, -math.inf
    for row in range(actions + proposals):  # the actions' means, then the proposals', in one place: see `ON_GPU`
        z = row - actions
        width, weight = (levels, utility) if z < 0 else (actions, room)
        slot = row * levels if z < 0 else actions * levels + z * actions
        value = drawn_mean(state, base + slot, width, real[weight : weight + width, column], moment, slot)
        if z < 0:
            real[room + row, column] = value
        elif value > best_value:
            best, best_value = z, value
    return best


def drawn_mean(state: State, row: Number, width: Number, weight: Array, moment: Number, slot: Number) -> Number:
    """The mean of the weights under a draw from the Dirichlet distribution whose parameters begin at a row."""
    real, column = state.real, state.column
    largest, total, mean = -math.inf, 0.0, 0.0
    for j in range(width):
        log_gamma = log_gamma_draw(real[row + j, column], moment, slot + j)
        if log_gamma > largest:
            shrink = math.exp(largest - log_gamma)
            total, mean, largest = total * shrink, mean * shrink, log_gamma
        gamma = math.exp(log_gamma - largest)
        total += gamma
        mean += gamma * weight[j]
    return mean / total


def fit(state: State, x: Number, shape: Number, parameters: Number, moment: Number) -> None:
    """Fit the blocks of a context from a cold start: every cell's φ is drawn from its compliance prior."""
    counts, real, column = state
    proposals, actions, levels = shape[1], shape[2], shape[3]
    outcomes, responses = actions * levels, proposals * actions
    base, table = x * block_size(shape), x * table_size(shape)
    put_prior(state, base, x, shape, parameters)
    if counts[table + table_size(shape) - 1, column] < parameters.soft_start:
        return
    seen = table + proposals * levels
    for i in range(outcomes + responses):
        real[base + i, column] += np.float64(counts[seen + i, column])
    total = 0
    for z in range(proposals):
        for y in range(levels):
            n = counts[table + z * levels + y, column]
            total += n
            if n > 0:
                slot = block_size(shape) + (z * levels + y) * actions
                scatter(state, (x, z, y), np.float64(n), shape, parameters, moment, slot)
    if total > 0:
        improve(state, x, shape, parameters)


def scatter(
    state: State, cell: Number, n: Number, shape: Number, parameters: Number, moment: Number, slot: Number
) -> None:
    """Add n φ of a cell (x, z, y) to the blocks of its context, φ ~ Dir(β[x, z]) being one draw."""
    real, column = state.real, state.column
    x, z, y = cell
    actions, levels = shape[2], shape[3]
    base = x * block_size(shape)
    prior = (x * shape[1] + z) * actions
    first = shape[0] * block_size(shape)
    largest, total = -math.inf, 0.0
    for a in range(actions):
        log_gamma = log_gamma_draw(parameters.beta[prior + a], moment, slot + a)
        real[first + a, column] = log_gamma
        largest = max(largest, log_gamma)
    for a in range(actions):
        real[first + a, column] = math.exp(real[first + a, column] - largest)
        total += real[first + a, column]
    for a in range(actions):
        share = n * real[first + a, column] / total
        real[base + a * levels + y, column] += share
        real[base + actions * levels + z * actions + a, column] += share


def improve(state: State, x: Number, shape: Number, parameters: Number) -> None:
    """Ascend the ELBO from the blocks of a context, and leave there what was found."""
    counts, real, column = state
    proposals, actions, levels = shape[1], shape[2], shape[3]
    outcomes, responses = actions * levels, proposals * actions
    base, table = x * block_size(shape), x * table_size(shape)
    seen = table + proposals * levels
    room = shape[0] * block_size(shape)
    alpha = room + proposals * levels
    beta = alpha + outcomes
    work = beta + responses
    for i in range(proposals * levels):
        real[room + i, column] = np.float64(counts[table + i, column])
    for i in range(outcomes):
        real[alpha + i, column] = parameters.alpha[x * outcomes + i] + np.float64(counts[seen + i, column])
    for i in range(responses):
        real[beta + i, column] = parameters.beta[x * responses + i] + np.float64(counts[seen + outcomes + i, column])
    middle = base + outcomes
    if TWO:
        point, _, _ = ascend_two(
            four(state, room),
            four(state, alpha),
            four(state, beta),
            four(state, base),
            four(state, middle),
            parameters.tolerance,
            parameters.max_evaluations,
        )
        for i in range(4):
            real[base + i, column] = point.outcome[i]
            real[middle + i, column] = point.compliance[i]
    else:
        prior = real[alpha:beta, column], real[beta:work, column]
        ascend(
            FitProblem(real[room:alpha, column], prior[0], prior[1], actions, levels),
            real[base:middle, column],
            real[middle : middle + responses, column],
            parameters.tolerance,
            parameters.max_evaluations,
            real[work:, column],
        )


@inlined
def four(state: State, row: Number) -> Number:
    """Four rows as a tuple."""
    real, column = state.real, state.column
    return real[row, column], real[row + 1, column], real[row + 2, column], real[row + 3, column]


def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """n[z, a] += 1 where a is seen; then what an outcome adds, if it is seen."""
    counts, real, column = state
    x, z, a, y = event
    if a != UNSEEN:
        table, base, middle = x * table_size(shape), x * block_size(shape), shape[2] * shape[3]
        counts[table + shape[1] * shape[3] + middle + z * shape[2] + a, column] += 1
        outcomes = counts[table + table_size(shape) - 1, column]
        if WARM and outcomes >= parameters.soft_start:
            real[base + middle + z * shape[2] + a, column] += 1.0
            if outcomes > 0 and y == UNSEEN:
                improve(state, x, shape, parameters)
    reveal(state, event, shape, parameters, moment)


def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """n[z, y] += 1 where a is unseen, n[a, y] += 1 where it is seen; a warm fit then goes on."""
    counts, real, column = state
    x, z, a, y = event
    if y == UNSEEN:
        return
    proposals, actions, levels = shape[1], shape[2], shape[3]
    table, base = x * table_size(shape), x * block_size(shape)
    last = table + table_size(shape) - 1
    counts[last, column] += 1
    if a == UNSEEN:
        counts[table + z * levels + y, column] += 1
    else:
        counts[table + proposals * levels + a * levels + y, column] += 1
    if WARM:
        outcomes = counts[last, column]
        if outcomes <= max(1, parameters.soft_start):
            fit(state, x, shape, parameters, moment)
        else:
            if a == UNSEEN:
                slot = block_size(shape) + proposals * levels * actions + outcomes * actions
                scatter(state, (x, z, y), 1.0, shape, parameters, moment, slot)
            else:
                real[base + a * levels + y, column] += 1.0
            improve(state, x, shape, parameters)
