"""TS-Lat by Gibbs sampling: a cold chain for every proposal, as `takeup.inference.gibbs` has it.

Counts of a context are those of `latent`. Reals, all of float64, are room for one chain: the blocks, α'[a, y] above
β'[z, a], and then a world, μ[a, y] above π[z, a].
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.policies import TSLat
from takeup.simulation.kernels.binomials import binomial, fine
from takeup.simulation.kernels.dirichlets import dirichlet_row
from takeup.simulation.kernels.latent import block_size, learn, reveal, table_size
from takeup.simulation.kernels.machine import Array, Number
from takeup.simulation.kernels.streams import POLICY, words
from takeup.space import Space

__all__ = ["Parameters", "begin", "learn", "parameters", "propose", "reveal", "size"]

LEAST = 1e-300
"""What a probability that rounds to zero is taken for."""


class Parameters(NamedTuple):
    """What the policy is told.

    Attributes:
        alpha: α[x, a, y], the prior of the outcomes, flat.
        beta: β[x, z, a], the prior of the compliance, flat.
        utility: the reward of each level.
        soft_start: M.
        sweeps: how many a decision gets.
    """

    alpha: Array
    beta: Array
    utility: Array
    soft_start: Number
    sweeps: Number


def parameters(policy: TSLat, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    prior = policy.prior(space)
    assert prior.compliance is not None
    return Parameters(
        np.ascontiguousarray(prior.outcome).ravel(),
        np.ascontiguousarray(prior.compliance).ravel(),
        space.reward,
        policy.soft_start,
        policy.sweeps,
    )


def size(contexts: int, proposals: int, actions: int, levels: int) -> tuple[int, int]:
    """Rows of counts and of reals."""
    shape = (contexts, proposals, actions, levels)
    return contexts * int(table_size(shape)), 2 * int(block_size(shape))


def begin(counts: Array, real: Array, column: Number, shape: Number, parameters: Number) -> None:
    """Nothing seen yet."""
    for row in range(shape[0] * table_size(shape)):
        counts[row, column] = 0


def propose(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    shape: Number,
    parameters: Number,
    moment: Number,
    chance: Number,
) -> Number:
    """argmax_z of Σ_a π[z, a] Σ_y μ[a, y] r_y in a world drawn from the blocks at the end of a chain."""
    proposals, actions, levels = shape[1], shape[2], shape[3]
    room, first = block_size(shape), actions * levels
    world(real, column, shape, moment, run(counts, real, column, x, shape, parameters, moment))
    for a in range(actions):
        mean = 0.0
        for y in range(levels):
            mean += real[room + a * levels + y, column] * parameters.utility[y]
        real[a, column] = mean
    best, best_value = 0, -math.inf
    for z in range(proposals):
        value = 0.0
        for a in range(actions):
            value += real[room + first + z * actions + a, column] * real[a, column]
        if value > best_value:
            best, best_value = z, value
    return best


def run(
    counts: Array, real: Array, column: Number, x: Number, shape: Number, parameters: Number, moment: Number
) -> Number:
    """Leave the blocks at the end of a chain, and return the first slot that it has not drawn from."""
    proposals, actions, levels = shape[1], shape[2], shape[3]
    table, blocks = x * table_size(shape), block_size(shape)
    ready = counts[table + table_size(shape) - 1, column] >= parameters.soft_start
    rest(counts, real, column, x, shape, parameters, ready)
    unseen = 0
    for i in range(proposals * levels):
        unseen += counts[table + i, column]
    if unseen == 0 or not ready:
        return 0
    world(real, column, shape, moment, 0)
    for y in range(levels):
        likeliest = 0
        for a in range(1, actions):
            if real[blocks + a * levels + y, column] > real[blocks + likeliest * levels + y, column]:
                likeliest = a
        for z in range(proposals):
            add(real, column, z, likeliest, y, counts[table + z * levels + y, column], shape)
    slot = blocks
    for sweep in range(parameters.sweeps):
        world(real, column, shape, moment, slot)
        slot += blocks
        for a in range(actions):
            b = (a + 1 + sweep % (actions - 1)) % actions
            slide(counts, real, column, x, a, b, shape, parameters, moment, slot + a)
        slot += actions
        rest(counts, real, column, x, shape, parameters, True)
        for z in range(proposals):
            for y in range(levels):
                share(real, column, z, y, counts[table + z * levels + y, column], shape, moment, slot)
                slot += actions - 1
    return slot


def rest(
    counts: Array, real: Array, column: Number, x: Number, shape: Number, parameters: Number, ready: Number
) -> None:
    """The blocks are the prior's, with what was seen where the context is ready for it."""
    outcomes, responses = shape[2] * shape[3], shape[1] * shape[2]
    seen = x * table_size(shape) + shape[1] * shape[3]
    for i in range(outcomes):
        real[i, column] = parameters.alpha[x * outcomes + i]
    for i in range(responses):
        real[outcomes + i, column] = parameters.beta[x * responses + i]
    if ready:
        for i in range(outcomes + responses):
            real[i, column] += np.float64(counts[seen + i, column])


