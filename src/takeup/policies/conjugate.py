"""The policies whose posterior has a closed form: prior plus counts."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from takeup.checks import FloatArray, IntArray
from takeup.evidence import Evidence, Index, at_context
from takeup.policies.arms import Rows
from takeup.policies.base import FromEvidence, Thompson, outcome_block, prior_at, prior_block, prior_of
from takeup.policies.beliefs import Beliefs, Blocks, Exact
from takeup.policies.card import ALikelihood, Card, Positive, Variant
from takeup.posterior import Posterior
from takeup.prior import Prior
from takeup.randomness import Random
from takeup.space import Space

STIRN = "Stirn & Jebara (2019)"
BY_PROPOSAL = tuple(f"takeup.simulation.kernels.{name}" for name in ("two_arm", "proposed", "proposed_numbers"))
"""The kernels of those that learn what proposing is worth: two arms without draws, others with, and numbers."""

Seen: TypeAlias = tuple[IntArray, IntArray | None]
"""What a policy learns from: outcomes by arm, and actions by proposal where it learns those."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Uniform(FromEvidence):
    """Every proposal with the same probability, for ever: what a fixed randomised trial is."""

    card: ClassVar[Card] = Card(
        name="Uniform",
        family="fixed",
        source="a fixed randomised trial",
        compliance="not used",
        variants=(
            Variant(
                "Every proposal equally often, for ever: a fixed randomised trial. It learns for the reader alone.",
                common=True,
            ),
        ),
        outcomes="all",
        kernels=("takeup.simulation.kernels.uniform",),
    )

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """1 / Kz each."""
        return Exact.tied(np.ones((*np.shape(context), len(evidence.space.proposals)), dtype=bool))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TS(Thompson, Rows):
    """Thompson sampling, which takes every proposal as implemented: Stirn & Jebara (2019), section 3.1.

    It learns the value of *proposing* z, whatever became of the proposal, so it is right however compliance comes
    about, and slow where noncompliance brings the values together. Unseen compliance does not matter to it.

    Attributes:
        alpha: α[x, z, y], the prior of the outcomes by *proposal*.
    """

    card: ClassVar[Card] = Card(
        name="TS",
        family="Thompson sampling",
        source=f"Thompson (1933); {STIRN}, section 3.1",
        compliance="not used",
        variants=(
            Variant(
                "Thompson sampling by intention to treat: learns what proposing is worth, come what may. Always safe,"
                " slow where few comply.",
                common=True,
            ),
        ),
        outcomes="all",
        parameters={"alpha": Positive(), "likelihood": ALikelihood()},
        kernels=BY_PROPOSAL,
    )
    weighted: ClassVar[bool] = True

    def prior(self, space: Space) -> Posterior:
        """Dir(α) for each proposal, or another block, and no model of compliance."""
        return Posterior(outcome_block(self, space, len(space.proposals), "context, proposal, outcome"), None)

    def informed(self, prior: Prior) -> Self:
        """α[x, z, y] plus the pilot's outcomes by proposal."""
        return replace(
            self, **prior_of(self, prior.space, TS.prior(self, prior.space).block.plus(prior.proposed_outcomes))
        )

    def read(self, evidence: Evidence) -> Seen:
        """n[x, z, y], summed over a, unseen included."""
        return evidence.proposed_outcomes, None

    def update(self, prior: Posterior, evidence: Evidence, rng: Random) -> Posterior:
        """α'[x, z, y] = α + n[x, z, y]."""
        return prior.plus(*self.read(evidence))

    def believe(self, table: FloatArray, space: Space, context: Index) -> Beliefs:
        """The blocks of a bandit under any protocol: prior plus table."""
        return Blocks(self.blocks(table, space, context))

    def blocks(self, table: FloatArray, space: Space, context: Index) -> Posterior:
        """Prior plus table, of one context."""
        return prior_at(self, space, context).plus(at_context(table, context, trailing=3))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TSCheck(TS):
    """Thompson sampling that learns from those who complied alone: Stirn & Jebara (2019), section 3.2.

    Valid where the outcome depends on the implemented action alone and complying is the likeliest response to every
    proposal: it then proposes the best action to comply with. Where compliance is adverse it proposes the wrong one
    for ever. Decisions whose compliance is unseen are left out, which is fair where being seen does not depend on
    the outcome.
    """

    card: ClassVar[Card] = Card(
        name="TS-Check",
        family="Thompson sampling",
        source=f"{STIRN}, section 3.2",
        compliance="needed",
        ignorable=True,
        variants=(
            Variant(
                "Thompson sampling on those alone who did what was proposed. Fast where most comply and those who do"
                " are like the others.",
                common=True,
            ),
        ),
        outcomes="all",
        parameters={"alpha": Positive(), "likelihood": ALikelihood()},
        kernels=BY_PROPOSAL,
    )

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet; refuses a space that does not say what complying means."""
        space.complying(self.name)
        return TS.start(self, space, batch)

    def informed(self, prior: Prior) -> Self:
        """α[x, z, y] plus the outcomes of those of the pilot who complied."""
        return replace(self, **prior_of(self, prior.space, self.prior(prior.space).block.plus(prior.complied_outcomes)))

    def read(self, evidence: Evidence) -> Seen:
        """n[x, z, intended[z], y]."""
        return evidence.complied_outcomes, None


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

    card: ClassVar[Card] = Card(
        name="TS-Obs",
        family="Thompson sampling",
        source=f"{STIRN}, section 3.3",
        compliance="needed",
        ignorable=True,
        variants=(
            Variant(
                "Thompson sampling that learns compliance and outcomes apart. Fast where outcomes depend on what was"
                " done alone; misled where those who refuse are other people.",
                common=True,
            ),
        ),
        outcomes="all",
        parameters={"alpha": Positive(), "beta": Positive(), "likelihood": ALikelihood()},
        kernels=tuple(f"takeup.simulation.kernels.{name}" for name in ("two_by_two", "observed", "observed_numbers")),
    )
    beta: ArrayLike = 1.0

    def prior(self, space: Space) -> Posterior:
        """Dir(α) or another block for each action, and Dir(β) for each proposal."""
        contexts, proposals, actions, _ = space.shape
        block = outcome_block(self, space, actions, "context, implemented, outcome")
        beta = prior_block("beta", self.beta, (contexts, proposals, actions), "context, proposal, implemented")
        return Posterior(block, beta)

    def informed(self, prior: Prior) -> Self:
        """α[x, a, y] and β[x, z, a] plus the pilot's outcomes by action and actions by proposal."""
        blocks = self.prior(prior.space).plus(prior.implemented_outcomes, prior.compliance)
        assert blocks.compliance is not None
        return replace(self, beta=blocks.compliance, **prior_of(self, prior.space, blocks.block))

    def read(self, evidence: Evidence) -> Seen:
        """n[x, a, y] and n[x, z, a]."""
        return evidence.implemented_outcomes, evidence.compliance

    def update(self, prior: Posterior, evidence: Evidence, rng: Random) -> Posterior:
        """α'[x, a, y] = α + n[x, a, y] and β'[x, z, a] = β + n[x, z, a]."""
        return prior.plus(*self.read(evidence))
