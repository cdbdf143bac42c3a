"""Instrumental variables by regression: two-stage least squares, limited information, Anderson & Rubin.

What textbooks do with fixed allocation. Everything is partialled out of what is exogenous first (Frisch & Waugh 1933),
so that one number is left to estimate: what taking does. Leading axes are trials side by side.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import chdtri

from takeup.analysis import regions
from takeup.checks import FloatArray

Method: TypeAlias = Literal["2SLS", "LIML"]
"""Two-stage least squares, or limited information maximum likelihood; the same with two proposals."""


@dataclass(frozen=True, slots=True, eq=False)
class Instrumented:
    """What taking does, by regression.

    Attributes:
        value: the coefficient, (..).
        error: its standard error where the spread of the rest is the same for all.
        robust: its standard error whatever that spread is (White).
    """

    value: FloatArray
    error: FloatArray
    robust: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Outcome and taking without what is exogenous, (.., n), and the fit of each by the instruments."""

    outcome: FloatArray
    taken: FloatArray
    fitted_outcome: FloatArray
    fitted_taken: FloatArray
    instruments: int
    exogenous: int

    @classmethod
    def of(cls, outcome: FloatArray, taken: FloatArray, instruments: FloatArray, exogenous: FloatArray) -> "Parts":
        """From (.., n), (.., n), (.., n, m) and (.., n, q), a constant being among what is exogenous."""
        both = np.stack([outcome, taken], axis=-1)
        z = instruments - _fit(exogenous, instruments)
        rest = both - _fit(exogenous, both)
        fitted = _fit(z, rest)
        return cls(
            rest[..., 0],
            rest[..., 1],
            fitted[..., 0],
            fitted[..., 1],
            instruments.shape[-1],
            exogenous.shape[-1],
        )


def instrumented(parts: Parts, method: Method = "2SLS") -> Instrumented:
    """The coefficient of taking: d'(I - κ M) y / d'(I - κ M) d with κ = 1, or the least root for LIML."""
    k = np.ones(parts.taken.shape[:-1]) if method == "2SLS" else _least_root(parts)
    weighted = (1 - k[..., np.newaxis]) * parts.taken + k[..., np.newaxis] * parts.fitted_taken
    bread = _dot(weighted, parts.taken)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = _dot(weighted, parts.outcome) / bread
        rest = parts.outcome - value[..., np.newaxis] * parts.taken
        error = np.sqrt((rest * rest).mean(axis=-1) / bread)
        robust = np.sqrt(((parts.fitted_taken * rest) ** 2).sum(axis=-1)) / np.abs(bread)
    return Instrumented(value, error, robust)


def anderson_rubin_by_regression(parts: Parts, level: float = 0.95) -> FloatArray:
    """The coefficients at which instruments explain nothing of y - β d, (.., 2 parts, from and to), by chi-squared."""
    freedom = parts.taken.shape[-1] - parts.instruments - parts.exogenous
    limit = chdtri(parts.instruments, 1 - level) / freedom
    left_outcome, left_taken = parts.outcome - parts.fitted_outcome, parts.taken - parts.fitted_taken
    return regions.not_above_zero(
        _dot(parts.fitted_taken, parts.fitted_taken) - limit * _dot(left_taken, left_taken),
        _dot(parts.fitted_taken, parts.fitted_outcome) - limit * _dot(left_taken, left_outcome),
        _dot(parts.fitted_outcome, parts.fitted_outcome) - limit * _dot(left_outcome, left_outcome),
    )


def _fit(columns: FloatArray, of: FloatArray) -> FloatArray:
    """The projection of each column of `of` on the columns; one that others explain counts for nothing."""
    across = np.swapaxes(columns, -1, -2)
    return np.asarray(columns @ (np.linalg.pinv(across @ columns, hermitian=True) @ (across @ of)))


def _least_root(parts: Parts) -> FloatArray:
    """The least κ at which [y d]'[y d] - κ [y d]'M[y d] is singular."""
    both = np.stack([parts.outcome, parts.taken], axis=-1)
    left = both - np.stack([parts.fitted_outcome, parts.fitted_taken], axis=-1)
    whole, rest = (np.swapaxes(each, -1, -2) @ each for each in (both, left))
    return np.asarray(np.linalg.eigvals(np.linalg.solve(rest, whole)).real.min(axis=-1))


def _dot(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("...n,...n->...", one, other))
