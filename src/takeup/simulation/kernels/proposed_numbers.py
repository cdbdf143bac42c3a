"""TS and TS-Check with outcomes that are normal numbers: the value of a proposal is the mean of one arm of `normals`.

Arms of a context: one a proposal, in order. The last two rows of the reals are room for the lanes.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from takeup.policies import TS
from takeup.simulation.kernels import host, normals
from takeup.simulation.kernels.lanes import LaneDraws, Lanes
from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, either, inlined
from takeup.simulation.kernels.normals import SLOTS, Arms, draw_means, drawn_mean, fill_row, see_arm, start_arm
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

REAL = np.float64
OUTCOMES = ("number",)


class Parameters(NamedTuple):
    """What a policy is told.

    Attributes:
        arms: what is believed of each proposal.
        intended: the action that complying with each proposal means; -1 for any, which makes TS of TS-Check.
    """

    arms: Arms
    intended: Array


def applies(policy: TS, space: Space) -> bool:
    """With a normal likelihood, of numbers that are worth themselves."""
    return normals.suits(policy.prior(space).block)


def parameters(policy: TS, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    return Parameters(normals.arms_of(policy.prior(space).block), host.intended(policy, space))


def size(policy: TS, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    contexts, proposals, _, _ = space.shape
    slots = contexts * proposals * SLOTS
    return slots, 2 * slots + 2


def begin(state: State, shape: Number, parameters: Number) -> None:
    """The prior."""
    slots = shape[0] * shape[1] * SLOTS
    for arm in range(shape[0] * shape[1]):
        start_arm(state, arm * SLOTS, slots, arm, parameters.arms)


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """argmax_z of a draw of the mean of z."""
    slots = shape[0] * shape[1] * SLOTS
    zero = np.uint32(0)
    block = (zero, zero, zero, zero)
    best, best_mean = 0, -math.inf
    for z in range(shape[1]):
        mean, block = drawn_mean(state, (x * shape[1] + z) * SLOTS, slots, z, moment, block)
        if mean > best_mean:
            best, best_mean = z, mean
    return best


@inlined
def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """One more outcome of z where y is seen and, for TS-Check, a is what was intended."""
    x, z, a, y = event
    if y != UNSEEN and (parameters.intended[z] == UNSEEN or parameters.intended[z] == a):
        arm = x * shape[1] + z
        see_arm(state, arm * SLOTS, shape[0] * shape[1] * SLOTS, arm, parameters.arms, y)


@inlined
def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """An outcome that comes later counts like one that comes at once."""
    learn(state, event, shape, parameters, moment)


def in_lanes(shape: tuple[int, int, int, int], parameters: Any) -> bool:
    """Always: a draw takes the same steps in every lane."""
    return True


@inlined
def propose_lanes(lanes: Lanes, draws: LaneDraws, shape: Number, parameters: Number, moment: Number) -> None:
    """`propose` for 32 replications side by side; the two rows behind the arms are the draw and the best so far."""
    slots = shape[1] * SLOTS
    fill_row(draws.shapes, 2 * slots + 1, -math.inf)
    for z in range(shape[1]):
        draw_means(draws, z, slots, 2 * slots, moment)
        keep_higher(draws.shapes, 2 * slots, z, lanes.z)


def keep_higher(shapes: Array, row: Number, proposal: Number, z: Array) -> None:
    """This proposal is a lane's best so far where its draw is higher than that of the best, in the next row."""
    drawn, highest = np.uintp(row * LANES), np.uintp((row + 1) * LANES)
    for i in range(LANES):
        lane = np.uintp(i)
        mean, best = shapes[drawn + lane], shapes[highest + lane]
        better = mean > best
        shapes[highest + lane] = either(better, mean, best)
        z[lane] = np.int32(either(better, np.int32(proposal), z[lane]))
