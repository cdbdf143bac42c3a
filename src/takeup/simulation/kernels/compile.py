"""Machine code from plain functions: the part that CPU and GPU share.

`Builder` copies a function with a dictionary of globals of its own, in which the functions that it names, of takeup or
of its own package, have been compiled first, and hands the copy to a decorator of numba. Nothing else is needed for two
engines to have one source: only the decorator and the machine's few instructions differ. A function is found by its
name, so kernels call `weigh(..)`, not `rows.weigh(..)`.
"""

import dis
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from takeup.errors import EngineError
from takeup.version import __version__

Plain = Callable[..., Any]
Compiled = Any
"""What numba makes of a function; numba has no types."""
Switch = bool | tuple[int, ...]
"""A value that is known when machine code is made."""


def numba_module(name: str = "numba") -> ModuleType:
    """A module of numba, or an error that names the extra to install."""
    try:
        return import_module(name)
    except ImportError as error:
        extra = "gpu" if "cuda" in name else "sim"
        raise EngineError(f"{name} is not installed ({error}); pip install 'takeup[{extra}]'") from error


class Builder:
    """Compiles functions and all that they call.

    Args:
        decorate: makes machine code of a copied function; gets the original, too, to look up its marks.
        bind: functions that stand in for others, wherever these are named.
        switches: values of global names: what is switched off is not compiled, loops of a known length are unrolled.
        instructions: what is there already, compiled.
    """

    def __init__(
        self,
        decorate: Callable[[Plain, Plain], Compiled],
        bind: Mapping[Plain, Plain],
        switches: Mapping[str, Switch],
        instructions: Mapping[Plain, Compiled],
    ) -> None:
        self._decorate = decorate
        self._bind = dict(bind)
        self._switches = dict(switches)
        self._instructions = instructions
        self._done: dict[Plain, Compiled] = dict(instructions)
        self._identities: dict[Plain, str] = {}

    def __call__(self, function: Plain) -> Compiled:
        """The compiled function, or the one that stands in for it."""
        function = self._bind.get(function, function)
        if function not in self._done:
            self._done[function] = self._decorate(self._copy(function), function)
        return self._done[function]

    def identity(self, function: Plain) -> str:
        """A name for what a function becomes: the same in two builds where it and all that it calls are the same."""
        function = self._bind.get(function, function)
        if function not in self._identities:
            used = () if function in self._instructions else self._globals(function)
            parts = [
                (name, self.identity(value) if called else value)
                for name, value, called in used
                if called or name in self._switches
            ]
            code = function.__code__
            own = (code.co_code, [value for value in code.co_consts if not isinstance(value, CodeType)])
            whole = repr((function.__module__, function.__qualname__, own, parts))
            self._identities[function] = hashlib.blake2b(whole.encode(), digest_size=12).hexdigest()
        return self._identities[function]

    def _globals(self, function: Plain) -> Iterator[tuple[str, Any, bool]]:
        """The global names that a function uses, what they stand for, and whether that is to be compiled, too."""
        if not isinstance(function, FunctionType):
            raise TypeError(f"kernels are plain functions, not {function!r}")
        outer = function.__globals__
        packages = ("takeup", top_level(outer["__name__"]))
        for name in _used(function):
            if name in outer:
                value = self._switches.get(name, outer[name])
                yield name, value, inspect.isfunction(value) and top_level(value.__module__) in packages

    def _copy(self, function: Plain) -> Plain:
        outer = function.__globals__
        inner: dict[str, Any] = {"__name__": outer["__name__"], "__builtins__": outer["__builtins__"]}
        for name, value, called in self._globals(function):
            inner[name] = self(value) if called else value
        copied = FunctionType(function.__code__, inner, function.__name__, function.__defaults__)
        copied.__module__ = function.__module__
        copied.__qualname__ = function.__qualname__
        return copied


@cache
def _used(function: Plain) -> tuple[str, ...]:
    """The global names in a function, in order."""
    return tuple(sorted({each.argval for each in dis.get_instructions(function) if each.opname == "LOAD_GLOBAL"}))


def top_level(module: str) -> str:
    """The package that a module belongs to, or the module itself."""
    return module.partition(".")[0]


@cache
def sources(packages: frozenset[str], takeup: Path = Path(__file__).parents[2]) -> str:
    """A hash of everything that machine code is made from: the sources whose functions and constants kernels use.

    Args:
        packages: whose kernels are compiled; those of takeup take theirs from the core, covariates, policies,
            inference and simulation.
        takeup: where takeup lies.
    """
    files = [*takeup.glob("*.py")]
    for folder in ("covariates", "policies", "inference", "simulation"):
        files += (takeup / folder).rglob("*.py")
    for name in packages - {"takeup"}:
        module = sys.modules[name]
        folders, own = getattr(module, "__path__", ()), getattr(module, "__file__", None)
        files += [file for folder in folders for file in Path(folder).rglob("*.py")]
        files += [Path(own)] if own and not folders else []
    content = hashlib.blake2b(__version__.encode(), digest_size=12)
    for file in sorted(files):
        content.update(file.name.encode() + file.read_bytes())
    return content.hexdigest()


def variant(entry: Plain, bind: Mapping[Plain, Plain], switches: Mapping[str, Switch]) -> str:
    """A hash of the sources and of what a build is bound to, by name: what its cache is filed under."""
    packages = frozenset(top_level(f.__module__) for f in (entry, *bind.values()))
    named = sorted((f"{k.__module__}.{k.__name__}", f"{v.__module__}.{v.__name__}") for k, v in bind.items())
    own = (entry.__module__, entry.__name__, entry.__code__.co_code)
    parts = (sources(packages), own, named, sorted(switches.items()))
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()
