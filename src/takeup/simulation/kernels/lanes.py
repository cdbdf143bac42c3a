"""What 32 replications side by side work on: a number a lane in every row, for the compiler's SIMD instructions.

A kernel may have a form in lanes, which gives the same numbers: `in_lanes(shape, parameters)` says where it applies,

    propose_lanes(lanes, draws, shape, parameters, moment)

fills in `lanes.z`, and, optionally, `learn_lanes(lanes, memory, table, given, moment)` does what `learn` does in all
lanes; `lane_driver.learn_lanes` goes from lane to lane. A `moment` is (round keys, replication of lane 0, step).
"""

from typing import NamedTuple

from takeup.simulation.kernels.machine import Array


class Lanes(NamedTuple):
    """One decision in every lane.

    Attributes:
        x: its contexts.
        z: its proposals.
        answer: what happened, a Y + y.
        patients: its four rows of random words: context, response, whether compliance is reported, the policy's.
        room: three rows of int32 to work in.
        numbers: two rows of float32 to work in.
        counts: the policy's whole numbers, flat, row r of lane l at r LANES + l.
        real: its real numbers, likewise.
    """

    x: Array
    z: Array
    answer: Array
    patients: Array
    room: tuple[Array, Array, Array]
    numbers: Array
    counts: Array
    real: Array


class LaneDraws(NamedTuple):
    """What a policy draws from, and where.

    Attributes:
        shapes: the reals of each lane's own context; of Dirichlet rows d in rows 0 to slots - 1, c in the next as many.
        words: room for random words.
        gammas: room for those of a stock of pairs, two rows each.
        work: room for rows of float32.
        late: one row of marks, a bit a pair.
        batch: room for numbers of pairs that are settled together.
    """

    shapes: Array
    words: Array
    gammas: Array
    work: Array
    late: Array
    batch: Array
