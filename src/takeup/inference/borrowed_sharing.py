"""TS-Robust whose contexts learn from each other: what proposals share, and what contexts share, in one model.

Take one implemented action; μ[x, z] is the outcome in context x of those who were told z. Proposals share it by a model
of strength k, as in `takeup.inference.pooling`; on top of that contexts share it with strength κ, as in
`takeup.inference.borrowing`. Behind each stick are then two unseen samples, one for all proposals and one for each:

    S ~ BetaBinomial(k, α_j, α_>j),    T[z] ~ BetaBinomial(κ, α_j + S, α_>j + k - S),
    b[x, z] ~ Beta(α_j + S + T[z], α_>j + k + κ - S - T[z])    for each x on its own.

Where k → ∞ there is one T for all proposals. Contexts depend on u = S + T[z] alone, so that the evidence is a sum over
u within one over S. Whatever κ, a context alone is as TS-Robust has it. κ = 0 is TS-Robust in each context by itself,
where each may have another k; κ → ∞ is TS-Robust with one context for all. κ is weighed by its evidence, averaged over
k, and k given κ as TS-Robust does it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln, logsumexp

from takeup.checks import FloatArray, IntArray
from takeup.evidence import Index, at_context
from takeup.inference import pooling
from takeup.inference.pooling import SHARED, levels, picked, sticks, weighed
from takeup.posterior import Posterior, dirichlet
from takeup.randomness import Random

TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Sharing:
    """How TS-Robust weighs what proposals share.

    Attributes:
        models: the strength k of each model, SHARED first.
        log_prior: of each.
        sharpness: the power of the evidence.
    """

    models: tuple[int, ...]
    log_prior: FloatArray
    sharpness: float

    def average(self, log_evidence: FloatArray) -> FloatArray:
        """The log evidence of an action, averaged over the models, which are along the last axis."""
        return np.asarray(logsumexp(self.log_prior + log_evidence, axis=-1))


class Model(ABC):
    """One strength κ.

    Attributes:
        log_evidence: log p(outcomes given κ); the shape of the replications.
    """

    log_evidence: FloatArray

    @abstractmethod
    def sample(self, rng: Random, draws: int | None) -> FloatArray:
        """Draws of μ[z, a, y] in the context; shape (.., Kz, Ka, Y)."""


class Apart(Model):
    """Each context by itself."""

    def __init__(self, prior: Posterior, counts: IntArray | FloatArray, sharing: Sharing, context: Index) -> None:
        everywhere = np.stack([pooling.weigh(prior.outcome, counts, each)[0] for each in sharing.models], axis=-1)
        self.log_evidence = sharing.average(everywhere).sum(axis=(-2, -1))
        own: FloatArray = np.asarray(at_context(counts, context, trailing=4), dtype=np.float64)
        self.here = _robust(prior, own, sharing)

    def sample(self, rng: Random, draws: int | None) -> FloatArray:
        """As TS-Robust draws it."""
        return self.here.sample(rng, draws).outcome[..., 0, :, :, :]


class Merged(Model):
    """One context for all."""

    def __init__(self, prior: Posterior, counts: IntArray | FloatArray, sharing: Sharing) -> None:
        together: FloatArray = np.asarray(counts.sum(axis=-4, keepdims=True), dtype=np.float64)
        self.all = _robust(prior, together, sharing)
        self.log_evidence = sharing.average(self.all.log_evidence).sum(axis=(-2, -1))

    def sample(self, rng: Random, draws: int | None) -> FloatArray:
        """As TS-Robust draws it."""
        return self.all.sample(rng, draws).outcome[..., 0, :, :, :]


class Partly(Model):
    """Contexts that share in part."""

    def __init__(
        self, prior: Posterior, counts: IntArray | FloatArray, sharing: Sharing, context: Index, strength: int
    ) -> None:
        alpha = prior.outcome[..., 0, :, :]
        self.fits = [Fit(alpha, counts, each, strength) for each in sharing.models]
        found = weighed([fit.log_evidence for fit in self.fits], sharing.log_prior, sharing.sharpness)
        self.probability = found[1]
        self.log_evidence = sharing.average(found[0]).sum(axis=-1)
        self.context = context

    def sample(self, rng: Random, draws: int | None) -> FloatArray:
        """First k for each action, then S, then T for each proposal, then the context's own sticks."""
        repeat = () if draws is None else (draws,)
        model = picked(self.probability, rng, repeat)[..., np.newaxis, :, np.newaxis]
        stop = rest = np.zeros(1)
        for i, fit in enumerate(self.fits):
            own = fit.shapes(self.context, rng, repeat)
            stop, rest = (np.where(model == i, new, old) for new, old in zip(own, (stop, rest), strict=True))
        stick = dirichlet(np.stack([stop, rest], axis=-1), rng)[..., 0]
        for i, fit in enumerate(self.fits):
            if fit.strength == SHARED:  # one draw for all proposals
                stick = np.where(model == i, stick[..., :1, :, :], stick)
        return levels(stick)


