"""TS-Robust: for each implemented action a model of how far proposals share its outcomes, and a draw within it.

The state follows `takeup.inference.pooling`, kept up to date instead of computed anew: an outcome y of (z, a) passes
the sticks 0 .. y, and at each one every model's weights of S are multiplied by the chance of what happened,

    w_S *= (α_j + S + n[z, j]) or (α_>j + κ - S + n[z, >j]),      log evidence += log(Σ_S w_S / (all four + κ)).

Whole numbers of a context: n[z, a, y], then n[z, a]. Reals of a context and action: the log evidence of each model, its
probability, and then the weights of S, normalised, model by model and stick by stick. Behind all of them, where a
proposal is worked out: the mean utility of each (z, a) and the rest of each z's sticks. Real numbers are of float64.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.inference import pooling
from takeup.outcomes import Levels
from takeup.policies import TSRobust
from takeup.simulation.kernels.gammas import ZERO, gamma_pair, scale
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined, times_double
from takeup.simulation.kernels.streams import ATTEMPT, POLICY, uniform, words
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

REAL = np.float64

_MODELS = np.uint32(1 << 24)
"""Where the slots for models and for S begin among those of the policy; gammas have those before."""


class Parameters(NamedTuple):
    """What a policy is told.

    Attributes:
        start: the reals of every context and action before any data.
        first: α_j of each stick, (X Ka (Y - 1)).
        others: α_>j of each stick, likewise.
        alpha: α[x, a, y], flat.
        beta: β[x, z, a], flat.
        weight: the utilities rescaled to [0, 1].
        strength: κ of each model, below zero for the one in which all is shared.
        offset: where the weights of S of a model begin among the reals of an action.
        log_prior: of each model.
        sharpness: the power of the evidence.
        width: how many reals an action of a context takes.
    """

    start: Array
    first: Array
    others: Array
    alpha: Array
    beta: Array
    weight: Array
    strength: Array
    offset: Array
    log_prior: Array
    sharpness: Number
    width: Number


def _widths(policy: TSRobust, levels: int) -> list[int]:
    """The reals of an action: two a model, then the weights of S of each model, of which the shared one has none."""
    return [2 * len(policy.models), *((levels - 1) * (strength + 1) for strength in policy.models)]


def parameters(policy: TSRobust, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    prior = policy.prior(space)
    assert prior.compliance is not None
    contexts, proposals, actions, levels = space.shape
    widths = _widths(policy, levels)
    none = np.zeros((contexts, proposals, actions, levels), dtype=np.int64)
    samples = [pooling.weigh(prior.outcome, none, model)[1] for model in policy.models if model != pooling.SHARED]
    evidence = np.zeros((contexts, actions, len(policy.models)))
    rows = [evidence, evidence + np.exp(policy.log_prior), *(each.reshape(contexts, actions, -1) for each in samples)]
    first, others = pooling.sticks(prior.outcome)
    utility = space.reward
    return Parameters(
        np.concatenate(rows, axis=2).ravel(),
        first.ravel(),
        others.ravel(),
        np.ascontiguousarray(prior.outcome).ravel(),
        np.ascontiguousarray(prior.compliance).ravel(),
        (utility - utility.min()) / (utility.max() - utility.min()),
        np.array(policy.models, dtype=np.int32),
        np.cumsum(widths[:-1]).astype(np.int32),
        policy.log_prior,
        float(policy.sharpness),
        sum(widths),
    )


def applies(policy: TSRobust, space: Space) -> bool:
    """Where outcomes have levels, all gammas are of shapes of at least one, and no pilot counts by halves."""
    if policy.pilot is not None or not isinstance(space.outcome, Levels):
        return False
    prior = policy.prior(space)
    assert prior.compliance is not None
    return bool(min(prior.outcome.min(), prior.compliance.min()) >= 1)


def size(policy: TSRobust, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    contexts, proposals, actions, levels = space.shape
    reals = contexts * actions * sum(_widths(policy, levels))
    return contexts * proposals * actions * (levels + 1), reals + proposals * (actions + 1)


def begin(state: State, shape: Number, parameters: Number) -> None:
    """Nothing seen yet."""
    counts, real, column = state
    for row in range(shape[0] * shape[1] * shape[2] * (shape[3] + 1)):
        counts[row, column] = 0
    for row in range(parameters.start.size):
        real[row, column] = parameters.start[row]


@inlined
def cell(x: Number, z: Number, a: Number, shape: Number) -> Number:
    """Where n[x, z, a, 0] is among the counts; n[x, z, a] is `levels` cells behind the context's outcomes."""
    return x * shape[1] * shape[2] * (shape[3] + 1) + (z * shape[2] + a) * shape[3]


