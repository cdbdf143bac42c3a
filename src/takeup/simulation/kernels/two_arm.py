"""TS and TS-Check with two proposals and two outcomes: no beta draw at all, but P(θ_0 > θ_1) kept up to date.

With n[z, j] the parameters of θ_z ~ Beta(n[z, 0], n[z, 1]), j = 0 being the good outcome, p = P(θ_0 > θ_1) and
h = B(n_00 + n_10, n_01 + n_11) / (B(n_00, n_01) B(n_10, n_11)),

    n[z, j] += 1   makes   p += ±h / n[z, j]   and   h *= (n[z, j] + n[1 - z, j]) (n[z, 0] + n[z, 1]) / (N n[z, j]),

with + where z = j and N the sum of all four. Proposing 0 with probability p is what Thompson sampling does. The chance
word has 32 bits, so that p is rounded to 2^-32. Rows of a context: n_00, n_01, n_10, n_11, p, h; all float64.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from takeup.checks import FloatArray
from takeup.policies import TS
from takeup.policies.allocation import probability_largest
from takeup.simulation.kernels import host
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined, times_double
from takeup.simulation.kernels.streams import uniform
from takeup.space import Space

SLOTS = 6
"""The rows of one table: four parameters, p and h."""


class Parameters(NamedTuple):
    """What a policy is told.

    Attributes:
        start: n_00, n_01, n_10, n_11, p and h before any data, context by context.
        good: the index of the better outcome.
        intended: the action that complying with each proposal means; -1 for any.
    """

    start: Array
    good: Number
    intended: Array


def started(table: FloatArray) -> FloatArray:
    """The six numbers of a table n[row, column] of beta parameters, (.., 2, 2) -> (.., 6)."""
    flat = table.reshape(-1, 2, 2)
    p = [probability_largest(pair)[0] for pair in flat]
    log_h = betaln(*flat.sum(axis=1).T) - betaln(*flat[:, 0].T) - betaln(*flat[:, 1].T)
    numbers = np.concatenate([flat.reshape(-1, 4), np.stack([p, np.exp(log_h)], axis=1)], axis=1)
    return np.asarray(numbers.reshape(*table.shape[:-2], SLOTS))


def good_first(outcome: FloatArray, space: Space) -> FloatArray:
    """The outcome parameters with those of the better outcome in front."""
    return outcome[..., ::-1] if space.utility[1] > space.utility[0] else outcome


def parameters(policy: TS, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    start = started(good_first(policy.prior(space).outcome, space)).ravel()
    return Parameters(start, int(np.argmax(space.utility)), host.intended(policy, space))


def size(contexts: int, proposals: int, actions: int, levels: int) -> tuple[int, int]:
    """Rows of counts and of reals."""
    return 0, contexts * SLOTS


@inlined
def step_of(near: Number, row: Number, column: Number, total: Number, h: Number) -> Number:
    """The change of p, without its sign, and the new h, when the parameter `near` grows by one.

    `row`, `column` and `total` are the sums of its row, of its column and of all four parameters.
    """
    part = h / (near * total)  # one division for both
    return times_double(part, total), part * (column * row)


@inlined
def advance(real: Array, place: Number, base: Number, z: Number, j: Number) -> None:
    """One more in n[z, j] of the table at `base`."""
    near, first = base + 2 * z + j, base + 2 * z
    column_0 = real[base, place] + real[base + 2, place]
    column_1 = real[base + 1, place] + real[base + 3, place]
    row = real[first, place] + real[first + 1, place]
    change, h = step_of(real[near, place], row, column_1 if j else column_0, column_0 + column_1, real[base + 5, place])
    real[base + 4, place] += change if z == j else -change
    real[base + 5, place] = h
    real[near, place] += 1.0


def begin(counts: Array, real: Array, column: Number, shape: Number, parameters: Number) -> None:
    """The prior."""
    for slot in range(parameters.start.size):
        real[slot, column] = parameters.start[slot]


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
    """Proposal 0 with probability p."""
    return 0 if uniform(chance) < real[x * SLOTS + 4, column] else 1


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
    """One more outcome of z, where y is seen and, for TS-Check, a is what was intended."""
    if y != UNSEEN and (parameters.intended[z] == UNSEEN or parameters.intended[z] == a):
        advance(real, column, x * SLOTS, z, 0 if y == parameters.good else 1)


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
