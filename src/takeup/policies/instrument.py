"""The policies of Kallus (2018), "Instrument-armed bandits": proposals as instruments for what is done."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from takeup.checks import FloatArray, IntArray
from takeup.errors import UnsuitableError
from takeup.evidence import Evidence, Index
from takeup.policies.arms import INDICES, Credit
from takeup.policies.base import FromEvidence
from takeup.policies.beliefs import Beliefs, Exact
from takeup.policies.card import Card, OneOf, Real, Variant
from takeup.policies.indices import UCB1
from takeup.randomness import Random
from takeup.space import UNSEEN, Space

KALLUS = "Kallus (2018)"

Schedule: TypeAlias = Literal["decay", "fixed", "adaptive"]
"""When to explore: at random with a falling probability, or whenever a proposal has been made too rarely."""

SINGULAR = 1e-6
"""Below this singular value a matrix counts as singular."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UCBITT(UCB1):
    """UCB by intention to treat: Kallus (2018). It is UCB1 on proposals, by the name that it has in that paper."""

    card: ClassVar[Card] = Card(
        name="UCB-ITT",
        family="instruments",
        source=KALLUS,
        compliance="not used",
        variants=(Variant("UCB1 by intention to treat."),),
        outcomes="valued",
        parameters=UCB1.card.parameters,
        kernels=INDICES,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UCBAT(UCB1):
    """UCB as treated: Kallus (2018). UCB1 that credits what was implemented, and so can be wrong for ever."""

    credit: ClassVar[Credit] = "actual"

    card: ClassVar[Card] = Card(
        name="UCB-AT",
        family="instruments",
        source=KALLUS,
        compliance="needed",
        ignorable=True,
        variants=(Variant("UCB1 that credits what was done; can be wrong for ever."),),
        outcomes="valued",
        parameters=UCB1.card.parameters,
        kernels=INDICES,
    )


@dataclass(frozen=True, slots=True, eq=False)
class TwoStageEstimate:
    """What two-stage least squares makes of the evidence of one context.

    Attributes:
        mean: the mean reward of the action that each proposal intends; nan where it abstains.
        smallest: the smallest singular value of the compliance matrix; nan while a proposal has none seen.
        lower: the lower end of its confidence interval.
        abstains: whether the matrix cannot be inverted with confidence, so that the means are withheld.
        reason: why it abstains, in words; empty where it does not.
    """

    mean: FloatArray
    smallest: float
    lower: float
    abstains: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TwoStage(FromEvidence):
    """Two-stage least squares for the best treatment: Kallus (2018).

    Where every type of unit gains as much from one action over another, v = Π μ: the values of the proposals are the
    compliance matrix times the means of the actions. It estimates both sides and proposes the action with the highest
    mean in μ = Π^-1 v. That serves those who comply, and everyone if they could be made to; as proposals it may serve
    worse than TS, as those who do not comply have no say. It abstains, and explores, where Π cannot be inverted
    with confidence: the instrument is weak.

    Attributes:
        schedule: "decay" explores at random with probability min(1, K / (a t)); "fixed" makes the rarest proposal
            while it was made fewer than log(t) / a times; "adaptive" does that with an estimated a.
        rate: a, for "decay" and "fixed".
        gamma: γ, for "adaptive": a = γ s^2 d^2 / (8 K (d + sqrt(2 ψ))), where s is the smallest singular value of Π
            and d the smallest gap between the best mean and another. There is no guarantee for it.
        psi: ψ, the variance proxy of a reward: half the variance where rewards are normal. Where left out, an eighth
            of the squared range of the utilities.
        confidence: of the interval that must keep the smallest singular value above zero. None abstains from
            singular matrices alone, as in the paper.
    """

    card: ClassVar[Card] = Card(
        name="2SLS",
        family="instruments",
        source=KALLUS,
        compliance="needed",
        variants=(
            Variant(
                "Uses proposals as an instrument: what an action does to those whom proposals move; explores less and"
                " less.",
                {"schedule": "decay"},
            ),
            Variant("As 2SLS-decay, exploring equally often for ever."),
            Variant("As 2SLS-decay, exploring as far as is still unclear.", {"schedule": "adaptive"}),
        ),
        outcomes="valued",
        parameters={
            "schedule": OneOf(get_args(Schedule)),
            "rate": Real(above=0),
            "gamma": Real(above=0),
            "psi": Real(above=0, optional=True),
            "confidence": Real(above=0, below=1, optional=True),
        },
        kernels=("takeup.simulation.kernels.two_stage",),
    )
    schedule: Schedule = "fixed"
    rate: float = 0.1
    gamma: float = 20.0
    psi: float | None = None
    confidence: float | None = 0.95

    @property
    def name(self) -> str:
        """2SLS and its schedule."""
        return f"2SLS-{self.schedule}"

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet; refuses a space where proposals and actions are not one to one."""
        self.suits(space)
        _, proposals, actions, _ = space.shape
        if proposals != actions or sorted(space.complying(self.name)) != list(range(actions)):
            raise UnsuitableError(
                f"{self.name} inverts the compliance matrix, which needs an intended action of its own for each"
                f" proposal; there are {proposals} proposals and {actions} actions"
            )
        return Evidence.empty(space, batch)

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """The proposal of the best action, or one that is due for exploration."""
        made, wants, explore = self._plan(evidence, context)
        due = made >= 0 if self.schedule == "decay" else made == made.min(axis=-1, keepdims=True)
        best = Exact.tied(wants == wants.max(axis=-1, keepdims=True)).probability
        other, share = Exact.tied(due).probability, explore[..., np.newaxis]
        return Exact(share * other + (1 - share) * best)

    def estimate(self, evidence: Evidence, context: int = 0) -> TwoStageEstimate:
        """The means of the actions, or why they are withheld."""
        mean, smallest, lower, seen = self._solve(evidence.at(context))
        abstains = bool(np.isnan(mean).any())
        reason = ""
        if abstains and not seen:
            reason = "some proposal has no decision with compliance and none with an outcome seen"
        elif abstains:
            reason = (
                f"the smallest singular value of the compliance matrix is {float(smallest):.3g}, and may be"
                f" {max(float(lower), 0):.3g}: the proposals move people too little to tell the actions apart"
            )
        return TwoStageEstimate(mean, float(smallest), float(lower), abstains, reason)

    def _plan(self, evidence: Evidence, context: Index) -> tuple[IntArray, FloatArray, FloatArray]:
        """How often each proposal was made, what the estimate wants, and the probability to explore.

        As for every policy, a decision of which nothing is known yet does not count.
        """
        there = evidence.at(context)
        made = (there.decisions.sum(axis=-1) - there.counts[..., UNSEEN, UNSEEN])[..., 0, :]
        mean, smallest, _, _ = self._solve(there)
        unknown = np.asarray(np.isnan(mean).any(axis=-1))
        time = 1.0 + made.sum(axis=-1)
        arms = made.shape[-1]
        if self.schedule == "decay":
            explore = arms / np.maximum(arms, self.rate * time)
        else:
            rate = self._rate(mean, smallest, evidence.space) if self.schedule == "adaptive" else self.rate
            explore = (made.min(axis=-1) * rate < np.log(time)).astype(np.float64)
        return made, np.where(unknown[..., np.newaxis], 0.0, mean), np.where(unknown, 1.0, explore)

    def _rate(self, mean: FloatArray, smallest: FloatArray, space: Space) -> FloatArray:
        """The estimated a."""
        gaps = mean.max(axis=-1, keepdims=True) - mean
        gap = np.where(gaps > 0, gaps, np.inf).min(axis=-1)
        psi = (space.outcome.highest - space.outcome.lowest) ** 2 / 8 if self.psi is None else self.psi
        known = np.where(np.isfinite(gap), gap, 0.0)  # nan before the first estimate, infinite where all are equal
        rate = self.gamma * smallest**2 * known**2 / (8 * mean.shape[-1] * (known + np.sqrt(2 * psi)))
        return np.where(np.isfinite(rate), rate, 0.0)

    def _solve(self, there: Evidence) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.bool_]]:
        """The means (nan where it abstains), the smallest singular value, its lower end, and whether all is seen."""
        intended = list(there.space.complying(self.name))
        outcomes, responses = there.proposed_outcomes[..., 0, :, :], there.compliance[..., 0, :, :][..., intended]
        came, done = there.space.outcome.seen(outcomes), responses.sum(axis=-1)
        seen = ((came > 0) & (done > 0)).all(axis=-1)
        value = there.space.outcome.earned(outcomes) / np.where(came > 0, came, 1)
        rows = responses / np.where(done > 0, done, 1)[..., np.newaxis]
        matrix = np.where(seen[..., None, None], rows, np.eye(came.shape[-1]))
        left, singular, right = np.linalg.svd(matrix)
        smallest = singular[..., -1]
        error = singular_error(responses, left[..., -1], right[..., -1, :])
        wide = 0.0 if self.confidence is None else float(ndtri(0.5 + self.confidence / 2))
        lower = smallest - wide * error
        sure = seen & (smallest > SINGULAR) & (lower > 0)
        safe = np.where(sure[..., None, None], matrix, np.eye(came.shape[-1]))
        mean = np.asarray(np.linalg.solve(safe, value[..., np.newaxis])[..., 0], dtype=np.float64)
        mean = np.where(sure[..., np.newaxis], mean, np.nan)
        return mean, np.where(seen, smallest, np.nan), np.where(seen, lower, np.nan), seen


def singular_error(responses: IntArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """The standard error of the smallest singular value of a compliance matrix, by the delta method.

    With s = u' Π v it is the root of Σ_z u_z^2 Var(v[a] given z) / n_z. The variance is taken under
    (n[z, a] + 1) / (n_z + K), so that the first few who happen to agree do not count as certainty.

    Args:
        responses: n[z, a], how often each action followed each proposal; shape (.., K, K).
        left: u; shape (.., K).
        right: v; shape (.., K).
    """
    done = responses.sum(axis=-1)
    p = (responses + 1) / (done + responses.shape[-1])[..., np.newaxis]
    square = np.einsum("...za,...a->...z", p, right**2)
    variance = square - np.einsum("...za,...a->...z", p, right) ** 2
    return np.asarray(np.sqrt((left**2 * np.maximum(variance, 0) / np.where(done > 0, done, 1)).sum(axis=-1)))
