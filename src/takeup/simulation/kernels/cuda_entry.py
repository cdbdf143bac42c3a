"""What a CUDA thread does: one replication. `compile_gpu` copies these functions with the globals of one shape.

The shape is a constant, so that loops over arms can unroll. Only `compile_gpu` imports this file, and only where
numba-cuda is installed.
"""

from importlib import import_module
from typing import Any

from takeup.simulation.kernels.driver import replicate_thread
from takeup.simulation.kernels.machine import Number
from takeup.simulation.kernels.tables import KernelInput, KernelMemory, KernelOutput

cuda: Any = import_module("numba.cuda")
types: Any = import_module("numba.types")

SHAPE = (1, 2, 2, 2)
COUNTS, REALS, RING = (1, 1), (1, 1), (1, 1)
REAL = types.float32


def local(launch: Number, given: KernelInput, memory: KernelMemory, output: KernelOutput) -> None:
    """With the state in the thread's own memory; a launch is (total, count, number) of replications."""
    i = cuda.grid(1)
    if i < launch[0]:
        fixed = KernelInput(given.horizon, SHAPE, given.scenarios, given.visibility, given.parameters)
        own = KernelMemory(
            cuda.local.array(COUNTS, types.int32), cuda.local.array(REALS, REAL), cuda.local.array(RING, types.uint32)
        )
        replicate_thread(i, 0, launch, fixed, own, output)


def column(launch: Number, given: KernelInput, memory: KernelMemory, output: KernelOutput) -> None:
    """With the state in a column of the device's memory, next to those of its neighbours."""
    i = cuda.grid(1)
    if i < launch[0]:
        fixed = KernelInput(given.horizon, SHAPE, given.scenarios, given.visibility, given.parameters)
        replicate_thread(i, i, launch, fixed, memory, output)
