"""The two-arm recurrence in one context, 32 replications side by side: `two_arm`, lane by lane."""

import numpy as np

from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, inlined
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
    key: Number,
    number: Number,
    step: Number,
) -> None:
    """Proposal 0 with probability p; `shapes` are the rows of the recurrence."""
    for i in range(LANES):
        lane = np.uintp(i)
        z[lane] = np.int32(0 if uniform(patients[lane + _CHANCE]) < shapes[lane + _P] else 1)


def advance_lanes(table: Array, base: Number, row: Array, column: Array, seen: Array) -> None:
    """One more in n[row, column] of each lane's table at `base`, where something was seen.

    Rows, columns and what was seen are numbers, 0 or 1, and factors instead of branches.
    """
    for i in range(LANES):
        lane = np.uintp(i)
        here = base + lane
        n_00, n_01, n_10, n_11 = table[here], table[here + _N_01], table[here + _N_10], table[here + _N_11]
        p, h = table[here + _P], table[here + _H]
        second, bad, known = np.float64(row[lane]), np.float64(column[lane]), np.float64(seen[lane])
        first, good = 1.0 - second, 1.0 - bad
        near_0, near_1 = n_00 * first + n_10 * second, n_01 * first + n_11 * second
        column_0, column_1 = n_00 + n_10, n_01 + n_11
        change, new_h = step_of(
            near_0 * good + near_1 * bad, near_0 + near_1, column_0 * good + column_1 * bad, column_0 + column_1, h
        )
        m_00, m_01, m_10, m_11 = first * good * known, first * bad * known, second * good * known, second * bad * known
        table[here + _P] = p + change * (m_00 - m_01 - m_10 + m_11)
        table[here + _H] = new_h * known + h * (1.0 - known)
        table[here] = n_00 + m_00
        table[here + _N_01] = n_01 + m_01
        table[here + _N_10] = n_10 + m_10
        table[here + _N_11] = n_11 + m_11


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
    key: Number,
    number: Number,
    step: Number,
) -> None:
    """What each lane saw, and then all recurrences at once."""
    intended, apart = parameters.intended[0], parameters.intended[1] - parameters.intended[0]
    bad, seen, _ = room
    everyone, good = intended == UNSEEN, np.int32(parameters.good)
    for i in range(LANES):
        lane = np.uintp(i)
        bad[lane] = np.int32((answer[lane] & np.int32(1)) ^ good)
        seen[lane] = np.int32(1)
    if not everyone:
        for i in range(LANES):
            lane = np.uintp(i)
            complied = np.int32(intended + z[lane] * apart == answer[lane] >> 1)
            reported = np.int32(np.uint64(patients[lane + _REPORT]) < report.threshold)
            seen[lane] = np.int32(complied & reported)
    advance_lanes(table, np.uintp(0), z, bad, seen)
