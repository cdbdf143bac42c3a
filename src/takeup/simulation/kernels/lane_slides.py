"""Slides along the ridge of 32 replications side by side: the numbers of `gibbs.slide`, lane by lane."""

import math

import numpy as np

from takeup.simulation.kernels.binomials import fine
from takeup.simulation.kernels.gibbs_room import LEAST, Room, log_ratio, power_law, rows
from takeup.simulation.kernels.lane_streams import ROW_1, ROW_2, ROW_3, draw_words
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.machine import LANES, Array, Number, either, inlined
from takeup.simulation.kernels.streams import POLICY

_LOW, _HIGH, _SCALE, _RISE = np.uintp(0), ROW_1, ROW_2, ROW_3


def slide(draws: LaneDraws, room: Room, pair: Number, shape: Number, moment: Number, slot: Number) -> None:
    """`gibbs.slide` of a pair of actions."""
    real, words = draws.shapes, draws.words
    keys, _, step = moment
    a, b = pair
    proposals, actions, levels = shape[1], shape[2], shape[3]
    spare, pi = room.spare, rows(actions * levels)
    mu_a, mu_b = rows(a * levels), rows(b * levels)
    draw_words(words, keys, step, np.uint32(POLICY + np.uint32(slot)))
    limits(real, spare)
    for y in range(levels):
        raise_low(real, room.world + mu_a + rows(y), room.world + mu_b + rows(y), spare)
    for z in range(proposals):
        row = room.world + pi + rows(z * actions)
        drop_high(real, row + rows(a), row + rows(b), spare)
    scale(real, words, proposals - levels + 1, spare)
    if not room.flat:
        for y in range(levels):
            mine, other = mu_a + rows(y), mu_b + rows(y)
            rise_of_mean(real, room.world + mine, room.world + other, room.rest + mine, spare)
        for z in range(proposals):
            mine, other = pi + rows(z * actions + a), pi + rows(z * actions + b)
            rise_of_response(real, room.world + mine, room.rest + mine, spare)
            rise_of_other(real, room.world + mine, room.world + other, room.rest + other, spare)
        accept(real, words, spare)
    for y in range(levels):
        move_mean(real, room.world + mu_a + rows(y), room.world + mu_b + rows(y), spare)
    for z in range(proposals):
        row = room.world + pi + rows(z * actions)
        move_response(real, row + rows(a), row + rows(b), spare)


@inlined
def least(number: Number) -> Number:
    """The number, and no less than LEAST."""
    return either(number > LEAST, number, LEAST)


def limits(real: Array, spare: Number) -> None:
    """No limits yet, and nothing that speaks against a step."""
    for i in range(LANES):
        lane = np.uintp(i)
        real[spare + lane + _LOW] = 0.0
        real[spare + lane + _HIGH] = math.inf
        real[spare + lane + _RISE] = 0.0


def raise_low(real: Array, mu_a: Number, mu_b: Number, spare: Number) -> None:
    """The least scale that an outcome allows."""
    for i in range(LANES):
        lane = np.uintp(i)
        other, low = real[mu_b + lane], real[spare + lane + _LOW]
        bound = least(other - real[mu_a + lane]) / least(other)
        real[spare + lane + _LOW] = either(bound > low, bound, low)


def drop_high(real: Array, pi_a: Number, pi_b: Number, spare: Number) -> None:
    """The largest scale that a proposal allows."""
    for i in range(LANES):
        lane = np.uintp(i)
        high = real[spare + lane + _HIGH]
        bound = 1.0 + real[pi_b + lane] / least(real[pi_a + lane])
        real[spare + lane + _HIGH] = either(bound < high, bound, high)


def scale(real: Array, words: Array, power: Number, spare: Number) -> None:
    """The scale of a step between its limits."""
    if power == 1:
        for i in range(LANES):
            lane = np.uintp(i)
            low, chance = real[spare + lane + _LOW], fine(words[lane], words[lane + ROW_1])
            real[spare + lane + _SCALE] = low + chance * (real[spare + lane + _HIGH] - low)
    else:
        for i in range(LANES):
            lane = np.uintp(i)
            chance = fine(words[lane], words[lane + ROW_1])
            low, high = real[spare + lane + _LOW], real[spare + lane + _HIGH]
            real[spare + lane + _SCALE] = power_law(low, high, power, chance)


def rise_of_mean(real: Array, mu_a: Number, mu_b: Number, rest: Number, spare: Number) -> None:
    """What the log density of μ[a, y] gains."""
    for i in range(LANES):
        lane = np.uintp(i)
        mine, other, u = real[mu_a + lane], real[mu_b + lane], real[spare + lane + _SCALE]
        excess = real[rest + lane] - 1.0
        real[spare + lane + _RISE] += excess * log_ratio(other + (mine - other) / u, mine, excess)


def rise_of_response(real: Array, pi_a: Number, rest: Number, spare: Number) -> None:
    """What the log density of π[z, a] gains."""
    for i in range(LANES):
        lane = np.uintp(i)
        mine, excess = real[pi_a + lane], real[rest + lane] - 1.0
        real[spare + lane + _RISE] += excess * log_ratio(mine * real[spare + lane + _SCALE], mine, excess)


def rise_of_other(real: Array, pi_a: Number, pi_b: Number, rest: Number, spare: Number) -> None:
    """What the log density of π[z, b] gains."""
    for i in range(LANES):
        lane = np.uintp(i)
        mine, other, excess = real[pi_a + lane], real[pi_b + lane], real[rest + lane] - 1.0
        new = other + (1.0 - real[spare + lane + _SCALE]) * mine
        real[spare + lane + _RISE] += excess * log_ratio(new, other, excess)


def accept(real: Array, words: Array, spare: Number) -> None:
    """A scale of 1, which moves nothing, where a step is not accepted."""
    for i in range(LANES):
        lane = np.uintp(i)
        rise = real[spare + lane + _RISE]
        if not (rise >= 0.0 or math.log(fine(words[lane + ROW_2], words[lane + ROW_3])) < rise):
            real[spare + lane + _SCALE] = 1.0


def move_mean(real: Array, mu_a: Number, mu_b: Number, spare: Number) -> None:
    """μ[a, y] after the step."""
    for i in range(LANES):
        lane = np.uintp(i)
        mine, other, u = real[mu_a + lane], real[mu_b + lane], real[spare + lane + _SCALE]
        real[mu_a + lane] = either(u == 1.0, mine, least(other + (mine - other) / u))


def move_response(real: Array, pi_a: Number, pi_b: Number, spare: Number) -> None:
    """π[z, a] and π[z, b] after the step."""
    for i in range(LANES):
        lane = np.uintp(i)
        mine, other, u = real[pi_a + lane], real[pi_b + lane], real[spare + lane + _SCALE]
        real[pi_b + lane] = either(u == 1.0, other, least(other + (1.0 - u) * mine))
        real[pi_a + lane] = mine * u
