"""LinTS and LinUCB: a line for each proposal of each context, kept up to date at O(d^2) an outcome.

With B the precision of an arm's coefficients in units of the noise, m their mean, an outcome e at features v, and

    w = B^-1 v,   q = v'w,   off = e - v'm,

the arm's B^-1 becomes B^-1 - w w' / (1 + q), its mean m + w off / (1 + q), and what is left of the squares, ν s²,
grows by off² / (1 + q), which cannot cancel (Sherman & Morrison 1950). Nothing is factored again: what rounding does to
B^-1 shrinks with it. After 10,000 outcomes it is within 1e-7 of what `takeup.inference.linear` makes of the same sums,
even where two covariates are the same, as long as the ridge is at least `LEAST_RIDGE`; below that there is no kernel.

The real numbers of a replication lie one after the other, room to work in first, then the arms. Of B^-1 there is the
upper triangle, row by row, and v'B^-1 v is its product with that of v v', which all arms share. `linear_lanes` does the
same in 32 replications side by side, to the bit.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from takeup.covariates import Profile
from takeup.evidence import Evidence
from takeup.outcomes import Levels
from takeup.policies.linear import FREEDOM, MIDDLE, LinTS, LinUCB, around_middle, line, pilot_of, sums_here
from takeup.simulation.kernels.gammas import normal_pair
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined
from takeup.simulation.kernels.streams import POLICY, below, words
from takeup.simulation.kernels.students import student
from takeup.simulation.kernels.tables import Observation, State
from takeup.simulation.kernels.units import Unit
from takeup.space import Space

REAL = np.float64
OUTCOMES = ("level", "number", "count")
COVARIATES = True
LANES_OF_UNITS = "takeup.simulation.kernels.linear_lanes"

OPTIMISTIC = False
"""Whether it proposes the highest bound, as LinUCB, and not the highest draw."""

KNOWN = False
"""Whether the noise is known."""

LEAST_RIDGE = 1e-3
"""The least ridge with which rounding does not matter."""

TIE = 1e-10
"""Bounds that are not farther apart tie: the same outcomes in another order round otherwise."""


class Parameters(NamedTuple):
    """The numbers of LinTS or LinUCB.

    Attributes:
        features: d.
        alpha: how optimistic LinUCB is.
        noise: the standard deviation of the noise, where it is known.
        gain: what each outcome is worth, rescaled, MIDDLE taken off.
        arms: every arm before the first decision, (X Kz, width of an arm).
    """

    features: Number
    alpha: Number
    noise: Number
    gain: Array
    arms: Array


def applies(policy: LinTS | LinUCB, space: Space) -> bool:
    """Where rounding does not matter."""
    return policy.ridge >= LEAST_RIDGE


def parameters(policy: LinTS | LinUCB, space: Space) -> Parameters:
    """Its numbers, with what a pilot makes of the arms."""
    assert space.covariates is not None
    outcome, d = space.outcome, space.covariates.size
    gain = outcome.gains()
    if not isinstance(outcome, Levels):
        offset, unit = outcome.gain_line or (0.0, 1.0)
        gain = np.asarray(offset + unit * outcome.score(np.arange(outcome.size)), dtype=np.float64)
    noise = 1.0 if isinstance(policy, LinUCB) else policy.noise
    pilot = None if isinstance(policy, LinUCB) else pilot_of(policy.pilot, space)
    arms = [_arms(policy.ridge, noise, space, x, pilot) for x in range(len(space.contexts))]
    return Parameters(
        d,
        float(policy.alpha) if isinstance(policy, LinUCB) else 0.0,
        float(noise or 0.0),
        np.ascontiguousarray(gain - MIDDLE, dtype=np.float64),
        np.concatenate(arms),
    )


def _arms(ridge: float, noise: float | None, space: Space, x: int, pilot: Any) -> NDArray[np.float64]:
    """The arms of a context after a pilot: B^-1, m, n and ν s² of each, one after the other."""
    assert space.covariates is not None
    sums = around_middle(sums_here(Evidence.empty(space), Profile(x, ()), "proposal", pilot))
    after = line(ridge, noise, sums.cross.shape).plus(sums)
    row, column = np.triu_indices(space.covariates.size)
    inverse = np.linalg.inv(after.precision)[:, row, column]
    left = after.square if noise is not None else after.square * after.freedom
    parts = [inverse, after.mean, sums.count, left]
    return np.concatenate([np.reshape(each, (len(space.proposals), -1)) for each in parts], axis=-1)


def switches(policy: LinTS | LinUCB, space: Space) -> dict[str, bool]:
    """Which of the two it is, and whether it learns the noise."""
    optimistic = isinstance(policy, LinUCB)
    return {"OPTIMISTIC": optimistic, "KNOWN": isinstance(policy, LinUCB) or policy.noise is not None}


def size(policy: LinTS | LinUCB, space: Space) -> tuple[int, int]:
    """Room to work in, and the arms."""
    assert space.covariates is not None
    d, proposals = space.covariates.size, len(space.proposals)
    return 0, first_arm(d, proposals) + len(space.contexts) * proposals * width(d)


@inlined
def width(d: Number) -> Number:
    """How many real numbers an arm has: B^-1, m, n and ν s²."""
    return d * (d + 1) // 2 + d + 2


@inlined
def first_arm(d: Number, proposals: Number) -> Number:
    """Where the arms begin: behind w, the products v_i v_j, and what each proposal is worth."""
    return d + d * (d + 1) // 2 + proposals


def begin(state: State, shape: Number, parameters: Parameters) -> None:
    """What a pilot says of each arm, or nothing."""
    d, real = parameters.features, state.real
    for which in range(shape[0] * shape[1]):
        for i in range(width(d)):
            real[first_arm(d, shape[1]) + which * width(d) + i] = parameters.arms[which, i]


@inlined
def times_inverse(real: Array, arm: Number, v: Array, d: Number) -> Number:
    """W = B^-1 v, into the room for it, and v'w; every entry is a sum from the first feature to the last."""
    for i in range(d):
        real[np.uintp(i)] = 0.0
    m, square = np.uintp(arm), 0.0
    for i in range(d):
        own = v[np.uintp(i)]
        total = real[np.uintp(i)] + real[m] * own
        m += np.uintp(1)
        for j in range(i + 1, d):
            total += real[m] * v[np.uintp(j)]
            real[np.uintp(j)] += real[m] * own
            m += np.uintp(1)
        real[np.uintp(i)] = total
        square += total * own
    return max(square, 0.0)


