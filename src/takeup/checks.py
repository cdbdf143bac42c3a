"""Checks of what enters: each returns the value in its final form or raises an InputError."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from takeup.errors import InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

Name = TypeVar("Name", bound=str)

TOLERANCE = 1e-9
"""How far a distribution's sum may be from one: rounding, not a typing error."""


def whole(argument: str, value: object, least: int, most: float = math.inf) -> int:
    """A whole number of at least `least`, and at most `most`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        limit = f" and at most {most}" if most < math.inf else ""
        raise InputError(argument, repr(value), f"a whole number of at least {least}{limit}")
    return int(value)


def one_of(argument: str, value: Name, allowed: Iterable[Name]) -> Name:
    """One of these names."""
    if value not in (names := tuple(allowed)):
        raise InputError(argument, repr(value), f"one of {', '.join(names)}")
    return value


@contextmanager
def inside(key: str) -> Iterator[None]:
    """Errors that are raised inside name what is inside of this key."""
    try:
        yield
    except InputError as error:
        words = error.words and f"{key}: {error.words}"
        raise type(error)(f"{key}.{error.argument}", error.value, error.allowed, error.hint, words) from None


def keys(given: Mapping[str, object], known: Iterable[str], inside: str = "") -> None:
    """No key of a table but those that are known; `inside` is what comes before a key where errors name it."""
    for name, value in given.items():
        if name not in (names := tuple(known)):
            close = get_close_matches(str(name), names, n=1)
            hint = f"did you mean {close[0]}?" if close else ""
            raise InputError(f"{inside}{name}", shown(value), f"one of the keys {', '.join(names)}", hint)


def shown(value: object, most: int = 100) -> str:
    """A value as an error shows it, however long it is."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write numbers of more than 4,300 digits
        return f"a {type(value).__name__} of very many digits"
    return text if len(text) <= most else f"{text[:most]}.."


def label(argument: str, value: object, most: int = 100) -> str:
    """A short text, which may be empty."""
    if not isinstance(value, str) or len(value) > most or not value.isprintable():
        raise InputError(argument, repr(value)[:most], f"a text of at most {most} characters, on one line")
    return value


def real(argument: str, value: ArrayLike) -> FloatArray:
    """An array of finite real numbers, owned by nobody else."""
    try:
        told = not isinstance(value, np.ndarray) and np.asarray(value).dtype.kind in "bSU"
        array = np.zeros(0) if told else np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            argument,
            repr(value),
            "numbers in a rectangular array",
            "check that all rows are of one length",
        ) from None
    if told:  # numpy would read "1" and True
        raise InputError(argument, shown(value), "numbers", "texts, true and false are none")
    if not np.isfinite(array).all():
        raise InputError(argument, f"{_first(array, ~np.isfinite(array))}", "finite numbers")
    return array


def probabilities(argument: str, value: ArrayLike) -> FloatArray:
    """Distributions along the last axis: no entry below zero, every row sums to one."""
    array = real(argument, value)
    if array.ndim == 0:
        raise InputError(argument, repr(value), "a distribution: a sequence of numbers that sums to 1")
    if (array < 0).any():
        raise InputError(argument, _first(array, array < 0), "probabilities between 0 and 1")
    sums = array.sum(axis=-1)
    off = np.abs(sums - 1) > TOLERANCE
    if off.any():
        raise InputError(
            argument,
            f"a row with sum {_first(sums, off)}",
            "rows that sum to 1",
            "divide each row by its sum",
        )
    return array


def rates(argument: str, value: ArrayLike) -> FloatArray:
    """Probabilities that need not sum to anything."""
    array = real(argument, value)
    outside = (array < 0) | (array > 1)
    if outside.any():
        raise InputError(argument, _first(array, outside), "probabilities between 0 and 1")
    return array


def counts(argument: str, value: ArrayLike) -> IntArray:
    """Whole numbers, none below zero."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        array: IntArray = np.array(value, dtype=np.int64)
    else:
        given = real(argument, value)
        if (given != np.floor(given)).any():
            raise InputError(argument, _first(given, given != np.floor(given)), "whole numbers")
        array = given.astype(np.int64)
    if array.size and array.min() < 0:
        raise InputError(argument, _first(array, array < 0), "counts of at least 0")
    return array


def positive(argument: str, value: ArrayLike) -> FloatArray:
    """Numbers above zero, as the parameters of a Dirichlet distribution are."""
    array = real(argument, value)
    if (array <= 0).any():
        raise InputError(argument, _first(array, array <= 0), "numbers above 0")
    return array


def share(argument: str, value: float) -> float:
    """A number strictly between 0 and 1."""
    given = real(argument, value)
    if given.ndim or not 0 < given < 1:
        raise InputError(argument, repr(value), "a number between 0 and 1, both excluded")
    return float(given)


def seconds(argument: str, value: float) -> float:
    """How long something may take or wait: a finite number, not below 0."""
    given = real(argument, value)
    if given.ndim or given < 0:
        raise InputError(argument, repr(value), "a number of seconds, 0 or more")
    return float(given)


def shaped(argument: str, array: NDArray[Any], shape: Sequence[int], axes: str) -> None:
    """The trailing axes of the array have these lengths; `axes` names them for the message."""
    if array.shape[array.ndim - len(shape) :] != tuple(shape) or array.ndim < len(shape):
        raise InputError(argument, f"shape {array.shape}", f"shape {tuple(shape)}, the axes being {axes}")


def _first(array: NDArray[Any], where: NDArray[np.bool_]) -> str:
    """The first offending entry and its place."""
    place = tuple(int(i) for i in np.argwhere(where)[0])
    return f"{array[place]}" + (f" at {list(place)}" if place else "")
