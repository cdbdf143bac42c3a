"""One more of a cell in each of 32 replications: `rows.see`, with what takes long in SIMD instructions.

Each lane has a cell of its own, so that counts and d are looked up and stored one by one; the roots and divisions of
all c are worked out together.
"""

import numpy as np

from takeup.simulation.kernels.gammas import scale
from takeup.simulation.kernels.lane_streams import ROW_1
from takeup.simulation.kernels.lanes import Lanes
from takeup.simulation.kernels.machine import LANES, Array, Number, inlined


@inlined
def see_lanes(lanes: Lanes, slot: Array, more: Array, slots: Number, prior: Array) -> None:
    """As many `more` of each lane's slot, none or one."""
    counts, real, work, behind = lanes.counts, lanes.real, lanes.numbers, np.uintp(slots * LANES)
    for i in range(LANES):
        lane = np.uintp(i)
        place = np.uintp(slot[lane])
        at = place * ROW_1 + lane
        count = np.int32(counts[at] + more[lane])
        counts[at] = count
        d = np.float32(prior[place] + np.float64(count) - 0.3333333333333333)
        real[at] = d
        work[lane] = d
    for i in range(LANES):
        lane = np.uintp(i)
        work[lane + ROW_1] = scale(work[lane])
    for i in range(LANES):
        lane = np.uintp(i)
        real[np.uintp(slot[lane]) * ROW_1 + lane + behind] = work[lane + ROW_1]
