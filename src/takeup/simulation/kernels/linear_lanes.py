"""LinTS and LinUCB in 32 replications side by side: `linear`, with a number a lane in every row, to the bit.

What each lane learns is of one arm, and they go one after the other.
"""

import numpy as np

from takeup.simulation.kernels.lane_streams import ROW_1, ROW_2, ROW_3, draw_words
from takeup.simulation.kernels.linear import OPTIMISTIC, Parameters, away, one_of_the_highest, width
from takeup.simulation.kernels.machine import LANES, Array, Number, either, inlined
from takeup.simulation.kernels.streams import POLICY
from takeup.simulation.kernels.unit_lanes import UnitLanes


def rows(d: int, proposals: int) -> int:
    """How many rows of reals it needs."""
    return int(behind(d, proposals) + proposals * width(d))


@inlined
def behind(d: Number, proposals: Number) -> Number:
    """Where the arms begin: behind v_i v_j, and m'v, v'B^-1 v and the value of each proposal."""
    return d * (d + 1) // 2 + 3 * proposals


def begin_lanes(real: Array, shape: Number, parameters: Parameters) -> None:
    """What a pilot says of each arm, or nothing."""
    d = parameters.features
    first = behind(d, shape[1])
    for which in range(shape[1]):
        for i in range(width(d)):
            for lane in range(LANES):
                real[(first + which * width(d) + i) * LANES + lane] = parameters.arms[which, i]


def propose_lanes(lanes: UnitLanes, real: Array, shape: Number, parameters: Parameters, moment: Number) -> None:
    """Fill in what is proposed in every lane."""
    d, proposals = parameters.features, shape[1]
    triangle, (keys, step), words = d * (d + 1) // 2, moment, lanes.words
    multiply_lanes(real, lanes.room, d)
    for z in range(proposals):
        arm, into = behind(d, proposals) + z * width(d), triangle + 3 * z
        sum_of_products(real, into + 1, arm, real, 0, triangle)
        sum_of_products(real, into, arm + triangle, lanes.room, 0, d)
        if not OPTIMISTIC and z & 1 == 0:
            draw_words(words, keys, step, POLICY + np.uint32(z >> 1))
        half = ROW_2 if z & 1 else np.uintp(0)
        at, count = np.uintp(into * LANES), np.uintp((arm + width(d) - 2) * LANES)
        for i in range(LANES):
            lane = np.uintp(i)
            two = (words[half + lane], words[half + lane + ROW_1])
            square = max(real[at + lane + ROW_1], 0.0)
            off = away(square, real[count + lane], real[count + lane + ROW_1], two, parameters)
            real[at + lane + ROW_2] = real[at + lane] + off
    choose_lanes(lanes, real, triangle + 2, proposals)


def multiply_lanes(real: Array, room: Array, d: Number) -> None:
    """`linear.multiply`."""
    m = 0
    for i in range(d):
        own = np.uintp(i * LANES)
        for j in range(i, d):
            twice, other, into = 1.0 if i == j else 2.0, np.uintp(j * LANES), np.uintp(m * LANES)
            for k in range(LANES):
                lane = np.uintp(k)
                real[into + lane] = twice * room[own + lane] * room[other + lane]
            m += 1


@inlined
def sum_of_products(real: Array, into: Number, one: Number, other: Array, begin: Number, many: Number) -> None:
    """Σ of the products of rows that follow each other, from the first to the last, four at a time."""
    at, a, b = np.uintp(into * LANES), np.uintp(one * LANES), np.uintp(begin * LANES)
    for i in range(LANES):
        real[at + np.uintp(i)] = 0.0
    for _ in range(many // 4):
        for i in range(LANES):
            lane = np.uintp(i)
            total = real[at + lane] + real[a + lane] * other[b + lane]
            total += real[a + lane + ROW_1] * other[b + lane + ROW_1]
            total += real[a + lane + ROW_2] * other[b + lane + ROW_2]
            real[at + lane] = total + real[a + lane + ROW_3] * other[b + lane + ROW_3]
        a += np.uintp(4 * LANES)
        b += np.uintp(4 * LANES)
    for _ in range(many % 4):
        for i in range(LANES):
            lane = np.uintp(i)
            real[at + lane] += real[a + lane] * other[b + lane]
        a += ROW_1
        b += ROW_1


def choose_lanes(lanes: UnitLanes, real: Array, first: Number, proposals: Number) -> None:
    """The highest of rows that lie three apart."""
    z_of, top = lanes.z, lanes.top
    start = np.uintp(first * LANES)
    for i in range(LANES):
        lane = np.uintp(i)
        z_of[lane] = 0
        top[lane] = real[start + lane]
    for z in range(1, proposals):
        at = np.uintp((first + 3 * z) * LANES)
        for i in range(LANES):
            lane = np.uintp(i)
            higher = real[at + lane] > top[lane]
            z_of[lane] = np.int32(either(higher, np.int32(z), z_of[lane]))
            top[lane] = either(higher, real[at + lane], top[lane])
    if OPTIMISTIC:
        for i in range(LANES):
            lane = np.uintp(i)
            at = first * LANES + i
            z_of[lane] = one_of_the_highest(real, at, 3 * LANES, proposals, top[lane], lanes.chance[lane])


def learn_lanes(lanes: UnitLanes, real: Array, shape: Number, parameters: Parameters) -> None:
    """`linear.reveal` in one lane after the other."""
    d, proposals, v, w = parameters.features, shape[1], lanes.room, lanes.w
    triangle = d * (d + 1) // 2
    for lane in range(LANES):
        z = np.int64(lanes.z[lane])
        first = np.uintp((behind(d, proposals) + z * width(d)) * LANES + lane)
        for i in range(d):
            w[np.uintp(i)] = 0.0
        m, square = first, 0.0
        for i in range(d):
            own = v[np.uintp(i * LANES + lane)]
            total = w[np.uintp(i)] + real[m] * own
            m += ROW_1
            for j in range(i + 1, d):
                total += real[m] * v[np.uintp(j * LANES + lane)]
                w[np.uintp(j)] += real[m] * own
                m += ROW_1
            w[np.uintp(i)] = total
            square += total * own
        share = 1.0 / (1.0 + max(square, 0.0))
        off = lanes.gain[lane] - real[np.uintp((triangle + 3 * z) * LANES + lane)]
        m = first
        for i in range(d):
            factor = share * w[np.uintp(i)]
            for j in range(i, d):
                real[m] -= factor * w[np.uintp(j)]
                m += ROW_1
        for i in range(d):
            real[m] += share * w[np.uintp(i)] * off
            m += ROW_1
        real[m] += 1.0
        real[m + ROW_1] += share * off * off
