"""Outcomes that proposals may share wholly, in part or not at all: a family of models in closed form.

Take one context and one implemented action a. The outcome of those who were told z and did a has the distribution μ[z].
Where compliance is ignorable, μ[z] does not depend on z. Write a distribution over Y levels by its sticks, the chance
b_j = P(y = j given y >= j) that the outcome stops at level j. In a model of strength κ an unseen sample of κ people is
behind each stick, S of whom stop:

    S_j    ~ BetaBinomial(κ, α_j, α_>j)                    α_>j = α_{j+1} + .. + α_{Y-1}
    b_j[z] ~ Beta(α_j + S_j, α_>j + κ - S_j)               for each z on its own

Whatever κ, every μ[z] alone is Dirichlet(α), and the sticks of two proposals have the correlation κ / (κ + α_j + α_>j):
κ = 0 is one distribution for each proposal, and κ → ∞ one for all. As S takes κ + 1 values, the evidence is a sum,

    p(y given a, z) = Π_j Σ_S p(S) Π_z B(α_j + S + n[z, j], α_>j + κ - S + n[z, >j]) / B(α_j + S, α_>j + κ - S).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from takeup.checks import FloatArray, IntArray
from takeup.posterior import Posterior, dirichlet
from takeup.randomness import Random

MOST_SEARCHED = 100
"""How many distributions are searched one by one where many are drawn from each; more are compared side by side."""

SHARED = -1
"""Stands for κ → ∞: one distribution for all proposals."""


@dataclass(frozen=True, slots=True, eq=False)
class Response:
    """A hypothesis in which the outcome may depend on the proposal as well; without that it would be a World.

    Attributes:
        compliance: π[x, z, a]; shape (.., X, Kz, Ka).
        outcome: μ[x, z, a, y], the outcome of those who were told z and did a; shape (.., X, Kz, Ka, Y).
        utility: the reward of each outcome level.
    """

    compliance: FloatArray
    outcome: FloatArray
    utility: FloatArray

    def value(self) -> FloatArray:
        """v[x, z] = E[r given x, z] = Σ_a π[x, z, a] Σ_y μ[x, z, a, y] utility[y]."""
        value: FloatArray = np.einsum("...za,...za->...z", self.compliance, self.outcome @ self.utility)
        return value


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """What is believed where sharing is in doubt: a probability for each model of each action, and blocks within it.

    Attributes:
        blocks: α'[x, a, y] and β'[x, z, a] as TS-Obs has them: what holds where everything is shared.
        alpha: α[x, a, y], the prior.
        counts: n[x, z, a, y], the outcomes with seen compliance.
        models: the strength κ of each model, SHARED for the one in which all is shared.
        log_evidence: log p(y given a, z, model); shape (.., X, Ka, models).
        probability: of each model, by which it is drawn; the same shape.
        samples: for each model the distribution of S; shape (.., X, Ka, Y - 1, κ + 1), and κ = 0 where SHARED.
    """

    blocks: Posterior
    alpha: FloatArray
    counts: IntArray | FloatArray
    models: tuple[int, ...]
    log_evidence: FloatArray
    probability: FloatArray
    samples: tuple[FloatArray, ...]

    @property
    def outcome(self) -> FloatArray:
        """α'[x, a, y] of the model in which everything is shared."""
        return self.blocks.outcome

    def sample(self, rng: Random, draws: int | None = None) -> Response:
        """One hypothesis in each replication; or, from a single one, `draws` of them along a new first axis."""
        repeat = () if draws is None else (draws,)
        model = picked(self.probability, rng, repeat)[..., np.newaxis]
        stopped = np.zeros_like(model) + np.zeros(self.alpha.shape[-1] - 1, dtype=np.int64)
        rest = np.zeros_like(stopped)
        for i, strength in enumerate(self.models):
            if strength > 0:
                sample = picked(self.samples[i], rng, repeat)
                stopped = np.where(model == i, sample, stopped)
                rest = np.where(model == i, strength - sample, rest)
        shared = (np.array(self.models)[model] == SHARED)[..., np.newaxis, :, :]
        shapes = [
            prior[..., np.newaxis, :, :] + unseen[..., np.newaxis, :, :] + np.where(shared, _everyone(seen), seen)
            for prior, unseen, seen in zip(sticks(self.alpha), (stopped, rest), sticks(self.counts), strict=True)
        ]
        stick = dirichlet(np.stack(np.broadcast_arrays(*shapes), axis=-1), rng)[..., 0]
        stick = np.where(shared, stick[..., :1, :, :], stick)
        assert self.blocks.compliance is not None
        return Response(dirichlet(self.blocks.compliance, rng, repeat), levels(stick), self.blocks.utility)

    def mean(self) -> Response:
        """The mean of each block, averaged over the models."""
        (alpha, others), (hits, rest) = sticks(self.alpha), sticks(self.counts)
        outcome = np.zeros(self.counts.shape)
        for i, (strength, sample) in enumerate(zip(self.models, self.samples, strict=True)):
            unseen = np.arange(max(strength, 0) + 1)
            own = [_everyone(seen) if strength == SHARED else seen for seen in (hits, rest)]
            total = (alpha + others)[..., np.newaxis, :, :] + max(strength, 0) + own[0] + own[1]
            stick = ((alpha + sample @ unseen)[..., np.newaxis, :, :] + own[0]) / total
            outcome += self.probability[..., np.newaxis, :, i, np.newaxis] * levels(stick)
        compliance = self.blocks.mean().compliance
        return Response(compliance, outcome, self.blocks.utility)