def world(real: Array, column: Number, shape: Number, moment: Number, slot: Number) -> None:
    """A draw of μ and π from the blocks."""
    proposals, actions, levels = shape[1], shape[2], shape[3]
    room, first = block_size(shape), actions * levels
    for row in range(0, first, levels):
        dirichlet_row(real, column, row, room + row, levels, moment, slot + row)
    for row in range(first, first + proposals * actions, actions):
        dirichlet_row(real, column, row, room + row, actions, moment, slot + row)


def add(real: Array, column: Number, z: Number, a: Number, y: Number, n: Number, shape: Number) -> None:
    """Give n of those with (z, y) the action a."""
    real[a * shape[3] + y, column] += np.float64(n)
    real[shape[2] * shape[3] + z * shape[2] + a, column] += np.float64(n)


def share(
    real: Array, column: Number, z: Number, y: Number, n: Number, shape: Number, moment: Number, slot: Number
) -> None:
    """Give each of the n with (z, y) an action: a chain of binomial draws, in proportion to π[z, a] μ[a, y]."""
    actions, levels = shape[2], shape[3]
    mu, pi = block_size(shape) + y, block_size(shape) + actions * levels + z * actions
    total = 0.0
    for a in range(actions):
        total += real[mu + a * levels, column] * real[pi + a, column]
    left = np.int64(n)
    for a in range(actions - 1):
        weight = real[mu + a * levels, column] * real[pi + a, column]
        taken = binomial(left, weight / max(total, LEAST), moment, slot + a)
        add(real, column, z, a, y, taken, shape)
        left -= taken
        total -= weight
    add(real, column, z, actions - 1, y, left, shape)


def slide(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    a: Number,
    b: Number,
    shape: Number,
    parameters: Number,
    moment: Number,
    slot: Number,
) -> None:
    """Move the world along the ridge on which Π μ stays: see `takeup.inference.gibbs.slide`."""
    proposals, actions, levels = shape[1], shape[2], shape[3]
    outcomes, responses = actions * levels, proposals * actions
    seen = x * table_size(shape) + proposals * levels
    mu_a, mu_b = block_size(shape) + a * levels, block_size(shape) + b * levels
    pi = block_size(shape) + outcomes
    low, high = 0.0, math.inf
    for y in range(levels):
        mine, other = real[mu_a + y, column], real[mu_b + y, column]
        low = max(low, max(other - mine, LEAST) / max(other, LEAST))
    for z in range(proposals):
        row = pi + z * actions
        high = min(high, 1.0 + real[row + b, column] / max(real[row + a, column], LEAST))
    block = words(moment, np.uint32(POLICY + np.uint32(slot)), 0)
    u = power_law(low, high, proposals - levels + 1, fine(block[0], block[1]))
    rise = 0.0
    for y in range(levels):
        mine, other = real[mu_a + y, column], real[mu_b + y, column]
        excess = parameters.alpha[x * outcomes + a * levels + y] + counts[seen + a * levels + y, column] - 1.0
        rise += excess * log_ratio(other + (mine - other) / u, mine, excess)
    for z in range(proposals):
        mine, other = real[pi + z * actions + a, column], real[pi + z * actions + b, column]
        i, j = z * actions + a, z * actions + b
        excess = parameters.beta[x * responses + i] + counts[seen + outcomes + i, column] - 1.0
        rise += excess * log_ratio(mine * u, mine, excess)
        excess = parameters.beta[x * responses + j] + counts[seen + outcomes + j, column] - 1.0
        rise += excess * log_ratio(other + (1.0 - u) * mine, other, excess)
    if math.log(fine(block[2], block[3])) < rise:
        for y in range(levels):
            mine, other = real[mu_a + y, column], real[mu_b + y, column]
            real[mu_a + y, column] = max(other + (mine - other) / u, LEAST)
        for z in range(proposals):
            row = pi + z * actions
            mine = real[row + a, column]
            real[row + a, column] = mine * u
            real[row + b, column] = max(real[row + b, column] + (1.0 - u) * mine, LEAST)


def log_ratio(new: Number, old: Number, excess: Number) -> Number:
    """The logarithm of a ratio of probabilities; not looked at where nothing depends on it."""
    if excess == 0.0:
        return 0.0
    return math.log(max(new, LEAST) / max(old, LEAST))


def power_law(low: Number, high: Number, power: Number, chance: Number) -> Number:
    """A number between low and high with density u^(power - 1), by inversion of a uniform one."""
    if power == 0:
        return low * math.exp(chance * math.log(high / low))
    near, far = (high, low) if power > 0 else (low, high)
    tail = (far / near) ** power
    return near * (tail + chance * (1.0 - tail)) ** (1.0 / power)
