"""Top-two Thompson sampling: to find the best proposal rather than to earn while looking."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from takeup.checks import FloatArray
from takeup.evidence import Evidence, Index
from takeup.policies.allocation import Allocation
from takeup.policies.arms import BANDITS
from takeup.policies.base import prior_at
from takeup.policies.beliefs import Beliefs, Blocks
from takeup.policies.card import ALikelihood, Card, Positive, Real, Variant, Whole
from takeup.policies.conjugate import TS
from takeup.randomness import Random
from takeup.space import Space


@dataclass(frozen=True, slots=True, eq=False)
class Challenged(Blocks):
    """Blocks from which a leader is drawn, and at times a challenger in its place.

    Attributes:
        leader: the probability that the leader is proposed.
        resamples: how many further draws may be made for a challenger.
    """

    leader: float
    resamples: int

    def scores(self, rng: Random, draws: int | None = None) -> FloatArray:
        """The draw that names the leader, or one that names the challenger."""
        value = self.values(rng, draws)
        first = value.argmax(axis=-1)
        other = -value  # with two proposals the challenger is the other one
        if value.shape[-1] > 2:
            found = np.zeros(first.shape, dtype=bool)
            for left in range(self.resamples, 0, -1):
                again = self.values(rng, draws)
                if left == 1:
                    np.put_along_axis(again, first[..., np.newaxis], -np.inf, axis=-1)
                new = ~found & (again.argmax(axis=-1) != first)
                other = np.where(new[..., np.newaxis], again, other)
                found = found | new
        keeps = rng.random(first.shape) < self.leader
        return np.where(keeps[..., np.newaxis], value, other)

    def allocation(self, rng: np.random.Generator, draws: int) -> Allocation:
        """Exact where TS has an exact one and there are two proposals, else from draws."""
        if self.posterior.block.shape[-1] > 2:
            return Beliefs.allocation(self, rng, draws)
        best = Blocks(self.posterior).allocation(rng, draws)
        share = self.leader * best.probability + (1 - self.leader) * best.probability[::-1]
        return Allocation(share, abs(2 * self.leader - 1) * best.standard_error, best.draws)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopTwo(TS):
    """Top-two Thompson sampling: Russo (2016), "Simple Bayesian algorithms for best arm identification".

    A draw from the posterior names a leader. With probability `leader` it is proposed; else further draws are made
    until one names another proposal, the challenger. It learns which proposal is best faster than TS, and keeps paying
    for the challenger: use it where the answer counts, not the patients on the way.

    Attributes:
        alpha: α[x, z, y], the prior of the outcomes by *proposal*.
        leader: the probability that the leader is proposed; above 0 and at most 1, where it is TS.
        resamples: how many further draws may be made for a challenger; then it is the runner-up of the last one. With
            two proposals there is nothing to draw.
    """

    card: ClassVar[Card] = Card(
        name="TS-TopTwo",
        family="bandits",
        source="Russo (2016)",
        compliance="not used",
        variants=(
            Variant("Thompson sampling between the best two: for knowing which is best rather than for those treated."),
        ),
        outcomes="all",
        parameters={
            "alpha": Positive(),
            "likelihood": ALikelihood(),
            "leader": Real(above=0, most=1),
            "resamples": Whole(1, 10_000),
        },
        kernels=BANDITS,
    )
    leader: float = 0.5
    resamples: int = 20

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """The blocks of TS, with a leader and a challenger."""
        posterior = self.update(prior_at(self, evidence.space, context), evidence.at(context), rng)
        return Challenged(posterior, self.leader, self.resamples)

    def believe(self, table: FloatArray, space: Space, context: Index) -> Beliefs:
        """The same of an arm's table."""
        return Challenged(self.blocks(table, space, context), self.leader, self.resamples)