@inlined
def complied(x: Number, z: Number, a: Number, shape: Number) -> Number:
    """Where n[x, z, a] is among the counts."""
    pairs = shape[1] * shape[2]
    return x * pairs * (shape[3] + 1) + pairs * shape[3] + z * shape[2] + a


@inlined
def beyond(state: State, start: Number, j: Number, levels: Number) -> Number:
    """How many outcomes of the cells from `start` on are of a level above j."""
    counts, column = state.counts, state.column
    total = np.int64(0)
    for level in range(j + 1, levels):
        total += counts[start + level, column]
    return np.float64(total)


def judge(state: State, block: Number, parameters: Number) -> None:
    """The probability of each model: prior times evidence to the power of the sharpness, normalised."""
    real, column = state.real, state.column
    models = parameters.strength.size
    top = -1e300
    for m in range(models):
        score = parameters.log_prior[m] + times_double(parameters.sharpness, real[block + m, column])
        real[block + models + m, column] = score
        top = max(top, score)
    total = 0.0
    for m in range(models):
        weight = math.exp(real[block + models + m, column] - top)
        real[block + models + m, column] = weight
        total += weight
    for m in range(models):
        real[block + models + m, column] /= total


def pick(state: State, start: Number, last: Number, chance: Number) -> Number:
    """A number from 0 to `last`, from probabilities that lie in the reals from `start` on."""
    real, column = state.real, state.column
    left = chance
    for i in range(last):
        left -= real[start + i, column]
        if left < 0.0:
            return i
    return last


def stick(first: Number, others: Number, moment: Number, pair: Number) -> Number:
    """A Beta(first, others) draw; float64."""
    radius, angle, _, _ = words(moment, POLICY + np.uint32(pair), ATTEMPT)
    d_1, d_2 = np.float32(first - 0.3333333333333333), np.float32(others - 0.3333333333333333)
    g_1, g_2 = gamma_pair((d_1, d_2), (scale(d_1), scale(d_2)), (radius, angle), moment, pair)
    stop, rest = np.float64(g_1), np.float64(g_2)
    return stop / (stop + rest)


def outcomes(state: State, x: Number, a: Number, shape: Number, parameters: Number, moment: Number) -> None:
    """Draw the mean utility of action a under every proposal, into the reals behind the state."""
    counts, real, column = state
    proposals, actions, levels = shape[1], shape[2], shape[3]
    means = parameters.start.size
    rests = means + proposals * actions
    block = (x * actions + a) * parameters.width
    slot = POLICY + _MODELS + np.uint32(a * levels)
    models = parameters.strength.size
    model = pick(state, block + models, models - 1, uniform(words(moment, slot, ATTEMPT)[0]))
    strength = parameters.strength[model]
    for z in range(proposals):
        real[means + z * actions + a, column] = 0.0
        real[rests + z, column] = 1.0
    for j in range(levels - 1):
        place = (x * actions + a) * (levels - 1) + j
        first, others = parameters.first[place], parameters.others[place]
        if strength > 0:
            start = block + parameters.offset[model] + j * (strength + 1)
            chance = uniform(words(moment, slot + np.uint32(j + 1), ATTEMPT)[0])
            stopped = pick(state, start, strength, chance)
            first += np.float64(stopped)
            others += np.float64(strength - stopped)
        drawn = 0.0
        if strength < 0:
            for z in range(proposals):
                start = cell(x, z, a, shape)
                first += np.float64(counts[start + j, column])
                others += beyond(state, start, j, levels)
            drawn = stick(first, others, moment, (a * levels + j) * proposals)
        for z in range(proposals):
            if strength >= 0:
                start = cell(x, z, a, shape)
                stop = first + np.float64(counts[start + j, column])
                rest = others + beyond(state, start, j, levels)
                drawn = stick(stop, rest, moment, (a * levels + j) * proposals + z)
            left = real[rests + z, column]
            real[means + z * actions + a, column] += times_double(times_double(left, drawn), parameters.weight[j])
            real[rests + z, column] = times_double(left, 1.0 - drawn)
    for z in range(proposals):
        last = times_double(real[rests + z, column], parameters.weight[levels - 1])
        real[means + z * actions + a, column] += last


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """argmax_z of Σ_a π[z, a] m[z, a], where m[z, a] = Σ_y μ[z, a, y] w_y, in a draw of models, μ and π."""
    counts, real, column = state
    proposals, actions, levels = shape[1], shape[2], shape[3]
    for a in range(actions):
        outcomes(state, x, a, shape, parameters, moment)
    means = parameters.start.size
    pair = actions * levels * proposals
    best, highest = 0, -1.0
    for z in range(proposals):
        gain, whole = 0.0, 0.0
        for a in range(0, actions, 2):
            both = a + 1 < actions
            shapes = (x * proposals + z) * actions + a
            d_1 = np.float32(parameters.beta[shapes] + counts[complied(x, z, a, shape), column] - 0.3333333333333333)
            d_2, c_2 = ZERO, ZERO
            if both:
                more = np.float64(counts[complied(x, z, a + 1, shape), column])
                d_2 = np.float32(parameters.beta[shapes + 1] + more - 0.3333333333333333)
                c_2 = scale(d_2)
            radius, angle, _, _ = words(moment, POLICY + np.uint32(pair), ATTEMPT)
            g_1, g_2 = gamma_pair((d_1, d_2), (scale(d_1), c_2), (radius, angle), moment, pair)
            pair += 1
            whole += np.float64(g_1) + np.float64(g_2)
            gain += times_double(np.float64(g_1), real[means + z * actions + a, column])
            if both:
                gain += times_double(np.float64(g_2), real[means + z * actions + a + 1, column])
        value = gain / whole
        if value > highest:
            best, highest = z, value
    return best


