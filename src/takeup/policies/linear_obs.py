"""Policies with covariates that see what was implemented: lines by action, and logits of compliance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from takeup.checks import FloatArray
from takeup.covariates import Profile
from takeup.errors import InputError
from takeup.inference import additive
from takeup.inference.additive import SHARED, Additive
from takeup.inference.linear import Regression
from takeup.inference.logit import Logit
from takeup.outcomes import Outcome
from takeup.policies.beliefs import Beliefs
from takeup.policies.card import Bound, Card, Real, Several, Variant, Whole
from takeup.policies.fitted import Fitted
from takeup.policies.linear import LINE, MIDDLE, around_middle, features_of, line, sums_here, worth
from takeup.policies.refitting import Refitting, Shares, logit_by
from takeup.randomness import Random
from takeup.rows import Rows

SPREADS: dict[str, Bound] = {"spread": Real(least=1e-3, most=1e3)}
"""The parameter of a logit's prior."""


@dataclass(frozen=True, slots=True, eq=False)
class ActionLines(Beliefs):
    """A line for each action, and how probable each is where each proposal is made, at one unit.

    Attributes:
        compliance: p(a given v, z).
        regression: of gains, MIDDLE taken off; leading axes (.., Ka).
        features: v; shape (.., 1, d).
        outcome: what gains are of.
    """

    compliance: Shares
    regression: Regression
    features: FloatArray
    outcome: Outcome

    def scores(self, rng: Random, draws: int | None = None) -> FloatArray:
        """Σ_a p(a given v, z) v'θ[a] in draws of both, however far a line leads."""
        share = self.compliance.draw(rng, draws)
        gain = self.regression.values(self.features, rng, draws)
        return np.asarray(np.einsum("...za,...a->...z", share, gain))

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """The rewards that this is."""
        return worth(self.outcome, self.scores(rng, draws) + MIDDLE)


@dataclass(frozen=True, slots=True, eq=False)
class SharedLines(Beliefs):
    """Lines for each action and for each proposal, at one unit.

    Attributes:
        compliance: p(a given v, z).
        lines: f[a] and g[z].
        features: v; shape (.., 1, d).
        outcome: what gains are of.
    """

    compliance: Shares
    lines: Additive
    features: FloatArray
    outcome: Outcome

    def scores(self, rng: Random, draws: int | None = None) -> FloatArray:
        """Σ_a p(a given v, z) v'f[a] + v'g[z] in draws of all, however far a line leads."""
        share = self.compliance.draw(rng, draws)
        by_action, by_proposal = (
            np.einsum("...kd,...d->...k", each, self.features[..., 0, :]) for each in self.lines.draw(rng, draws)
        )
        return np.asarray(np.einsum("...za,...a->...z", share, by_action) + by_proposal)

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """The rewards that this is."""
        return worth(self.outcome, self.scores(rng, draws) + MIDDLE)


