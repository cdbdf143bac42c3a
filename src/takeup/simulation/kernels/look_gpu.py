"""Trials with looks on a GPU: as many threads as there is room for, each of which runs one trial after the other.

A trial lays out densities on grids of thousands of points, so that a million of them at once would not fit. The threads
of a warp have their memory side by side, point by point: what they read together lies together.
"""

from typing import Any

import numpy as np

from takeup.simulation.engine import Progress, silent
from takeup.simulation.kernels import compile_gpu
from takeup.simulation.kernels.gpu import compiled, device, sent
from takeup.simulation.kernels.look_layout import LookLayout
from takeup.simulation.kernels.look_tables import LookOutput
from takeup.simulation.kernels.machine import WARP

THREADS = 64
"""Threads of a CUDA block."""
RESIDENT = 512
"""Threads of a multiprocessor that are at work at once, at most."""
REGISTERS = 128
"""So many a thread let that many be at work."""
MEMORY = 0.5
"""How much of the memory that is free they may take."""
LAUNCH = 2**20
"""Trials of a launch, about: a second or two, so that progress shows and Ctrl-C is heard."""


def run(layout: LookLayout, trials: range, *, most: int | None = None, progress: Progress = silent) -> LookOutput:
    """Run these trials in every scenario on one CUDA device.

    The arithmetic is that of the CPU but for the last bits, which decide of a trial in a hundred thousand, if any.

    Args:
        layout: what is run.
        trials: their numbers.
        most: threads that are at work at once, at most.
        progress: called with the number of trials made since the last call.

    Raises:
        EngineError: numba-cuda is not installed, or there is no device.
    """
    cuda = device()
    room = layout.memory()
    kernel = compiled(compile_gpu.look_entry(layout, room), REGISTERS)
    whole = layout.output(len(trials))
    size = max(1, LAUNCH // layout.scenarios)
    warps = _warps(cuda, room, min(size, len(trials)) * layout.scenarios, most)
    given, memory = sent(cuda, layout.given), side_by_side(cuda, room, warps)
    for row in range(0, len(trials), size):
        count = min(size, len(trials) - row)
        total = count * layout.scenarios
        output = sent(cuda, layout.output(count))
        kernel[warps * WARP // THREADS, THREADS]((total, count, trials.start + row), given, memory, output)
        for kept, found in zip(whole, output, strict=True):
            kept[:, row : row + count] = found.copy_to_host()
        progress(total)
    return whole


def _warps(cuda: Any, room: Any, total: int, most: int | None) -> int:
    """Warps that are at work at once, in whole blocks: no more than work, memory and multiprocessors allow."""
    context = cuda.current_context()
    fit = MEMORY * context.get_memory_info()[0] / _bytes(room)
    resident = most or RESIDENT * getattr(context.device, "MULTIPROCESSOR_COUNT", 1)
    blocks = max(1, min(-(-total // THREADS), int(min(fit, resident)) // THREADS))
    return blocks * THREADS // WARP


def _bytes(room: Any) -> int:
    """What one trial works with."""
    if isinstance(room, tuple):
        return sum(_bytes(each) for each in room)
    return int(room.nbytes)


def side_by_side(cuda: Any, room: Any, warps: int) -> Any:
    """The arrays of one trial, for all threads: (warps, .., lanes)."""
    if isinstance(room, tuple):
        parts = [side_by_side(cuda, each, warps) for each in room]
        return type(room)(*parts) if hasattr(room, "_fields") else tuple(parts)
    return cuda.device_array((warps, *room.shape, WARP), np.dtype(room.dtype))
