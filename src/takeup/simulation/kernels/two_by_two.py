"""TS-Obs with two proposals, two actions and two outcomes: two recurrences and no draw.

As v_0 - v_1 = (π_00 - π_10)(μ_0 - μ_1), proposal 0 is best with probability A B + (1 - A)(1 - B), where
A = P(μ_0 > μ_1) and B = P(π_00 > π_10) are kept up to date as in `two_arm`. Rows of a context: the six numbers of the
outcomes' table n[a, good or not], then those of the compliance's table n[z, a]; all float64.
"""

from typing import NamedTuple

import numpy as np

from takeup.policies import TSObs
from takeup.simulation.kernels.lanes import LaneDraws, Lanes
from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, inlined, times_double
from takeup.simulation.kernels.streams import uniform
from takeup.simulation.kernels.tables import ALWAYS, KernelInput, KernelMemory, Observation, State
from takeup.simulation.kernels.two_arm import (
    LEAST_SHAPE,
    SLOTS,
    advance,
    advance_all,
    advance_seen,
    begin,
    can_return,
    good_first,
    in_lanes,
    started,
)
from takeup.space import Space

__all__ = ["begin", "in_lanes", "learn", "learn_lanes", "parameters", "propose", "propose_lanes", "reveal", "size"]

REAL = np.float64
RECURRENCE = True

BOTH = 2 * SLOTS
"""The rows of a context."""

_A, _B, _COMPLIANCE = (np.uintp(row * LANES) for row in (4, SLOTS + 4, SLOTS))
_CHANCE, _REPORT = np.uintp(3 * LANES), np.uintp(2 * LANES)


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


def applies(policy: TSObs, space: Space) -> bool:
    """With two of everything but contexts, where both recurrences have a start."""
    prior = policy.prior(space)
    assert prior.compliance is not None
    if space.shape[1:] != (2, 2, 2) or min(prior.outcome.min(), prior.compliance.min()) < LEAST_SHAPE:
        return False
    return can_return(parameters(policy, space).start)


def size(policy: TSObs, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    return 0, space.shape[0] * BOTH


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """Proposal 0 with probability A B + (1 - A)(1 - B)."""
    real, column = state.real, state.column
    a, b = real[x * BOTH + 4, column], real[x * BOTH + SLOTS + 4, column]
    return 0 if uniform(chance) < times_double(a, b) + times_double(1.0 - a, 1.0 - b) else 1


@inlined
def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """One more response to z where a is seen, and one more outcome of a where both are."""
    x, z, a = event.x, event.z, event.a
    if a != UNSEEN:
        advance(state, x * BOTH + SLOTS, z, a)
        reveal(state, event, shape, parameters, moment)


@inlined
def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """One more outcome of a, where a and y are seen."""
    x, a, y = event.x, event.a, event.y
    if a != UNSEEN and y != UNSEEN:
        advance(state, x * BOTH, a, 0 if y == parameters.good else 1)


@inlined
def propose_lanes(lanes: Lanes, draws: LaneDraws, shape: Number, parameters: Number, moment: Number) -> None:
    """`propose` for 32 replications side by side; `draws.shapes` are the rows of both recurrences."""
    for i in range(LANES):
        lane = np.uintp(i)
        a, b = draws.shapes[lane + _A], draws.shapes[lane + _B]
        first = uniform(lanes.patients[lane + _CHANCE]) < times_double(a, b) + times_double(1.0 - a, 1.0 - b)
        lanes.z[lane] = np.int32(0 if first else 1)


@inlined
def learn_lanes(lanes: Lanes, memory: KernelMemory, table: Array, given: KernelInput, moment: Number) -> None:
    """What each lane saw, and then all recurrences at once."""
    bad, reported, action = lanes.room
    answer, good = lanes.answer, np.int32(given.parameters.good)
    for i in range(LANES):
        lane = np.uintp(i)
        bad[lane] = np.int32((answer[lane] & np.int32(1)) ^ good)
        action[lane] = np.int32(answer[lane] >> 1)
    if given.visibility.threshold == ALWAYS:
        advance_all(table, np.uintp(0), action, bad)
        advance_all(table, _COMPLIANCE, lanes.z, action)
    else:
        for i in range(LANES):
            lane = np.uintp(i)
            reported[lane] = np.int32(np.uint64(lanes.patients[lane + _REPORT]) < given.visibility.threshold)
        advance_seen(table, np.uintp(0), action, bad, reported)
        advance_seen(table, _COMPLIANCE, lanes.z, action, reported)
