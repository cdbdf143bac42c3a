"""The two-arm recurrence in one context, 32 replications side by side: `two_arm`, lane by lane."""

import numpy as np

from takeup.simulation.kernels.machine import LANES, UNSEEN, Array, Number, inlined
from takeup.simulation.kernels.streams import uniform
from takeup.simulation.kernels.two_arm import step_of

_N_01, _N_10, _N_11, _P, _H = (np.uintp(row * LANES) for row in range(1, 6))
_CHANCE, _REPORT = np.uintp(3 * LANES), np.uintp(2 * LANES)
NOTHING = 4
"""Instead of a cell 2 z + j: nothing was seen."""


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


def advance_lanes(table: Array, cell: Array) -> None:
    """One more in the cell 2 z + j of each lane's table; none where it is NOTHING."""
    for i in range(LANES):
        lane = np.uintp(i)
        n_00, n_01, n_10, n_11 = table[lane], table[lane + _N_01], table[lane + _N_10], table[lane + _N_11]
        p, h = table[lane + _P], table[lane + _H]
        m_00, m_01 = np.float64(cell[lane] == 0), np.float64(cell[lane] == 1)  # factors, 0 or 1, instead of branches
        m_10, m_11 = np.float64(cell[lane] == 2), np.float64(cell[lane] == 3)
        seen = m_00 + m_01 + m_10 + m_11
        near = n_00 * m_00 + n_01 * m_01 + n_10 * m_10 + n_11 * m_11 + (1.0 - seen)
        other = n_01 * m_00 + n_00 * m_01 + n_11 * m_10 + n_10 * m_11
        far_near = n_10 * m_00 + n_11 * m_01 + n_00 * m_10 + n_01 * m_11
        far_other = n_11 * m_00 + n_10 * m_01 + n_01 * m_10 + n_00 * m_11
        change, new_h = step_of(near, other, far_near, far_other, h)
        table[lane + _P] = p + change * (m_00 - m_01 - m_10 + m_11)
        table[lane + _H] = new_h * seen + h * (1.0 - seen)
        table[lane] = n_00 + m_00
        table[lane + _N_01] = n_01 + m_01
        table[lane + _N_10] = n_10 + m_10
        table[lane + _N_11] = n_11 + m_11


@inlined
def learn_lanes(
    memory: Number,
    x: Array,
    z: Array,
    answer: Array,
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
    everyone = intended == UNSEEN
    for i in range(LANES):
        lane = np.uintp(i)
        a, y = answer[lane] >> 1, answer[lane] & 1
        answer[lane] = np.int32(2 * z[lane] + (y ^ parameters.good))
        if not everyone:
            complied = np.int32(intended + z[lane] * apart == a)
            reported = np.int32(np.uint64(patients[lane + _REPORT]) < report.threshold)
            answer[lane] = np.int32(NOTHING + complied * reported * (answer[lane] - NOTHING))
    advance_lanes(memory.real.reshape(-1), answer)
