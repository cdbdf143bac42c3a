"""Machine code for the CPU: numba, without the interpreter's lock, kept on disk.

numba's own cache watches the file of the compiled function, but not those of the functions that it calls. Ours is
filed under a hash of all sources that kernels use, the version and what was bound, so a changed callee or constant
never meets old code.

What a function becomes is part of its name: its own identity and those of all that it calls. numba tells symbols
apart by name, types and a number that every process counts for itself: of two builds of one function that other
processes left on disk, a third may otherwise load the second and be linked to the first. So entries share the functions
that they have in common, in a process and on disk.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

from takeup.simulation.kernels import machine
from takeup.simulation.kernels.compile import (
    Builder,
    Compiled,
    Plain,
    Switch,
    numba_module,
    sources,
    top_level,
    variant,
)

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def build(entry: Plain, bind: Mapping[Plain, Plain], switches: Mapping[str, Switch]) -> Compiled:
    """The compiled entry with these functions and switches, from the disk where it is there."""
    return _build(entry, variant(entry, bind, switches), tuple(bind.items()), tuple(switches.items()))


@cache
def _build(
    entry: Plain, name: str, bind: tuple[tuple[Plain, Plain], ...], switches: tuple[tuple[str, Switch], ...]
) -> Compiled:
    packages = frozenset(top_level(f.__module__) for f in (entry, *dict(bind).values()))

    def decorate(function: Plain, original: Plain) -> Compiled:
        if original is entry:
            return _machine_code(function, original, name, inner=False)
        key = f"{builder.identity(original)}-{sources(packages)}"
        if key not in _parts:
            _parts[key] = _machine_code(function, original, key, inner=True)
        return _parts[key]

    builder = Builder(decorate, dict(bind), dict(switches), _instructions())
    return builder(entry)


_parts: dict[str, Compiled] = {}
"""Functions that a process has for one entry, which others that call the same take as they are."""


def _machine_code(function: Plain, original: Plain, name: str, *, inner: bool) -> Compiled:
    """What numba makes of a copied function; only the entry is called from Python and needs a way in from there."""
    function.__qualname__ = f"{function.__qualname__}-{name}"
    compiled = numba_module().njit(
        nogil=True,
        error_model="numpy",
        forceinline=original in machine.INLINED,
        no_cpython_wrapper=inner,
        no_cfunc_wrapper=True,
        _nrt=original in machine.MAKERS or not inner,
    )(function)
    keep(compiled, name)
    return compiled


@cache
def _instructions() -> dict[Plain, Compiled]:
    """`fused`, `bits` and `number_of` as instructions of the processor; `times` needs none."""
    types, intrinsic = numba_module("numba.types"), numba_module("numba.extending").intrinsic
    ir = numba_module("llvmlite.ir")

    def instruction(name: str, result: Any, arguments: tuple[Any, ...], emit: Callable[..., Any]) -> Compiled:
        def typed(context: Any, *given: Any) -> Any:
            return result(*arguments), lambda ctx, builder, signature, values: emit(builder, *values)

        if len(arguments) == 3:
            return intrinsic(lambda context, a, b, c: typed(context, a, b, c))
        return intrinsic(lambda context, a: typed(context, a))

    single, word = types.float32, types.uint32
    return {
        machine.fused: instruction("fused", single, (single, single, single), lambda b, x, y, z: b.fma(x, y, z)),
        machine.bits: instruction("bits", word, (single,), lambda b, x: b.bitcast(x, ir.IntType(32))),
        machine.number_of: instruction("number_of", single, (word,), lambda b, x: b.bitcast(x, ir.FloatType())),
        machine.times_line_in_vectors: _times_line_in_vectors(),
    }


def _times_line_in_vectors() -> Compiled:
    """`times_line_in_vectors` as a loop over vectors of four."""
    types, intrinsic = numba_module("numba.types"), numba_module("numba.extending").intrinsic
    ir, cgutils = numba_module("llvmlite.ir"), numba_module("numba.core.cgutils")
    double, number = ir.DoubleType(), types.float64
    four = ir.VectorType(double, 4)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def spread(one: Any) -> Any:
            vector = builder.insert_element(ir.Constant(four, ir.Undefined), one, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4))

        def variable(values: list[float]) -> Any:
            return cgutils.alloca_once_value(builder, ir.Constant(four, values))

        def total(vector: Any) -> Any:
            parts = [builder.extract_element(vector, ir.Constant(ir.IntType(32), i)) for i in range(4)]
            return builder.fadd(builder.fadd(*parts[:2]), builder.fadd(*parts[2:]))

        array, (first, end, before, way) = arguments[0], arguments[1:]
        data = context.make_array(signature.args[0])(context, builder, array).data
        before, way = spread(before), spread(way)
        place, sums, moments = variable([0.0, 1.0, 2.0, 3.0]), variable([0.0] * 4), variable([0.0] * 4)
        step = ir.Constant(end.type, 4)
        with cgutils.for_range_slice(builder, ir.Constant(end.type, 0), end, step, inc=True) as (index, _):
            pointer = builder.bitcast(builder.gep(data, [builder.add(first, index)]), four.as_pointer())
            s = builder.load(place)
            weight = builder.fmul(builder.load(pointer, align=8), builder.fadd(before, builder.fmul(way, s)))
            builder.store(weight, pointer, align=8)
            builder.store(builder.fadd(builder.load(sums), weight), sums)
            builder.store(builder.fadd(builder.load(moments), builder.fmul(weight, s)), moments)
            builder.store(builder.fadd(s, ir.Constant(four, [4.0] * 4)), place)
        both = total(builder.load(sums)), total(builder.load(moments))
        return context.make_tuple(builder, signature.return_type, both)

    def typed(context: Any, values: Any, first: Any, end: Any, before: Any, way: Any) -> Any:
        index = types.int64
        return types.UniTuple(number, 2)(values, index, index, number, number), emit

    return intrinsic(typed)


def keep(compiled: Compiled, name: str) -> None:
    """Keep the machine code of a numba function on disk, under this name."""
    caching = numba_module("numba.core.caching")
    folder = cache_folder()

    class Locator(caching._CacheLocator):  # type: ignore[misc, name-defined]  # numba has no types
        def get_cache_path(self) -> str:
            return str(folder)

        def get_source_stamp(self) -> str:
            return name

        def get_disambiguator(self) -> str:
            return "cpu"  # the function's own name tells them apart

        @classmethod
        def from_function(cls, function: Plain, file: str) -> Any:
            return cls()

    class Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc, name-defined]  # likewise
        _locator_classes = (Locator,)

    class Cache(caching.FunctionCache):  # type: ignore[misc, name-defined]  # likewise
        """Of processes that need the same, one makes it and the others wait."""

        _impl_class = Implementation

        _turn: IO[bytes] | None = None

        def load_overload(self, signature: Any, target: Any) -> Any:
            code = super().load_overload(signature, target)
            if code is None:
                self._end_turn()  # of a compilation that failed
                self._turn = _turn(folder / f"{name}.turn")
                code = super().load_overload(signature, target)
                if code is not None:
                    self._end_turn()
            return code

        def save_overload(self, signature: Any, code: Any) -> None:
            try:
                super().save_overload(signature, code)
            finally:
                self._end_turn()

        def _end_turn(self) -> None:
            if self._turn is not None:
                Path(self._turn.name).unlink(missing_ok=True)
                self._turn.close()
                self._turn = None

    compiled._cache = Cache(compiled.py_func)


def _turn(path: Path) -> IO[bytes]:
    """A file that this process alone has open until it is closed, where the system has such locks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("wb")
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
    return file


def is_kept(compiled: Compiled) -> bool:
    """Whether there is machine code of a kept function, in memory or on disk."""
    return bool(compiled.signatures) or Path(compiled._cache._cache_file._index_path).exists()


def cache_folder() -> Path:
    """Where machine code is kept: $TAKEUP_CACHE_DIR, else the user's cache folder."""
    given = os.environ.get("TAKEUP_CACHE_DIR")
    base = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "takeup"
    return base / "kernels"
