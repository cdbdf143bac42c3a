"""Rules of MABWiser's that takeup has not: shares that grow with the mean reward."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from takeup.checks import FloatArray
from takeup.conjugates import dirichlet
from takeup.errors import InputError
from takeup.evidence import Evidence, Index
from takeup.policies.arms import credited, here
from takeup.policies.base import FromEvidence
from takeup.policies.beliefs import Beliefs
from takeup.policies.card import Card, Real, Variant
from takeup.randomness import Random

LEAST = float(np.finfo(np.float64).eps)
"""What every share has at least, so that there is a distribution to draw from."""


@dataclass(frozen=True, slots=True, eq=False)
class Around(Beliefs):
    """Draws from a Dirichlet distribution around the shares; the arm with the largest is proposed, as there."""

    shares: FloatArray

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """Numbers that sum to one: (Kz,), or (draws, Kz)."""
        return dirichlet(self.shares + LEAST, rng, () if draws is None else (draws,))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Popular(FromEvidence):
    """Shares in proportion to mean rewards, which must not be negative; that of an arm without rewards is 0."""

    card: ClassVar[Card] = Card(
        name="Popularity",
        family="bandits",
        source="Kuleshov & Precup (2014)",
        compliance="not used",
        variants=(Variant("The more an arm brought so far, the more often it is proposed."),),
        outcomes="valued",
    )

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """The shares of the mean rewards of all arms."""
        return Around(self.shares(_means(evidence, context)))

    def shares(self, means: FloatArray) -> FloatArray:
        """Parts of Σ m, or all alike where there was no reward."""
        if (means < 0).any():
            raise InputError("rewards", f"a mean of {means.min():g}", "0 or more for Popularity", "Softmax takes any")
        total = means.sum()
        return means / total if total > 0 else np.full(means.shape, 1 / means.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exponential(Popular):
    """Shares in proportion to exp(mean reward / temperature)."""

    card: ClassVar[Card] = Card(
        name="Softmax",
        family="bandits",
        source="Kuleshov & Precup (2014)",
        compliance="not used",
        variants=(Variant("The better an arm did so far, the more often it is proposed."),),
        outcomes="valued",
        parameters={"temperature": Real(above=0)},
    )
    temperature: float = 1.0

    def shares(self, means: FloatArray) -> FloatArray:
        """Parts of Σ exp(m / τ)."""
        weight = np.exp((means - means.max()) / self.temperature)
        return np.asarray(weight / weight.sum())


def _means(evidence: Evidence, context: Index) -> FloatArray:
    """The mean reward of each arm, in the units of the rewards."""
    outcome = evidence.space.outcome
    rows = here(credited(evidence, "chosen"), context, axes=3)
    seen = np.asarray(outcome.seen(rows), dtype=np.float64)
    return np.divide(outcome.earned(rows), seen, out=np.zeros_like(seen), where=seen > 0)
