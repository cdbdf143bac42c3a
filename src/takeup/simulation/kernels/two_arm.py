"""TS and TS-Check with two proposals and two outcomes: no beta draw at all, but P(θ_0 > θ_1) kept up to date.

With n[z, j] the parameters of θ_z ~ Beta(n[z, 0], n[z, 1]), j = 0 being the good outcome, p = P(θ_0 > θ_1) and
h = B(n_00 + n_10, n_01 + n_11) / (B(n_00, n_01) B(n_10, n_11)),

    n[z, j] += 1   makes   p += ±h / n[z, j]   and   h *= (n[z, j] + n[1 - z, j]) (n[z, 0] + n[z, 1]) / (N n[z, j]),

with + where z = j and N the sum of all four. Proposing 0 with probability p is what Thompson sampling does. The chance
word has 32 bits, so that p is rounded to 2^-32. Rows of a context: n_00, n_01, n_10, n_11, p, h; all float64.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln

from takeup.checks import FloatArray
from takeup.conjugates.quadrature import largest_beta
from takeup.policies import TS
from takeup.simulation.kernels import host
from takeup.simulation.kernels.lanes import LaneDraws, Lanes
from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, either, inlined, times_double
from takeup.simulation.kernels.streams import uniform
from takeup.simulation.kernels.tables import KernelInput, KernelMemory, Observation, State
from takeup.space import Space

REAL = np.float64
RECURRENCE = True

SLOTS = 6
"""The rows of one table: four parameters, p and h."""

LEAST_SHAPE = 0.1
"""Below this the recurrence has no start: quadrature does not reach there."""

_N_01, _N_10, _N_11, _P, _H = (np.uintp(row * LANES) for row in range(1, 6))
_CHANCE, _REPORT = np.uintp(3 * LANES), np.uintp(2 * LANES)


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
    p = [largest_beta(pair)[0] for pair in flat]
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


def applies(policy: TS, space: Space) -> bool:
    """With two proposals and two outcomes, where the recurrence has a start."""
    _, proposals, _, levels = space.shape
    if (proposals, levels) != (2, 2) or policy.prior(space).outcome.min() < LEAST_SHAPE:
        return False
    return can_return(parameters(policy, space).start)


def can_return(start: FloatArray) -> bool:
    """Whether h is far from numbers that are not normal, from which the recurrence could not find its way back."""
    return bool(start.reshape(-1, SLOTS)[:, 5].min() > 1e-200)


def size(policy: TS, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    return 0, space.shape[0] * SLOTS


@inlined
def step_of(near: Number, row: Number, column: Number, total: Number, h: Number) -> Number:
    """The change of p, without its sign, and the new h, when the parameter `near` grows by one.

    `row`, `column` and `total` are the sums of its row, of its column and of all four parameters.
    """
    part = h / (near * total)  # one division for both
    return times_double(part, total), part * (column * row)


@inlined
def advance(state: State, base: Number, z: Number, j: Number) -> None:
    """One more in n[z, j] of the table at `base`."""
    real, column = state.real, state.column
    near, first = base + 2 * z + j, base + 2 * z
    column_0 = real[base, column] + real[base + 2, column]
    column_1 = real[base + 1, column] + real[base + 3, column]
    row = real[first, column] + real[first + 1, column]
    change, h = step_of(
        real[near, column], row, column_1 if j else column_0, column_0 + column_1, real[base + 5, column]
    )
    real[base + 4, column] += change if z == j else -change
    real[base + 5, column] = h
    real[near, column] += 1.0


def begin(state: State, shape: Number, parameters: Number) -> None:
    """The prior."""
    real, column = state.real, state.column
    for slot in range(parameters.start.size):
        real[slot, column] = parameters.start[slot]


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """Proposal 0 with probability p."""
    real, column = state.real, state.column
    return 0 if uniform(chance) < real[x * SLOTS + 4, column] else 1


@inlined
def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """One more outcome of z, where y is seen and, for TS-Check, a is what was intended."""
    x, z, a, y = event
    if y != UNSEEN and (parameters.intended[z] == UNSEEN or parameters.intended[z] == a):
        advance(state, x * SLOTS, z, 0 if y == parameters.good else 1)


@inlined
def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """An outcome that comes later counts like one that comes at once."""
    learn(state, event, shape, parameters, moment)


def in_lanes(shape: tuple[int, int, int, int], parameters: Any) -> bool:
    """Whether `propose_lanes` and `learn_lanes` can stand in: in one context."""
    return shape[0] == 1


@inlined
def propose_lanes(lanes: Lanes, draws: LaneDraws, shape: Number, parameters: Number, moment: Number) -> None:
    """`propose` for 32 replications side by side; `draws.shapes` are the rows of the recurrence."""
    for i in range(LANES):
        lane = np.uintp(i)
        lanes.z[lane] = np.int32(0 if uniform(lanes.patients[lane + _CHANCE]) < draws.shapes[lane + _P] else 1)


@inlined
def _advance(table: Array, here: Number, second: Number, bad: Number, known: Number) -> None:
    """`two_arm.advance` of a lane's table where something is known; selections instead of branches."""
    n_00, n_01, n_10, n_11 = table[here], table[here + _N_01], table[here + _N_10], table[here + _N_11]
    p, h = table[here + _P], table[here + _H]
    near_0, near_1 = either(second, n_10, n_00), either(second, n_11, n_01)
    column_0, column_1 = n_00 + n_10, n_01 + n_11
    change, new_h = step_of(
        either(bad, near_1, near_0), near_0 + near_1, either(bad, column_1, column_0), column_0 + column_1, h
    )
    one = either(known, 1.0, 0.0)
    m_0, m_1 = either(bad, 0.0, one), either(bad, one, 0.0)
    m_10, m_11 = either(second, m_0, 0.0), either(second, m_1, 0.0)
    m_00, m_01 = m_0 - m_10, m_1 - m_11
    table[here + _P] = p + change * (m_00 - m_01 - m_10 + m_11)
    table[here + _H] = either(known, new_h, h)
    table[here] = n_00 + m_00
    table[here + _N_01] = n_01 + m_01
    table[here + _N_10] = n_10 + m_10
    table[here + _N_11] = n_11 + m_11


