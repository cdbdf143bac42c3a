"""What kernels need of the machine: the few instructions that Python has no word for, and the marks of the compiler.

Kernels are plain Python functions. They run as they are, slowly, which is how one steps through them in a debugger;
`compile` replaces the instructions here by those of the processor, and every other function by its machine
code. All arithmetic in kernels is written out to the rounding (`fused` says where a product is not rounded before it
is added to, `times` where it is), so that CPU lanes, CPU scalars and GPU threads come to the same bits.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

Number: TypeAlias = Any
"""A number of the machine, whose width numba infers: an index, a word of 32 bits, a float32 or float64."""

Array: TypeAlias = Any
"""An array of such numbers, on the host or on the device."""

Function = TypeVar("Function", bound=Callable[..., Any])

LANES = 32
"""Replications that a SIMD kernel runs side by side."""

WIDTH = 8
"""Rounds of a loop that one vector takes at a time."""

WARP = 32
"""Threads of a GPU that run together, and whose states lie together."""

UNSEEN = -1
"""The index of what has not been seen, as in `takeup.space`."""

_1, _2, _3 = np.uintp(1), np.uintp(2), np.uintp(3)

INLINED: set[Callable[..., Any]] = set()
"""Functions that are always built into their callers: a call within a loop would keep it from being vectorised."""


def inlined(function: Function) -> Function:
    """Mark a function as one to build into its callers."""
    INLINED.add(function)
    return function


MAKERS: set[Callable[..., Any]] = set()
"""Functions that make arrays, or hand them back; all others borrow them, and so their machine code counts no references
to arrays."""


def maker(function: Function) -> Function:
    """Mark a function as one that makes arrays or hands them back."""
    MAKERS.add(function)
    return function


@inlined
def one_round() -> Number:
    """How many rounds of a loop over a column are done as one."""
    return 1


@inlined
def vector_of_rounds() -> Number:
    """The same where there is but one column: a vector of them."""
    return WIDTH


@inlined
def either(which: Number, one: Number, other: Number) -> Number:
    """One of two numbers: as a function of its own it becomes a selection, in SIMD lanes too, not a branch."""
    return one if which else other


@inlined
def smaller(a: Number, b: Number) -> Number:
    """The smaller of two float32 numbers."""
    return a if a < b else b


def fused(a: Number, b: Number, c: Number) -> Number:
    """A b + c of float32 numbers, rounded once."""
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


def times(a: Number, b: Number) -> Number:
    """A product of float32 numbers that is rounded even where a sum follows: GPUs would fuse the two."""
    return a * b


def times_double(a: Number, b: Number) -> Number:
    """A product of float64 numbers that is rounded even where a sum follows."""
    return a * b


@inlined
def wide(a: Number, b: Number) -> Number:
    """The product of two words, of 64 bits."""
    return np.uint64(a) * np.uint64(b)


@inlined
def root(number: Number) -> Number:
    """The square root of a float32 from 0 to 2^64, rounded."""
    return np.float32(math.sqrt(number))


@inlined
def quotient(a: Number, b: Number) -> Number:
    """A quotient of float32 numbers, rounded; both are from 2^-20 to 2^20."""
    return a / b


def bits(number: Number) -> Number:
    """The 32 bits of a float32."""
    return np.float32(number).view(np.uint32)


def number_of(word: Number) -> Number:
    """The float32 of 32 bits."""
    return np.uint32(word).view(np.float32)


@inlined
def times_line(values: Array, first: Number, end: Number, before: Number, way: Number) -> tuple[Number, Number]:
    """Multiply values[first + s] by before + way s, for s up to `end`, a multiple of four: their Σ, and Σ s times them.

    Four sums of each do not wait for one another.
    """
    sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
    of_0, of_1, of_2, of_3 = 0.0, 0.0, 0.0, 0.0
    for s in range(0, end, 4):
        at, s_0 = np.uintp(first + s), np.float64(s)
        s_1, s_2, s_3 = s_0 + 1.0, s_0 + 2.0, s_0 + 3.0
        w_0 = times_double(values[at], before + times_double(way, s_0))
        w_1 = times_double(values[at + _1], before + times_double(way, s_1))
        w_2 = times_double(values[at + _2], before + times_double(way, s_2))
        w_3 = times_double(values[at + _3], before + times_double(way, s_3))
        values[at] = w_0
        values[at + _1] = w_1
        values[at + _2] = w_2
        values[at + _3] = w_3
        sum_0 += w_0
        sum_1 += w_1
        sum_2 += w_2
        sum_3 += w_3
        of_0 += times_double(w_0, s_0)
        of_1 += times_double(w_1, s_1)
        of_2 += times_double(w_2, s_2)
        of_3 += times_double(w_3, s_3)
    return (sum_0 + sum_1) + (sum_2 + sum_3), (of_0 + of_1) + (of_2 + of_3)


def times_line_in_vectors(
    values: Array, first: Number, end: Number, before: Number, way: Number
) -> tuple[Number, Number]:
    """The same to the bit, of numbers that lie side by side."""
    return times_line(values, first, end, before, way)
