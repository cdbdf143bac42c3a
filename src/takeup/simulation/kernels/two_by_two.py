"""TS-Obs with two proposals, two actions and two outcomes: two recurrences and no draw.

As v_0 - v_1 = (π_00 - π_10)(μ_0 - μ_1), proposal 0 is best with probability A B + (1 - A)(1 - B), where
A = P(μ_0 > μ_1) and B = P(π_00 > π_10) are kept up to date as in `two_arm`. Rows of a context: the six numbers of the
outcomes' table n[a, good or not], then those of the compliance's table n[z, a]; all float64.
"""

from typing import NamedTuple

import numpy as np

from takeup.policies import TSObs
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined, times_double
from takeup.simulation.kernels.streams import uniform
from takeup.simulation.kernels.two_arm import SLOTS, advance, good_first, started
from takeup.space import Space

BOTH = 2 * SLOTS
"""The rows of a context."""


class Parameters(NamedTuple):
    """What a policy is told.

    Attributes:
        start: both tables before any data, context by context.
        good: the index of the better outcome.
    """

    start: Array
    good: Number


def parameters(policy: TSObs, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    prior = policy.prior(space)
    assert prior.compliance is not None
    tables = [started(good_first(prior.outcome, space)), started(prior.compliance)]
    return Parameters(np.concatenate(tables, axis=1).ravel(), int(np.argmax(space.utility)))


def size(contexts: int, proposals: int, actions: int, levels: int) -> tuple[int, int]:
    """Rows of counts and of reals."""
    return 0, contexts * BOTH


def begin(counts: Array, real: Array, column: Number, shape: Number, parameters: Number) -> None:
    """The priors."""
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
    """Proposal 0 with probability A B + (1 - A)(1 - B)."""
    a, b = real[x * BOTH + 4, column], real[x * BOTH + SLOTS + 4, column]
    return 0 if uniform(chance) < times_double(a, b) + times_double(1.0 - a, 1.0 - b) else 1


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
    """One more response to z where a is seen, and one more outcome of a where both are."""
    if a != UNSEEN:
        advance(real, column, x * BOTH + SLOTS, z, a)
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
    """One more outcome of a, where a and y are seen."""
    if a != UNSEEN and y != UNSEEN:
        advance(real, column, x * BOTH, a, 0 if y == parameters.good else 1)
