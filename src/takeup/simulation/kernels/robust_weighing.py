"""TS-Robust: how probable the models of an action are, from completed counts.

With h_z that stop at a stick and m_z beyond it, the weights of S follow from the first by a ratio,

    w_S+1 / w_S = odds_S Π_z (α + S + h_z) / (β + κ - S - 1 + m_z),
    odds_S = (κ - S) / (S + 1) ((β + κ - S - 1) / (α + S))^(Kz - 1),

and the first is Π_z B(α + h_z, β + κ + m_z), but for a factor that the data do not change.
"""

import math

import numpy as np

from takeup.simulation.kernels.log_gammas import log_gamma
from takeup.simulation.kernels.machine import Array, Number, inlined, times_double
from takeup.simulation.kernels.robust_tables import SUMS, above, room, stick_size
from takeup.simulation.kernels.tables import State

GREAT = 1e200
"""Weights above it are made smaller, all of them."""

LITTLE = 1e-50
"""Products of chances below it become logarithms, whatever the sharpness."""

LOST = 1e-200
"""And so do those whose power is below it. A probability of 0 is then one that chances since could not have raised to
1e-120, and `pick_model` judges anew what is below 1e-100."""


def little(sharpness: Number) -> Number:
    """Products of chances below it become logarithms: after almost every outcome where the sharpness is great."""
    return max(LITTLE, LOST ** (1.0 / sharpness))


@inlined
def contradiction(state: State, x: Number, shape: Number, parameters: Number) -> Number:
    """By how much sharing contradicts the values: see `takeup.inference.pooling.contradiction`."""
    real, weight = state.real, parameters.weight
    proposals, actions, levels = shape[1], shape[2], shape[3]
    at = room(shape)
    for a in range(actions):  # what each is worth where all is shared, under the first proposal
        total, worth = 0.0, 0.0
        for y in range(levels):
            n = parameters.alpha[(x * actions + a) * levels + y]
            for z in range(proposals):
                n += real[at.table + (z * actions + a) * levels + y]
            total += n
            worth += times_double(n, weight[y])
        real[at.means + a] = worth / total
    top, best = -1.0, -1.0
    own_top, square_top, total_top = 0.0, 0.0, 1.0
    square_best, total_best = 0.0, 1.0
    for z in range(proposals):
        whole, shared, total, worth, square = 0.0, 0.0, 0.0, 0.0, 0.0
        for a in range(actions):
            taken = parameters.beta[(x * proposals + z) * actions + a] + real[at.made + z * actions + a]
            whole += taken
            shared += times_double(taken, real[at.means + a])
        for y in range(levels):
            n = parameters.mean_alpha[x * levels + y]
            for a in range(actions):
                n += real[at.table + (z * actions + a) * levels + y]
            total += n
            worth += times_double(n, weight[y])
            square += times_double(times_double(n, weight[y]), weight[y])
        shared, own = shared / whole, worth / total
        if shared > top:
            top, own_top, square_top, total_top = shared, own, square, total
        if own > best:
            best, square_best, total_best = own, square, total
    gap = best - own_top
    if gap == 0.0:  # both are the same proposal, as mostly
        return 0.0
    error = squared_error(own_top, square_top, total_top) + squared_error(best, square_best, total_best)
    return times_double(gap, gap) / (2.0 * max(error, 1e-300))


@inlined
def squared_error(mean: Number, square: Number, total: Number) -> Number:
    """That of a mean utility, by a total of outcomes whose squared utilities have this sum."""
    return (square / total - times_double(mean, mean)) / (total + 1.0)


