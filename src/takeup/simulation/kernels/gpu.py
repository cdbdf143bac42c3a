"""The GPU engine: one launch for many scenarios and replications, in blocks that bound its memory."""

from functools import cache
from typing import Any

import numpy as np

from takeup.errors import EngineError
from takeup.simulation.engine import Part, Progress, silent
from takeup.simulation.kernels import compile_gpu
from takeup.simulation.kernels.compile import Compiled, Plain, numba_module
from takeup.simulation.kernels.layout import Layout
from takeup.simulation.kernels.tables import KernelOutput

THREADS = 128
"""Threads of a CUDA block."""

BLOCK_BYTES = 4 * 2**30
"""About how much of the device's memory a launch takes."""


def run(layout: Layout, replications: range, *, block: int | None = None, progress: Progress = silent) -> Part:
    """Run one policy against each environment on the GPU; the arguments are those of `cpu.run`.

    The arithmetic is that of the CPU, to the rounding; the logarithms of the rare draws that need one may differ in
    their last bit.

    Raises:
        EngineError: numba-cuda is not installed, or there is no device.
    """
    cuda = device()
    kernel = compiled(compile_gpu.entry(layout), getattr(layout.kernel, "REGISTERS", None))
    whole = layout.output(len(replications))
    size = block or _block(layout)
    given = sent(cuda, layout.given)
    for row in range(0, len(replications), size):
        count = min(size, len(replications) - row)
        total = count * layout.environments
        memory = sent(cuda, compile_gpu.memory(layout, total, cuda.device_array))
        steps, *room = layout.output(count)
        output = KernelOutput(sent(cuda, steps), *map(cuda.device_array_like, room))  # kernels write all of it
        kernel[-(-total // THREADS), THREADS]((total, count, replications.start + row), given, memory, output)
        for name in ("regret", "pulls", "decisions") if layout.switches["KEEPING"] else ("regret", "pulls"):
            for scenario in range(layout.environments):
                getattr(output, name)[scenario].copy_to_host(getattr(whole, name)[scenario, row : row + count])
        progress(total * layout.given.horizon)
    return layout.part(whole)


def device() -> Any:
    """The module numba.cuda, where there is a device for it."""
    cuda = numba_module("numba.cuda")
    if not cuda.is_available():
        raise EngineError("there is no CUDA device here, or no driver for it; use engine='cpu'")
    return cuda


@cache
def compiled(entry: Plain, registers: int | None) -> Compiled:
    """The kernel, with so many registers a thread at most; numba's simulator of a GPU has none."""
    simulated = numba_module("numba.core.config").ENABLE_CUDASIM
    limit = {} if registers is None or simulated else {"max_registers": registers}
    return numba_module("numba.cuda").jit(entry, **limit)


def sent(cuda: Any, value: Any) -> Any:
    """The value with its arrays on the device; NamedTuples stay what they are."""
    if isinstance(value, np.ndarray):
        return cuda.to_device(value)
    if hasattr(value, "_fields"):
        return type(value)(*(sent(cuda, each) for each in value))
    return value


def _block(layout: Layout) -> int:
    """Replications of a launch, so that state and output stay within `BLOCK_BYTES`."""
    output: int = sum(array.nbytes for array in layout.output(1)[1:])
    state = 0 if compile_gpu.is_local(layout) else layout.environments * compile_gpu.state_bytes(layout)
    return max(1, BLOCK_BYTES // (output + state))
