"""Both recurrences of TS-Obs in one context, 32 replications side by side: `two_by_two`, lane by lane."""

import numpy as np

from takeup.simulation.kernels.lane_two_arm import advance_all, advance_seen
from takeup.simulation.kernels.machine import LANES, Array, Number, inlined, times_double
from takeup.simulation.kernels.streams import uniform
from takeup.simulation.kernels.tables import ALWAYS
from takeup.simulation.kernels.two_arm import SLOTS

_A, _B = np.uintp(4 * LANES), np.uintp((SLOTS + 4) * LANES)
_COMPLIANCE = np.uintp(SLOTS * LANES)
_CHANCE, _REPORT = np.uintp(3 * LANES), np.uintp(2 * LANES)


@inlined
def propose_lanes(
    shapes: Array,
    slots: Number,
    patients: Array,
    words: Array,
    work: Array,
    late: Array,
    z: Array,
    shape: Number,
    parameters: Number,
    keys: Number,
    number: Number,
    step: Number,
) -> None:
    """Proposal 0 with probability A B + (1 - A)(1 - B); `shapes` are the rows of both recurrences."""
    for i in range(LANES):
        lane = np.uintp(i)
        a, b = shapes[lane + _A], shapes[lane + _B]
        first = uniform(patients[lane + _CHANCE]) < times_double(a, b) + times_double(1.0 - a, 1.0 - b)
        z[lane] = np.int32(0 if first else 1)


@inlined
def learn_lanes(
    memory: Number,
    table: Array,
    x: Array,
    z: Array,
    answer: Array,
    room: Number,
    patients: Array,
    shape: Number,
    report: Number,
    parameters: Number,
    keys: Number,
    number: Number,
    step: Number,
) -> None:
    """What each lane saw, and then all recurrences at once."""
    bad, reported, action = room
    good = np.int32(parameters.good)
    for i in range(LANES):
        lane = np.uintp(i)
        bad[lane] = np.int32((answer[lane] & np.int32(1)) ^ good)
        action[lane] = np.int32(answer[lane] >> 1)
    if report.threshold == ALWAYS:
        advance_all(table, np.uintp(0), action, bad)
        advance_all(table, _COMPLIANCE, z, action)
    else:
        for i in range(LANES):
            lane = np.uintp(i)
            reported[lane] = np.int32(np.uint64(patients[lane + _REPORT]) < report.threshold)
        advance_seen(table, np.uintp(0), action, bad, reported)
        advance_seen(table, _COMPLIANCE, z, action, reported)
