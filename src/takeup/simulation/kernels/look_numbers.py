"""Numbers, read by what was proposed: the mean of each proposal has Student's t distribution.

All is in steps of the outcome's grid, with the other sign where lower is better. Densities are laid out on the scale t
with value = middle + unit sinh(t), which is nearly linear where the narrowest of them is and logarithmic far away, so
that a proposal without data costs few points more. Probabilities are right to 1e-5, mostly to 1e-6 (see `comparing`).
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.conjugates import NormalGamma
from takeup.simulation.kernels.comparing import DEVIATIONS, QUARTER, Densities, exceeds_less_at, within_at
from takeup.simulation.kernels.look_tables import LookInput, LookMemory
from takeup.simulation.kernels.machine import Array, Number

POINTS = 16_385
"""Points of the scale, at most."""
STRAIGHT = 4.0
"""For how many spreads of the narrowest density the scale is nearly linear."""
TINY = 1e-7
"""How much of a tail is not looked at."""


class Students(NamedTuple):
    """What is believed before any data, (K,), in steps.

    Attributes:
        centre: m.
        weight: κ.
        freedom: ν.
        square: ν s^2.
        sign: 1, or -1 where lower is better.
        equivalence: its margin.
        futility: its margin.
    """

    centre: Array
    weight: Array
    freedom: Array
    square: Array
    sign: Number
    equivalence: Number
    futility: Number


class StudentsMemory(NamedTuple):
    """Where values are compared.

    Attributes:
        centre: of each proposal's value, (K,).
        scale: likewise.
        freedom: likewise.
        value: of each point, less the middle and in units of the scale, (POINTS,).
        equivalence: at which place the value is larger by the margin of equivalence, (POINTS,).
        futility: by that of futility.
        densities: of the values.
    """

    centre: Array
    scale: Array
    freedom: Array
    value: Array
    equivalence: Array
    futility: Array
    densities: Densities


def students(block: NormalGamma, equivalence: float, futility: float) -> Students:
    """The block of one context, and the margins in units of the outcome."""
    number, sign = block.outcome, 1.0 if block.outcome.better == "higher" else -1.0
    return Students(
        np.array((block.centre[0] - number.low) / number.step),
        np.array(block.weight[0]),
        np.array(block.freedom[0]),
        np.array(block.freedom[0] * block.square[0] / number.step**2),
        sign,
        equivalence / number.step,
        futility / number.step,
    )


def room(proposals: int) -> StudentsMemory:
    """For so many proposals."""
    places = (np.zeros((proposals, POINTS)), np.zeros((proposals, POINTS)))
    ends = (np.zeros(proposals, dtype=np.int64), np.zeros(proposals, dtype=np.int64))
    centre, scale, freedom = np.zeros((3, proposals))
    value, equivalence, futility = np.zeros((3, POINTS))
    return StudentsMemory(centre, scale, freedom, value, equivalence, futility, Densities(*places, *ends))


def read(look: Number, scenario: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """Lay out what is believed of the value of each proposal that is offered."""
    reading = memory.reading
    total, middle, narrowest = 0.0, 0.0, math.inf
    for k in range(memory.known.shape[0]):
        if memory.offered[k]:
            believe(k, given.reading, memory)
            precision = 1.0 / (reading.scale[k] * reading.scale[k])
            total += precision
            middle += precision * reading.centre[k]
            narrowest = min(narrowest, reading.scale[k])
    middle, unit = middle / total, STRAIGHT * narrowest
    h, far = QUARTER, 0.0
    for k in range(memory.known.shape[0]):
        if memory.offered[k]:
            away, reach = abs(reading.centre[k] - middle), reach_of(reading.freedom[k]) * reading.scale[k]
            h = min(h, QUARTER * reading.scale[k] / math.sqrt(unit * unit + away * away))
            h = min(h, step_for(k, given.reading.equivalence, middle, unit, memory))
            h = min(h, step_for(k, given.reading.futility, middle, unit, memory))
            far = max(far, math.asinh((away + reach) / unit))
    half = min(np.int64(math.ceil(far / h)), np.int64(POINTS // 2))
    h = max(h, far / half)
    points = (half, h)
    lay_out_scale(points, unit, given.reading, reading)
    for k in range(memory.known.shape[0]):
        if memory.offered[k]:
            lay_out(k, points, middle, unit, reading)


def step_for(k: Number, margin: Number, middle: Number, unit: Number, memory: LookMemory) -> Number:
    """The step of the scale that resolves a proposal less a margin, where another has any probability there."""
    reading = memory.reading
    place = reading.centre[k] - margin
    for i in range(memory.known.shape[0]):
        if memory.offered[i] and abs(place - reading.centre[i]) < DEVIATIONS * reading.scale[i]:
            return QUARTER * reading.scale[k] / math.sqrt(unit * unit + (place - middle) * (place - middle))
    return QUARTER


def believe(k: Number, prior: Students, memory: LookMemory) -> None:
    """Centre, scale and freedom of a proposal's value: `NormalGamma.plus`, from sums around a whole number."""
    n, total, squares = memory.known[k, 0], memory.known[k, 1], memory.known[k, 2]
    weight, freedom, square, mean = prior.weight[k] + n, prior.freedom[k] + n, prior.square[k], prior.centre[k]
    if n > 0:
        near = np.int64(math.floor(total / n + 0.5))
        apart = total - n * near
        around = squares - 2 * near * total + n * near * near
        gap = near + apart / n - mean
        square += max(around - apart / n * apart, 0.0) + prior.weight[k] * n / weight * gap * gap
        mean += n / weight * gap
    reading = memory.reading
    reading.centre[k] = prior.sign * mean
    reading.scale[k], reading.freedom[k] = math.sqrt(square / (freedom * weight)), freedom