def believe(
    prior: Posterior,
    outcomes: IntArray | FloatArray,
    compliance: IntArray | FloatArray,
    models: tuple[int, ...],
    log_prior: FloatArray,
    sharpness: float,
    caution: float = 0.0,
) -> Pooled:
    """The models' probabilities and the blocks within them, given n[x, z, a, y] and n[x, z, a].

    A model's probability is in proportion to prior times evidence ^ sharpness, action by action, and those that share
    are discounted where sharing points to another proposal than the outcomes by proposal do (`discount`).
    """
    fits = [weigh(prior.outcome, outcomes, strength) for strength in models]
    contrary = contradiction(*_values(prior, outcomes, compliance))
    log_prior = discount(log_prior, models, caution * contrary)
    log_evidence, probability = weighed([evidence for evidence, _ in fits], log_prior, sharpness)
    return Pooled(
        blocks=prior.plus(outcomes.sum(axis=-3), compliance),
        alpha=prior.outcome,
        counts=outcomes,
        models=models,
        log_evidence=log_evidence,
        probability=probability,
        samples=tuple(sample for _, sample in fits),
    )


def weighed(evidence: Sequence[FloatArray], log_prior: FloatArray, sharpness: float) -> tuple[FloatArray, FloatArray]:
    """The log evidence of each model along a new last axis, and the models' probabilities."""
    log_evidence = np.stack(evidence, axis=-1)
    scores = log_prior + sharpness * log_evidence
    return log_evidence, np.exp(scores - logsumexp(scores, axis=-1, keepdims=True))


def contradiction(shared: FloatArray, own: FloatArray, variance: FloatArray) -> FloatArray:
    """z^2 / 2: by how many errors the proposals' own outcomes contradict what sharing takes for the best proposal.

    With i the best proposal where all is shared and j the best by the outcomes of each proposal, whoever did what, z is
    (own[j] - own[i]) / error. Where both are the same, sharing does no harm, and it is 0.

    Args:
        shared: what each proposal is worth where all is shared; shape (.., X, Kz).
        own: what it is worth by its own outcomes, as TS has it; likewise.
        variance: of what `own` estimates; likewise.
    """
    i, j = (value.argmax(axis=-1)[..., np.newaxis] for value in (shared, own))
    gap, spread = (
        np.take_along_axis(own, j, axis=-1) - np.take_along_axis(own, i, axis=-1),
        np.take_along_axis(variance, j, axis=-1) + np.take_along_axis(variance, i, axis=-1),
    )
    squares: FloatArray = (gap**2 / (2 * np.maximum(spread, 1e-300)))[..., 0]
    return squares


def discount(log_prior: FloatArray, models: tuple[int, ...], less: FloatArray) -> FloatArray:
    """The log prior of each model, less so much for those that share anything; shape (.., X, 1, models)."""
    share = np.array([float(strength != 0) for strength in models])
    return np.asarray(log_prior - less[..., np.newaxis, np.newaxis] * share)


