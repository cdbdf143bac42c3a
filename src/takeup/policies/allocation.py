"""The probability that each proposal is best, as a policy believes."""

from dataclasses import dataclass

import numpy as np

from takeup.checks import FloatArray
from takeup.conjugates.quadrature import LEAST_SHAPE, largest_beta
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
