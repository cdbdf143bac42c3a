"""Forgetting around TS, TS-Check and TS-Obs: the base's Dirichlet rows, with what is old counted less.

The counts of the base are those of the newest epoch. Behind them lie those of the epochs before, newest first; the last
rows of the reals hold what a shape has apart from the newest epoch,

    basis[s] = prior[s] + Σ_e weight[e] counts[e, s],      shape[s] = basis[s] + counts[0, s].

With the first decision of an epoch all epochs move back by one, and the oldest one leaves. An outcome that comes later
counts in the epoch of its decision; decisions and outcomes each come in order, so that it is enough to count them. The
two rows before the basis say how many epochs back that is, and what a decision counts there. `stand_ins` puts `see` in
place of that of `rows`, and the base's functions in place of those of `proposed`.
"""

from typing import NamedTuple

import numpy as np

from takeup.outcomes import Levels
from takeup.policies import TS, Forgetting, TSCheck, TSObs
from takeup.simulation.kernels import observed, proposed, rows
from takeup.simulation.kernels.compile import Plain
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined, times_double
from takeup.simulation.kernels.proposed import begin as begin_base
from takeup.simulation.kernels.proposed import learn as learn_base
from takeup.simulation.kernels.proposed import propose
from takeup.simulation.kernels.proposed import reveal as reveal_base
from takeup.simulation.kernels.rows import put
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

__all__ = ["begin", "learn", "parameters", "propose", "reveal", "see", "size"]

REAL = np.float32


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


def applies(policy: Forgetting, space: Space) -> bool:
    """Around TS, TS-Check and TS-Obs, where outcomes have levels."""
    return type(policy.base) in (TS, TSCheck, TSObs) and isinstance(space.outcome, Levels)


def stand_ins(policy: Forgetting) -> dict[Plain, Plain]:
    """`see` for that of `rows`, and the functions of TS-Obs for those of TS where that is the base."""
    own: dict[Plain, Plain] = {rows.see: see}
    if isinstance(policy.base, TSObs):
        own |= {getattr(proposed, name): getattr(observed, name) for name in ("begin", "propose", "learn", "reveal")}
    return own


def switches(policy: Forgetting, space: Space) -> dict[str, bool]:
    """Those of `proposed`."""
    return {"CHECKING": isinstance(policy.base, TSCheck)}


def size(policy: Forgetting, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    slots, reals = (observed if isinstance(policy.base, TSObs) else proposed).size(policy.base, space)
    return slots * (policy.weights.size - 1) + 2, reals + 2 + slots


def begin(state: State, shape: Number, parameters: Number) -> None:
    """The base's prior, and nothing seen in any epoch."""
    counts, real, column = state
    begin_base(state, shape, parameters)
    basis = real.shape[0] - parameters.slots
    for slot in range(parameters.slots):
        real[basis + slot, column] = parameters.prior[slot]
    for row in range(parameters.slots, parameters.slots * parameters.fading.size + 2):
        counts[row, column] = 0
    aim(state, parameters, 0)


@inlined
def aim(state: State, parameters: Number, back: Number) -> None:
    """What is seen next counts so many epochs back."""
    real, column = state.real, state.column
    mark = real.shape[0] - parameters.slots - 2
    real[mark, column] = back
    real[mark + 1, column] = parameters.fading[back]


def turn(state: State, parameters: Number) -> None:
    """A new epoch begins."""
    counts, real, column = state
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
        put(state, slot, slots, shape)


@inlined
def see(state: State, slot: Number, slots: Number, prior: Array) -> None:
    """One more of this cell in the epoch that is aimed at."""
    counts, real, column = state
    basis = real.shape[0] - slots
    back = np.int64(real[basis - 2, column])
    counts[back * slots + slot, column] += 1
    if back > 0:
        real[basis + slot, column] += real[basis - 1, column]
    put(state, slot, slots, np.float64(real[basis + slot, column]) + np.float64(counts[slot, column]))


@inlined
def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """As the base does, after a new epoch has begun where one does."""
    counts, column = state.counts, state.column
    told = parameters.slots * parameters.fading.size
    number = np.int64(counts[told, column])
    if number > 0 and number % parameters.epoch == 0:
        turn(state, parameters)
    learn_base(state, event, shape, parameters, moment)
    counts[told, column] += 1
    if event.y != UNSEEN:
        counts[told + 1, column] += 1


@inlined
def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """As the base does, in the epoch of the decision; what is older than all of them counts nothing."""
    counts, column = state.counts, state.column
    told = parameters.slots * parameters.fading.size
    newest = np.int64(counts[told, column] - 1) // parameters.epoch
    back = newest - np.int64(counts[told + 1, column]) // parameters.epoch
    if back < parameters.fading.size:
        aim(state, parameters, back)
        reveal_base(state, event, shape, parameters, moment)
        aim(state, parameters, 0)
    counts[told + 1, column] += 1