def compliance_of(rows: Rows, spread: float) -> Logit:
    """p(a given v, x, z), a logit for each (x, z)."""
    proposals, actions = len(rows.space.proposals), len(rows.space.implemented)
    return logit_by(rows, rows.proposal, proposals, rows.implemented, actions, spread)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinTSObs(Refitting[Logit]):
    """TS-Obs with covariates: a logit of compliance for each proposal, and a line of the reward for each action.

    It draws both and proposes argmax_z Σ_a p(a given v, z) v'θ[a]. As TS-Obs it takes it that the outcome of an action
    does not depend on what was proposed, here given the features: those who comply are like the others who have the
    same features. Where that is so, everybody who took an action teaches what it is worth, whatever was proposed.

    The lines are from sums, at every decision. Logits have none: they are fitted to all rows when there is one more,
    and later a fifth more, than at the last fit, of rows or of what is seen of them. It learns from decisions whose
    compliance is seen.

    Attributes:
        ridge: how many outcomes at a feature of 1 the prior of its coefficient, which is around zero, is worth.
        noise: the standard deviation of rescaled rewards around the line, where it is known; left out, it is learnt, of
            each action by itself.
        spread: the prior standard deviation of how much a feature of 1 adds to the log odds of two actions.
    """

    card: ClassVar[Card] = Card(
        name="LinTS-Obs",
        family="Thompson sampling",
        source="takeup",
        compliance="needed",
        ignorable=True,
        variants=(
            Variant(
                "As TS-Obs with covariates: what actions are worth is a line in them, who complies depends on them.",
                common=True,
            ),
        ),
        outcomes="valued",
        parameters={**LINE, **SPREADS},
        covariates=True,
    )
    ridge: float = 1.0
    noise: float | None = None
    spread: float = 2.0

    def fit(self, rows: Rows) -> tuple[Logit, ...]:
        """The compliance."""
        return (compliance_of(rows, self.spread),)

    def beliefs(self, state: Fitted[Logit], unit: Profile, rng: Random) -> Beliefs:
        """Compliance at its last fit, and lines at this moment."""
        sums = sums_here(state.evidence, unit, "action")
        lines = line(self.ridge, self.noise, sums.product.shape).plus(around_middle(sums))
        features = features_of(unit)[..., np.newaxis, :]
        return ActionLines(Shares.at(state.models[0], unit), lines, features, state.evidence.space.outcome)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinTSRobust(Refitting[Logit]):
    """LinTS-Obs that finds out whether compliance is ignorable, and goes over to LinTS where it is not.

    The reward is v'f[a] + v'g[z] + ε (see `takeup.inference.additive`). With g = 0 it is LinTS-Obs; with a free g every
    proposal is worth what its own outcomes say, as for LinTS. How firmly g is held to zero is drawn for each decision
    from its posterior. As for TS-Robust the posterior of the models is sharpened.

    Attributes:
        ridge: of f, as for LinTS-Obs.
        noise: the standard deviation of rescaled rewards, where it is known; left out, it is learnt, one for all.
        spread: of the logits of compliance, as for LinTS-Obs.
        shared: the prior probability that g is zero; 1 is LinTS-Obs with one noise for all actions.
        pooled: the strengths κ of the other models, equally probable: how many outcomes g = 0 is worth.
        sharpness: the power to which the evidence of a model is taken; 1 is Bayesian model averaging.
    """

    card: ClassVar[Card] = Card(
        name="LinTS-Robust",
        family="Thompson sampling",
        source="takeup",
        compliance="needed",
        variants=(
            Variant(
                "As LinTS-Obs as long as the data allow it, and as LinTS where those who comply are unlike the others.",
                common=True,
                recommended=True,
            ),
        ),
        outcomes="valued",
        parameters={
            **LINE,
            **SPREADS,
            "shared": Real(least=0, most=1),
            "pooled": Several(Whole(1, 10_000), most=32),
            "sharpness": Real(above=0, most=1_000),
        },
        covariates=True,
    )
    ridge: float = 1.0
    noise: float | None = None
    spread: float = 2.0
    shared: float = 0.3
    pooled: Sequence[int] = (256, 64, 16)
    sharpness: float = 3.0

    def __post_init__(self) -> None:
        Refitting.__post_init__(self)
        object.__setattr__(self, "pooled", tuple(int(strength) for strength in self.pooled))
        if self.shared < 1 and not self.pooled:
            raise InputError("pooled", "an empty list", "at least one strength unless shared is 1")

    @property
    def ignorable(self) -> bool:
        """Only where nothing but g = 0 is in its models."""
        return self.shared == 1

    @property
    def strengths(self) -> FloatArray:
        """Of the models that have a prior probability, SHARED first."""
        return np.array([SHARED] * (self.shared > 0) + list(self.pooled) * (self.shared < 1), dtype=np.float64)

    @property
    def log_prior(self) -> FloatArray:
        """The log prior probability of each model."""
        others = (1 - self.shared) / max(len(self.pooled), 1)
        return np.log([self.shared if each == SHARED else others for each in self.strengths])

    def fit(self, rows: Rows) -> tuple[Logit, ...]:
        """The compliance."""
        return (compliance_of(rows, self.spread),)

    def lines(self, state: Fitted[Logit], unit: Profile, *, sharpness: float | None = None) -> Additive:
        """What is believed of f and g in the unit's context; `weight` is how probable each strength is."""
        sums = sums_here(state.evidence, unit, "both")
        prior = line(self.ridge, self.noise, sums.product.shape[-1:])
        power = self.sharpness if sharpness is None else sharpness
        return additive.believe(around_middle(sums), prior, self.strengths, self.log_prior, power)

    def shares(self, state: Fitted[Logit], unit: Profile) -> FloatArray:
        """P(g = 0) in the unit's context, by Bayesian model averaging: whether compliance is ignorable."""
        if not self.shared:
            return np.zeros(state.evidence.counts.shape[:-4])
        return self.lines(state, unit, sharpness=1.0).weight[..., 0]

    def beliefs(self, state: Fitted[Logit], unit: Profile, rng: Random) -> Beliefs:
        """Compliance at its last fit, and lines at this moment."""
        features = features_of(unit)[..., np.newaxis, :]
        outcome = state.evidence.space.outcome
        return SharedLines(Shares.at(state.models[0], unit), self.lines(state, unit), features, outcome)
