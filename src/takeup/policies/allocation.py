"""The probability of each proposal, and the limits that a trial may set to it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, expit

from takeup import checks
from takeup.checks import FloatArray
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

    With two outcome levels, at most 64 proposals and no Dirichlet parameter below 0.1 there are two cases; None in all
    others. Where proposals are taken as implemented (TS, TS-Check), the values are independent betas. With two
    proposals and two actions, v_0 - v_1 = (π_00 - π_10)(μ_0 - μ_1), so that proposal 0 is best with probability
    A B + (1 - A)(1 - B), where A = P(μ_0 > μ_1) and B = P(π_00 > π_10).
    """
    outcome = posterior.outcome[..., 0, :, :]
    shapes = [outcome] if posterior.compliance is None else [outcome, posterior.compliance]
    if outcome.shape[-1] != 2 or outcome.shape[-2] > _MOST_EXACT or min(block.min() for block in shapes) < _LEAST_SHAPE:
        return None
    good = int(np.argmax(posterior.utility))
    odds = outcome[:, [good, 1 - good]]
    if posterior.compliance is None:
        return _exact(probability_largest(odds))
    compliance = posterior.compliance[..., 0, :, :]
    if compliance.shape != (2, 2):
        return None
    a = probability_largest(odds)[0]
    b = probability_largest(compliance)[0]
    return _exact(np.array([a * b + (1 - a) * (1 - b), a * (1 - b) + b * (1 - a)]))


def _exact(probability: FloatArray) -> Allocation:
    return Allocation(probability, np.zeros(probability.size), draws=0)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_CORE = np.array([0.0, 1.0, 2.0, 3.5, 5.0, 7.0, 10.0])
_TAIL = np.array([1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 22.0, 30.0, 40.0])
_LEAST_SHAPE = 0.1
"""Below this shape a beta variable sits on 0 or 1 to machine precision; quadrature gives way to draws."""
_MOST_EXACT = 64
"""With more proposals it gives way, too: here it takes a sixth of a second."""


def probability_largest(parameters: FloatArray) -> FloatArray:
    """The probability that each of several independent beta variables is the largest.

    P(j is largest) is the integral of the density f_j times the product of the others' distribution functions F_i.
    It is taken on the logit scale t, where a Beta(a, b) density is smooth, has its mode at log(a / b), a spread near
    sqrt(1/a + 1/b) and tails exp(a t) and exp(-b t), by Gauss-Legendre rules between points that follow every mode,
    spread and tail. The cost does not depend on the parameters, and grows with the square of their number; errors are
    below 2e-12.

    Args:
        parameters: shape (K, 2), a row (a, b) for each Beta(a, b), none below 0.1.
    """
    a, b = parameters[:, 0], parameters[:, 1]
    mode, spread = np.log(a / b), np.sqrt(1 / a + 1 / b)
    left = np.concatenate([np.outer(_CORE, spread), _CORE[-1] * spread + np.outer(_TAIL, 1 / a)])
    right = np.concatenate([np.outer(_CORE, spread), _CORE[-1] * spread + np.outer(_TAIL, 1 / b)])
    points = np.unique(np.concatenate([mode - left, mode + right]))
    half = np.diff(points)[:, np.newaxis] / 2
    t = (points[:-1, np.newaxis] + half + half * _NODES).reshape(-1, 1)
    weight = (half * _WEIGHTS).ravel()
    from_mode = t - mode  # large shapes would cancel in a t - (a + b) log(1 + exp t)
    density = np.exp(a * from_mode - (a + b) * np.log1p(a / (a + b) * np.expm1(from_mode)))
    density /= weight @ density
    middle = int(np.searchsorted(t[:, 0], 0.0))
    below = np.concatenate([betainc(a, b, expit(t[:middle])), 1 - betainc(b, a, expit(-t[middle:]))])
    before = np.cumprod(np.hstack([np.ones_like(t), below[:, :-1]]), axis=1)
    after = np.cumprod(np.hstack([np.ones_like(t), below[:, :0:-1]]), axis=1)[:, ::-1]
    largest = weight @ (density * before * after)
    return np.asarray(largest / largest.sum())
