"""Machine code for CUDA: the same functions, by numba-cuda, with one thread a replication."""

from collections.abc import Mapping
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from takeup.simulation.kernels import driver, machine
from takeup.simulation.kernels.compile import Builder, Compiled, Plain, numba_module

LOCAL_BYTES = 2048
"""Up to this size a replication's state lies in the thread's own memory; beyond it, in a workspace of columns."""


def entry(
    bind: Mapping[Plain, Plain],
    switches: Mapping[str, bool],
    shape: tuple[int, int, int, int],
    rows: tuple[int, int, int],
    real: type[np.float32] | type[np.float64],
) -> Plain:
    """The function of `cuda_entry` for one shape, all its callees compiled, as numba-cuda takes it."""
    return _entry(tuple(bind.items()), tuple(switches.items()), shape, rows, np.dtype(real).name)


def is_local(rows: tuple[int, int, int], real: DTypeLike) -> bool:
    """Whether the state is small enough for the thread's own memory."""
    return 4 * rows[0] + np.dtype(real).itemsize * rows[1] + 4 * rows[2] <= LOCAL_BYTES


@cache
def _entry(
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
        "replicate": Builder(decorate, dict(bind), dict(switches), _instructions())(driver.replicate),
        "SHAPE": shape,
        "COUNTS": (rows[0], 1),
        "REALS": (rows[1], 1),
        "RING": (rows[2], 1),
        "REAL": getattr(threads.types, real),
    }
    plain = threads.local if is_local(rows, real) else threads.column
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
