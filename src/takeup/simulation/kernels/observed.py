"""TS-Obs: the value of a proposal is Σ_a π[z, a] Σ_y μ[a, y] w_y, from two kinds of Dirichlet rows.

Rows of a context: α'[x, a, y], one an action, then β'[x, z, a], one a proposal: Stirn & Jebara (2019), section 3.3.
"""

from typing import NamedTuple

import numpy as np

from takeup.policies import TSObs
from takeup.simulation.kernels import host
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined
from takeup.simulation.kernels.rows import end, padded, see, start, weigh
from takeup.space import Space


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


def size(contexts: int, proposals: int, actions: int, levels: int) -> tuple[int, int]:
    """Rows of counts and of reals."""
    slots = contexts * (actions * host.even(levels) + proposals * host.even(actions))
    return slots, slots * host.BLOCKS + 2 * host.even(levels) + 2 * host.even(actions)


@inlined
def per_context(shape: Number) -> Number:
    """The slots of one context."""
    return shape[2] * padded(shape[3]) + shape[1] * padded(shape[2])


def begin(counts: Array, real: Array, column: Number, shape: Number, parameters: Number) -> None:
    """The prior, the weights of the outcomes behind it, and room for those of the actions."""
    slots = shape[0] * per_context(shape)
    start(counts, real, column, slots, parameters.prior)
    weights = end(slots)
    means = weights + 2 * padded(shape[3])
    for j in range(2 * padded(shape[3])):
        real[weights + j, column] = parameters.weight[j]
    for j in range(2 * padded(shape[2])):
        real[means + j, column] = np.float32(0)


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
    """argmax_z of Σ_a π[z, a] m_a, where m_a = Σ_y μ[a, y] w_y, in a draw of μ and π."""
    proposals, actions, width, wide = shape[1], shape[2], padded(shape[3]), padded(shape[2])
    slots = shape[0] * per_context(shape)
    base = x * per_context(shape)
    weights = end(slots)
    means = weights + 2 * width
    zero = np.uint32(0)
    block = (zero, zero, zero, zero)
    for a in range(actions):
        gain, loss, block = weigh(real, column, base, slots, a * (width >> 1), width, weights, moment, block)
        whole = gain + loss
        real[means + a, column] = gain / whole
        real[means + wide + a, column] = loss / whole
    first = actions * (width >> 1)
    best, best_gain, best_loss = 0, np.float32(-1), np.float32(1)
    for z in range(proposals):
        gain, loss, block = weigh(real, column, base, slots, first + z * (wide >> 1), wide, means, moment, block)
        if gain * best_loss > best_gain * loss:
            best, best_gain, best_loss = z, gain, loss
    return best


@inlined
def learn(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    z: Number,
    a: Number,
    y: Number,
    shape: Number,
    parameters: Number,
    moment: Number,
) -> None:
    """β'[x, z, a] += 1 where a is seen, and α'[x, a, y] += 1 where both are."""
    if a != UNSEEN:
        slots = shape[0] * per_context(shape)
        row = x * per_context(shape) + shape[2] * padded(shape[3]) + z * padded(shape[2])
        see(counts, real, column, row + a, slots, parameters.prior)
        reveal(counts, real, column, x, z, a, y, shape, parameters, moment)


@inlined
def reveal(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    z: Number,
    a: Number,
    y: Number,
    shape: Number,
    parameters: Number,
    moment: Number,
) -> None:
    """α'[x, a, y] += 1 where a and y are seen."""
    if a != UNSEEN and y != UNSEEN:
        slots = shape[0] * per_context(shape)
        row = x * per_context(shape) + a * padded(shape[3])
        see(counts, real, column, row + y, slots, parameters.prior)