@inlined
def judge(real: Array, block: Number, less: Number, parameters: Number) -> None:
    """The probability of each model: prior times evidence to the power of the sharpness, normalised.

    Models that share are discounted: `less` is taken off their logarithm.
    """
    models = parameters.strength.size
    top = -1e300
    for m in range(models):
        score = parameters.log_prior[m] + times_double(parameters.sharpness, real[block + m])
        if parameters.strength[m] != 0:
            score -= less
        real[block + models + m] = score
        top = max(top, score)
    total = 0.0
    for m in range(models):
        weight = math.exp(real[block + models + m] - top)
        real[block + models + m] = weight
        total += weight
    for m in range(models):
        real[block + models + m] /= total


@inlined
def follow(real: Array, block: Number, m: Number, chance: Number, parameters: Number) -> None:
    """Model m foresaw with this chance what has been seen: its evidence, and its probability but for a factor."""
    models = parameters.strength.size
    real[block + 2 * models + m] = times_double(real[block + 2 * models + m], chance)
    if parameters.sharpness == 3.0:
        power = times_double(times_double(chance, chance), chance)
    else:
        power = math.exp(times_double(parameters.sharpness, math.log(chance)))
    real[block + models + m] = times_double(real[block + models + m], power)


@inlined
def followed(real: Array, block: Number, parameters: Number) -> None:
    """When all models were told: their probabilities, normalised. Now and then by logarithms, so that none is lost.

    Otherwise no power is below LOST, and neither is their sum but for a factor, as the greatest probability was not.
    """
    models = parameters.strength.size
    least, total = 1.0, 0.0
    for m in range(models):
        least = min(least, real[block + 2 * models + m])
        total += real[block + models + m]
    if least < parameters.little:
        keep_logs(real, block, parameters)
        judge(real, block, 0.0, parameters)
    else:
        scale = 1.0 / total
        for m in range(models):
            real[block + models + m] = times_double(real[block + models + m], scale)


@inlined
def keep_logs(real: Array, block: Number, parameters: Number) -> None:
    """The evidence of all models is in its logarithms."""
    models = parameters.strength.size
    for m in range(models):
        real[block + m] += math.log(real[block + 2 * models + m])
        real[block + 2 * models + m] = 1.0


@inlined
def weigh(state: State, x: Number, a: Number, shape: Number, parameters: Number) -> None:
    """Every model's log evidence and weights of S, into the room's block."""
    real = state.real
    block = room(shape).block
    for m in range(parameters.strength.size):
        strength = parameters.strength[m]
        log = parameters.before[(x * shape[2] + a) * parameters.strength.size + m]
        for j in range(shape[3] - 1):
            if strength < 0:
                log += together(state, x, a, j, shape, parameters)
            else:
                start = block + parameters.offset[m] + j * stick_size(strength) + SUMS
                log += sample_sizes(state, x, a, j, m, start, shape, parameters)
        real[block + m] = log
        real[block + 2 * parameters.strength.size + m] = 1.0


@inlined
def together(state: State, x: Number, a: Number, j: Number, shape: Number, parameters: Number) -> Number:
    """The log evidence of a stick where all is shared, but for what does not depend on data."""
    real = state.real
    table = room(shape).table
    place = (x * shape[2] + a) * (shape[3] - 1) + j
    first, others = parameters.first[place], parameters.others[place]
    for z in range(shape[1]):
        start = table + (z * shape[2] + a) * shape[3]
        first += real[start + j]
        others += above(state, start, j, shape[3])
    return log_beta(first, others)


@inlined
def sample_sizes(
    state: State, x: Number, a: Number, j: Number, m: Number, start: Number, shape: Number, parameters: Number
) -> Number:
    """The log evidence of a stick in a model of strength κ, but for what does not depend on data.

    The weights of S go into the rows from `start` on, and before them their sum. They are worked out one after the
    other, and nothing is written twice.
    """
    real, strength = state.real, parameters.strength[m]
    odds = (x * shape[2] + a) * parameters.width + parameters.offset[m] + j * stick_size(strength) + SUMS
    log, weight, total = 0.0, 1.0, 1.0
    for z in range(0, shape[1], 2):
        log += first_of(pair_of(state, x, z, a, j, strength, shape, parameters))
    real[start] = 1.0
    for s in range(1, strength + 1):
        ratio = parameters.odds[odds + s]
        for z in range(0, shape[1], 2):
            ratio = times_double(ratio, rise(s, pair_of(state, x, z, a, j, strength, shape, parameters)))
        weight = times_double(weight, ratio)
        real[start + s] = weight
        total += weight
        if weight > GREAT:
            weight, total, log = made_smaller(real, start, s, total, log)
    real[start - SUMS] = total
    return log + math.log(total)


