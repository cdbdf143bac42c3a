"""What the arrays of a log have to be: whole numbers, known after their decisions, probabilities."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError

TOLERANCE = 1e-6
"""By how much probabilities may miss a sum of one, as files round them."""

ROWS = 10_000
"""How many rows are compared at a time."""


def whole_numbers(name: str, given: ArrayLike) -> IntArray:
    """Whole numbers; NaN, fractions and texts are none."""
    array = np.asarray(given)
    if array.dtype.kind not in "iu":
        array = checks.real(name, given)
        if (off := array != np.floor(array)).any():
            raise InputError(name, f"{array[off][0]:g}", "whole numbers")
    return array.astype(np.int64, copy=False)


def check_known(name: str, by: IntArray, shape: tuple[int, ...]) -> None:
    """Something is known by a later decision than its own, and by their number at the latest."""
    checks.shaped(name, by, shape, "one a decision")
    n = shape[-1]
    wrong = (by <= np.arange(n)) | (by > n)
    if wrong.any():
        place = np.argwhere(wrong)[0]
        i = int(place[-1])
        allowed = f"from {i + 1} to {n}: nothing is known before its decision"
        hint = f"{n} says that it came after the last"
        raise InputError(name, f"{by[tuple(place)]} at decision {i + 1}", allowed, hint)


def alike(probability: FloatArray, which: NDArray[np.bool_]) -> bool:
    """Whether all of these decisions had the same probabilities, as far as files tell them."""
    if not any(probability.strides[:-1]):  # one row that stands for all
        return True
    rows = np.flatnonzero(which)
    table = probability.reshape(-1, probability.shape[-1])
    for start in range(0, rows.size, ROWS):  # those that changed mostly did so early
        if np.abs(table[rows[start : start + ROWS]] - table[rows[0]]).max() > TOLERANCE:
            return False
    return True


def worst(probability: FloatArray) -> str:
    """The row that is furthest from being one of probabilities, as errors say it."""
    rows = probability.reshape(-1, probability.shape[-1])
    i = int(np.argmax(np.where(rows.min(axis=1) < 0, np.inf, np.abs(rows.sum(axis=1) - 1))))
    return f"{np.array2string(rows[i], precision=6)} at decision {i + 1}"
