"""Borrowing around TS, TS-Check and TS-Obs: rows that contexts share as far as a model says, and a draw within it.

The state follows `takeup.inference.borrowing`, kept up to date as in `robust`. There is a family of rows of outcomes,
and around TS-Obs one of responses, laid out alike. Whole numbers of a family: n[x, r, y], then n[r, y] of all contexts
together. Its reals: the log evidence of each model, its probability, and then the weights of S, normalised, row by row,
model by model and stick by stick. Behind all of them is what an outcome of each row is worth, where a proposal is
worked out. Real numbers are of float64.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.checks import FloatArray
from takeup.inference import pooling
from takeup.outcomes import Levels
from takeup.policies import Borrowing, TSCheck, TSObs, TSRobust
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined, times_double
from takeup.simulation.kernels.robust_drawing import pick, stick
from takeup.simulation.kernels.robust_weighing import judge
from takeup.simulation.kernels.streams import ATTEMPT, POLICY, uniform, words
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

REAL = np.float64

BY_PROPOSAL, BY_THOSE_WHO_COMPLIED, BY_ACTION = 0, 1, 2
"""Whose outcomes a row holds."""

_MODELS = np.uint32(1 << 24)
"""Where the slots for models and for S begin among those of the policy; gammas have those before."""


class Parameters(NamedTuple):
    """What a policy is told; where there are two numbers they are of outcomes and of responses.

    Attributes:
        start: the reals before any data.
        alpha: the prior of a row, flat, of both families.
        rows: how many rows a family has.
        levels: how many levels a row has.
        counts: where the whole numbers begin.
        reals: where the reals begin.
        alphas: where the prior begins.
        weight: the utilities rescaled to [0, 1].
        strength: κ of each model, below zero for the one in which all is shared.
        log_prior: of each model.
        sharpness: one: nothing but the evidence weighs models.
        intended: the action that each proposal intends, where those alone count who complied.
        credit: whose outcomes a row holds.
    """

    start: Array
    alpha: Array
    rows: Array
    levels: Array
    counts: Array
    reals: Array
    alphas: Array
    weight: Array
    strength: Array
    log_prior: Array
    sharpness: Number
    intended: Array
    credit: Number


def _priors(policy: Borrowing, space: Space) -> list[FloatArray]:
    """The prior of each row of each family, in any context."""
    prior = policy.base.prior(space)
    return [prior.outcome[0], *([] if prior.compliance is None else [prior.compliance[0]])]


def parameters(policy: Borrowing, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    priors, contexts = _priors(policy, space), len(space.contexts)
    reals = []
    for prior in priors:
        none = np.zeros((1, contexts, *prior.shape), dtype=np.int64)
        samples = [pooling.weigh(prior[np.newaxis], none, m)[1][0] for m in policy.models if m != pooling.SHARED]
        weights = [each.reshape(len(prior), -1) for each in samples] or [np.zeros((len(prior), 0))]
        models = np.zeros(len(policy.models))
        reals.append(np.concatenate([models, np.exp(policy.log_prior), np.concatenate(weights, axis=1).ravel()]))
    credit = BY_ACTION if isinstance(policy.base, TSObs) else BY_PROPOSAL
    intended = np.zeros(len(space.proposals), dtype=np.int32)
    if isinstance(policy.base, TSCheck):
        credit, intended = BY_THOSE_WHO_COMPLIED, np.array(space.complying(policy.name), dtype=np.int32)
    utility = space.reward
    return Parameters(
        start=np.concatenate(reals),
        alpha=np.concatenate([prior.ravel() for prior in priors]),
        rows=np.array([len(prior) for prior in priors], dtype=np.int32),
        levels=np.array([prior.shape[1] for prior in priors], dtype=np.int32),
        counts=_begins([(contexts + 1) * prior.size for prior in priors]),
        reals=_begins([len(each) for each in reals]),
        alphas=_begins([prior.size for prior in priors]),
        weight=(utility - utility.min()) / (utility.max() - utility.min()),
        strength=np.array(policy.models, dtype=np.int32),
        log_prior=policy.log_prior,
        sharpness=1.0,
        intended=intended,
        credit=credit,
    )


def _begins(sizes: list[int]) -> Array:
    """Where each of several parts begins, one behind the other."""
    return np.cumsum([0, *sizes[:-1]]).astype(np.int32)


def applies(policy: Borrowing, space: Space) -> bool:
    """Not around TS-Robust; where outcomes have levels, all gammas are of shapes of at least one, and no pilot is."""
    if isinstance(policy.base, TSRobust) or policy.pilot is not None or not isinstance(space.outcome, Levels):
        return False
    return bool(min(prior.min() for prior in _priors(policy, space)) >= 1)


def size(policy: Borrowing, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    priors = _priors(policy, space)
    counts = (len(space.contexts) + 1) * sum(prior.size for prior in priors)
    return counts, parameters(policy, space).start.size + len(priors[0])


def begin(state: State, shape: Number, parameters: Number) -> None:
    """Nothing seen yet."""
    counts, real, column = state
    for row in range((shape[0] + 1) * parameters.alpha.size):
        counts[row, column] = 0
    for row in range(parameters.start.size):
        real[row, column] = parameters.start[row]


@inlined
def cell(x: Number, row: Number, family: Number, parameters: Number) -> Number:
    """Where n[x, r, 0] of a family is; that of all contexts together is behind the last of them."""
    return parameters.counts[family] + (x * parameters.rows[family] + row) * parameters.levels[family]


def weights(row: Number, family: Number, parameters: Number) -> Number:
    """Where the weights of S of a row begin."""
    width = 0
    for m in range(parameters.strength.size):
        width += parameters.strength[m] + 1  # nothing where all is shared
    before = 2 * parameters.strength.size
    return parameters.reals[family] + before + row * width * (parameters.levels[family] - 1)


def among(values: Array, start: Number, j: Number, levels: Number) -> tuple[Number, Number]:
    """Of a row of the prior: what falls on level j, and what falls beyond it."""
    rest = 0.0
    for level in range(j + 1, levels):
        rest += values[start + level]
    return values[start + j], rest


def counted(state: State, start: Number, j: Number, levels: Number) -> tuple[Number, Number]:
    """The same of a row of counts."""
    counts, column = state.counts, state.column
    rest = np.int64(0)
    for level in range(j + 1, levels):
        rest += counts[start + level, column]
    return np.float64(counts[start + j, column]), np.float64(rest)


def hear(state: State, x: Number, row: Number, y: Number, family: Number, shape: Number, parameters: Number) -> None:
    """One more of level y in a row of a context: every model is told."""
    counts, real, column = state
    levels, block = parameters.levels[family], parameters.reals[family]
    own, all_of = cell(x, row, family, parameters), cell(shape[0], row, family, parameters)
    prior = parameters.alphas[family] + row * levels
    start = weights(row, family, parameters)
    for m in range(parameters.strength.size):
        strength = parameters.strength[m]
        for j in range(min(y + 1, levels - 1)):
            stop, rest = among(parameters.alpha, prior, j, levels)
            if strength < 0:
                hits, misses = counted(state, all_of, j, levels)
                this = stop + hits if j == y else rest + misses
                real[block + m, column] += math.log(this / (stop + rest + hits + misses))
            else:
                hits, misses = counted(state, own, j, levels)
                place = start + j * (strength + 1)
                total = 0.0
                for s in range(strength + 1):
                    factor = stop + hits + np.float64(s) if j == y else rest + misses + np.float64(strength - s)
                    weight = times_double(real[place + s, column], factor)
                    real[place + s, column] = weight
                    total += weight
                share = 1.0 / total
                for s in range(strength + 1):
                    real[place + s, column] = times_double(real[place + s, column], share)
                real[block + m, column] += math.log(total / (stop + rest + hits + misses + np.float64(strength)))
        start += (strength + 1) * (levels - 1)
    counts[own + y, column] += 1
    counts[all_of + y, column] += 1
    judge(real[:, column], block, 0.0, parameters)


def drawn(
    state: State, x: Number, row: Number, j: Number, family: Number, model: Number, place: Number, given: Number
) -> Number:
    """A draw of stick j of a row in a context; `given` is the shape, the parameters and the moment."""
    shape, parameters, moment = given
    levels, strength = parameters.levels[family], parameters.strength[model]
    stop, rest = among(parameters.alpha, parameters.alphas[family] + row * levels, j, levels)
    if strength > 0:
        start = weights(row, family, parameters)
        for m in range(model):
            start += (parameters.strength[m] + 1) * (levels - 1)
        chance = uniform(words(moment, POLICY + _MODELS + np.uint32(2 + place), ATTEMPT)[0])
        stopped = pick(state.real[:, state.column], start + j * (strength + 1), strength, chance)
        stop += np.float64(stopped)
        rest += np.float64(strength - stopped)
    hits, misses = counted(state, cell(shape[0] if strength < 0 else x, row, family, parameters), j, levels)
    return stick(stop + hits, rest + misses, moment, place)


def model_of(state: State, family: Number, parameters: Number, moment: Number) -> Number:
    """A draw of κ for a family."""
    models = parameters.strength.size
    chance = uniform(words(moment, POLICY + _MODELS + np.uint32(family), ATTEMPT)[0])
    return pick(state.real[:, state.column], parameters.reals[family] + models, models - 1, chance)


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """argmax_z of what an outcome of row z is worth, or of Σ_a π[z, a] m[a], in a draw of everything."""
    real, column = state.real, state.column
    given, means, place = (shape, parameters, moment), parameters.start.size, 0
    model = model_of(state, 0, parameters, moment)
    levels = parameters.levels[0]
    for row in range(parameters.rows[0]):
        worth, left = 0.0, 1.0
        for j in range(levels - 1):
            one = drawn(state, x, row, j, 0, model, place, given)
            worth += times_double(times_double(left, one), parameters.weight[j])
            left = times_double(left, 1.0 - one)
            place += 1
        real[means + row, column] = worth + times_double(left, parameters.weight[levels - 1])
    best, highest = 0, -1.0
    if parameters.credit == BY_ACTION:
        model = model_of(state, 1, parameters, moment)
    for z in range(shape[1]):
        value = 0.0
        if parameters.credit == BY_ACTION:
            left = 1.0
            for a in range(shape[2] - 1):
                one = drawn(state, x, z, a, 1, model, place, given)
                value += times_double(times_double(left, one), real[means + a, column])
                left = times_double(left, 1.0 - one)
                place += 1
            value += times_double(left, real[means + shape[2] - 1, column])
        else:
            value = real[means + z, column]
        if value > highest:
            best, highest = z, value
    return best


def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """One more response to z where that is learnt and seen, and one more outcome where it is seen."""
    if parameters.credit == BY_ACTION and event.a != UNSEEN:
        hear(state, event.x, event.z, event.a, 1, shape, parameters)
    reveal(state, event, shape, parameters, moment)


def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """One more outcome of the row that it belongs to."""
    x, z, a, y = event
    if y == UNSEEN:
        return
    if parameters.credit == BY_ACTION:
        if a != UNSEEN:
            hear(state, x, a, y, 0, shape, parameters)
    elif parameters.credit == BY_PROPOSAL or a == parameters.intended[z]:
        hear(state, x, z, y, 0, shape, parameters)
