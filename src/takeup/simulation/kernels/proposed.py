"""TS and TS-Check: the value of a proposal is the mean utility of one Dirichlet row, α'[x, z, y].

Rows of a context: one a proposal, in order. TS counts every seen outcome, TS-Check those of the people who did what
was proposed: Stirn & Jebara (2019), sections 3.1 and 3.2.
"""

from typing import NamedTuple

import numpy as np

from takeup.policies import TS
from takeup.simulation.kernels import host
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined
from takeup.simulation.kernels.rows import end, padded, see, start, weigh
from takeup.space import Space


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


def size(contexts: int, proposals: int, actions: int, levels: int) -> tuple[int, int]:
    """Rows of counts and of reals."""
    slots = contexts * proposals * host.even(levels)
    return slots, slots * host.BLOCKS + 2 * host.even(levels)


def begin(counts: Array, real: Array, column: Number, shape: Number, parameters: Number) -> None:
    """The prior, and the weights behind it."""
    width = padded(shape[3])
    slots = shape[0] * shape[1] * width
    start(counts, real, column, slots, parameters.prior)
    for j in range(2 * width):
        real[end(slots) + j, column] = parameters.weight[j]


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
    """argmax_z of Σ_y μ[z, y] w_y in a draw μ[z] ~ Dir(α'[x, z])."""
    width = padded(shape[3])
    slots = shape[0] * shape[1] * width
    base = x * shape[1] * width
    zero = np.uint32(0)
    block = (zero, zero, zero, zero)
    best, best_gain, best_loss = 0, np.float32(-1), np.float32(1)
    for z in range(shape[1]):
        gain, loss, block = weigh(real, column, base, slots, z * (width >> 1), width, end(slots), moment, block)
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
    """α'[x, z, y] += 1 where y is seen and, for TS-Check, a is what was intended."""
    if y != UNSEEN and (parameters.intended[z] == UNSEEN or parameters.intended[z] == a):
        width = padded(shape[3])
        slot = (x * shape[1] + z) * width + y
        see(counts, real, column, slot, shape[0] * shape[1] * width, parameters.prior)


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
    """An outcome that comes later counts like one that comes at once."""
    learn(counts, real, column, x, z, a, y, shape, parameters, moment)
