"""The policies whose posterior has a closed form: prior plus counts."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from takeup.checks import FloatArray, IntArray
from takeup.evidence import Event, Evidence, Index, at_context
from takeup.policies.allocation import Allocation, allocate
from takeup.policies.arms import Rows
from takeup.policies.base import Thompson, prior_block
from takeup.posterior import Posterior
from takeup.prior import Prior
from takeup.randomness import Random
from takeup.space import Space


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TS(Thompson, Rows):
    """Thompson sampling, which takes every proposal as implemented: Stirn & Jebara (2019), section 3.1.

    It learns the value of *proposing* z, whatever became of the proposal, so it is right however compliance comes
    about, and slow where noncompliance brings the values together. Unseen compliance does not matter to it.

    Attributes:
        alpha: α[x, z, y], the prior of the outcomes by *proposal*.
    """

    weighted: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """TS."""
        return "TS"

    def prior(self, space: Space) -> Posterior:
        """Dir(α) for each proposal, and no model of compliance."""
        contexts, proposals, _, levels = space.shape
        alpha = prior_block("alpha", self.alpha, (contexts, proposals, levels), "context, proposal, outcome")
        return Posterior(alpha, None, space.reward)

    def informed(self, prior: Prior) -> Self:
        """α[x, z, y] plus the pilot's outcomes by proposal."""
        return replace(self, alpha=self.prior(prior.space).outcome + prior.proposed_outcomes)

    def update(self, prior: Posterior, evidence: Evidence, rng: Random) -> Posterior:
        """α'[x, z, y] = α + n[x, z, y], summed over a, unseen included."""
        return prior.plus(evidence.proposed_outcomes)

    def choose(self, table: FloatArray, space: Space, context: Index, rng: Random) -> IntArray:
        """The best arm in a draw from prior plus table, as a bandit under any protocol."""
        value = self.prior(space).at(context).plus(at_context(table, context, trailing=3)).sample(rng).value()
        return np.asarray(value[..., 0, :].argmax(axis=-1))

    def weigh(self, table: FloatArray, space: Space, context: int, rng: np.random.Generator, draws: int) -> Allocation:
        """The probability that each arm is the best, given the table."""
        return allocate(self.prior(space).at(context).plus(at_context(table, context, trailing=3)), rng, draws)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TSCheck(TS):
    """Thompson sampling that learns from those who complied alone: Stirn & Jebara (2019), section 3.2.

    Valid where the outcome depends on the implemented action alone and complying is the likeliest response to every
    proposal: it then proposes the best action to comply with. Where compliance is adverse it proposes the wrong one
    for ever. Decisions whose compliance is unseen are left out, which is fair where being seen does not depend on
    the outcome.
    """

    @property
    def name(self) -> str:
        """TS-Check."""
        return "TS-Check"

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet; refuses a space that does not say what complying means."""
        space.complying(self.name)
        return TS.start(self, space, batch)

    def informed(self, prior: Prior) -> Self:
        """α[x, z, y] plus the outcomes of those of the pilot who complied."""
        return replace(self, alpha=self.prior(prior.space).outcome + prior.complied_outcomes)

    def update(self, prior: Posterior, evidence: Evidence, rng: Random) -> Posterior:
        """α'[x, z, y] = α + n[x, z, intended[z], y]."""
        return prior.plus(evidence.complied_outcomes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TSObs(Thompson):
    """Thompson sampling with observed compliance: Stirn & Jebara (2019), section 3.3.

    It learns compliance and outcomes apart and proposes what is best by their product. Valid where the outcome
    depends on the implemented action alone (compliance is ignorable): where those who comply differ from those who
    do not, it can be wrong for ever. A pending outcome still informs compliance. Decisions whose compliance is unseen
    are left out, which is fair where being seen depends neither on the action nor on the outcome; TSLat uses them.

    Attributes:
        alpha: α[x, a, y], the prior of the outcomes by *implemented action*.
        beta: β[x, z, a], the prior of the compliance: one number for all, or an array over (a), (z, a) or (x, z, a).
    """

    beta: ArrayLike = 1.0

    @property
    def name(self) -> str:
        """TS-Obs."""
        return "TS-Obs"

    def prior(self, space: Space) -> Posterior:
        """Dir(α) for each action and Dir(β) for each proposal."""
        contexts, proposals, actions, levels = space.shape
        alpha = prior_block("alpha", self.alpha, (contexts, actions, levels), "context, implemented, outcome")
        beta = prior_block("beta", self.beta, (contexts, proposals, actions), "context, proposal, implemented")
        return Posterior(alpha, beta, space.reward)

    def informed(self, prior: Prior) -> Self:
        """α[x, a, y] and β[x, z, a] plus the pilot's outcomes by action and actions by proposal."""
        blocks = self.prior(prior.space).plus(prior.implemented_outcomes, prior.compliance)
        assert blocks.compliance is not None
        return replace(self, alpha=blocks.outcome, beta=blocks.compliance)

    def update(self, prior: Posterior, evidence: Evidence, rng: Random) -> Posterior:
        """α'[x, a, y] = α + n[x, a, y] and β'[x, z, a] = β + n[x, z, a]."""
        return prior.plus(evidence.implemented_outcomes, evidence.compliance)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Uniform:
    """Every proposal with the same probability, for ever: what a fixed randomised trial is."""

    @property
    def name(self) -> str:
        """Uniform."""
        return "Uniform"

    live: ClassVar[bool] = True

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet."""
        return Evidence.empty(space, batch)

    def propose(self, state: Evidence, context: Index, rng: Random) -> IntArray:
        """A proposal at random."""
        return np.asarray(rng.integers(len(state.space.proposals), size=np.shape(context)))

    def learn(self, state: Evidence, event: Event, rng: Random) -> Evidence:
        """The evidence with one more decision, which changes nothing."""
        return state.record(event)

    def report(self, state: Evidence, before: Event, after: Event, rng: Random) -> Evidence:
        """The evidence with a decision moved, which changes nothing."""
        return state.move(before, after)

    def allocation(self, evidence: Evidence, context: int, rng: np.random.Generator, draws: int = 0) -> Allocation:
        """1 / Kz each, exactly."""
        proposals = len(evidence.space.proposals)
        return Allocation(np.full(proposals, 1 / proposals), np.zeros(proposals), draws=0)
