"""Thompson sampling that is right whether or not compliance is ignorable."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.evidence import Event, Evidence, Index
from takeup.inference.pooling import SHARED, Pooled, believe
from takeup.policies.allocation import Allocation, from_draws
from takeup.policies.conjugate import TSObs
from takeup.posterior import Posterior
from takeup.randomness import Random
from takeup.space import Space


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TSRobust:
    """Thompson sampling over how far proposals share their outcomes, action by action.

    TS-Obs takes it that the outcome of an action does not depend on what was proposed. Here that is one model of
    several; in the others the proposals' outcomes are pooled in part, or not at all (see `takeup.inference.pooling`).
    Each decision draws, for every implemented action, a model with probability in proportion to

        prior * p(outcomes given model) ^ sharpness,

    and then, within it, outcomes and compliance from their posterior; it proposes what is best by their product. As the
    separate model fits every joint law p(a, y given x, z), it finds the best proposal where compliance is confounded,
    as TS does, and it gains on TS where sharing explains the data. That gain is one of finite horizons: no policy that
    is consistent over all joint laws can beat the constant of TS in log T, even where the model of TS-Obs holds.

    The posterior over models is sharpened because doubt between models is not resolved by acting on the worse one:
    with a sharpness of one (Bayesian model averaging) the policy keeps exploring on behalf of models that have all but
    lost. A greater sharpness gains more where one model is clearly right and lengthens the tail where a wrong one looks
    right for long.

    Like TS-Obs it learns from decisions whose compliance is seen, which is fair where being seen depends neither on the
    action nor on the outcome; and where compliance is never seen it learns nothing: TS and TSLat do.

    Attributes:
        alpha: α[x, a, y], the prior of the outcomes, as for TS-Obs.
        beta: β[x, z, a], the prior of the compliance, as for TS-Obs.
        shared: the prior probability that all proposals share the outcomes of an action; 1 is TS-Obs.
        pooled: the strengths κ of the other models, equally probable: 0 shares nothing, more shares more.
        sharpness: the power to which the evidence of a model is taken; 1 is Bayesian model averaging.
    """

    alpha: ArrayLike = 1.0
    beta: ArrayLike = 1.0
    shared: float = 0.3
    pooled: Sequence[int] = (64, 8, 0)
    sharpness: float = 3.0
    live: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if checks.real("shared", self.shared).ndim or not 0 <= self.shared <= 1:
            raise InputError("shared", self.shared, "a probability between 0 and 1")
        pooled = tuple(checks.whole("pooled", strength, least=0) for strength in self.pooled)
        if len(set(pooled)) < len(pooled) or (self.shared < 1 and not pooled):
            raise InputError("pooled", list(pooled), "different strengths, at least one unless shared is 1")
        if not checks.positive("sharpness", self.sharpness).ndim == 0:
            raise InputError("sharpness", self.sharpness, "one number above 0")
        object.__setattr__(self, "pooled", pooled)

    @property
    def name(self) -> str:
        """TS-Robust, and in brackets what is not as it is by default."""
        other = {f.name: getattr(self, f.name) for f in fields(self) if f.name in ("shared", "pooled", "sharpness")}
        changed = [f"{name} {value}" for name, value in other.items() if value != getattr(_DEFAULTS, name)]
        return f"TS-Robust ({', '.join(changed)})" if changed else "TS-Robust"

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
        """The blocks of TS-Obs: Dir(α) for each action and Dir(β) for each proposal."""
        return TSObs(alpha=self.alpha, beta=self.beta).prior(space)

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet; checks that the priors fit the space."""
        self.prior(space)
        return Evidence.empty(space, batch)

    def posterior(self, evidence: Evidence, rng: Random) -> Pooled:
        """What the policy believes, given the evidence; the stream is not used."""
        return self._update(self.prior(evidence.space), evidence)

    def propose(self, state: Evidence, context: Index, rng: Random) -> IntArray:
        """argmax_z of E[r given x, z] in a draw from what is believed."""
        value = self._at(state, context).sample(rng).value()
        return np.asarray(value[..., 0, :].argmax(axis=-1))

    def learn(self, state: Evidence, event: Event, rng: Random) -> Evidence:
        """The evidence with one more decision."""
        return state.record(event)

    def report(self, state: Evidence, before: Event, after: Event, rng: Random) -> Evidence:
        """The evidence with a decision moved."""
        return state.move(before, after)

    def allocation(self, evidence: Evidence, context: int, rng: np.random.Generator, draws: int = 10_000) -> Allocation:
        """The probability of each proposal for a unit with this context, from this many draws."""
        draws = checks.whole("draws", draws, least=1)
        best = self._at(evidence, context).sample(rng, draws).value()[..., 0, :].argmax(axis=-1)
        return from_draws(best, len(evidence.space.proposals))

    def _at(self, evidence: Evidence, context: Index) -> Pooled:
        """What is believed of one context."""
        return self._update(self.prior(evidence.space).at(context), evidence.at(context))

    def _update(self, prior: Posterior, evidence: Evidence) -> Pooled:
        outcomes = evidence.counts[..., :-1, :-1]
        return believe(prior, outcomes, evidence.compliance, self.models, self.log_prior, self.sharpness)


_DEFAULTS = TSRobust()
