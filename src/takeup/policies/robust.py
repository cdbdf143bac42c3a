"""Thompson sampling that is right whether or not compliance is ignorable."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Dirichlet, Likelihood
from takeup.errors import InputError
from takeup.evidence import Evidence, Index, at_context
from takeup.inference import imputing, linking, pooling
from takeup.inference.linking import Aside, Linked
from takeup.inference.pooling import SHARED, Pooled
from takeup.outcomes import Outcome
from takeup.policies.allocation import Allocation
from takeup.policies.base import FromEvidence, prior_at
from takeup.policies.beliefs import Beliefs
from takeup.policies.card import ALikelihood, Card, Counts, Positive, Real, Several, Variant, Whole
from takeup.policies.conjugate import TSObs
from takeup.posterior import Posterior
from takeup.prior import Prior
from takeup.randomness import Random, Streams
from takeup.space import Space

MOST_POOLED = 10_000
"""The greatest strength of a model: what it costs grows with it."""

MOST_CHAINS = 1_000
"""How many chains the probabilities of a decision rest on at the most: a chain costs a hundred draws in closed form."""
FEWEST_CHAINS = 200
"""At the least; between these fewer, the larger the table is."""
USUAL_CELLS = 12
"""Up to how many cells (z, a, stick) there are as many as at the most: what a chain costs is in proportion to them."""
CHAINS = 500
"""How many chains run side by side where many draws are asked for."""

MOST_PILOT = 1e18
"""The greatest sum that a pilot may have, as the squares of numbers on a fine grid are large."""


@dataclass(frozen=True, slots=True, eq=False)
class Sharing(Beliefs):
    """Blocks within models of how far proposals share their outcomes.

    Attributes:
        pooled: of one context.
    """

    pooled: Pooled | Linked

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """E[r given x, z] in draws of a model and of the blocks within it."""
        return self.pooled.sample(rng, draws).value()[..., 0, :]


@dataclass(frozen=True, slots=True, eq=False)
class Filled(Beliefs):
    """Blocks within models where some actions were not seen: every draw is the end of a chain of its own.

    Attributes:
        chains: the models at the end of a chain, for so many side by side.
        most: how many a live decision has time for.
    """

    chains: Callable[[Random, int | None], Pooled]
    most: int

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """E[r given x, z] at the end of a chain for each draw."""
        if draws is None:
            return self.chains(rng, None).sample(rng).value()[..., 0, :]
        parts = [min(CHAINS, draws - done) for done in range(0, draws, CHAINS)]
        return np.concatenate([self.chains(rng, part).sample(rng).value()[..., 0, :] for part in parts])

    def allocation(self, rng: np.random.Generator, draws: int) -> Allocation:
        """From no more chains than a live decision has time for."""
        return Beliefs.allocation(self, rng, min(draws, self.most))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TSRobust(FromEvidence):
    """Thompson sampling over how far proposals share their outcomes, action by action.

    TS-Obs takes it that the outcome of an action does not depend on what was proposed. Here that is one model of
    several; in the others the proposals' outcomes are pooled in part, or not at all (see `takeup.inference.pooling`,
    and `takeup.inference.linking` for outcomes that are no levels).
    Each decision draws, for every implemented action, a model with probability in proportion to

        prior * p(outcomes given model) ^ sharpness * exp(-caution z^2 / 2 where the model shares),

    and then, within it, outcomes and compliance from their posterior; it proposes what is best by their product. As the
    separate model fits every joint law p(a, y given x, z), it finds the best proposal where compliance is confounded,
    as TS does, and it gains on TS where sharing explains the data. That gain is one of finite horizons: no policy that
    is consistent over all joint laws can beat the constant of TS in log T, even where the model of TS-Obs holds.

    The posterior over models is sharpened because doubt between models is not resolved by acting on the worse one:
    with a sharpness of one (Bayesian model averaging) the policy keeps exploring on behalf of models that have all but
    lost. A greater sharpness gains more where one model is clearly right and lengthens the tail where a wrong one looks
    right for long.

    z compares two proposals by their own outcomes, whoever did what: that which is best if all is shared, and that
    which is best by those outcomes. It is how many errors the second is ahead, and 0 where the two are one. So sharing
    that does no harm is free, and sharing that would overrule the values themselves has to be better founded.

    It learns from every decision. Where compliance was not seen, the actions are filled in by Gibbs sampling, given
    proposal and outcome (`takeup.inference.imputing`); outcomes that are no levels stay a group of their own
    (`takeup.inference.linking`). What a proposal is worth rests on all its outcomes in either case, so that with no
    compliance seen it is much as TS. Filling in takes compliance to be missing at random given proposal and outcome;
    where that fails, sharing may be misjudged, and the values of TS remain.

    Attributes:
        alpha: α[x, a, y], the prior of the outcomes, as for TS-Obs.
        beta: β[x, z, a], the prior of the compliance, as for TS-Obs.
        shared: the prior probability that all proposals share the outcomes of an action; 1 is TS-Obs.
        pooled: the strengths κ of the other models, equally probable: 0 shares nothing, more shares more. They are
            counted in people; of counts and times, in events.
        sharpness: the power to which the evidence of a model is taken; 1 is Bayesian model averaging.
        caution: how much models that share are discounted where they contradict what TS makes of the outcomes; None is
            0, as in 0.1.
        sweeps: of Gibbs sampling, for a decision where some compliance is unseen; always from a cold start. None leaves
            decisions out whose compliance is unseen, as 0.1 did.
        pilot: n[x, z, a, y], what a pilot saw, with a last slot of y for outcomes that it did not; `informed` fills it
            in. It counts as evidence does, so the models are weighed by it, too.
        likelihood: the distribution that outcomes other than levels are taken to have, and its prior, as for TS-Obs.
    """

    card: ClassVar[Card] = Card(
        name="TS-Robust",
        family="Thompson sampling",
        source="takeup",
        compliance="used where seen",
        variants=(
            Variant(
                "As TS-Obs as long as the data allow it, and as TS where those who comply are unlike the others.",
                common=True,
                recommended=True,
            ),
        ),
        outcomes="all",
        parameters={
            "alpha": Positive(),
            "beta": Positive(),
            "shared": Real(least=0, most=1),
            "pooled": Several(Whole(0, MOST_POOLED), most=32),
            "sharpness": Real(above=0, most=1_000),
            "caution": Real(least=0, most=1_000, optional=True),
            "sweeps": Whole(0, 1_000, optional=True),
            "pilot": Counts(MOST_PILOT),
            "likelihood": ALikelihood(),
        },
        kernels=("takeup.simulation.kernels.robust",),
    )
    alpha: ArrayLike = 1.0
    beta: ArrayLike = 1.0
    shared: float = 0.3
    pooled: Sequence[int] = (96, 12, 0)
    sharpness: float = 3.0
    caution: float | None = 8.0
    sweeps: int | None = imputing.SWEEPS
    pilot: ArrayLike | None = None
    likelihood: Likelihood | None = None

    def __post_init__(self) -> None:
        FromEvidence.__post_init__(self)
        object.__setattr__(self, "pooled", tuple(int(strength) for strength in self.pooled))
        if self.shared < 1 and not self.pooled:
            raise InputError("pooled", "an empty list", "at least one strength unless shared is 1")

    @property
    def name(self) -> str:
        """TS-Robust, and in brackets what is not as by default; None is not told: those of 0.1 keep their name."""
        told = ("shared", "pooled", "sharpness", "caution", "sweeps")
        other = {f.name: getattr(self, f.name) for f in fields(self) if f.name in told}
        changed = [f"{n} {value}" for n, value in other.items() if value is not None and value != getattr(_DEFAULTS, n)]
        return f"TS-Robust ({', '.join(changed)})" if changed else "TS-Robust"

    @property
    def ignorable(self) -> bool:
        """Only where nothing but sharing is in its models, which is TS-Obs."""
        return self.shared == 1

    @property
    def models(self) -> tuple[int, ...]:
        """The strengths of the models that have a prior probability, SHARED first."""
        return (SHARED,) * (self.shared > 0) + tuple(self.pooled) * (self.shared < 1)

    @property
    def log_prior(self) -> FloatArray:
        """The log prior probability of each model."""
        return np.log(
            [self.shared if model == SHARED else (1 - self.shared) / len(self.pooled) for model in self.models]
        )

    def prior(self, space: Space) -> Posterior:
        """The blocks of TS-Obs: Dir(α) or another block for each action, and Dir(β) for each proposal."""
        return TSObs(alpha=self.alpha, beta=self.beta, likelihood=self.likelihood).prior(space)

    def informed(self, prior: Prior) -> Self:
        """With the pilot's decisions whose compliance was seen, by proposal and action, on top of any before."""
        before = self._pilot(prior.space)
        return replace(self, pilot=prior.seen_compliance if before is None else before + prior.seen_compliance)

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet; checks that the priors and the pilot fit the space."""
        self.suits(space)
        self.prior(space)
        self._pilot(space)
        return Evidence.empty(space, batch)

    def propose(self, state: Evidence, context: Index, rng: Random) -> IntArray:
        """What follows from what it believes.

        Only where compliance is unseen are there chains, so that each stream's replications are taken by themselves: no
        chain shall depend on whether those beside it have one.
        """
        if not isinstance(rng, Streams) or not self._fills(state):
            return FromEvidence.propose(self, state, context, rng)
        contexts = np.broadcast_to(context, state.counts.shape[:-4])
        each = zip(state.counts, contexts, rng.streams, strict=True)
        return np.stack([FromEvidence.propose(self, replace(state, counts=counts), x, one) for counts, x, one in each])

    def posterior(self, evidence: Evidence, rng: Random) -> Pooled | Linked:
        """What is believed of every context, given the evidence.

        Where compliance is unseen and outcomes have levels, this is given one draw of the unseen actions. What is
        sampled from it once is a draw from what is believed; the models as a whole are not, and `beliefs` draws from
        those. The stream is used in that case alone.
        """
        return self._update(self.prior(evidence.space), evidence, self._pilot(evidence.space), rng)

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """What is believed of one context."""
        pilot = self._pilot(evidence.space)
        here = None if pilot is None else at_context(pilot, context, trailing=4)
        prior, there = prior_at(self, evidence.space, context), evidence.at(context)

        def chains(rng: Random, draws: int | None) -> Pooled:
            counts = there.counts if draws is None else np.broadcast_to(there.counts, (draws, *there.counts.shape))
            found = self._update(prior, replace(there, counts=counts), here, rng)
            assert isinstance(found, Pooled)
            return found

        if isinstance(prior.block, Dirichlet) and self._fills(there):
            cells = prior.outcome[..., 1:].size * len(evidence.space.proposals)
            most = min(MOST_CHAINS, max(FEWEST_CHAINS, MOST_CHAINS * USUAL_CELLS // cells))
            return Filled(chains, most)
        return Sharing(self._update(prior, there, here, rng))

    def read(self, evidence: Evidence) -> tuple[IntArray, IntArray]:
        """n[x, z, a, y] and n[x, z, a], of decisions whose compliance is seen; the pilot left out."""
        return evidence.statistic[..., :-1, :], evidence.compliance

    def _fills(self, evidence: Evidence) -> bool:
        """Whether there is compliance to fill in."""
        return self.sweeps is not None and bool(evidence.statistic[..., -1, :].any())

    def _pilot(self, space: Space) -> FloatArray | None:
        """The pilot's counts, checked."""
        if self.pilot is None:
            return None
        counts = checks.real("pilot", self.pilot)
        x, z, a, y = space.without_covariates().table
        if counts.shape != (x, z, a - 1, y):
            axes = "context, proposal, implemented, outcome or UNSEEN"
            raise InputError("pilot", f"shape {counts.shape}", f"counts of shape {(x, z, a - 1, y)}, the axes: {axes}")
        return counts

    def _update(self, prior: Posterior, evidence: Evidence, pilot: FloatArray | None, rng: Random) -> Pooled | Linked:
        table = evidence.without_covariates().counts
        seen, unseen = table[..., :-1, :], table[..., -1, :]
        counts: IntArray | FloatArray = seen if pilot is None else seen + pilot
        outcome = evidence.space.outcome
        made, how = _decisions(outcome, counts), (self.models, self.log_prior, self.sharpness, self.caution or 0.0)

        def believe(outcomes: IntArray | FloatArray, made: IntArray | FloatArray) -> Pooled:
            return pooling.believe(prior, outcomes, made, *how)

        if isinstance(prior.block, Dirichlet):  # levels, or the bins of the bootstrap
            levels = prior.block.utility.size
            if self.sweeps is not None and unseen[..., :levels].any():
                counted = counts[..., :levels], made, unseen[..., :levels]
                return imputing.complete(prior, *counted, believe, rng, self.sweeps)
            return believe(counts[..., :levels], made)
        others, aside = np.asarray(outcome.seen(unseen[..., :-1]), dtype=np.float64), None
        if self.sweeps is not None and others.any():
            aside = Aside.of(prior.block, unseen[..., :-1], others)
        return linking.believe(prior, counts[..., :-1], made, *how, aside)


def _decisions(outcome: Outcome, counts: IntArray | FloatArray) -> IntArray | FloatArray:
    """n[x, z, a], pending ones included."""
    if outcome.sums:
        counts = np.concatenate([counts[..., : outcome.cells], counts[..., -1:]], axis=-1)
    return np.asarray(counts.sum(axis=-1))


_DEFAULTS = TSRobust()
