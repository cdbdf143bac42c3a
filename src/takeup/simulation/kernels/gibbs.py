"""TS-Lat by Gibbs sampling: a cold chain for every proposal, as `takeup.inference.gibbs` has it.

Counts of a context are those of `latent`. Reals, all of float64: the counts once more, for lanes; then the room for one
chain, see `gibbs_room`. A decision draws its last world from the first slots, and its chain from those behind them.
"""

import math

import numpy as np

from takeup.outcomes import Levels
from takeup.policies import TSLat
from takeup.simulation.kernels.binomials import binomial, fine
from takeup.simulation.kernels.dirichlets import dirichlet_row
from takeup.simulation.kernels.gibbs_lanes import in_lanes, propose_lanes
from takeup.simulation.kernels.gibbs_room import LEAST, log_ratio, power_law, room_size
from takeup.simulation.kernels.latent import block_size, parameters, put_prior, table_size
from takeup.simulation.kernels.machine import UNSEEN, Number, inlined
from takeup.simulation.kernels.streams import POLICY, words
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

__all__ = ["begin", "in_lanes", "learn", "parameters", "propose", "propose_lanes", "reveal", "size"]

REAL = np.float64
FEWEST_LANES = 8


def applies(policy: TSLat, space: Space) -> bool:
    """Where the policy asks for it and outcomes have levels."""
    return policy.inference == "gibbs" and isinstance(space.outcome, Levels)


