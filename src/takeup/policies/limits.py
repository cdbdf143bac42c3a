"""How the probability of being best becomes that of being proposed: softened, shared with a control, within limits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError, LimitsError

Rule: TypeAlias = Literal["shift", "proportional"]
"""How a vector is brought within limits: all entries move by one amount, or by one factor."""
ControlShare: TypeAlias = Literal["match", "sqrt"] | float
"""The probability of a control: that of the likeliest other, one by the square root of their number, or a number."""
LEAST = 1e-100
"""A smaller probability is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """A floor and a ceiling for the probability of each proposal.

    Attributes:
        floor: the least probability, one number for all proposals or one each.
        ceiling: the greatest, likewise.
        rule: how a vector is brought within them.
    """

    floor: ArrayLike = 0.0
    ceiling: ArrayLike = 1.0
    rule: Rule = "shift"

    def project(self, probability: ArrayLike) -> FloatArray:
        """A vector within the limits; one that is there already stays as it is.

        By "shift" it is the nearest in Euclidean distance: q[z] = min(max(p[z] - λ, floor[z]), ceiling[z]) with the one
        λ for which q sums to one. Two vectors are never further apart than before, so Monte Carlo errors do not grow.
        By "proportional" it is q[z] = min(max(λ p[z], floor[z]), ceiling[z]): what is taken is taken in proportion.

        Raises:
            LimitsError: no vector that sums to one is within the limits.
        """
        p = checks.probabilities("probability", probability)
        low, high = self._for(p.size)
        return _scaled(p, low, high) if self.rule == "proportional" else _shifted(p, low, high)

    def _for(self, proposals: int) -> tuple[FloatArray, FloatArray]:
        """Both limits for this many proposals, checked."""
        try:
            low = np.broadcast_to(checks.real("floor", self.floor), (proposals,))
            high = np.broadcast_to(checks.real("ceiling", self.ceiling), (proposals,))
        except ValueError:
            allowed = f"a number, or one for each of the {proposals} proposals"
            raise LimitsError(f"floor {self.floor}, ceiling {self.ceiling}: expected {allowed}") from None
        for z in range(proposals):
            if not 0 <= low[z] <= high[z] <= 1:
                allowed = "0 <= floor <= ceiling <= 1"
                raise LimitsError(f"proposal {z} has floor {low[z]} and ceiling {high[z]}; allowed is {allowed}")
        if low.sum() > 1 + checks.TOLERANCE:
            raise LimitsError(f"the floors sum to {low.sum():.6g}, more than 1; lower them")
        if high.sum() < 1 - checks.TOLERANCE:
            raise LimitsError(f"the ceilings sum to {high.sum():.6g}, less than 1; raise them")
        return low, high


def _shifted(p: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    # The sum of q falls with λ from the sum of the ceilings to that of the floors, in lines between the corners.
    corners = np.sort(np.concatenate([p - high, p - low]))
    sums = np.clip(p - corners[:, np.newaxis], low, high).sum(axis=1)
    right = int(np.searchsorted(-sums, -1.0))
    if right == 0:
        shift = corners[0]
    else:
        right = min(right, corners.size - 1)
        drop = sums[right - 1] - sums[right]
        part = (sums[right - 1] - 1.0) / drop if drop > 0 else 0.0
        shift = corners[right - 1] + part * (corners[right] - corners[right - 1])
    return np.asarray(np.clip(p - shift, low, high))


def _scaled(p: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Entry by entry: whoever is beyond a limit stays at it, and the others share the rest in proportion."""
    if (p >= low).all() and (p <= high).all():
        return p
    some = p > LEAST
    if (
        np.where(some, high, low).sum() < 1 - checks.TOLERANCE
    ):  # all that are possible are at their ceilings: the others share the rest
        q = np.where(some, high, low)
        room = np.where(some, 0.0, high - low)
        return np.asarray(q + room * (1 - q.sum()) / room.sum())
    # The sum of q rises with λ, in lines between the corners, from the sum of the floors.
    corners = np.unique(np.concatenate([[0.0], low[some] / p[some], high[some] / p[some]]))
    sums = np.clip(p * corners[:, np.newaxis], low, high).sum(axis=1)
    right = min(max(int(np.searchsorted(sums, 1.0)), 1), corners.size - 1)
    rise = sums[right] - sums[right - 1]
    part = (1.0 - sums[right - 1]) / rise if rise > 0 else 0.0
    return np.asarray(np.clip(p * (corners[right - 1] + part * (corners[right] - corners[right - 1])), low, high))


def shared(
    wish: FloatArray,
    offered: Sequence[int],
    limits: Limits,
    power: float = 1.0,
    control: int | None = None,
    control_share: ControlShare | None = None,
) -> FloatArray:
    """The probability of each proposal, nothing for those that are no longer offered.

    Args:
        wish: of each proposal, what is wished for it; those that are offered sum to more than zero.
        offered: which are still offered.
        limits: of each proposal; a share of the control that is fixed takes the place of its own.
        power: to which wishes are taken.
        control: which of all is the control, if one is.
        control_share: its probability, where one is agreed.
    """
    chosen, probability = list(offered), np.zeros(wish.size)
    some = softened(wish[chosen] / wish[chosen].sum(), power)
    both = (np.asarray(each, dtype=np.float64) for each in (limits.floor, limits.ceiling))
    floor, ceiling = (np.broadcast_to(each, wish.size)[chosen] for each in both)
    if control is not None and control_share is not None and len(chosen) > 1:
        place = chosen.index(control)
        some = with_control(some, place, control_share)
        if control_share != "match":
            floor[place] = ceiling[place] = some[place]
    probability[chosen] = Limits(floor, ceiling, limits.rule).project(some)
    return probability


def softened(probability: FloatArray, power: float) -> FloatArray:
    """The entries to a power, from 0, which makes them even, to 1, which leaves them; rows sum to one again."""
    if power == 1:
        return probability
    weight = probability**power
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


def with_control(probability: FloatArray, control: int, share: ControlShare) -> FloatArray:
    """The vector with the control's entry as agreed, and the others in proportion.

    Args:
        probability: of each proposal that is still offered.
        control: which of them is the control.
        share: "match" gives the control the weight of the likeliest other, before all are rescaled; "sqrt" gives it
            sqrt(k) / (sqrt(k) + k) where there are k others; a number is the probability itself.
    """
    others = np.delete(probability, control)
    if share == "match":
        q = probability.copy()
        q[control] = others.max()
        return np.asarray(q / q.sum())
    fixed = fixed_share(share, others.size)
    rest = others.sum()
    scaled = probability * (1 - fixed) / rest if rest > 0 else np.full(probability.size, (1 - fixed) / others.size)
    scaled[control] = fixed
    return np.asarray(scaled)


def fixed_share(share: Literal["sqrt"] | float, others: int) -> float:
    """What a control has beside so many others: a number, or sqrt(k) / (sqrt(k) + k)."""
    fixed = float(np.sqrt(others) / (np.sqrt(others) + others)) if share == "sqrt" else float(share)
    if not 0 < fixed < 1:
        raise InputError("control_share", share, "match, sqrt, or a number between 0 and 1")
    return fixed
