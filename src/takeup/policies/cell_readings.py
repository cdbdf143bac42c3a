"""Readings of who took what: the effect among compliers, and the bounded reading, from moments of the cells.

A cell (z, a) holds those who were proposed z and took a. Of proposal z are believed the shares π[z, a] of its cells,
which have a Dirichlet distribution with parameters β[z, a], and the mean worth μ[z, a] of the outcomes in each, which
has mean M[z, a] and variance V[z, a]; all of these are independent but for the shares of one proposal. Proposing z is
worth v_z = Σ_a π[z, a] μ[z, a]. With B = Σ_a β[z, a] and c[a] = β[z, a] / B, leaving out z,

    E v = Σ_a c[a] M[a]
    Var v = (Σ_a c[a] M[a]² - (E v)²) / (B + 1) + Σ_a (c[a]² + c[a] (1 - c[a]) / (B + 1)) V[a]
    Cov(v, π[a]) = c[a] (M[a] - E v) / (B + 1)        Var π[a] = c[a] (1 - c[a]) / (B + 1)
    Cov(v, μ[a]) = c[a] V[a]

These are exact; that sums of them are normal is an approximation. With 100 to 400 units of each proposal and rates from
.1 to .9 it is off by at most .006 where the probability is beyond .1 or .9, as thresholds are, and by .017 in between
(250 tables). Error rates of a plan are those of the rule as it stands.

With two or more levels the cells have a Dirichlet prior with parameters α[z, y] / Ka, α being that of intention to
treat: then v_z is distributed as there. With γ the parameters after the data, β[a] = Σ_y γ[a, y], M[a] is the mean of
the utility u under γ[a, y] / β[a], and V[a] = (Σ_y γ[a, y] u[y]² / β[a] - M[a]²) / (β[a] + 1). With other outcomes each
cell has a block of its own, M and V are from draws of it, and β counts units.

The effect of an action among compliers: with i = what z intends, and k the control,

    P(effect > m) = P(D > 0)    D = (v_z - v_k) - m (π[z, i] - π[k, i])

at m = 0 the probability that intention to treat gives, else Φ(E D / sd D). It needs that a proposal changes outcomes
through what is taken alone, that nobody does the opposite of what he is told, and that z moves people to i.

The bounded reading: with λ[a] chosen before the trial for the two proposals, and Δ what was promised,

    estimate = E (v_1 - v_0) - Σ_a λ[a] (M[1, a] - M[0, a])
    se² = Σ_z Var v_z + Σ_z Σ_a (λ[a]² - 2 λ[a] c[z, a]) V[z, a]
    bias = Δ Σ_a |λ[a]| (1 - min_z c[z, a] / max_z c[z, a])
    P(V_1 - V_0 > m) = Φ((estimate - bias - m) / se)        P(V_1 - V_0 < m) = Φ((m - estimate - bias) / se)

so that whatever is claimed, better, within a margin or no better than it, is claimed only where no difference within
the promise explains it; `takeup.design.bounded` derives it and chooses λ.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from takeup.checks import FloatArray
from takeup.errors import UnsuitableError
from takeup.evidence import Evidence
from takeup.outcomes import Levels
from takeup.policies.base import outcome_block
from takeup.policies.conjugate import TS
from takeup.policies.judging import Comparison
from takeup.randomness import Random

LEAST_UNITS = 1e-9
"""What a cell without a unit counts as, where its prior is no count of units."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """What is believed of the cells of every proposal.

    Attributes:
        weight: β[z, a].
        mean: M[z, a].
        variance: V[z, a].
    """

    weight: FloatArray
    mean: FloatArray
    variance: FloatArray

    @classmethod
    def of(cls, evidence: Evidence, prior: TS, rng: Random, draws: int) -> "Moments":
        """After the evidence of one context, as far as compliance and outcome are seen.

        Args:
            evidence: a single table.
            prior: the policy whose outcome block is that of intention to treat.
            rng: for other outcomes than levels.
            draws: of what the outcomes of each cell are worth on average, for those.
        """
        space, seen = evidence.space, evidence.counts[0, :, :-1, :-1]
        if isinstance(space.outcome, Levels):
            alpha = prior.prior(space).outcome[0, :, np.newaxis, :] / len(space.implemented) + seen
            weight = alpha.sum(axis=-1)
            mean, square = alpha @ space.reward / weight, alpha @ space.reward**2 / weight
            return cls(weight, mean, (square - mean**2) / (weight + 1))
        block = outcome_block(prior, space, len(space.implemented), "context, implemented, outcome")
        worth = block.apart(len(space.proposals)).plus(seen[np.newaxis]).sample_rewards(rng, (draws,))[:, 0]
        return cls(
            np.asarray(space.outcome.seen(seen)) + np.float64(LEAST_UNITS), worth.mean(axis=0), worth.var(axis=0)
        )

    @property
    def total(self) -> FloatArray:
        """B[z]."""
        return np.asarray(self.weight.sum(axis=1))

    @property
    def share(self) -> FloatArray:
        """c[z, a]."""
        return np.asarray(self.weight / self.total[:, np.newaxis])

    @property
    def value(self) -> FloatArray:
        """E v[z]."""
        return np.asarray((self.share * self.mean).sum(axis=1))

    @property
    def share_variance(self) -> FloatArray:
        """Var π[z, a]."""
        return np.asarray(self.share * (1 - self.share) / (self.total[:, np.newaxis] + 1))

    @property
    def value_variance(self) -> FloatArray:
        """Var v[z]."""
        between = ((self.share * self.mean**2).sum(axis=1) - self.value**2) / (self.total + 1)
        return np.asarray(between + ((self.share**2 + self.share_variance) * self.variance).sum(axis=1))

    @property
    def covariance(self) -> FloatArray:
        """Cov(v[z], π[z, a])."""
        apart = self.mean - self.value[:, np.newaxis]
        return np.asarray(self.share * apart / (self.total[:, np.newaxis] + 1))


@dataclass(frozen=True, slots=True, eq=False)
class Compliers:
    """The effect of the action that a proposal intends, among those who comply, against another proposal.

    Attributes:
        cells: what is believed of them.
        proposing: intention to treat, which answers where there is no margin.
        intended: the action that each proposal intends.
    """

    cells: Moments
    proposing: Comparison
    intended: tuple[int, ...]

    def largest(self, which: Sequence[int]) -> FloatArray:
        """Refused: each proposal has an effect against the control alone."""
        raise UnsuitableError("an effect among compliers is one against a control; say which proposal is the control")

    def exceeds(self, one: int, other: int, margin: float = 0.0) -> float:
        """P(effect of what `one` intends > margin)."""
        if margin == 0:
            return self.proposing.exceeds(one, other)
        cells, pair, action = self.cells, [one, other], self.intended[one]
        moved = cells.value - margin * cells.share[:, action]
        variance = cells.value_variance + margin * (
            margin * cells.share_variance[:, action] - 2 * cells.covariance[:, action]
        )
        return float(ndtr((moved[one] - moved[other]) / np.sqrt(variance[pair].sum())))

    def less(self, one: int, other: int, margin: float) -> float:
        """P(effect of what `one` intends < margin)."""
        return 1 - self.exceeds(one, other, margin)

    def within(self, which: Sequence[int], margin: float) -> float:
        """P(-margin < effect < margin) of what the first of two intends."""
        one, other = which
        return max(self.exceeds(one, other, -margin) - self.exceeds(one, other, margin), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class BoundedComparison:
    """What no difference within a promise explains.

    Attributes:
        cells: what is believed of them.
        bound: Δ.
        lam: λ[one, other, a], the same in both orders.
    """

    cells: Moments
    bound: float
    lam: FloatArray

    def largest(self, which: Sequence[int]) -> FloatArray:
        """Refused: each proposal is compared with the control alone."""
        raise UnsuitableError("a bounded reading compares with a control; say which proposal is the control")

    def exceeds(self, one: int, other: int, margin: float = 0.0) -> float:
        """P(V_one - V_other > margin), at the worst that the promise allows."""
        estimate, error, bias = self.estimate(one, other)
        return float(ndtr((estimate - bias - margin) / error))

    def less(self, one: int, other: int, margin: float) -> float:
        """P(V_one - V_other < margin), at the worst that the promise allows."""
        return self.exceeds(other, one, -margin)

    def within(self, which: Sequence[int], margin: float) -> float:
        """P(-margin < V_one - V_other < margin) of two, at the worst that the promise allows."""
        one, other = which
        return max(self.less(one, other, margin) + self.less(other, one, margin) - 1, 0.0)

    def estimate(self, one: int, other: int) -> tuple[float, float, float]:
        """Of V_one - V_other, its standard error, and the largest bias."""
        cells, pair, lam = self.cells, [one, other], self.lam[one, other]
        moved = cells.value - cells.mean @ lam
        variance = cells.value_variance + ((lam**2 - 2 * lam * cells.share) * cells.variance).sum(axis=1)
        share = cells.share[pair]
        bias = self.bound * float(np.abs(lam) @ (1 - share.min(axis=0) / share.max(axis=0)))
        return float(moved[one] - moved[other]), float(np.sqrt(variance[pair].sum())), bias
