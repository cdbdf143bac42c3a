"""The probability of each proposal, and the limits that a trial may set to it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray
from takeup.conjugates.quadrature import LEAST_SHAPE, largest_beta
from takeup.errors import LimitsError
from takeup.posterior import Posterior


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """The probability of each proposal.

    Attributes:
        probability: one entry a proposal; sums to one.
        standard_error: the Monte Carlo error of each entry; zero where it is exact.
        draws: how many posterior draws it rests on; zero where it is exact.
    """

    probability: FloatArray
    standard_error: FloatArray
    draws: int

    @property
    def exact(self) -> bool:
        """Whether it comes from quadrature instead of draws."""
        return self.draws == 0


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """A floor and a ceiling for the probability of each proposal.

    Attributes:
        floor: the least probability, one number for all proposals or one each.
        ceiling: the greatest, likewise.
    """

    floor: ArrayLike = 0.0
    ceiling: ArrayLike = 1.0

    def project(self, probability: ArrayLike) -> FloatArray:
        """The vector within the limits that is nearest to `probability` in Euclidean distance.

        It shifts all entries by one amount and cuts them off at their limits: q[z] = min(max(p[z] - λ, floor[z]),
        ceiling[z]) with the one λ for which q sums to one. A vector that is within the limits stays as it is, and two
        vectors are never further apart after the projection than before, so Monte Carlo errors do not grow.

        Raises:
            LimitsError: no vector that sums to one is within the limits.
        """
        p = checks.probabilities("probability", probability)
        low, high = self._for(p.size)
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


def allocate(posterior: Posterior) -> Allocation | None:
    """The probability that each proposal is the best in a draw from the posterior of one context, where it is exact.

    None where no quadrature has it (see `takeup.conjugates.quadrature`). Where proposals are taken as implemented (TS,
    TS-Check), it is the probability that each is worth the most. With two proposals and two actions,
    v_0 - v_1 = (π_00 - π_10)(μ_0 - μ_1), so that proposal 0 is best with probability A B + (1 - A)(1 - B), where
    A = P(μ_0 > μ_1) and B = P(π_00 > π_10).
    """
    if posterior.compliance is None:
        probability = posterior.block.largest()
        return None if probability is None else _exact(probability)
    compliance = posterior.compliance[..., 0, :, :]
    if compliance.shape != (2, 2) or compliance.min() < LEAST_SHAPE:
        return None
    better = posterior.block.largest()
    if better is None:
        return None
    a, b = better[0], largest_beta(compliance)[0]
    return _exact(np.array([a * b + (1 - a) * (1 - b), a * (1 - b) + b * (1 - a)]))


def _exact(probability: FloatArray) -> Allocation:
    return Allocation(probability, np.zeros(probability.size), draws=0)
