"""What a CUDA thread does: one replication, or some trials. `compile_gpu` copies these with globals of their own.

The shape is a constant, so that loops over arms can unroll. Only `compile_gpu` imports this file, and only where
numba-cuda is installed.
"""

from importlib import import_module
from typing import Any

from takeup.simulation.kernels.driver import replicate_thread
from takeup.simulation.kernels.look_driver import replicate
from takeup.simulation.kernels.look_tables import LookInput, LookMemory, LookOutput
from takeup.simulation.kernels.machine import WARP, Number
from takeup.simulation.kernels.tables import KernelInput, KernelMemory, KernelOutput, Replication

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
    """With the state in a column of its warp's part of the device's memory, next to those of its neighbours."""
    i = cuda.grid(1)
    if i < launch[0]:
        fixed = KernelInput(given.horizon, SHAPE, given.scenarios, given.visibility, given.parameters)
        tile = i // WARP
        own = KernelMemory(memory.counts[tile], memory.real[tile], memory.ring[tile])
        replicate_thread(i, i - tile * WARP, launch, fixed, own, output)


def trials(launch: Number, given: LookInput, own: LookMemory, output: LookOutput) -> None:
    """One trial with looks after the other, as many apart as there are threads; `own` is the thread's memory."""
    i = cuda.grid(1)
    while i < launch[0]:
        scenario, row = i // launch[1], i % launch[1]
        replicate(Replication(scenario, row, launch[2] + row), given, own, output)
        i += cuda.gridsize(1)
