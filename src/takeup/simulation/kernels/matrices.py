"""Small square matrices in a column of the state: the smallest singular value, and a linear system."""

import math

from takeup.simulation.kernels.machine import Number
from takeup.simulation.kernels.tables import State

SWEEPS = 30
"""Sweeps of Jacobi's method; it converges quadratically and takes five or so."""


def smallest_singular(state: State, matrix: Number, left: Number, right: Number, size: Number) -> Number:
    """The smallest singular value s of a matrix, and its vectors u and v: Jacobi's method on A'A.

    Args:
        state: where all of it lies, among the reals.
        matrix: where A lies, row by row; behind it is room for A'A, and for its eigenvectors, by column.
        left: where u goes.
        right: where v goes.
        size: of the matrix.
    """
    real, column = state.real, state.column
    square, vectors = matrix + size * size, matrix + 2 * size * size
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(size):
                total += real[matrix + k * size + i, column] * real[matrix + k * size + j, column]
            real[square + i * size + j, column] = total
            real[vectors + i * size + j, column] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        off = 0.0
        for p in range(size):
            for q in range(p + 1, size):
                off += abs(real[square + p * size + q, column])
                _rotate(state, square, vectors, p, q, size)
        if off < 1e-16:
            break
    least = 0
    for i in range(1, size):
        if real[square + i * size + i, column] < real[square + least * size + least, column]:
            least = i
    s = math.sqrt(max(real[square + least * size + least, column], 0.0))
    for i in range(size):
        real[right + i, column] = real[vectors + i * size + least, column]
    for i in range(size):
        total = 0.0
        for j in range(size):
            total += real[matrix + i * size + j, column] * real[right + j, column]
        real[left + i, column] = total / s if s > 0.0 else 0.0
    return s


def _rotate(state: State, square: Number, vectors: Number, p: Number, q: Number, size: Number) -> None:
    """The rotation that makes entry (p, q) of a symmetric matrix zero."""
    real, column = state.real, state.column
    apart = real[square + p * size + q, column]
    if abs(apart) < 1e-300:
        return
    theta = (real[square + q * size + q, column] - real[square + p * size + p, column]) / (2.0 * apart)
    t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    if theta < 0.0:
        t = -t
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(size):
        a, b = real[square + k * size + p, column], real[square + k * size + q, column]
        real[square + k * size + p, column] = c * a - s * b
        real[square + k * size + q, column] = s * a + c * b
    for k in range(size):
        a, b = real[square + p * size + k, column], real[square + q * size + k, column]
        real[square + p * size + k, column] = c * a - s * b
        real[square + q * size + k, column] = s * a + c * b
    for k in range(size):
        a, b = real[vectors + k * size + p, column], real[vectors + k * size + q, column]
        real[vectors + k * size + p, column] = c * a - s * b
        real[vectors + k * size + q, column] = s * a + c * b


def solve(state: State, matrix: Number, vector: Number, size: Number) -> None:
    """Replace the vector b by the x with A x = b, by elimination with pivots; A is used up."""
    real, column = state.real, state.column
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(real[matrix + i * size + k, column]) > abs(real[matrix + pivot * size + k, column]):
                pivot = i
        if pivot != k:
            for j in range(size):
                a, b = matrix + k * size + j, matrix + pivot * size + j
                real[a, column], real[b, column] = real[b, column], real[a, column]
            real[vector + k, column], real[vector + pivot, column] = (
                real[vector + pivot, column],
                real[vector + k, column],
            )
        for i in range(k + 1, size):
            factor = real[matrix + i * size + k, column] / real[matrix + k * size + k, column]
            for j in range(k, size):
                real[matrix + i * size + j, column] -= factor * real[matrix + k * size + j, column]
            real[vector + i, column] -= factor * real[vector + k, column]
    for k in range(size):
        i = size - 1 - k
        total = real[vector + i, column]
        for j in range(i + 1, size):
            total -= real[matrix + i * size + j, column] * real[vector + j, column]
        real[vector + i, column] = total / real[matrix + i * size + i, column]
