"""Confidence regions of a ratio: an interval, a half-line, two rays, the whole line, or nothing.

Inverting a test of "numerator - β denominator = 0" leaves the β at which a quadratic is not above zero. Where the
denominator is far from zero that is an interval around the ratio; where it may well be zero, no interval can keep its
level, and the region says so by its shape (Fieller 1954; Anderson & Rubin 1949).
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from takeup.analysis.estimate import Ray
from takeup.checks import FloatArray

ROUNDING = 1e-13
"""Below this share of its parts a difference counts as zero."""


def not_above_zero(square: ArrayLike, cross: ArrayLike, constant: ArrayLike) -> FloatArray:
    """The β with square β^2 - 2 cross β + constant <= 0: up to two parts, (.., 2 parts, from and to), the rest NaN."""
    a, b, c = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (square, cross, constant)))
    inside = b * b - a * c
    inside = np.where(np.abs(inside) <= ROUNDING * (b * b + np.abs(a * c)), 0.0, inside)
    root = np.sqrt(np.maximum(inside, 0.0))
    far = b + np.copysign(root, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([far / a, np.where(far == 0, far / a, c / far)], axis=-1)
        middle = c / (2 * b)
    low, high = ends.min(axis=-1), ends.max(axis=-1)
    nothing, all_, left, right = (np.full(a.shape, each) for each in (np.nan, np.inf, -np.inf, np.inf))
    kinds: list[tuple[NDArray[np.bool_], tuple[FloatArray, ...]]] = [
        ((a > 0) & (inside >= 0), (low, high, nothing, nothing)),
        ((a < 0) & (inside > 0), (left, low, high, right)),
        ((a < 0) | ((a == 0) & (b == 0) & (c <= 0)), (-all_, all_, nothing, nothing)),
        ((a == 0) & (b > 0), (middle, right, nothing, nothing)),
        ((a == 0) & (b < 0), (left, middle, nothing, nothing)),
    ]
    chosen = [np.select([when for when, _ in kinds], [ends[i] for _, ends in kinds], np.nan) for i in range(4)]
    return np.stack(chosen, axis=-1).reshape(*a.shape, 2, 2)


def holds(parts: FloatArray, value: ArrayLike) -> NDArray[np.bool_]:
    """Whether each region, (.., 2, 2), has this value in it."""
    given = np.asarray(value)[..., np.newaxis]
    return np.asarray(((parts[..., 0] <= given) & (given <= parts[..., 1])).any(axis=-1))


def rays(parts: FloatArray) -> tuple[Ray, ...]:
    """The parts of one region, without those that are not there."""
    return tuple((float(low), float(high)) for low, high in parts if not math.isnan(low))


def hull(region: tuple[Ray, ...]) -> Ray:
    """The least interval around a region."""
    return (region[0][0], region[-1][1]) if region else (math.nan, math.nan)


def said(region: tuple[Ray, ...]) -> str:
    """Why a region is no interval, in words; empty where it is one."""
    if not region:
        return (
            "no effect at all agrees with what was seen: what was offered changed the outcome in a way that taking it"
            " cannot explain"
        )
    low, high = hull(region)
    if math.isfinite(low) and math.isfinite(high):
        return ""
    weak = "what was offered made too little difference to what was taken to bound the effect"
    if len(region) == 2:
        return (
            f"{weak}: all effects up to {region[0][1]:.3g} and all from {region[1][0]:.3g} on agree with what was seen"
        )
    if math.isfinite(low) or math.isfinite(high):
        ends = f"from {low:.3g} on" if math.isfinite(low) else f"up to {high:.3g}"
        return f"{weak}: all effects {ends} agree with what was seen"
    return f"{weak}: any effect agrees with what was seen"
