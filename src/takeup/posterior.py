"""A Posterior is what a policy believes: conjugate blocks over compliance and outcomes."""

from dataclasses import dataclass

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Conjugate, Dirichlet, dirichlet
from takeup.conjugates.dirichlet import normalised
from takeup.errors import MismatchError, UnsuitableError
from takeup.evidence import Index, at_context
from takeup.families import Family
from takeup.outcomes.base import Statistic
from takeup.randomness import Random
from takeup.world import World

__all__ = ["Posterior", "dirichlet"]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Posterior:
    """Independent distributions of the parts of a World; a prior is one without data.

    Args:
        outcome: what is believed of the outcomes of each action: α'[x, a, y], the parameters of Dirichlet
            distributions, of shape (.., X, Ka, Y), or another conjugate block.
        compliance: β'[x, z, a], the parameters of p(π given data); shape (.., X, Kz, Ka). None in a model that
            takes every proposal as implemented, as TS does.
        utility: the reward of each outcome level, where the outcome has levels.
    """

    block: Conjugate
    compliance: FloatArray | None

    def __init__(
        self, outcome: FloatArray | Conjugate, compliance: FloatArray | None, utility: FloatArray | None = None
    ) -> None:
        if not isinstance(outcome, Conjugate):
            assert utility is not None  # levels have one
            outcome = Dirichlet(outcome, utility)
        object.__setattr__(self, "block", outcome)
        if compliance is not None:
            compliance = checks.positive("compliance", compliance)
        object.__setattr__(self, "compliance", compliance)

    @property
    def outcome(self) -> FloatArray:
        """α'[x, a, y], where the outcome has levels; shape (.., X, Ka, Y)."""
        return self._levels.alpha

    @property
    def utility(self) -> FloatArray:
        """The reward of each level."""
        return self._levels.utility

    @property
    def _levels(self) -> Dirichlet:
        if not isinstance(self.block, Dirichlet):
            raise UnsuitableError("what is believed of these outcomes is no distribution over levels")
        return self.block

    def at(self, context: Index) -> "Posterior":
        """The blocks of one context, which may be another one in each replication."""
        compliance = None if self.compliance is None else at_context(self.compliance, context, trailing=3)
        return Posterior(self.block.at(context), compliance)

    def plus(self, outcomes: Statistic, compliance: IntArray | FloatArray | None = None) -> "Posterior":
        """Prior plus data: what conjugacy makes of outcomes by action and of n[x, z, a]; β stays without the latter."""
        if compliance is None:
            return Posterior(self.block.plus(outcomes), self.compliance)
        if self.compliance is None:
            raise MismatchError("counts of compliance do not fit a posterior that has no block for them")
        return Posterior(self.block.plus(outcomes), self.compliance + compliance)

    def sample(self, rng: Random, draws: int | None = None) -> World:
        """One World in each replication; or, from a single posterior, `draws` of them along a new first axis."""
        repeat = () if draws is None else (draws,)
        outcome = self.block.sample(rng, repeat)
        return self._world(outcome, None if self.compliance is None else dirichlet(self.compliance, rng, repeat))

    def sample_values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """What `sample(rng, draws).value()` gives, of shape (.., X, Kz), without the checks that a World makes."""
        repeat = () if draws is None else (draws,)
        reward = self.block.sample_rewards(rng, repeat)
        if self.compliance is None:
            return np.asarray(reward)
        return np.asarray(np.einsum("...xza,...xa->...xz", dirichlet(self.compliance, rng, repeat), reward))

    def mean(self) -> World:
        """The World of the blocks' means."""
        return self._world(self.block.mean(), None if self.compliance is None else normalised(self.compliance))

    def _world(self, family: Family, compliance: FloatArray | None) -> World:
        if compliance is None:
            compliance = np.broadcast_to(np.eye(family.shape[-1]), (*family.shape, family.shape[-1]))
        return World(compliance, family, family.outcome)
