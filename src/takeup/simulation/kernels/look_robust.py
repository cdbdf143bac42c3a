"""TS-Robust at a look: how probable each model of sharing is, from the counts at once, and draws within the models.

`takeup.inference.pooling` has the models. With two outcomes a model of strength κ has κ + 1 values of S, so that models
and S together are one list of possibilities for each action. Each has a probability, and adds (S, κ - S) unseen people
to the outcomes of every proposal; where all is shared, the outcomes of all proposals count for each. Along the list the
weights of S follow from the first by a ratio,

    w_S+1 / w_S = (κ - S) / (S + 1) * (α + S) / (β + κ - S - 1) * Π_z (α + S + h_z) / (α + S)
                                                                 * (β + κ - S - 1) / (β + κ - S - 1 + m_z),

with h_z of the better and m_z of the other outcome. Pair a K + z of gammas is that of the outcomes of those who were
told z and did a.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.gammas import ONE, ZERO, scale
from takeup.simulation.kernels.lane_streams import ROW_1, ROW_2, draw_words, open_at
from takeup.simulation.kernels.look_cells import outcomes_of
from takeup.simulation.kernels.look_observed import (
    STEP,
    clear_means,
    draw_next,
    outcome_shapes,
    pairs_of,
    put_taken,
    taken_shape,
    weigh_values,
)
from takeup.simulation.kernels.look_tables import LookInput, LookMemory
from takeup.simulation.kernels.machine import LANES, Array, Number, either
from takeup.simulation.kernels.observed import MEANS, mean
from takeup.simulation.kernels.rows import padded
from takeup.simulation.kernels.streams import POLICY, uniform

_MODELS = np.uint32(1 << 24)
"""Where the slots for models begin among those of the policy; gammas have those before."""


BEYOND = 2.0
"""More than any probability: what stands behind the last possibility."""


class Models(NamedTuple):
    """What TS-Robust believes before any data.

    Attributes:
        outcome: (better, other) of each action, (Ka, 2).
        compliance: β[z, a], (K, Ka).
        draws: how many.
        strength: κ of each model, below zero for the one in which all is shared.
        start: where the possibilities of each model begin, and at last where they end.
        log_prior: of each model.
        sharpness: the power of the evidence.
        caution: how much models that share are discounted where they contradict the values.
        unseen: S and κ - S of each possibility, and whether all is shared, (possibilities, 3).
    """

    outcome: Array
    compliance: Array
    draws: Number
    strength: Array
    start: Array
    log_prior: Array
    sharpness: Number
    caution: Number
    unseen: Array


class ModelsMemory(NamedTuple):
    """Where models are weighed.

    Attributes:
        upto: the probability of each possibility of each action and all before it, (Ka, a power of two that is as many
            or more).
        score: of each model, (models,).
        picked: what `unseen` says of the possibility of each action in each of 32 draws, (Ka, 3 x 32).
    """

    upto: Array
    score: Array
    picked: Array


def prepare(given: LookInput, memory: LookMemory) -> None:
    """The probabilities of all possibilities, and the shapes of what is done with each proposal."""
    proposals, actions = memory.known.shape[0], memory.known.shape[1] // 2
    clear_means(memory)
    less = given.policy.caution * contradiction(given, memory)
    for a in range(actions):
        weigh_models(a, less, given, memory)
    put_taken(2 * actions * proposals, 2 * pairs_of(memory), given, memory)


def contradiction(given: LookInput, memory: LookMemory) -> Number:
    """By how much sharing contradicts the values: see `takeup.inference.pooling.contradiction`."""
    proposals, actions = memory.known.shape[0], memory.known.shape[1] // 2
    top, best, own_top, error_top, error_best = -1.0, -1.0, 0.0, 0.0, 0.0
    for z in range(proposals):
        whole, shared, one, other = 0.0, 0.0, 0.0, 0.0
        for a in range(actions):
            better, worse = outcomes_of(z, a, given, memory)
            one += given.policy.outcome[a, 0] / actions + better
            other += given.policy.outcome[a, 1] / actions + worse
            taken = taken_shape(z, a, given, memory)
            yes, no = outcome_shapes(a, given, memory)
            whole += taken
            shared += taken * yes / (yes + no)
        shared, own = shared / whole, one / (one + other)
        error = own * (1.0 - own) / (one + other + 1.0)
        if shared > top:
            top, own_top, error_top = shared, own, error
        if own > best:
            best, error_best = own, error
    return (best - own_top) ** 2 / (2.0 * max(error_top + error_best, 1e-300))


def weigh_models(a: Number, less: Number, given: LookInput, memory: LookMemory) -> None:
    """The probabilities of the possibilities of an action, summed up along the list; those that share have less."""
    policy, work = given.policy, memory.policy.model
    models, top, total, upto = policy.strength.size, -math.inf, 0.0, 0.0
    for m in range(models):
        work.score[m] = policy.log_prior[m] + policy.sharpness * weigh_model(m, a, given, memory)
        if policy.strength[m] != 0:
            work.score[m] -= less
        top = max(top, work.score[m])
    for m in range(models):
        work.score[m] = math.exp(work.score[m] - top)
        total += work.score[m]
    for m in range(models):
        for each in range(policy.start[m], policy.start[m + 1]):
            upto += work.upto[a, each] * work.score[m] / total
            work.upto[a, each] = upto
    for each in range(policy.start[models], work.upto.shape[1]):
        work.upto[a, each] = BEYOND


def weigh_model(m: Number, a: Number, given: LookInput, memory: LookMemory) -> Number:
    """The log evidence of a model; the probabilities of its possibilities are laid out."""
    policy, weight = given.policy, memory.policy.model.upto
    alpha, beta, strength, start = policy.outcome[a, 0], policy.outcome[a, 1], policy.strength[m], policy.start[m]
    whole = alpha + beta
    if strength < 0:
        one, other = outcome_shapes(a, given, memory)
        weight[a, start] = 1.0
        return rise(alpha, one - alpha) + rise(beta, other - beta) - rise(whole, one + other - whole)
    log = math.lgamma(whole) - math.lgamma(beta) + math.lgamma(beta + strength) - math.lgamma(whole + strength)
    for z in range(memory.known.shape[0]):
        h, m_z = outcomes_of(z, a, given, memory)
        log += rise(alpha, h) + rise(beta + strength, m_z) - rise(whole + strength, h + m_z)
    weight[a, start], top = log, log
    for s in range(strength):
        weight[a, start + s + 1] = weight[a, start + s] + math.log(ratio(s, strength, a, given, memory))
        top = max(top, weight[a, start + s + 1])
    total = 0.0
    for s in range(strength + 1):
        weight[a, start + s] = math.exp(weight[a, start + s] - top)
        total += weight[a, start + s]
    for s in range(strength + 1):
        weight[a, start + s] /= total
    return top + math.log(total)


def rise(shape: Number, count: Number) -> Number:
    """The logarithm of Γ(shape + count) / Γ(shape)."""
    return math.lgamma(shape + count) - math.lgamma(shape)


def ratio(s: Number, strength: Number, a: Number, given: LookInput, memory: LookMemory) -> Number:
    """w_S+1 / w_S at S = s."""
    stop, rest = given.policy.outcome[a, 0] + s, given.policy.outcome[a, 1] + strength - s - 1.0
    found = (strength - s) / (s + 1.0) * stop / rest
    for z in range(memory.known.shape[0]):
        h, m = outcomes_of(z, a, given, memory)
        found *= (stop + h) / stop * (rest / (rest + m))
    return found


def draw_values(first: Number, keys: Number, given: LookInput, memory: LookMemory) -> None:
    """What each proposal is worth in 32 draws, of which the first has this number."""
    lanes, actions, proposals = memory.policy.lanes, memory.known.shape[1] // 2, memory.known.shape[0]
    moment, wide = (keys, np.uint32(first), STEP), padded(actions)
    open_at(lanes.words, keys, np.uint32(first))
    for a in range(actions):
        draw_words(lanes.words, keys, STEP, POLICY + _MODELS + np.uint32(a))
        pick_all(a, lanes.words, given, memory)
        put_outcomes(a, given, memory)
    for a in range(actions):
        for z in range(proposals):
            pair, means = a * proposals + z, lanes.work[MEANS + 2 * z * wide * LANES :]
            draw_next(lanes, pair, pairs_of(memory), moment)
            mean(lanes.gammas, pair & 1, means, a, wide, ONE, ZERO)
        share(a, wide, memory)
    weigh_values(actions * proposals, 2 * wide, moment, memory)


def pick_all(a: Number, word: Array, given: LookInput, memory: LookMemory) -> None:
    """What the possibility that is picked for an action adds, in each of 32 draws; by halving, without branches."""
    upto, unseen, picked = memory.policy.model.upto[a], given.policy.unseen, memory.policy.model.picked[a]
    whole, half = upto[unseen.shape[0] - 1], upto.size // 2
    for i in range(LANES):
        mark, first, step = uniform(word[i]) * whole, 0, half
        while step > 0:
            first = either(upto[first + step - 1] <= mark, first + step, first)
            step //= 2
        for part in range(3):
            picked[part * LANES + i] = unseen[first, part]


def put_outcomes(a: Number, given: LookInput, memory: LookMemory) -> None:
    """The shapes of the outcomes of an action under each proposal, in the possibilities that were picked."""
    shapes, proposals, scales = memory.policy.lanes.shapes, memory.known.shape[0], 2 * pairs_of(memory) * LANES
    one, other = outcome_shapes(a, given, memory)
    together = (np.float32(one - 0.3333333333333333), np.float32(other - 0.3333333333333333))
    alpha, beta = given.policy.outcome[a, 0], given.policy.outcome[a, 1]
    for z in range(proposals):
        h, m = outcomes_of(z, a, given, memory)
        apart = (np.float32(alpha + h - 0.3333333333333333), np.float32(beta + m - 0.3333333333333333))
        at = 2 * (a * proposals + z) * LANES
        put_picked(memory.policy.model.picked[a], together, apart, shapes[at:], shapes[scales + at :])


def put_picked(picked: Array, together: Number, apart: Number, d: Array, c: Array) -> None:
    """D and c of a pair of gammas: those of all proposals together where all is shared, else with the unseen added."""
    for i in range(LANES):
        lane = np.uintp(i)
        shared = picked[lane + ROW_2] > ZERO
        d_1 = either(shared, together[0], apart[0] + picked[lane])
        d_2 = either(shared, together[1], apart[1] + picked[lane + ROW_1])
        d[lane] = d_1
        d[lane + ROW_1] = d_2
        c[lane] = scale(d_1)
        c[lane + ROW_1] = scale(d_2)


def share(a: Number, wide: Number, memory: LookMemory) -> None:
    """Where all is shared, an action has the same mean under all proposals: that under the first."""
    work = memory.policy.lanes.work
    for z in range(1, memory.known.shape[0]):
        for row in (a, wide + a):
            own = MEANS + row * LANES
            take_first(memory.policy.model.picked[a], work[own:], work[own + 2 * z * wide * LANES :])


def take_first(picked: Array, first: Array, mine: Array) -> None:
    """The first proposal's number instead of mine, in the draws in which all is shared."""
    for i in range(LANES):
        lane = np.uintp(i)
        mine[lane] = either(picked[lane + ROW_2] > ZERO, first[lane], mine[lane])
