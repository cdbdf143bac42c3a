"""Sums over short vectors, four entries at a time: what a processor adds in one instruction.

Matrices lie row by row in flat arrays, their rows padded with zeros to a multiple of four, so that no loop has a rest.
Indices are unsigned: a signed one might count from the end, and would be looked at for it.
"""

import math

import numpy as np

from takeup.simulation.kernels.machine import Array, Number, inlined, number_of

BLOCK = 4
"""Entries that are worked on at a time."""

_1, _2, _3 = np.uintp(1), np.uintp(2), np.uintp(3)

# exp(f) for |f| <= log(2) / 2 by its series, to the last place of float64, and log(2) in two parts.
_SERIES = tuple(1 / math.factorial(k) for k in range(14))
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = _SERIES[2:]
_PER_LOG_TWO, _LOG_TWO_HIGH, _LOG_TWO_LOW = 1 / math.log(2), 6.93145751953125e-1, 1.42860682030941723212e-6
_LOWEST, _BIAS, _EXPONENT = -87.0, np.int32(127), np.uint32(23)


@inlined
def padded(size: Number) -> Number:
    """The next multiple of four."""
    return (size + 3) // 4 * 4


@inlined
def column_sums(matrix: Array, at: Number, width: Number, vector: Array, rows: Number) -> Number:
    """The four Σ_i v_i M[i, k] of the columns from the one at `at` on, where v is the beginning of the vector."""
    a, b, c, e = 0.0, 0.0, 0.0, 0.0
    m, step = np.uintp(at), np.uintp(width)
    for i in range(rows):
        v = vector[np.uintp(i)]
        a += v * matrix[m]
        b += v * matrix[m + _1]
        c += v * matrix[m + _2]
        e += v * matrix[m + _3]
        m += step
    return a, b, c, e


@inlined
def put(array: Array, at: Number, four: Number) -> None:
    """Store four numbers."""
    m = np.uintp(at)
    array[m] = four[0]
    array[m + _1] = four[1]
    array[m + _2] = four[2]
    array[m + _3] = four[3]


@inlined
def exp_below(x: Number) -> Number:
    """Exp(x) of an x that is not above 0, to a few units in the last place; below exp(-87), that."""
    y = max(x, _LOWEST)
    n = np.int32(y * _PER_LOG_TWO - 0.5)
    whole = np.float64(n)
    f = (y - whole * _LOG_TWO_HIGH) - whole * _LOG_TWO_LOW
    s = f * f
    # Pairs of terms, so that they need not wait for each other.
    low = (1.0 + f) + s * ((0.5 + f * _C3) + s * (_C4 + f * _C5))
    high = (_C6 + f * _C7) + s * ((_C8 + f * _C9) + s * ((_C10 + f * _C11) + s * (_C12 + f * _C13)))
    power = np.float64(number_of(np.uint32(np.uint32(n + _BIAS) << _EXPONENT)))
    return power * (low + s * s * s * high)
