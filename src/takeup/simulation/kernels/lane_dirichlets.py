"""Dirichlet draws of 32 replications side by side: those of `dirichlets.dirichlet_row`, with no shape below 1."""

import math

import numpy as np

from takeup.simulation.kernels.dirichlets import settled_draw
from takeup.simulation.kernels.gammas import normal_pair
from takeup.simulation.kernels.lane_gammas import moment_of
from takeup.simulation.kernels.lane_streams import ROW_1, ROW_2, draw_words
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.machine import LANES, Array, Number
from takeup.simulation.kernels.streams import POLICY, uniform


def dirichlet_lanes(
    draws: LaneDraws, source: Number, target: Number, width: Number, moment: Number, slot: Number
) -> None:
    """Draws from the distributions whose parameters begin at one row, into the rows from another one on."""
    real, words, normals = draws.shapes, draws.words, draws.work
    keys, _, step = moment
    for j in range(width):
        at = np.uintp(j * LANES)
        if j & 1 == 0:
            draw_words(words, keys, step, np.uint32(POLICY + np.uint32(slot + j)))
            _normals(words, normals)
        half = ROW_1 if j & 1 else np.uintp(0)
        if _gammas(real, source + at, target + at, draws, half):
            _settle(draws, source + at, target + at, half, moment, slot + j)
    if width == 2:
        _share_two(real, target, draws.late.size)
    else:
        _share(real, target, width)


def _normals(words: Array, normals: Array) -> None:
    """Two normals a lane, in rows 0 and 1."""
    for i in range(LANES):
        lane = np.uintp(i)
        normals[lane], normals[lane + ROW_1] = normal_pair(words[lane], words[lane + ROW_1])


def _gammas(real: Array, source: Number, target: Number, draws: LaneDraws, half: Number) -> Number:
    """`dirichlets.gamma_draw` up to its squeeze, with the first or second normals; whether a lane is late."""
    normals, words, late = draws.work, draws.words, draws.late
    for i in range(LANES):
        lane = np.uintp(i)
        d = real[source + lane] - 0.3333333333333333
        t = np.float64(normals[half + lane]) / math.sqrt(9.0 * d)
        u = uniform(words[ROW_2 + half + lane])
        late[lane] = np.uint32(u * (1.0 - abs(t)) <= 0.75 * d * t * t * t * t)
        v = 1.0 + t
        real[target + lane] = d * v * v * v
    some = np.uint32(0)
    for i in range(LANES):
        some = np.uint32(some | late[np.uintp(i)])
    return some != np.uint32(0)


def _settle(draws: LaneDraws, source: Number, target: Number, half: Number, moment: Number, slot: Number) -> None:
    """The lanes that the squeeze did not accept, one by one."""
    real, words, normals, late = draws.shapes, draws.words, draws.work, draws.late
    keys, number, step = moment
    for i in range(LANES):
        lane = np.uintp(i)
        if late[lane] != np.uint32(0):
            d = real[source + lane] - 0.3333333333333333
            t = np.float64(normals[half + lane]) / math.sqrt(9.0 * d)
            u = uniform(words[ROW_2 + half + lane])
            v = 1.0 + settled_draw(d, t, u, moment_of(keys, number, i, step), slot)
            real[target + lane] = d * v * v * v


def _share_two(real: Array, target: Number, lanes: Number) -> None:
    """Two gammas as parts of their sum; a number of lanes that is not known keeps the loop from being unrolled."""
    for i in range(lanes):
        lane = np.uintp(i)
        one, two = real[target + lane], real[target + lane + ROW_1]
        total = one + two
        real[target + lane] = one / total
        real[target + lane + ROW_1] = two / total


def _share(real: Array, target: Number, width: Number) -> None:
    """Gammas as parts of their sum."""
    for i in range(LANES):
        lane = np.uintp(i)
        total = 0.0
        for j in range(width):
            total += real[target + np.uintp(j * LANES) + lane]
        for j in range(width):
            real[target + np.uintp(j * LANES) + lane] /= total