def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """One more response to z where a is seen, and one more outcome of (z, a) where both are."""
    counts, column = state.counts, state.column
    x, z, a = event.x, event.z, event.a
    if a != UNSEEN:
        counts[complied(x, z, a, shape), column] += 1
        reveal(state, event, shape, parameters, moment)


def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """One more outcome of (z, a), where a and y are seen: every model is told."""
    counts, real, column = state
    x, z, a, y = event
    if a == UNSEEN or y == UNSEEN:
        return
    block = (x * shape[2] + a) * parameters.width
    for m in range(parameters.strength.size):
        strength = parameters.strength[m]
        if strength < 0:
            real[block + m, column] += math.log(foreseen(state, x, a, y, shape, parameters))
        else:
            start = block + parameters.offset[m]
            for j in range(min(y + 1, shape[3] - 1)):
                chance = passed(state, event, j, start, strength, shape, parameters)
                real[block + m, column] += math.log(chance)
                start += strength + 1
    counts[cell(x, z, a, shape) + y, column] += 1
    judge(state, block, parameters)


def foreseen(state: State, x: Number, a: Number, y: Number, shape: Number, parameters: Number) -> Number:
    """The chance of outcome y of action a where all proposals share it: (α_y + n[a, y]) / Σ_y (α_y + n[a, y])."""
    counts, column = state.counts, state.column
    first = (x * shape[2] + a) * shape[3]
    this, whole = 0.0, 0.0
    for level in range(shape[3]):
        total = parameters.alpha[first + level]
        for z in range(shape[1]):
            total += np.float64(counts[cell(x, z, a, shape) + level, column])
        whole += total
        if level == y:
            this = total
    return this / whole


def passed(
    state: State, event: Observation, j: Number, start: Number, strength: Number, shape: Number, parameters: Number
) -> Number:
    """The chance of what happened at stick j under a model, whose weights of S learn of it."""
    counts, real, column = state
    x, z, a, y = event
    place = (x * shape[2] + a) * (shape[3] - 1) + j
    own = cell(x, z, a, shape)
    stop = parameters.first[place] + np.float64(counts[own + j, column])
    rest = parameters.others[place] + beyond(state, own, j, shape[3])
    total = 0.0
    for s in range(strength + 1):
        factor = stop + np.float64(s) if j == y else rest + np.float64(strength - s)
        weight = times_double(real[start + s, column], factor)
        real[start + s, column] = weight
        total += weight
    share = 1.0 / total
    for s in range(strength + 1):
        real[start + s, column] = times_double(real[start + s, column], share)
    return total / (stop + rest + np.float64(strength))
