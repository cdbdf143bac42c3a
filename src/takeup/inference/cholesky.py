"""Cholesky factors of small matrices, many side by side.

Sums of whole numbers with a prior as small as people like may be singular but for rounding. A pivot is therefore never
taken to be below a share of its diagonal, so that every such matrix has a factor; each is found as it would
be alone.
"""

import numpy as np

from takeup.checks import FloatArray, IntArray

LEAST = 1e-14
"""The least share of its diagonal that a pivot has."""


def factored(matrix: FloatArray) -> FloatArray:
    """The lower factor L of matrices L L'; shape (.., p, p)."""
    size = matrix.shape[-1]
    lower = np.zeros(matrix.shape)
    for j in range(size):
        known = np.einsum("...ik,...k->...i", lower[..., j:, :j], lower[..., j, :j])
        column = matrix[..., j:, j] - known
        pivot = np.sqrt(np.maximum(column[..., 0], LEAST * matrix[..., j, j]))
        lower[..., j, j] = pivot
        lower[..., j + 1 :, j] = column[..., 1:] / pivot[..., np.newaxis]
    return lower


def forth(lower: FloatArray, right: FloatArray | IntArray) -> FloatArray:
    """The x of L x = right; the shapes (.., p, p) and (.., p) broadcast."""
    found = np.zeros(np.broadcast_shapes(lower.shape[:-1], right.shape))
    for i in range(lower.shape[-1]):
        known = np.einsum("...k,...k->...", lower[..., i, :i], found[..., :i])
        found[..., i] = (right[..., i] - known) / lower[..., i, i]
    return found


def back(lower: FloatArray, right: FloatArray) -> FloatArray:
    """The x of L' x = right, likewise."""
    found = np.zeros(np.broadcast_shapes(lower.shape[:-1], right.shape))
    for i in reversed(range(lower.shape[-1])):
        known = np.einsum("...k,...k->...", lower[..., i + 1 :, i], found[..., i + 1 :])
        found[..., i] = (right[..., i] - known) / lower[..., i, i]
    return found


def log_determinant(lower: FloatArray) -> FloatArray:
    """The logarithm of det L L'."""
    return np.asarray(2 * np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1))
