"""Machine code for CUDA: the same functions, by numba-cuda, with one thread a replication."""

from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from takeup.simulation.kernels import driver, machine
from takeup.simulation.kernels.compile import Builder, Compiled, Plain, numba_module
from takeup.simulation.kernels.layout import Layout

LOCAL_BYTES = 2048
"""Up to this size a replication's state lies in the thread's own memory; beyond it, in a workspace of columns."""


def entry(layout: Layout) -> Plain:
    """The function of `cuda_entry` for one shape, all its callees compiled, as numba-cuda takes it."""
    shape, real = layout.given.shape, np.dtype(layout.kernel.REAL).name
    plain = "local" if is_local(layout) else "column"
    return _entry(plain, tuple(layout.bind.items()), tuple(layout.switches.items()), shape, layout.rows, real)


def state_bytes(layout: Layout) -> int:
    """What a replication at work takes of memory."""
    size: int = sum(array.nbytes for array in layout.memory(1))
    return size


def is_local(layout: Layout) -> bool:
    """Whether the state is small enough for the thread's own memory."""
    return state_bytes(layout) <= LOCAL_BYTES


@cache
def _entry(
    name: str,
    bind: tuple[tuple[Plain, Plain], ...],
    switches: tuple[tuple[str, bool], ...],
    shape: tuple[int, int, int, int],
    rows: tuple[int, int, int],
    real: str,
) -> Plain:
    cuda = numba_module("numba.cuda")
    threads = numba_module("takeup.simulation.kernels.cuda_entry")

    def decorate(function: Plain, original: Plain) -> Compiled:
        return cuda.jit(device=True)(function)

    own = {
        "replicate_thread": Builder(decorate, dict(bind), dict(switches), _instructions())(driver.replicate_thread),
        "SHAPE": shape,
        "COUNTS": (rows[0], 1),
        "REALS": (rows[1], 1),
        "RING": (rows[2], 1),
        "REAL": getattr(threads.types, real),
    }
    plain = getattr(threads, name)
    return FunctionType(plain.__code__, {**plain.__globals__, **own}, plain.__name__)


@cache
def _instructions() -> dict[Plain, Compiled]:
    """The machine's instructions, as libdevice has them; numba's simulator of a GPU takes the plain ones."""
    cuda = numba_module("numba.cuda")
    if numba_module("numba.core.config").ENABLE_CUDASIM:
        return {}
    libdevice = numba_module("numba.cuda.libdevice")

    def fused(a: Any, b: Any, c: Any) -> Any:
        return libdevice.fmaf_rn(a, b, c)

    def times(a: Any, b: Any) -> Any:
        return libdevice.fmul_rn(a, b)

    def times_double(a: Any, b: Any) -> Any:
        return libdevice.dmul_rn(a, b)

    def bits(number: Any) -> Any:
        return np.uint32(libdevice.float_as_int(number))

    def number_of(word: Any) -> Any:
        return libdevice.int_as_float(np.int32(word))

    ours: dict[Plain, Plain] = {
        machine.fused: fused,
        machine.times: times,
        machine.times_double: times_double,
        machine.bits: bits,
        machine.number_of: number_of,
    }
    return {plain: cuda.jit(device=True)(function) for plain, function in ours.items()}
