"""Machine code for CUDA: the same functions, by numba-cuda; a thread runs a replication, or trials one by one."""

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from takeup.simulation.kernels import driver, look_driver, machine
from takeup.simulation.kernels.compile import Builder, Compiled, Plain, Switch, numba_module
from takeup.simulation.kernels.layout import Layout
from takeup.simulation.kernels.look_layout import LookLayout
from takeup.simulation.kernels.machine import WARP
from takeup.simulation.kernels.tables import KernelMemory

LEAST, HALF, ONE = np.float32(1e-30), np.float32(0.5), np.float32(1)
LOCAL_BYTES = 2048
"""Up to this size a replication's state lies in the thread's own memory; beyond it, in a column of a workspace."""


def entry(layout: Layout) -> Plain:
    """The function of `cuda_entry` for one shape, all its callees compiled, as numba-cuda takes it."""
    shape, real = layout.given.shape, np.dtype(layout.kernel.REAL).name
    plain = "local" if is_local(layout) else "column"
    bind = layout.bind | getattr(layout.kernel, "ON_GPU", {})
    return _entry(plain, tuple(bind.items()), tuple(layout.switches.items()), shape, layout.rows, real)


def state_bytes(layout: Layout) -> int:
    """What a replication at work takes of memory."""
    size: int = sum(array.nbytes for array in layout.memory(1))
    return size


def is_local(layout: Layout) -> bool:
    """Whether the state is small enough for the thread's own memory."""
    return state_bytes(layout) <= LOCAL_BYTES


