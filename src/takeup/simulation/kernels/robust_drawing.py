"""TS-Robust: a draw of models, outcomes and compliance, given completed counts and the blocks of models."""

import numpy as np

from takeup.simulation.kernels.gammas import ZERO, gamma_pair, scale
from takeup.simulation.kernels.machine import Number, times_double
from takeup.simulation.kernels.robust_tables import MODELS, above, pairs_of, room
from takeup.simulation.kernels.robust_weighing import contradiction, judge, weigh
from takeup.simulation.kernels.streams import ATTEMPT, POLICY, uniform, words
from takeup.simulation.kernels.tables import State


def hypothesis(
    state: State, x: Number, filled: Number, shape: Number, parameters: Number, moment: Number, turn: Number
) -> None:
    """A draw of models, μ and π given the completed counts; `filled` says that actions were filled in."""
    real, column = state.real, state.column
    proposals, actions, levels = shape[1], shape[2], shape[3]
    at = room(shape, parameters)
    less = 0.0
    if parameters.caution > 0.0:
        less = times_double(parameters.caution, contradiction(state, x, shape, parameters))
    for a in range(actions):
        block = (x * actions + a) * parameters.width
        if filled:
            block = at.block
            weigh(state, x, a, shape, parameters)
        judge(state, block, less, parameters)
        outcomes(state, x, a, block, shape, parameters, moment, turn)
    pair = turn * pairs_of(shape) + actions * levels * proposals
    for z in range(proposals):
        whole = 0.0
        for a in range(0, actions, 2):
            both = a + 1 < actions
            shapes, made = (x * proposals + z) * actions + a, z * actions + a
            d_1 = np.float32(parameters.beta[shapes] + real[at.made + made, column] - 0.3333333333333333)
            d_2, c_2 = ZERO, ZERO
            if both:
                more = real[at.made + made + 1, column]
                d_2 = np.float32(parameters.beta[shapes + 1] + more - 0.3333333333333333)
                c_2 = scale(d_2)
            radius, angle, _, _ = words(moment, POLICY + np.uint32(pair), ATTEMPT)
            g_1, g_2 = gamma_pair((d_1, d_2), (scale(d_1), c_2), (radius, angle), moment, pair)
            pair += 1
            whole += np.float64(g_1) + np.float64(g_2)
            real[at.follow + made, column] = np.float64(g_1)
            if both:
                real[at.follow + made + 1, column] = np.float64(g_2)
        for a in range(z * actions, (z + 1) * actions):
            real[at.follow + a, column] /= whole


def outcomes(
    state: State, x: Number, a: Number, block: Number, shape: Number, parameters: Number, moment: Number, turn: Number
) -> None:
    """Draw the outcomes of action a under every proposal, from completed counts and a block of models."""
    real, column = state.real, state.column
    proposals, actions, levels = shape[1], shape[2], shape[3]
    at = room(shape, parameters)
    slot = POLICY + MODELS + np.uint32((turn * actions + a) * levels)
    pair = turn * pairs_of(shape) + a * levels * proposals
    models = parameters.strength.size
    model = pick(state, block + models, models - 1, uniform(words(moment, slot, ATTEMPT)[0]))
    strength = parameters.strength[model]
    for z in range(proposals):
        real[at.means + z * actions + a, column] = 0.0
        real[at.rests + z, column] = 1.0
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
                start = at.table + (z * actions + a) * levels
                first += real[start + j, column]
                others += above(state, start, j, levels)
            drawn = stick(first, others, moment, pair + j * proposals)
        for z in range(proposals):
            start = at.table + (z * actions + a) * levels
            if strength >= 0:
                stop = first + real[start + j, column]
                rest = others + above(state, start, j, levels)
                drawn = stick(stop, rest, moment, pair + j * proposals + z)
            left = real[at.rests + z, column]
            chance = times_double(left, drawn)
            real[at.law + (z * actions + a) * levels + j, column] = chance
            real[at.means + z * actions + a, column] += times_double(chance, parameters.weight[j])
            real[at.rests + z, column] = times_double(left, 1.0 - drawn)
    for z in range(proposals):
        left = real[at.rests + z, column]
        real[at.law + (z * actions + a) * levels + levels - 1, column] = left
        real[at.means + z * actions + a, column] += times_double(left, parameters.weight[levels - 1])


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


def best(state: State, shape: Number, parameters: Number) -> Number:
    """The proposal that is worth the most in the hypothesis."""
    real, column = state.real, state.column
    at = room(shape, parameters)
    found, highest = 0, -1.0
    for z in range(shape[1]):
        value = 0.0
        for a in range(z * shape[2], (z + 1) * shape[2]):
            value += times_double(real[at.follow + a, column], real[at.means + a, column])
        if value > highest:
            found, highest = z, value
    return found
