"""What a CUDA thread does: one replication. `compile_gpu` copies these functions with the globals of one shape.

Thread i runs row i mod count of scenario i div count. The shape is a constant, so that loops over arms can unroll.
Only `compile_gpu` imports this file, and only where numba-cuda is installed.
"""

from importlib import import_module
from typing import Any

from takeup.simulation.kernels.driver import replicate
from takeup.simulation.kernels.machine import Number
from takeup.simulation.kernels.tables import Memory

cuda: Any = import_module("numba.cuda")
types: Any = import_module("numba.types")

SHAPE = (1, 2, 2, 2)
COUNTS, REALS, RING = (1, 1), (1, 1), (1, 1)
REAL = types.float32


def local(
    total: Number,
    count: Number,
    number: Number,
    horizon: Number,
    scenarios: Number,
    report: Number,
    parameters: Number,
    memory: Number,
    record: Number,
) -> None:
    """With the state in the thread's own memory."""
    i = cuda.grid(1)
    if i < total:
        scenario = i // count
        row = i - scenario * count
        own = Memory(
            cuda.local.array(COUNTS, types.int32), cuda.local.array(REALS, REAL), cuda.local.array(RING, types.uint32)
        )
        replicate(scenario, row, number + row, 0, horizon, SHAPE, scenarios, report, parameters, own, record)


def column(
    total: Number,
    count: Number,
    number: Number,
    horizon: Number,
    scenarios: Number,
    report: Number,
    parameters: Number,
    memory: Number,
    record: Number,
) -> None:
    """With the state in a column of the device's memory, next to those of its neighbours."""
    i = cuda.grid(1)
    if i < total:
        scenario = i // count
        row = i - scenario * count
        replicate(scenario, row, number + row, i, horizon, SHAPE, scenarios, report, parameters, memory, record)