def memory(layout: Layout, total: int, empty: Callable[..., Any]) -> KernelMemory:
    """Room for so many replications at work where states are not local, that of a warp together and so on few pages.

    Args:
        layout: the simulation.
        total: how many replications.
        empty: makes an array of a shape and a type; kernels write to it before they read.
    """
    if is_local(layout):
        return layout.memory(1)
    return KernelMemory(*(empty((-(-total // WARP), *each.shape), each.dtype) for each in layout.memory(WARP)))


@cache
def _entry(
    name: str,
    bind: tuple[tuple[Plain, Plain], ...],
    switches: tuple[tuple[str, Switch], ...],
    shape: tuple[int, int, int, int],
    rows: tuple[int, int, int],
    real: str,
) -> Plain:
    types = numba_module("numba.types")
    own = {
        "replicate_thread": _built(driver.replicate_thread, bind, switches),
        "SHAPE": shape,
        "COUNTS": (rows[0], 1),
        "REALS": (rows[1], 1),
        "RING": (rows[2], 1),
        "REAL": getattr(types, real),
    }
    return _with(name, own)


def look_entry(layout: LookLayout, room: Any) -> Plain:
    """The same for trials with looks; `room` is the memory of one of them."""
    kinds: dict[str, type] = {}
    part = _part("memory", room, kinds)
    return _look_entry(tuple(layout.bind.items()), tuple(layout.switches.items()), part, tuple(kinds.items()))


@cache
def _look_entry(
    bind: tuple[tuple[Plain, Plain], ...],
    switches: tuple[tuple[str, Switch], ...],
    part: str,
    kinds: tuple[tuple[str, type], ...],
) -> Plain:
    trials = _on_device(_with("trials", {"replicate": _built(look_driver.replicate, bind, switches)}))
    names = {**dict(kinds), "trials": trials, "cuda": numba_module("numba.cuda"), "WARP": WARP}
    made: Plain = eval(f"lambda launch, given, memory, output: trials(launch, given, {part}, output)", names)
    return made


def _part(name: str, room: Any, kinds: dict[str, type]) -> str:
    """How a thread takes its part of nested tuples of arrays (warps, .., lanes), as an expression.

    A compiled function can neither go through a tuple of several types in a loop nor hand back parts of arrays.
    """
    if not isinstance(room, tuple):
        return f"{name}[cuda.grid(1) // WARP, ..., cuda.grid(1) % WARP]"
    parts = [_part(f"{name}[{k}]", each, kinds) for k, each in enumerate(room)]
    if type(room) is tuple:
        return f"({''.join(f'{each}, ' for each in parts)})"
    kind = f"kind_{len(kinds)}"
    kinds[kind] = type(room)
    return f"{kind}({', '.join(parts)})"


def _built(
    function: Plain, bind: tuple[tuple[Plain, Plain], ...], switches: tuple[tuple[str, Switch], ...]
) -> Compiled:
    def decorate(copied: Plain, original: Plain) -> Compiled:
        return _on_device(copied)

    return Builder(decorate, dict(bind), dict(switches), _instructions())(function)


def _on_device(function: Plain) -> Compiled:
    return numba_module("numba.cuda").jit(device=True)(function)


def _with(name: str, own: dict[str, Any]) -> Plain:
    """A function of `cuda_entry` with globals of its own."""
    plain = getattr(numba_module("takeup.simulation.kernels.cuda_entry"), name)
    return FunctionType(plain.__code__, {**plain.__globals__, **own}, plain.__name__)


def _instruction(code: str, kinds: str, result: str, *arguments: str) -> Compiled:
    """A function of one instruction of PTX; `kinds` are those of its registers, the result's first."""
    types, ir = numba_module("numba.types"), numba_module("llvmlite.ir")
    machine_types = {"uint64": ir.IntType(64), "uint32": ir.IntType(32), "float32": ir.FloatType()}

    def typed(context: Any, *given: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            takes = ir.FunctionType(machine_types[result], [machine_types[name] for name in arguments])
            return builder.call(ir.InlineAsm(takes, code, kinds), values)

        return getattr(types, result)(*(getattr(types, name) for name in arguments)), emit

    intrinsic = numba_module("numba.cuda.extending").intrinsic
    if len(arguments) == 1:
        return intrinsic(lambda context, a: typed(context, a))
    return intrinsic(lambda context, a, b: typed(context, a, b))


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

    product = _instruction("mul.wide.u32 $0, $1, $2;", "=l,r,r", "uint64", "uint32", "uint32")
    inverse = _instruction("rcp.approx.ftz.f32 $0, $1;", "=f,f", "float32", "float32")
    inverse_root = _instruction("rsqrt.approx.ftz.f32 $0, $1;", "=f,f", "float32", "float32")

    def wide(a: Any, b: Any) -> Any:
        return product(np.uint32(a), np.uint32(b))

    def root(number: Any) -> Any:  # what the instruction sqrt.rn does, without its branch for numbers below 2^-100
        guess = inverse_root(libdevice.fmaxf(number, LEAST))
        found, half = libdevice.fmul_rn(number, guess), libdevice.fmul_rn(guess, HALF)
        return libdevice.fmaf_rn(libdevice.fmaf_rn(-found, found, number), half, found)

    def quotient(a: Any, b: Any) -> Any:  # what div.rn does, without its branch for numbers that are huge or tiny
        guess = inverse(b)
        guess = libdevice.fmaf_rn(libdevice.fmaf_rn(-b, guess, ONE), guess, guess)
        found = libdevice.fmul_rn(a, guess)
        return libdevice.fmaf_rn(libdevice.fmaf_rn(-b, found, a), guess, found)

    def smaller(a: Any, b: Any) -> Any:
        return libdevice.fminf(a, b)

    def bits(number: Any) -> Any:
        return np.uint32(libdevice.float_as_int(number))

    def number_of(word: Any) -> Any:
        return libdevice.int_as_float(np.int32(word))

    ours: dict[Plain, Plain] = {
        machine.fused: fused,
        machine.times: times,
        machine.times_double: times_double,
        machine.wide: wide,
        machine.smaller: smaller,
        machine.root: root,
        machine.quotient: quotient,
        machine.bits: bits,
        machine.number_of: number_of,
    }
    return {plain: cuda.jit(device=True)(function) for plain, function in ours.items()}