def advance_all(table: Array, base: Number, row: Array, column: Array) -> None:
    """One more in n[row, column] of each lane's table at `base`."""
    for i in range(LANES):
        lane = np.uintp(i)
        _advance(table, base + lane, row[lane] != 0, column[lane] != 0, True)


def advance_seen(table: Array, base: Number, row: Array, column: Array, seen: Array) -> None:
    """`advance_all` in the lanes where something was seen."""
    for i in range(LANES):
        lane = np.uintp(i)
        _advance(table, base + lane, row[lane] != 0, column[lane] != 0, seen[lane] != 0)


@inlined
def learn_lanes(lanes: Lanes, memory: KernelMemory, table: Array, given: KernelInput, moment: Number) -> None:
    """What each lane saw, and then all recurrences at once."""
    intended = given.parameters.intended[0]
    apart, good = given.parameters.intended[1] - intended, np.int32(given.parameters.good)
    z, answer = lanes.z, lanes.answer
    bad, seen, _ = lanes.room
    for i in range(LANES):
        lane = np.uintp(i)
        bad[lane] = np.int32((answer[lane] & np.int32(1)) ^ good)
    if intended == UNSEEN:
        advance_all(table, np.uintp(0), z, bad)
    else:
        for i in range(LANES):
            lane = np.uintp(i)
            complied = np.int32(intended + z[lane] * apart == answer[lane] >> 1)
            reported = np.uint64(lanes.patients[lane + _REPORT]) < given.visibility.threshold
            seen[lane] = complied & np.int32(reported)
        advance_seen(table, np.uintp(0), z, bad, seen)
