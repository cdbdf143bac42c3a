"""Arms whose outcomes are normal numbers: what is believed of their means, kept up to date, and drawn from.

Outcomes k are in steps of the grid. The posterior of an arm's mean is m' + sqrt(S' / (κ' ν')) t, with t of Student's
distribution with ν' degrees of freedom and S' = ν' s'^2 (`takeup.conjugates.NormalGamma`). After one more outcome

    κ' = κ + 1,   ν' = ν + 1,   m' = m + (k - m) / κ',   S' = S + (k - m)^2 κ / κ',

so that S' grows by what is around the mean alone, and nothing cancels however far from zero outcomes are. All is in
float64 but t itself, which is multiplied before it is added to the mean.

An arm lies where a pair of slots of `rows` would: with its first slot s, real[s] is m, real[s + 1] is S, and behind the
slots are what a draw needs, sqrt(S / κ) in real[slots + s] and 2 / ν in real[slots + s + 1]; counts[s] is how often it
was seen. Where lower numbers are better all have the other sign, so that the highest mean is the best.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.conjugates import Conjugate, NormalGamma
from takeup.simulation.kernels.lane_streams import ROW_1, draw_words
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.machine import LANES, Array, Number, inlined, times_double
from takeup.simulation.kernels.streams import POLICY, words
from takeup.simulation.kernels.students import student
from takeup.simulation.kernels.tables import State

SLOTS = 2
"""The slots of an arm."""

_HALVES = np.uintp(2 * LANES)


class Arms(NamedTuple):
    """What is believed before any data, of every arm of every context, in steps of the grid from its low end.

    Attributes:
        centre: m.
        weight: κ.
        freedom: ν.
        square: S = ν s^2.
        sign: 1, or -1 where lower numbers are better.
    """

    centre: Array
    weight: Array
    freedom: Array
    square: Array
    sign: Number


def suits(block: Conjugate) -> bool:
    """Whether arms can be of this block: of numbers, each worth itself or its negative."""
    return isinstance(block, NormalGamma) and not block.logarithmic and not block.outcome.utility


def arms_of(block: Conjugate) -> Arms:
    """The arms of a block that suits."""
    assert isinstance(block, NormalGamma)
    number, sign = block.outcome, 1.0 if block.outcome.better == "higher" else -1.0
    centre = sign * (block.centre - number.low) / number.step
    square = block.freedom * block.square / number.step**2
    return Arms(centre.flatten(), block.weight.flatten(), block.freedom.flatten(), square.flatten(), sign)


@inlined
def put_arm(state: State, slot: Number, slots: Number, mean: Number, square: Number, worth: Number) -> None:
    """Store m and S, and what a draw needs of S and of what they are `worth`, (κ, ν)."""
    real, column = state.real, state.column
    real[slot, column] = mean
    real[slot + 1, column] = square
    real[slots + slot, column] = math.sqrt(square / worth[0])
    real[slots + slot + 1, column] = 2.0 / worth[1]


@inlined
def start_arm(state: State, slot: Number, slots: Number, arm: Number, arms: Arms) -> None:
    """Nothing seen yet."""
    state.counts[slot, state.column] = 0
    state.counts[slot + 1, state.column] = 0
    put_arm(state, slot, slots, arms.centre[arm], arms.square[arm], (arms.weight[arm], arms.freedom[arm]))


@inlined
def see_arm(state: State, slot: Number, slots: Number, arm: Number, arms: Arms, code: Number) -> None:
    """One more outcome, by its code."""
    counts, real, column = state
    seen = np.float64(counts[slot, column])
    counts[slot, column] += 1
    before, after = arms.weight[arm] + seen, arms.weight[arm] + (seen + 1.0)
    off = times_double(arms.sign, np.float64(code)) - real[slot, column]
    square = real[slot + 1, column] + times_double(off * off, before / after)
    worth = (after, arms.freedom[arm] + (seen + 1.0))
    put_arm(state, slot, slots, real[slot, column] + off / after, square, worth)


@inlined
def drawn_mean(state: State, slot: Number, slots: Number, pair: Number, moment: Number, block: Number) -> Number:
    """A draw of an arm's mean, float64, and the words of its Philox block, of which every second arm takes a half."""
    real, column = state.real, state.column
    if pair & 1 == 0:
        block = words(moment, POLICY + np.uint32(pair >> 1), 0)
    radius = block[0] if pair & 1 == 0 else block[2]
    angle = block[1] if pair & 1 == 0 else block[3]
    t = np.float64(student(np.float32(real[slots + slot + 1, column]), radius, angle))
    return real[slot, column] + times_double(real[slots + slot, column], t), block


def draw_means(draws: LaneDraws, pair: Number, slots: Number, row: Number, moment: Number) -> None:
    """`drawn_mean` in all lanes, into this row of the draws' reals."""
    shapes, words_of, work = draws.shapes, draws.words, draws.work
    keys, _, step = moment
    if pair & 1 == 0:
        draw_words(words_of, keys, step, POLICY + np.uint32(pair >> 1))
    half = _HALVES if pair & 1 else np.uintp(0)
    at, behind, into = np.uintp(2 * pair * LANES), np.uintp((slots + 2 * pair) * LANES), np.uintp(row * LANES)
    for i in range(LANES):
        lane = np.uintp(i)
        rate = np.float32(shapes[behind + lane + ROW_1])
        work[lane] = student(rate, words_of[half + lane], words_of[half + lane + ROW_1])
    for i in range(LANES):
        lane = np.uintp(i)
        shapes[into + lane] = shapes[at + lane] + times_double(shapes[behind + lane], np.float64(work[lane]))


def fill_row(shapes: Array, row: Number, number: Number) -> None:
    """The same number in all lanes of a row."""
    at = np.uintp(row * LANES)
    for i in range(LANES):
        shapes[at + np.uintp(i)] = number