@inlined
def multiply(real: Array, v: Array, d: Number) -> None:
    """The products v_i v_j of the upper triangle, into the room for them, those beside the diagonal twice."""
    m = np.uintp(d)
    for i in range(d):
        own = v[np.uintp(i)]
        real[m] = own * own
        m += np.uintp(1)
        for j in range(i + 1, d):
            real[m] = 2.0 * own * v[np.uintp(j)]
            m += np.uintp(1)


@inlined
def width_at(real: Array, arm: Number, d: Number) -> Number:
    """The square v'B^-1 v of a line's width at the features whose products are in the room."""
    total, m, n = 0.0, np.uintp(arm), np.uintp(d)
    for _ in range(d * (d + 1) // 2):
        total += real[m] * real[n]
        m += np.uintp(1)
        n += np.uintp(1)
    return max(total, 0.0)


@inlined
def centre(real: Array, arm: Number, v: Array, d: Number) -> Number:
    """The height m'v of a line."""
    at, total = arm + d * (d + 1) // 2, 0.0
    for i in range(d):
        total += real[np.uintp(at + i)] * v[np.uintp(i)]
    return total


@inlined
def away(square: Number, count: Number, left: Number, words: Number, parameters: Parameters) -> Number:
    """How far from its line what an arm is worth is taken to be, where v'B^-1 v is `square`; by two words."""
    if OPTIMISTIC:
        return parameters.alpha * math.sqrt(square)
    if KNOWN:
        return parameters.noise * math.sqrt(square) * np.float64(normal_pair(words[0], words[1])[0])
    t = student(np.float32(2.0 / (FREEDOM + count)), words[0], words[1])
    return math.sqrt(square * left) * np.float64(t)


@inlined
def propose(state: State, x: Unit, shape: Number, parameters: Parameters, moment: Number, chance: Number) -> Number:
    """The proposal whose line is highest at the unit's features, in a draw or at its bound."""
    real, d, proposals, v = state.real, parameters.features, shape[1], x.room
    best, top = 0, -math.inf
    multiply(real, v, d)
    block = words(moment, POLICY, 0)
    for z in range(proposals):
        if z > 0 and z & 1 == 0:
            block = words(moment, POLICY + np.uint32(z >> 1), 0)
        two = (block[2], block[3]) if z & 1 else (block[0], block[1])
        arm = first_arm(d, proposals) + (x.x * proposals + z) * width(d)
        count, left = real[np.uintp(arm + width(d) - 2)], real[np.uintp(arm + width(d) - 1)]
        value = centre(real, arm, v, d) + away(width_at(real, arm, d), count, left, two, parameters)
        real[np.uintp(first_arm(d, proposals) - proposals + z)] = value
        if value > top:
            best, top = z, value
    if OPTIMISTIC:
        return one_of_the_highest(real, first_arm(d, proposals) - proposals, 1, proposals, top, chance)
    return best


@inlined
def one_of_the_highest(real: Array, at: Number, step: Number, proposals: Number, top: Number, chance: Number) -> Number:
    """Any of those that tie, each as likely."""
    least, many = top - TIE * (1.0 + abs(top)), 0
    for z in range(proposals):
        many += 1 if real[np.uintp(at + z * step)] >= least else 0
    which = below(chance, many)[0]
    for z in range(proposals):
        if real[np.uintp(at + z * step)] >= least:
            if which == 0:
                return z
            which -= 1
    return 0


@inlined
def learn(state: State, event: Observation, shape: Number, parameters: Parameters, moment: Number) -> None:
    """A decision, of which it needs the outcome."""
    reveal(state, event, shape, parameters, moment)


@inlined
def reveal(state: State, event: Observation, shape: Number, parameters: Parameters, moment: Number) -> None:
    """One more outcome of an arm."""
    if event.y == UNSEEN:
        return
    real, d, v = state.real, parameters.features, event.x.room
    arm = first_arm(d, shape[1]) + (event.x.x * shape[1] + event.z) * width(d)
    off = parameters.gain[event.y] - centre(real, arm, v, d)
    share = 1.0 / (1.0 + times_inverse(real, arm, v, d))
    m = np.uintp(arm)
    for i in range(d):
        factor = share * real[np.uintp(i)]
        for j in range(i, d):
            real[m] -= factor * real[np.uintp(j)]
            m += np.uintp(1)
    for i in range(d):
        real[m] += share * real[np.uintp(i)] * off
        m += np.uintp(1)
    real[m] += 1.0
    real[m + np.uintp(1)] += share * off * off
