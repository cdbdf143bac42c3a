"""Machine code from plain functions: the part that CPU and GPU share.

`Builder` copies a function with a dictionary of globals of its own, in which the functions of takeup that it names
have been compiled first, and hands the copy to a decorator of numba. Nothing else is needed for two engines to have
one source: only the decorator and the machine's three instructions differ. A function is found by its name, so kernels
call `weigh(..)`, not `rows.weigh(..)`.
"""

import hashlib
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from takeup.errors import EngineError
from takeup.version import __version__

Plain = Callable[..., Any]
Compiled = Any
"""What numba makes of a function; numba has no types."""


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
        switches: values of global names that are True or False; what is switched off is not compiled.
        instructions: what is there already, compiled.
    """

    def __init__(
        self,
        decorate: Callable[[Plain, Plain], Compiled],
        bind: Mapping[Plain, Plain],
        switches: Mapping[str, bool],
        instructions: Mapping[Plain, Compiled],
    ) -> None:
        self._decorate = decorate
        self._bind = dict(bind)
        self._switches = dict(switches)
        self._done: dict[Plain, Compiled] = dict(instructions)

    def __call__(self, function: Plain) -> Compiled:
        """The compiled function, or the one that stands in for it."""
        function = self._bind.get(function, function)
        if function not in self._done:
            self._done[function] = self._decorate(self._copy(function), function)
        return self._done[function]

    def _copy(self, function: Plain) -> Plain:
        if not isinstance(function, FunctionType):
            raise TypeError(f"kernels are plain functions, not {function!r}")
        outer = function.__globals__
        inner: dict[str, Any] = {"__name__": outer["__name__"], "__builtins__": outer["__builtins__"]}
        for name in function.__code__.co_names:
            if name in outer:
                value = outer[name]
                if isinstance(value, bool):
                    value = self._switches.get(name, value)
                ours = inspect.isfunction(value) and value.__module__.startswith("takeup.")
                inner[name] = self(value) if ours else value
        copied = FunctionType(function.__code__, inner, function.__name__, function.__defaults__)
        copied.__module__ = function.__module__
        copied.__qualname__ = function.__qualname__
        return copied


@cache
def sources() -> str:
    """A hash of everything that machine code is made from: all kernels, and the version of takeup."""
    content = hashlib.blake2b(__version__.encode(), digest_size=12)
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        content.update(file.name.encode() + file.read_bytes())
    return content.hexdigest()


def variant(*parts: object) -> str:
    """A hash of the sources and of what a build was bound to, by name: what its cache is filed under."""
    return hashlib.blake2b(repr((sources(), *parts)).encode(), digest_size=12).hexdigest()
