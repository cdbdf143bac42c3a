"""How far a compliance row is from one whose value reaches a target."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.theory.divergence import excess

_HALVINGS = 70
"""Enough to find a root of 1e-6 to full precision, and one of 1e-21 at all."""


def divergence_to_reach(row: ArrayLike, utility: ArrayLike, target: ArrayLike) -> FloatArray:
    """KLinf(π, v): the least KL(π, π') over all distributions π' whose expected utility π'·u is at least v.

    It is the maximum over 0 <= λ <= 1 / (max u - v) of Σ_a π_a ln(1 - λ (u_a - v)), a concave problem in one unknown.
    Zero where π reaches v already; infinite where v is beyond every u, or where only the best actions reach it and π
    has mass elsewhere. Actions with π_a = 0 count: π' may move mass to them.

    Args:
        row: π, a distribution over actions; shape (.., Ka).
        utility: u, what each action is worth; shape (.., Ka).
        target: v; shape (..).

    Returns:
        Shape (..), all arguments broadcast.
    """
    pi, u = checks.probabilities("row", row), checks.real("utility", utility)
    if u.shape[-1:] != pi.shape[-1:]:
        raise InputError("utility", f"shape {u.shape}", f"the worth of each of {pi.shape[-1]} actions in its last axis")
    return reach(pi, u, checks.real("target", target))


def reach(pi: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
    """`divergence_to_reach`, unchecked."""
    shape = np.broadcast_shapes(pi.shape[:-1], u.shape[:-1], v.shape)
    pi, u = np.broadcast_to(pi, (*shape, pi.shape[-1])), np.broadcast_to(u, (*shape, u.shape[-1]))
    ahead = u - np.broadcast_to(v, shape)[..., np.newaxis]
    short, room = -np.sum(pi * ahead, axis=-1), ahead.max(axis=-1)
    least = np.where(short <= 0, 0.0, np.inf)
    solve = (short > 0) & (room > 0)
    if solve.any():
        room = room[solve][..., np.newaxis]
        below = (u.max(axis=-1, keepdims=True) - u)[solve] / room
        least[solve] = _dual(pi[solve], ahead[solve] / room, below, short[solve] / room[..., 0])
    return least


def _dual(pi: FloatArray, d: FloatArray, below: FloatArray, short: FloatArray) -> FloatArray:
    """The maximum over 0 <= s <= 1 of Σ π ln(1 - s d).

    Its derivative vanishes where s Σ π d² / (1 - s d), which rises with s, equals the shortfall: no cancellation near
    s = 0. Near s = 1 the unknown is 1 - s, and 1 - s d is `below` + (1 - s) d: an action that is worth the most and
    nearly never happens loses no digits.

    Args:
        pi: π; shape (N, Ka), like `d` and `below`.
        d: (u - v) / (max u - v), at most 1.
        below: 1 - d.
        short: -Σ π d, above 0; shape (N,).
    """

    def above(s: FloatArray, rest: FloatArray) -> NDArray[np.bool_]:
        """Whether s = 1 - rest is above the root."""
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(pi > 0, pi * d * d / (below + rest[:, np.newaxis] * d), 0.0)
        return np.asarray(s * terms.sum(axis=-1) > short)

    half = np.full(short.shape, 0.5)
    near_one = ~above(half, half)
    low, high = np.zeros_like(half), half
    for _ in range(_HALVINGS):
        mid = (low + high) / 2
        up = above(np.where(near_one, 1 - mid, mid), np.where(near_one, mid, 1 - mid)) == near_one
        low, high = np.where(up, mid, low), np.where(up, high, mid)
    s, rest = np.where(near_one, 1 - high, high), np.where(near_one, high, 1 - high)
    close = s * short - np.sum(pi * excess(np.where(pi > 0, -s[:, np.newaxis] * d, 0.0)), axis=-1)
    far: FloatArray = np.sum(pi * np.log(below + rest[:, np.newaxis] * d), axis=-1)
    return np.asarray(np.where(near_one, far, close))
