"""Dirichlet draws in float64: rows of gammas by Marsaglia & Tsang (2000), two from a Philox block.

The squeeze is that of `gammas`. Rows with a parameter below one are drawn on the log scale, with the boost
log G(s) = log G(s + 1) + log(U) / s, so that none underflows as a whole.
"""

import math

import numpy as np

from takeup.simulation.kernels.gammas import normal_pair
from takeup.simulation.kernels.machine import Number, inlined
from takeup.simulation.kernels.streams import POLICY, uniform, words
from takeup.simulation.kernels.tables import State


def log_gamma_draw(shape: Number, moment: Number, slot: Number) -> Number:
    """The logarithm of a Gamma(shape) draw, by Marsaglia & Tsang (2000) with the boost below one, in float64.

    Gamma(1), of which cold starts under a uniform prior draw many, is an exponential.
    """
    if shape == 1.0:
        return math.log(-math.log(uniform(words(moment, np.uint32(POLICY + np.uint32(slot)), 0)[0])))
    boosted = shape + 1.0 if shape < 1.0 else shape
    d = boosted - 0.3333333333333333
    c = 1.0 / math.sqrt(9.0 * d)
    attempt, log_v = 0, 0.0
    while True:
        block = words(moment, np.uint32(POLICY + np.uint32(slot)), attempt)
        t = c * np.float64(normal_pair(block[0], block[1])[0])
        if t > -1.0:
            log_v = math.log1p(t)
            if math.log(uniform(block[2])) < 3.0 * d * (log_v - t + t * t * (0.5 - t / 3.0)):
                break
        attempt += 1
    log_gamma = math.log(d) + 3.0 * log_v
    if shape < 1.0:
        log_gamma += math.log(uniform(block[3])) / shape
    return log_gamma


@inlined
def gamma_draw(shape: Number, normal: Number, word: Number, moment: Number, slot: Number) -> Number:
    """A Gamma(shape) draw, shape >= 1, from a normal and a word; from later attempts of the slot if these fail."""
    d = shape - 0.3333333333333333
    t = np.float64(normal) / math.sqrt(9.0 * d)
    u = uniform(word)
    if u * (1.0 - abs(t)) <= 0.75 * d * t * t * t * t:
        t = settled_draw(d, t, u, moment, slot)
    v = 1.0 + t
    return d * v * v * v


def settled_draw(d: Number, t: Number, u: Number, moment: Number, slot: Number) -> Number:
    """T where the squeeze did not accept: the exact test with 1 - u, then new draws."""
    attempt = 0
    while not (t > -1.0 and math.log1p(-u) < 3.0 * d * (math.log1p(t) - t + t * t * (0.5 - t / 3.0))):
        attempt += 1
        block = words(moment, np.uint32(POLICY + np.uint32(slot)), attempt)
        t = np.float64(normal_pair(block[0], block[1])[0]) / math.sqrt(9.0 * d)
        u = uniform(block[2])
    return t


def dirichlet_row(state: State, source: Number, target: Number, width: Number, moment: Number, slot: Number) -> None:
    """A draw from the Dirichlet distribution whose parameters begin at one row, into the rows from another one on."""
    real, column = state.real, state.column
    least = math.inf
    for j in range(width):
        least = min(least, real[source + j, column])
    total = 0.0
    if least >= 1.0:
        for j in range(0, width, 2):
            block = words(moment, np.uint32(POLICY + np.uint32(slot + j)), 0)
            one, two = normal_pair(block[0], block[1])
            gamma = gamma_draw(real[source + j, column], one, block[2], moment, slot + j)
            real[target + j, column] = gamma
            total += gamma
            if j + 1 < width:
                gamma = gamma_draw(real[source + j + 1, column], two, block[3], moment, slot + j + 1)
                real[target + j + 1, column] = gamma
                total += gamma
    else:
        largest = -math.inf
        for j in range(width):
            log_gamma = log_gamma_draw(real[source + j, column], moment, slot + j)
            real[target + j, column] = log_gamma
            largest = max(largest, log_gamma)
        for j in range(width):
            real[target + j, column] = math.exp(real[target + j, column] - largest)
            total += real[target + j, column]
    for j in range(width):
        real[target + j, column] /= total