def reach_of(freedom: Number) -> Number:
    """Beyond how many scales there is less than TINY of Student's t, on each side."""
    return math.sqrt(freedom * math.expm1(-2.0 / freedom * math.log(TINY)))


def lay_out_scale(points: Number, unit: Number, given: Students, reading: StudentsMemory) -> None:
    """The values of the points, and where they are larger by the margins."""
    half, h = points
    for j in range(2 * half + 1):
        value = math.sinh((j - half) * h)
        reading.value[j] = value
        reading.equivalence[j] = larger(j, value, given.equivalence / unit, points)
        reading.futility[j] = larger(j, value, given.futility / unit, points)


def larger(j: Number, value: Number, margin: Number, points: Number) -> Number:
    """The place at which the value is larger by the margin."""
    return j + 0.0 if margin == 0.0 else math.asinh(value + margin) / points[1] + points[0]


def lay_out(k: Number, points: Number, middle: Number, unit: Number, reading: StudentsMemory) -> None:
    """Lay out the density of a proposal's value on the scale, and its distribution function."""
    half, h = points
    f, below = reading.densities.f, reading.densities.below
    freedom, scale, off = reading.freedom[k], reading.scale[k] / unit, (reading.centre[k] - middle) / unit
    reach = reach_of(freedom) * scale
    first = max(np.int64(0), np.int64(math.floor(math.asinh(off - reach) / h)) + half)
    last = min(2 * half, np.int64(math.ceil(math.asinh(off + reach) / h)) + half)
    norm = 0.0
    for j in range(first, last + 1):
        x = (reading.value[j] - off) / scale
        stretch = math.sqrt(1.0 + reading.value[j] * reading.value[j])
        value = stretch * math.exp(-0.5 * (freedom + 1.0) * math.log1p(x * x / freedom))
        f[k, j] = value
        norm += value
    before, factor, correction = 0.0, 1.0 / norm, h / 12.0
    for j in range(first, last + 1):
        value = f[k, j] * factor
        x = (reading.value[j] - off) / scale
        stretch = math.sqrt(1.0 + reading.value[j] * reading.value[j])
        slope = reading.value[j] / stretch - (freedom + 1.0) * x * stretch / (scale * (freedom + x * x))
        below[k, j] = min(max(before + value * (0.5 - correction * slope), 0.0), 1.0)
        before += value
        f[k, j] = value
    reading.densities.first[k], reading.densities.last[k] = first, last


def less_of(one: Number, other: Number, which: Number, given: LookInput, memory: LookMemory) -> Number:
    """P(V_one - V_other < margin), of EQUIVALENCE (0) or of FUTILITY (1)."""
    up = memory.reading.futility if which else memory.reading.equivalence
    return exceeds_less_at(memory.reading.densities, one, other, up, 0)


def within_of(given: LookInput, memory: LookMemory) -> Number:
    """The probability that all that are offered are within the margin of equivalence."""
    return within_at(memory.reading.densities, memory.offered, memory.reading.equivalence, 0)
