"""The two-arm recurrence in one context, 32 replications side by side: `two_arm`, lane by lane."""

import numpy as np

from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, either, inlined
from takeup.simulation.kernels.streams import uniform
from takeup.simulation.kernels.two_arm import step_of

_N_01, _N_10, _N_11, _P, _H = (np.uintp(row * LANES) for row in range(1, 6))
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
    """Proposal 0 with probability p; `shapes` are the rows of the recurrence."""
    for i in range(LANES):
        lane = np.uintp(i)
        z[lane] = np.int32(0 if uniform(patients[lane + _CHANCE]) < shapes[lane + _P] else 1)


@inlined
def _advance(table: Array, here: Number, second: Number, bad: Number, known: Number) -> None:
    """`two_arm.advance` of a lane's table where something is known; selections instead of branches."""
    n_00, n_01, n_10, n_11 = table[here], table[here + _N_01], table[here + _N_10], table[here + _N_11]
    p, h = table[here + _P], table[here + _H]
    near_0, near_1 = either(second, n_10, n_00), either(second, n_11, n_01)
    column_0, column_1 = n_00 + n_10, n_01 + n_11
    change, new_h = step_of(
        either(bad, near_1, near_0), near_0 + near_1, either(bad, column_1, column_0), column_0 + column_1, h
    )
    one = either(known, 1.0, 0.0)
    m_0, m_1 = either(bad, 0.0, one), either(bad, one, 0.0)
    m_10, m_11 = either(second, m_0, 0.0), either(second, m_1, 0.0)
    m_00, m_01 = m_0 - m_10, m_1 - m_11
    table[here + _P] = p + change * (m_00 - m_01 - m_10 + m_11)
    table[here + _H] = either(known, new_h, h)
    table[here] = n_00 + m_00
    table[here + _N_01] = n_01 + m_01
    table[here + _N_10] = n_10 + m_10
    table[here + _N_11] = n_11 + m_11


def advance_all(table: Array, base: Number, row: Array, column: Array) -> None:
    """One more in n[row, column] of each lane's table at `base`."""
    for i in range(LANES):
        lane = np.uintp(i)
        _advance(table, base + lane, row[lane] != 0, column[lane] != 0, True)


def advance_seen(table: Array, base: Number, row: Array, column: Array, seen: Array) -> None:
    """`advance_all` in the lanes where something was seen."""
    for i in range(LANES):
        lane = np.uintp(i)
        _advance(table, base + lane, row[lane] != 0, column[lane] != 0, seen[lane] != 0)


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
    intended, apart = parameters.intended[0], parameters.intended[1] - parameters.intended[0]
    good = np.int32(parameters.good)
    bad, seen, _ = room
    for i in range(LANES):
        lane = np.uintp(i)
        bad[lane] = np.int32((answer[lane] & np.int32(1)) ^ good)
    if intended == UNSEEN:
        advance_all(table, np.uintp(0), z, bad)
    else:
        for i in range(LANES):
            lane = np.uintp(i)
            complied = np.int32(intended + z[lane] * apart == answer[lane] >> 1)
            seen[lane] = complied & np.int32(np.uint64(patients[lane + _REPORT]) < report.threshold)
        advance_seen(table, np.uintp(0), z, bad, seen)
