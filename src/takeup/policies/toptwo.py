"""Top-two Thompson sampling: to find the best proposal rather than to earn while looking."""

from dataclasses import dataclass

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.evidence import Evidence, Index, at_context
from takeup.policies.allocation import Allocation, allocate, from_draws
from takeup.policies.arms import credited
from takeup.policies.conjugate import TS
from takeup.randomness import Random
from takeup.space import Space


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

    leader: float = 0.5
    resamples: int = 20

    def __post_init__(self) -> None:
        checks.whole("resamples", self.resamples, least=1)
        if not 0 < checks.real("leader", self.leader) <= 1:
            raise InputError("leader", self.leader, "a probability above 0")

    @property
    def name(self) -> str:
        """TS-TopTwo."""
        return "TS-TopTwo"

    def propose(self, state: Evidence, context: Index, rng: Random) -> IntArray:
        """The leader or the challenger."""
        return self.choose(credited(state, "chosen"), state.space, context, rng)

    def choose(self, table: FloatArray, space: Space, context: Index, rng: Random) -> IntArray:
        """The leader or the challenger of an arm's table."""
        posterior = self.prior(space).at(context).plus(at_context(table, context, trailing=3))
        leader = posterior.sample(rng).value()[..., 0, :].argmax(axis=-1)
        if len(space.proposals) == 2:
            challenger = 1 - leader
        else:
            challenger = np.full_like(leader, -1)
            for left in range(self.resamples, 0, -1):
                value = posterior.sample(rng).value()[..., 0, :]
                if left == 1:
                    np.put_along_axis(value, leader[..., np.newaxis], -np.inf, axis=-1)
                found = value.argmax(axis=-1)
                challenger = np.where((challenger < 0) & (found != leader), found, challenger)
        keeps = rng.random(np.shape(leader)) < self.leader
        return np.asarray(np.where(keeps, leader, challenger))

    def allocation(self, evidence: Evidence, context: int, rng: np.random.Generator, draws: int = 10_000) -> Allocation:
        """The probability of each proposal; exact where TS has an exact one and there are two proposals."""
        return self.weigh(credited(evidence, "chosen"), evidence.space, context, rng, draws)

    def weigh(self, table: FloatArray, space: Space, context: int, rng: np.random.Generator, draws: int) -> Allocation:
        """The probability of each arm, given its table."""
        if len(space.proposals) == 2:
            best = allocate(self.prior(space).at(context).plus(at_context(table, context, trailing=3)), rng, draws)
            share = self.leader * best.probability + (1 - self.leader) * best.probability[::-1]
            return Allocation(share, abs(2 * self.leader - 1) * best.standard_error, best.draws)
        draws = checks.whole("draws", draws, least=1)
        many = np.broadcast_to(table, (draws, *table.shape))
        return from_draws(self.choose(many, space, np.full(draws, context), rng), len(space.proposals))