def _values(
    prior: Posterior, outcomes: IntArray | FloatArray, compliance: IntArray | FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What `contradiction` takes: means where all is shared, and means and variances by the outcomes of each proposal.

    The prior of a proposal's own outcomes is that of the actions' on average.
    """
    assert prior.compliance is not None
    utility = prior.utility - prior.utility.min()
    together = prior.outcome + outcomes.sum(axis=-3)
    follow = prior.compliance + compliance
    mean = together @ utility / together.sum(axis=-1)
    shared = np.einsum("...za,...a->...z", follow, mean) / follow.sum(axis=-1)
    alone = prior.outcome.mean(axis=-2)[..., np.newaxis, :] + outcomes.sum(axis=-2)
    total = alone.sum(axis=-1)
    own = alone @ utility / total
    return shared, own, (alone @ utility**2 / total - own**2) / (total + 1)


def weigh(alpha: FloatArray, counts: IntArray | FloatArray, strength: int) -> tuple[FloatArray, FloatArray]:
    """The log evidence of a model, and the distribution of S given the counts.

    Args:
        alpha: α[x, a, y].
        counts: n[x, z, a, y].
        strength: κ, or SHARED, which is κ = 0 with the counts of all proposals taken together.
    """
    (first, others), (hits, misses) = sticks(alpha), sticks(counts)
    if strength == SHARED:
        hits, misses, strength = _everyone(hits), _everyone(misses), 0
    unseen = np.arange(strength + 1)
    ways = gammaln(strength + 1) - gammaln(unseen + 1) - gammaln(strength - unseen + 1)
    risen = _risen(first, hits, strength) + _risen(others, misses, strength)[..., ::-1]
    log_weight = ways + risen
    whole = first + others
    constant = gammaln(whole) - gammaln(first) - gammaln(others) - gammaln(whole + strength)
    whole = (whole + strength)[..., np.newaxis, :, :]
    constant = constant - (gammaln(whole + hits + misses) - gammaln(whole)).sum(axis=-3)
    most = logsumexp(log_weight, axis=-1, keepdims=True)
    return (most[..., 0] + constant).sum(axis=-1), np.exp(log_weight - most)


def _risen(shape: FloatArray, counts: FloatArray, most: int) -> FloatArray:
    """Log Γ(shape + S) + Σ_z log Γ(shape + S + n[z]) - log Γ(shape + S), with S = 0 .. most along a new last axis."""
    together = _log_gamma(shape[..., np.newaxis, :, :] + counts, most).sum(axis=-4)
    risen: FloatArray = together - (counts.shape[-3] - 1) * _log_gamma(shape, most)
    return risen


def _log_gamma(shape: FloatArray, most: int) -> FloatArray:
    """Log Γ(shape + S) with S = 0 .. most along a new last axis: sums of logarithms, which are cheaper."""
    found = np.empty((*shape.shape, most + 1))
    found[..., 0] = gammaln(shape)
    np.log(shape[..., np.newaxis] + np.arange(most), out=found[..., 1:])
    np.cumsum(found, axis=-1, out=found)
    return found


def sticks(array: FloatArray | IntArray) -> tuple[FloatArray, FloatArray]:
    """What falls on level j, and what falls beyond it, for all levels but the last: (.., Y) -> twice (.., Y - 1)."""
    beyond = np.cumsum(array[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(array[..., :-1], dtype=np.float64), np.asarray(beyond[..., 1:], dtype=np.float64)


def levels(stick: FloatArray) -> FloatArray:
    """The distribution over levels that has these sticks: μ_y = b_y Π_{j < y} (1 - b_j), (.., Y - 1) -> (.., Y)."""
    one = np.ones((*stick.shape[:-1], 1))
    return np.concatenate([stick, one], axis=-1) * np.cumprod(np.concatenate([one, 1 - stick], axis=-1), axis=-1)


def picked(probability: FloatArray, rng: Random, repeat: tuple[int, ...] = ()) -> IntArray:
    """An index along the last axis, drawn with these probabilities."""
    cumulative = np.cumsum(probability, axis=-1)
    uniform = rng.random((*repeat, *probability.shape[:-1])) * cumulative[..., -1]
    if not repeat or probability.size > MOST_SEARCHED * probability.shape[-1]:
        return np.asarray((uniform[..., np.newaxis] >= cumulative).sum(axis=-1))
    found = np.empty(uniform.shape, dtype=np.int64)
    for row in np.ndindex(probability.shape[:-1]):
        found[(..., *row)] = np.searchsorted(cumulative[row], uniform[(..., *row)], side="right")
    return found


def _everyone(counts: FloatArray) -> FloatArray:
    """The counts of all proposals taken together; the proposals' axis keeps length one."""
    together: FloatArray = counts.sum(axis=-3, keepdims=True)
    return together
