"""What is believed of who took what, and the effect of an action among those who comply, from moments of the cells.

A cell (z, a) holds those who were proposed z and took a. Of proposal z are believed the shares π[z, a] of its cells,
which have a Dirichlet distribution with parameters β[z, a], and the mean worth μ[z, a] of the outcomes in each, which
has mean M[z, a] and variance V[z, a]; all of these are independent but for the shares of one proposal. Proposing z is
worth v_z = Σ_a π[z, a] μ[z, a]. With B = Σ_a β[z, a] and c[a] = β[z, a] / B, leaving out z,

    E v = Σ_a c[a] M[a]
    Var v = (Σ_a c[a] M[a]² - (E v)²) / (B + 1) + Σ_a (c[a]² + c[a] (1 - c[a]) / (B + 1)) V[a]
    Cov(v, Σ_a π[a] g[a]) = (Σ_a c[a] M[a] g[a] - E v Σ_a c[a] g[a]) / (B + 1)
    Var Σ_a π[a] g[a] = (Σ_a c[a] g[a]² - (Σ_a c[a] g[a])²) / (B + 1)

These are exact; that sums of them are normal is an approximation. With 100 to 400 units of each proposal and rates from
.1 to .9 it is off by at most .006 where the probability is beyond .1 or .9, as thresholds are, and by .017 in between
(250 tables). Error rates of a plan are those of the rule as it stands. Worth is counted from the worst outcome on,
which changes neither v_1 - v_0 nor any variance, and variances are summed around means: nothing cancels where all
outcomes are worth a million and a bit.

With two or more levels the cells have a Dirichlet prior with parameters α[z, y] / Ka, α being that of intention to
treat: then v_z is distributed as there. With γ the parameters after the data, β[a] = Σ_y γ[a, y], M[a] is the mean of
the utility u under γ[a, y] / β[a], and V[a] = (Σ_y γ[a, y] u[y]² / β[a] - M[a]²) / (β[a] + 1). With other outcomes each
cell has a block of its own, M and V are from draws of it, and β counts units.

The effect of an action among compliers: of proposals 1 and 0, which intend the actions i and j,

    P(effect > m) = P(D > 0)    D = (v_1 - v_0) - m (S_1 - S_0)    S_z = (π[z, i] - π[z, j]) / 2

at m = 0 the probability that intention to treat gives, else Φ(E D / sd D). S_1 - S_0 is how many more take i with 1
than with 0, and j with 0 than with 1, on average: with two actions both are the same, and so they are wherever all take
what they are told or what the others are told. It needs that a proposal changes outcomes through what is taken alone,
that nobody does the opposite of what he is told, and that people are moved at all.
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
        mean: M[z, a], from the worst outcome on.
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
        space, seen = evidence.space, evidence.statistic[0, :, :-1]
        if isinstance(space.outcome, Levels):
            alpha = prior.prior(space).outcome[0, :, np.newaxis, :] / len(space.implemented) + seen
            weight = alpha.sum(axis=-1)
            gain = space.reward - space.outcome.lowest
            mean = alpha @ gain / weight
            around = (alpha * (gain - mean[..., np.newaxis]) ** 2).sum(axis=-1) / weight
            return cls(weight, mean, around / (weight + 1))
        block = outcome_block(prior, space, len(space.implemented), "context, implemented, outcome")
        worth = (
            block.apart(len(space.proposals)).plus(seen[np.newaxis]).sample_rewards(rng, (draws,))[:, 0]
            - space.outcome.lowest
        )
        units = np.asarray(space.outcome.seen(seen), dtype=np.float64)
        return cls(units + LEAST_UNITS, worth.mean(axis=0), worth.var(axis=0))

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
    def value_variance(self) -> FloatArray:
        """Var v[z]."""
        between = self.spread(self.mean, self.mean)
        square = self.share**2 + self.share * (1 - self.share) / (self.total[:, np.newaxis] + 1)
        return np.asarray(between + (square * self.variance).sum(axis=1))

    def spread(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Cov(Σ_a π[z, a] one[z, a], Σ_a π[z, a] other[z, a]), by proposal."""
        first, second = (each - (self.share * each).sum(axis=1, keepdims=True) for each in (one, other))
        return np.asarray((self.share * first * second).sum(axis=1) / (self.total + 1))


@dataclass(frozen=True, slots=True, eq=False)
class Compliers:
    """The effect of what one proposal intends against what another does, among those who take either as they are told.

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
        """P(effect of `one` against `other` > margin)."""
        if margin == 0:
            return self.proposing.exceeds(one, other)
        cells, pair, means = self.cells, [one, other], self.cells.mean
        toward = np.zeros_like(means)
        toward[:, self.intended[one]] += 0.5
        toward[:, self.intended[other]] -= 0.5
        moved = cells.value - margin * (cells.share * toward).sum(axis=1)
        variance = cells.value_variance - 2 * margin * cells.spread(means, toward)
        variance += margin**2 * cells.spread(toward, toward)
        return float(ndtr((moved[one] - moved[other]) / np.sqrt(variance[pair].sum())))

    def within(self, which: Sequence[int], margin: float) -> float:
        """P(-margin < effect < margin) of two."""
        one, other = which
        return max(self.exceeds(one, other, -margin) - self.exceeds(one, other, margin), 0.0)