@inlined
def sample_sizes_in_vectors(
    state: State, x: Number, a: Number, j: Number, m: Number, start: Number, shape: Number, parameters: Number
) -> Number:
    """The same to the bit: the ratios of all weights at once, and then their products."""
    real, strength = state.real, parameters.strength[m]
    odds = (x * shape[2] + a) * parameters.width + parameters.offset[m] + j * stick_size(strength) + SUMS
    log, row, prior = 0.0, np.uintp(start), np.uintp(odds)
    for s in range(strength + 1):
        real[row + np.uintp(s)] = parameters.odds[prior + np.uintp(s)]
    for z in range(0, shape[1], 2):
        pair = pair_of(state, x, z, a, j, strength, shape, parameters)
        log += first_of(pair)
        for s in range(1, strength + 1):
            real[row + np.uintp(s)] = times_double(real[row + np.uintp(s)], rise(s, pair))
    weight, total = 1.0, 1.0
    for s in range(1, strength + 1):
        weight = times_double(weight, real[row + np.uintp(s)])
        real[row + np.uintp(s)] = weight
        total += weight
        if weight > GREAT:
            weight, total, log = made_smaller(real, start, s, total, log)
    real[start - SUMS] = total
    return log + math.log(total)


@inlined
def pair_of(
    state: State, x: Number, z: Number, a: Number, j: Number, strength: Number, shape: Number, parameters: Number
) -> Number:
    """Of two proposals at a stick: α + h and β + κ + m of both.

    An odd last one has none beside it: the number between the two pairs is then 0, and the last are 1.
    """
    real, actions, levels = state.real, shape[2], shape[3]
    place = (x * actions + a) * (levels - 1) + j
    first, others = parameters.first[place], parameters.others[place] + strength
    cell = room(shape).table + (z * actions + a) * levels
    stop, rest = first + real[cell + j], others + above(state, cell, j, levels)
    there, other_stop, other_rest = 0.0, 1.0, 1.0
    if z + 1 < shape[1]:
        cell += actions * levels
        there = 1.0
        other_stop, other_rest = first + real[cell + j], others + above(state, cell, j, levels)
    return stop, rest, there, other_stop, other_rest


@inlined
def first_of(pair: Number) -> Number:
    """The logarithm of what two proposals make the first weight."""
    stop, rest, there, other_stop, other_rest = pair
    return log_beta(stop, rest) + (log_beta(other_stop, other_rest) if there > 0.0 else 0.0)


@inlined
def rise(s: Number, pair: Number) -> Number:
    """What the outcomes of two proposals multiply the weight of S = s by, beside that of s - 1."""
    stop, rest, there, other_stop, other_rest = pair
    before, after = np.float64(s - 1), np.float64(s)
    gained = times_double(stop + before, other_stop + times_double(there, before))
    return gained / times_double(rest - after, other_rest - times_double(there, after))


@inlined
def made_smaller(real: Array, start: Number, last: Number, total: Number, log: Number) -> Number:
    """All weights up to the last divided by what is too great; the last, their sum, and the logarithm of the factor."""
    for each in range(last + 1):
        real[start + each] /= GREAT
    return real[start + last], total / GREAT, log + math.log(GREAT)


@inlined
def log_beta(first: Number, others: Number) -> Number:
    """The logarithm of the beta function."""
    return log_gamma(first) + log_gamma(others) - log_gamma(first + others)
