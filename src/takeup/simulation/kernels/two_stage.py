"""Two-stage least squares: μ = Π^-1 v, and exploration by a schedule.

Counts of a context: how often each proposal was made, how often its outcome was seen, and n[z, j], how often the action
that proposal j intends followed proposal z. Reals: the sum of utilities by context and proposal, and room for matrices.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from takeup.policies.instrument import SINGULAR, TwoStage
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined
from takeup.simulation.kernels.matrices import smallest_singular, solve
from takeup.simulation.kernels.streams import POLICY, uniform, words
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

REAL = np.float64
OUTCOMES = ("level", "number")

DECAY, FIXED, ADAPTIVE = range(3)


class Parameters(NamedTuple):
    """What the policy is told.

    Attributes:
        schedule: when to explore.
        rate: a.
        gamma: γ.
        psi: ψ.
        wide: how many standard errors the smallest singular value must be above zero.
        utility: the reward of each outcome.
        column: the proposal that intends each action.
    """

    schedule: Number
    rate: Number
    gamma: Number
    psi: Number
    wide: Number
    utility: Array
    column: Array


def parameters(policy: TwoStage, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    psi = float(np.ptp(space.reward)) ** 2 / 8 if policy.psi is None else float(policy.psi)
    wide = 0.0 if policy.confidence is None else float(ndtri(0.5 + policy.confidence / 2))
    schedule = {"decay": DECAY, "fixed": FIXED, "adaptive": ADAPTIVE}[policy.schedule]
    column = np.argsort(space.complying(policy.name))
    return Parameters(schedule, float(policy.rate), float(policy.gamma), psi, wide, space.reward, column)


def size(policy: TwoStage, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    contexts, proposals, _, _ = space.shape
    return contexts * proposals * (2 + proposals), contexts * proposals + 3 * proposals * proposals + 3 * proposals


@inlined
def table(shape: Number, x: Number) -> Number:
    """The first count of a context: made, then came, then the responses."""
    return x * shape[1] * (2 + shape[1])


def begin(state: State, shape: Number, parameters: Number) -> None:
    """Nothing seen."""
    counts, real, column = state
    for row in range(table(shape, shape[0])):
        counts[row, column] = 0
    for row in range(shape[0] * shape[1]):
        real[row, column] = 0.0


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """The proposal of the best action, or one that is due for exploration."""
    counts, real, column = state
    arms, made = shape[1], table(shape, x)
    room = shape[0] * arms
    mean = room + 3 * arms * arms
    known, smallest = estimate(state, x, shape, parameters)
    time, rarest = 1.0, np.int64(counts[made, column])
    for z in range(arms):
        time += counts[made + z, column]
        rarest = min(rarest, np.int64(counts[made + z, column]))
    first, second, _, _ = words(moment, POLICY, 0)
    explores = not known
    if known and parameters.schedule == DECAY:
        explores = uniform(first) < arms / (parameters.rate * time)
    elif known:
        rate = parameters.rate
        if parameters.schedule == ADAPTIVE:
            rate = adapted(state, mean, arms, smallest, parameters)
        explores = rarest * rate < math.log(time)
    if explores and parameters.schedule == DECAY:
        return min(arms - 1, np.int64(uniform(second) * arms))
    found, highest, ties = 0, -math.inf, 0
    for z in range(arms):
        score = -np.float64(counts[made + z, column]) if explores else real[mean + z, column]
        if score > highest:
            found, highest, ties = z, score, 1
        elif score == highest:
            ties += 1
            if uniform(words(moment, np.uint32(POLICY + np.uint32(1 + z)), 0)[0]) * ties < 1.0:
                found = z
    return found


def adapted(state: State, mean: Number, arms: Number, smallest: Number, parameters: Number) -> Number:
    """The estimated a."""
    real, column = state.real, state.column
    highest = -math.inf
    for z in range(arms):
        highest = max(highest, real[mean + z, column])
    gap = math.inf
    for z in range(arms):
        if real[mean + z, column] < highest:
            gap = min(gap, highest - real[mean + z, column])
    if gap == math.inf:
        return 0.0
    wide = 8.0 * arms * (gap + math.sqrt(2.0 * parameters.psi))
    return parameters.gamma * smallest * smallest * gap * gap / wide


def estimate(state: State, x: Number, shape: Number, parameters: Number) -> Number:
    """Leave the means of the intended actions in the state; whether they may be used, and the smallest singular value.

    Room: the matrix Π, Π'Π and its eigenvectors, then the means and u and v of the smallest singular value.
    """
    counts, real, column = state
    arms, made = shape[1], table(shape, x)
    came, done = made + arms, made + 2 * arms
    matrix = shape[0] * arms
    mean = matrix + 3 * arms * arms
    left, right = mean + arms, mean + 2 * arms
    for z in range(arms):
        seen = 0
        for j in range(arms):
            seen += counts[done + z * arms + j, column]
        if seen == 0 or counts[came + z, column] == 0:
            return False, 0.0
        for j in range(arms):
            real[matrix + z * arms + j, column] = np.float64(counts[done + z * arms + j, column]) / seen
        real[mean + z, column] = real[x * arms + z, column] / np.float64(counts[came + z, column])
    smallest = smallest_singular(state, matrix, left, right, arms)
    if smallest <= SINGULAR:
        return False, smallest
    if parameters.wide > 0.0:
        error = standard_error(state, done, left, right, arms)
        if smallest - parameters.wide * error <= 0.0:
            return False, smallest
    solve(state, matrix, mean, arms)
    return True, smallest


def standard_error(state: State, done: Number, left: Number, right: Number, arms: Number) -> Number:
    """That of the smallest singular value, as in `takeup.policies.instrument.singular_error`."""
    counts, real, column = state
    total = 0.0
    for z in range(arms):
        seen = 0
        for j in range(arms):
            seen += counts[done + z * arms + j, column]
        first, second = 0.0, 0.0
        for j in range(arms):
            p = (counts[done + z * arms + j, column] + 1.0) / (seen + arms)
            v = real[right + j, column]
            first += p * v
            second += p * v * v
        u = real[left + z, column]
        total += u * u * max(second - first * first, 0.0) / seen
    return math.sqrt(total)


def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """One more of a proposal and of its response, where that is seen: what nothing is known of does not count."""
    counts, column = state.counts, state.column
    x, z, a = event.x, event.z, event.a
    arms, made = shape[1], table(shape, x)
    if a != UNSEEN:
        counts[made + z, column] += 1
        counts[made + 2 * arms + z * arms + parameters.column[a], column] += 1
    reveal(state, event, shape, parameters, moment)


def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """One more outcome of a proposal, which counts from now on if its response was not seen."""
    counts, real, column = state
    x, z, y = event.x, event.z, event.y
    if y != UNSEEN:
        if event.a == UNSEEN:
            counts[table(shape, x) + z, column] += 1
        counts[table(shape, x) + shape[1] + z, column] += 1
        real[x * shape[1] + z, column] += parameters.utility[y]