def size(policy: TSLat, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    return space.shape[0] * int(table_size(space.shape)), int(first(space.shape) + room_size(space.shape))


@inlined
def first(shape: Number) -> Number:
    """The first row of the room; `lane_driver.gather` has a row beside every count."""
    return 2 * shape[0] * table_size(shape)


def begin(state: State, shape: Number, parameters: Number) -> None:
    """Nothing seen yet."""
    counts, real, column = state
    for row in range(shape[0] * table_size(shape)):
        counts[row, column] = 0
        real[row, column] = 0.0


def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """n[z, a] += 1 where a is seen; then what an outcome adds, if it is seen."""
    x, z, a, _ = event
    if a != UNSEEN:
        see(state, x * table_size(shape) + shape[1] * shape[3] + shape[2] * shape[3] + z * shape[2] + a)
    reveal(state, event, shape, parameters, moment)


def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """n[z, y] += 1 where a is unseen, n[a, y] += 1 where it is seen."""
    x, z, a, y = event
    if y != UNSEEN:
        table = x * table_size(shape)
        see(state, table + table_size(shape) - 1)
        see(state, table + (z if a == UNSEEN else shape[1] + a) * shape[3] + y)


@inlined
def see(state: State, row: Number) -> None:
    """One more of these."""
    counts, real, column = state
    counts[row, column] += 1
    real[row, column] += 1.0


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """argmax_z of Σ_a π[z, a] Σ_y μ[a, y] r_y in a world drawn from the blocks at the end of a chain."""
    real, column = state.real, state.column
    proposals, actions, levels = shape[1], shape[2], shape[3]
    blocks = first(shape)
    mu = blocks + block_size(shape)
    pi = mu + actions * levels
    run(state, x, shape, parameters, moment)
    world(state, shape, moment, 0)
    for a in range(actions):
        mean = 0.0
        for y in range(levels):
            mean += real[mu + a * levels + y, column] * parameters.utility[y]
        real[blocks + a, column] = mean
    best, best_value = 0, -math.inf
    for z in range(proposals):
        value = 0.0
        for a in range(actions):
            value += real[pi + z * actions + a, column] * real[blocks + a, column]
        if value > best_value:
            best, best_value = z, value
    return best


def run(state: State, x: Number, shape: Number, parameters: Number, moment: Number) -> None:
    """Leave the blocks at the end of a chain."""
    counts, real, column = state
    proposals, actions, levels = shape[1], shape[2], shape[3]
    table, blocks = x * table_size(shape), block_size(shape)
    mu = first(shape) + blocks
    ready = counts[table + table_size(shape) - 1, column] >= parameters.soft_start
    rest(state, x, shape, parameters, ready)
    unseen = 0
    for i in range(proposals * levels):
        unseen += counts[table + i, column]
    if unseen == 0 or not ready:
        return
    world(state, shape, moment, blocks)
    for y in range(levels):
        likeliest = 0
        for a in range(1, actions):
            if real[mu + a * levels + y, column] > real[mu + likeliest * levels + y, column]:
                likeliest = a
        for z in range(proposals):
            add(state, z, likeliest, y, counts[table + z * levels + y, column], shape)
    slot = 2 * blocks
    for sweep in range(parameters.sweeps):
        world(state, shape, moment, slot)
        slot += blocks
        for a in range(actions):
            b = (a + 1 + sweep % (actions - 1)) % actions
            slide(state, x, (a, b), shape, parameters, moment, slot + a)
        slot += actions
        rest(state, x, shape, parameters, True)
        for z in range(proposals):
            for y in range(levels):
                share(state, z, y, counts[table + z * levels + y, column], shape, moment, slot)
                slot += actions - 1


def rest(state: State, x: Number, shape: Number, parameters: Number, ready: Number) -> None:
    """The blocks are the prior's, with what was seen where the context is ready for it."""
    counts, real, column = state
    seen = x * table_size(shape) + shape[1] * shape[3]
    blocks = first(shape)
    put_prior(state, blocks, x, shape, parameters)
    if ready:
        for i in range(block_size(shape)):
            real[blocks + i, column] += np.float64(counts[seen + i, column])


def world(state: State, shape: Number, moment: Number, slot: Number) -> None:
    """A draw of μ and π from the blocks."""
    proposals, actions, levels = shape[1], shape[2], shape[3]
    blocks, outcomes = first(shape), actions * levels
    drawn = blocks + block_size(shape)
    for row in range(0, outcomes, levels):
        dirichlet_row(state, blocks + row, drawn + row, levels, moment, slot + row)
    for row in range(outcomes, outcomes + proposals * actions, actions):
        dirichlet_row(state, blocks + row, drawn + row, actions, moment, slot + row)


def add(state: State, z: Number, a: Number, y: Number, n: Number, shape: Number) -> None:
    """Give n of those with (z, y) the action a."""
    real, column = state.real, state.column
    blocks = first(shape)
    real[blocks + a * shape[3] + y, column] += np.float64(n)
    real[blocks + shape[2] * shape[3] + z * shape[2] + a, column] += np.float64(n)


def share(state: State, z: Number, y: Number, n: Number, shape: Number, moment: Number, slot: Number) -> None:
    """Give each of the n with (z, y) an action: a chain of binomial draws, in proportion to π[z, a] μ[a, y]."""
    real, column = state.real, state.column
    actions, levels = shape[2], shape[3]
    drawn = first(shape) + block_size(shape)
    mu, pi = drawn + y, drawn + actions * levels + z * actions
    total = 0.0
    for a in range(actions):
        total += real[mu + a * levels, column] * real[pi + a, column]
    left = np.int64(n)
    for a in range(actions - 1):
        weight = real[mu + a * levels, column] * real[pi + a, column]
        taken = binomial(left, weight / max(total, LEAST), moment, slot + a)
        add(state, z, a, y, taken, shape)
        left -= taken
        total -= weight
    add(state, z, actions - 1, y, left, shape)


def slide(
    state: State, x: Number, pair: Number, shape: Number, parameters: Number, moment: Number, slot: Number
) -> None:
    """Move a pair of actions along the ridge on which Π μ stays: see `takeup.inference.gibbs.slide`."""
    counts, real, column = state
    a, b = pair
    proposals, actions, levels = shape[1], shape[2], shape[3]
    outcomes, responses = actions * levels, proposals * actions
    seen = x * table_size(shape) + proposals * levels
    drawn = first(shape) + block_size(shape)
    mu_a, mu_b, pi = drawn + a * levels, drawn + b * levels, drawn + outcomes
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
    if rise >= 0.0 or math.log(fine(block[2], block[3])) < rise:
        for y in range(levels):
            mine, other = real[mu_a + y, column], real[mu_b + y, column]
            real[mu_a + y, column] = max(other + (mine - other) / u, LEAST)
        for z in range(proposals):
            row = pi + z * actions
            mine = real[row + a, column]
            real[row + a, column] = mine * u
            real[row + b, column] = max(real[row + b, column] + (1.0 - u) * mine, LEAST)
