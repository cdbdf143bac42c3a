"""Policies with covariates and outcomes that are levels: logits of the outcome."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from takeup.checks import FloatArray
from takeup.covariates import Profile
from takeup.inference.logit import Logit
from takeup.policies.beliefs import Beliefs
from takeup.policies.card import Card, Variant
from takeup.policies.fitted import Fitted
from takeup.policies.linear_obs import SPREADS, compliance_of
from takeup.policies.refitting import Refitting, Shares, logit_by
from takeup.randomness import Random
from takeup.rows import Rows


@dataclass(frozen=True, slots=True, eq=False)
class Logits(Beliefs):
    """How probable each level of the outcome is for each arm, at one unit, and each arm where each proposal is made.

    Attributes:
        outcome: p(y given v, arm).
        reward: of each level.
        compliance: p(a given v, z), where the arms are actions; nothing where they are the proposals.
    """

    outcome: Shares
    reward: FloatArray
    compliance: Shares | None = None

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """E[r given v, z] in draws of the coefficients."""
        worth = self.outcome.draw(rng, draws) @ self.reward
        if self.compliance is None:
            return np.asarray(worth)
        return np.asarray(np.einsum("...za,...a->...z", self.compliance.draw(rng, draws), worth))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogitTS(Refitting[Logit]):
    """Thompson sampling with a logit of the outcome for each proposal, by Laplace: Chapelle & Li (2011).

    What LinTS is to outcomes that are numbers, it is to levels: by intention to treat, so that it is right however
    compliance comes about as far as the outcome is a logit of the features given the proposal. It is fitted to all rows
    when there is one more, and later a fifth more, than at the last fit, of rows or of what is seen of them. Every
    context has models of its own.

    Attributes:
        spread: the prior standard deviation of how much a feature of 1 adds to the log odds of two levels.
    """

    card: ClassVar[Card] = Card(
        name="LogitTS",
        family="Thompson sampling",
        source="Chapelle & Li (2011)",
        compliance="not used",
        variants=(Variant("Thompson sampling by intention to treat, with covariates, for outcomes that are levels."),),
        parameters=SPREADS,
        covariates=True,
    )
    spread: float = 2.0

    def fit(self, rows: Rows) -> tuple[Logit, ...]:
        """The outcome by proposal."""
        return (outcome_of(rows, rows.proposal, len(rows.space.proposals), self.spread),)

    def beliefs(self, state: Fitted[Logit], unit: Profile, rng: Random) -> Beliefs:
        """All models at their last fit."""
        return Logits(Shares.at(state.models[0], unit), state.space.reward)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogitTSObs(Refitting[Logit]):
    """TS-Obs with covariates: a logit of compliance for each proposal, and one of the outcome for each action.

    As LinTS-Obs, for outcomes that are levels.

    Attributes:
        spread: the prior standard deviation of how much a feature of 1 adds to the log odds of two actions or levels.
    """

    card: ClassVar[Card] = Card(
        name="LogitTS-Obs",
        family="Thompson sampling",
        source="takeup",
        compliance="needed",
        ignorable=True,
        variants=(Variant("As TS-Obs with covariates, for outcomes that are levels."),),
        parameters=SPREADS,
        covariates=True,
    )
    spread: float = 2.0

    def fit(self, rows: Rows) -> tuple[Logit, ...]:
        """The compliance, and the outcome by action."""
        return (
            compliance_of(rows, self.spread),
            outcome_of(rows, rows.implemented, len(rows.space.implemented), self.spread),
        )

    def beliefs(self, state: Fitted[Logit], unit: Profile, rng: Random) -> Beliefs:
        """All models at their last fit."""
        compliance, outcome = (Shares.at(model, unit) for model in state.models)
        return Logits(outcome, state.space.reward, compliance)


def outcome_of(rows: Rows, arm: "np.typing.NDArray[np.int32]", arms: int, spread: float) -> Logit:
    """p(y given v, x, arm), a logit for each (x, arm)."""
    return logit_by(rows, arm, arms, rows.outcome, len(rows.space.outcomes), spread)
