"""Forgetting around TS, TS-Check and TS-Obs: the base's Dirichlet rows, with what is old counted less.

The counts of the base are those of the newest epoch. Behind them lie those of the epochs before, newest first; the last
rows of the reals hold what a shape has apart from the newest epoch,

    basis[s] = prior[s] + Σ_e weight[e] counts[e, s],      shape[s] = basis[s] + counts[0, s].

With the first decision of an epoch all epochs move back by one, and the oldest one leaves. `choice` binds `see` in
place of that of `rows`, and the base's functions in place of those of `proposed`.
"""

from typing import NamedTuple

import numpy as np

from takeup.policies import Forgetting, TSObs
from takeup.simulation.kernels import observed, proposed
from takeup.simulation.kernels.machine import Array, Number, inlined, times_double
from takeup.simulation.kernels.proposed import begin as begin_base
from takeup.simulation.kernels.proposed import learn as learn_base
from takeup.simulation.kernels.proposed import propose, reveal
from takeup.simulation.kernels.rows import put
from takeup.space import Space

__all__ = ["begin", "learn", "parameters", "propose", "reveal", "room", "see"]


class Parameters(NamedTuple):
    """What a policy is told.

    Attributes:
        prior: as the base has it.
        weight: as the base has it.
        intended: as TS and TS-Check have it; not used by TS-Obs.
        fading: what a decision of each epoch counts, the newest first.
        epoch: how many decisions an epoch has.
        slots: how many the base has.
    """

    prior: Array
    weight: Array
    intended: Array
    fading: Array
    epoch: Number
    slots: Number


def parameters(policy: Forgetting, space: Space) -> Parameters:
    """The base's parameters, and what is forgotten when."""
    base, fading = policy.base, policy.weights[:-1]  # the last stands for what counts nothing
    if isinstance(base, TSObs):
        prior, weight = observed.parameters(base, space)
        intended = np.full(len(space.proposals), -1, dtype=np.int32)
    else:
        prior, weight, intended = proposed.parameters(base, space)  # type: ignore[arg-type]  # TS or TS-Check
    return Parameters(prior, weight, intended, fading, np.int64(policy.epoch), np.int64(prior.size))


def room(policy: Forgetting, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    slots, reals = (observed if isinstance(policy.base, TSObs) else proposed).size(*space.shape)
    return slots * (policy.weights.size - 1), reals + slots


def begin(counts: Array, real: Array, column: Number, shape: Number, parameters: Number) -> None:
    """The base's prior, and nothing seen in any epoch."""
    begin_base(counts, real, column, shape, parameters)
    basis = real.shape[0] - parameters.slots
    for slot in range(parameters.slots):
        real[basis + slot, column] = parameters.prior[slot]
    for row in range(parameters.slots, parameters.slots * parameters.fading.size):
        counts[row, column] = 0


def turn(counts: Array, real: Array, column: Number, parameters: Number) -> None:
    """A new epoch begins."""
    slots, epochs = parameters.slots, parameters.fading.size
    basis = real.shape[0] - slots
    for slot in range(slots):
        shape = parameters.prior[slot]
        for back in range(1, epochs):
            epoch = epochs - back
            moved = counts[(epoch - 1) * slots + slot, column]
            counts[epoch * slots + slot, column] = moved
            shape += times_double(parameters.fading[epoch], np.float64(moved))
        counts[slot, column] = 0
        real[basis + slot, column] = shape
        put(real, column, slot, slots, shape)


@inlined
def see(counts: Array, real: Array, column: Number, slot: Number, slots: Number, prior: Array) -> None:
    """One more of this cell in the newest epoch."""
    counts[slot, column] += 1
    basis = np.float64(real[real.shape[0] - slots + slot, column])
    put(real, column, slot, slots, basis + np.float64(counts[slot, column]))


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
    """As the base does, after a new epoch has begun where one does."""
    step = np.int64(moment[3])
    if step > 0 and step % parameters.epoch == 0:
        turn(counts, real, column, parameters)
    learn_base(counts, real, column, x, z, a, y, shape, parameters, moment)