class Fit:
    """What proposals share by k and contexts by κ, of every action.

    Attributes:
        log_evidence: of each action; shape (.., Ka).
        sample: the distribution of S; shape (.., Ka, Y - 1, k + 1).
        chain: p(u given S); shape (Ka, Y - 1, k + 1, k + κ + 1).
        heard: how likely the counts are given u, up to a factor; shape (.., Kz, Ka, Y - 1, k + κ + 1).
    """

    def __init__(self, alpha: FloatArray, counts: IntArray | FloatArray, strength: int, contexts: int) -> None:
        self.strength, own = strength, counts
        if strength == SHARED:
            own, strength = counts.sum(axis=-3, keepdims=True), 0
        self.prior, self.counts, self.total = sticks(alpha), sticks(own), strength + contexts
        first, others = (each[..., np.newaxis] for each in self.prior)
        log = self._log_heard()
        top = log.max(axis=-1, keepdims=True)
        unseen = np.arange(strength + 1)
        stop, rest = first + unseen, others + strength - unseen
        self.chain = _chain(stop, rest, contexts)
        self.heard = np.exp(log - top)
        each = np.log(np.maximum(np.einsum("ajsu,...zaju->...zajs", self.chain, self.heard), TINY))
        log_sample = _log_beta_binomial(unseen, strength, first, others) + (each + top).sum(axis=-4)
        most = logsumexp(log_sample, axis=-1, keepdims=True)
        self.log_evidence, self.sample = most[..., 0].sum(axis=-1), np.exp(log_sample - most)

    def _log_heard(self) -> FloatArray:
        """Σ_x log of B(α_j + u + n, α_>j + k + κ - u + n_>) / B(α_j + u, α_>j + k + κ - u)."""
        unseen, found = np.arange(self.total + 1), np.zeros(1)
        for prior, seen, extra in zip(self.prior, self.counts, (unseen, self.total - unseen), strict=True):
            shape = prior[..., np.newaxis] + extra
            found = found + (gammaln(shape + seen[..., np.newaxis]) - gammaln(shape)).sum(axis=-5)
        whole, seen = self.prior[0] + self.prior[1] + self.total, self.counts[0] + self.counts[1]
        return np.asarray(found - (gammaln(whole + seen) - gammaln(whole)).sum(axis=-4)[..., np.newaxis])

    def shapes(self, context: Index, rng: Random, repeat: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        """The shapes of the sticks of a context in a draw of S and T; each (.., Kz, Ka, Y - 1)."""
        sample = picked(self.sample, rng, repeat)
        unseen = self._unseen(sample, rng.random((*sample.shape[:-2], *self.heard.shape[-4:-1])))
        hits, misses = (at_context(each, context, trailing=4)[..., 0, :, :, :] for each in self.counts)
        return self.prior[0] + unseen + hits, self.prior[1] + self.total - unseen + misses

    def _unseen(self, sample: IntArray, mark: FloatArray) -> IntArray:
        """Draws of u given S, for each proposal, from uniform numbers; S by S, as few of its values come up."""
        found = np.zeros(mark.shape, dtype=np.int64)
        single = self.heard.ndim == 4  # one experiment, of which there are many draws
        everywhere = np.broadcast_to(self.heard, (*sample.shape[:-2], *self.heard.shape[-4:]))
        for a, j in np.ndindex(self.chain.shape[:2]):
            for s in np.unique(sample[..., a, j]):
                at = sample[..., a, j] == s
                heard = self.heard[..., a, j, :] if single else everywhere[at][..., a, j, :]
                cumulative = np.cumsum(self.chain[a, j, s] * heard, axis=-1)
                uniform = mark[at][..., a, j] * cumulative[..., -1]
                for z in range(mark.shape[-3]):
                    if single:
                        found[at, z, a, j] = np.searchsorted(cumulative[z], uniform[..., z], side="right")
                    else:
                        found[at, z, a, j] = (uniform[:, z, np.newaxis] >= cumulative[:, z]).sum(axis=-1)
        return np.minimum(found, self.total)


@dataclass(frozen=True, slots=True, eq=False)
class Responses:
    """What is believed of the outcomes of those who were told z and did a.

    Attributes:
        models: one for each κ.
        log_evidence: of each; shape (.., models).
        probability: the same shape.
        utility: what each level is worth.
    """

    models: tuple[Model, ...]
    log_evidence: FloatArray
    probability: FloatArray
    utility: FloatArray

    @classmethod
    def of(
        cls,
        prior: Posterior,
        counts: IntArray | FloatArray,
        sharing: Sharing,
        context: Index,
        strengths: tuple[int, ...],
        log_prior: FloatArray,
    ) -> "Responses":
        """The models and their probabilities; the prior is of one context, and n[x, z, a, y] of all."""
        models = tuple(_model(prior, counts, sharing, context, strength) for strength in strengths)
        return cls(models, *weighed([each.log_evidence for each in models], log_prior, 1.0), prior.utility)

    def rewards(self, rng: Random, draws: int | None) -> FloatArray:
        """What an outcome of those who were told z and did a is worth, in draws; shape (.., Kz, Ka)."""
        repeat = () if draws is None else (draws,)
        model = picked(self.probability, rng, repeat)[..., np.newaxis, np.newaxis]
        found = np.zeros(1)
        for i, each in enumerate(self.models):
            found = np.where(model == i, each.sample(rng, draws) @ self.utility, found)
        return found


def _model(prior: Posterior, counts: IntArray | FloatArray, sharing: Sharing, context: Index, strength: int) -> Model:
    if strength == SHARED:
        return Merged(prior, counts, sharing)
    if strength == 0:
        return Apart(prior, counts, sharing, context)
    return Partly(prior, counts, sharing, context, strength)


def _robust(prior: Posterior, counts: IntArray | FloatArray, sharing: Sharing) -> pooling.Pooled:
    """TS-Robust's beliefs about outcomes; what is done is believed elsewhere."""
    assert prior.compliance is not None
    nothing = np.zeros(counts.shape[:-1])
    return pooling.believe(prior, counts, nothing, sharing.models, sharing.log_prior, sharing.sharpness)


def _log_beta_binomial(stops: IntArray, many: int, stop: FloatArray, rest: FloatArray) -> FloatArray:
    """The log probability that so many of `many` stop."""
    ways = gammaln(many + 1) - gammaln(stops + 1) - gammaln(many - stops + 1)
    return np.asarray(ways + betaln(stop + stops, rest + many - stops) - betaln(stop, rest))


def _chain(stop: FloatArray, rest: FloatArray, strength: int) -> FloatArray:
    """p(u given S), with u = S + T and S along the last axis of both."""
    samples = stop.shape[-1]
    chain = np.zeros((*stop.shape, samples + strength))
    for s in range(samples):
        log = _log_beta_binomial(np.arange(strength + 1), strength, stop[..., s : s + 1], rest[..., s : s + 1])
        chain[..., s, s : s + strength + 1] = np.exp(log)
    return chain
