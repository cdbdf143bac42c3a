"""Rows that contexts may share wholly, in part or not at all: partial pooling, with how far learnt from the data.

A row is a distribution that every context has one of: the outcomes of a proposal or of an action, or what is done after
a proposal. Contexts take here the place that proposals have in `takeup.inference.pooling`: in a model of strength κ an
unseen sample of κ people is behind each stick of a row, S of whom stop, and given S the contexts are independent,

    S_j    ~ BetaBinomial(κ, α_j, α_>j),      b_j[x] ~ Beta(α_j + S_j, α_>j + κ - S_j)      for each x on its own.

S / κ is the mean that contexts share, and it is integrated out by a sum over its κ + 1 values, so the evidence of κ is
exact. Whatever κ, a context alone has the prior Dirichlet(α): where the others are empty, what is believed of it is
what it would be by itself. κ = 0 is separate contexts, and κ → ∞ one row for all of them. All rows of a family (the
outcomes of all arms, or the responses to all proposals) have one κ, so that each arm helps to learn it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Conjugate, Dirichlet
from takeup.evidence import Index, at_context
from takeup.inference import linking
from takeup.inference.pooling import SHARED, levels, picked, sticks, weigh, weighed
from takeup.outcomes.base import Statistic
from takeup.posterior import dirichlet
from takeup.randomness import Random


class Family(ABC):
    """What is believed of a family of rows.

    Attributes:
        log_evidence: log p(data given model); shape (.., models).
        probability: of each model; the same shape.
    """

    log_evidence: FloatArray
    probability: FloatArray

    @abstractmethod
    def rewards(self, context: Index, rng: Random, repeat: tuple[int, ...]) -> FloatArray:
        """Draws of what an outcome of each row of a context is worth on average; shape (.., R)."""


@dataclass(frozen=True, slots=True, eq=False)
class Distributions(Family):
    """Rows that are distributions over levels.

    Attributes:
        alpha: α[r, y], the prior of a row in any context; shape (.., R, Y).
        counts: n[x, r, y].
        models: the strength κ of each model, SHARED for the one in which all is shared.
        samples: for each model the distribution of S; shape (.., R, Y - 1, κ + 1), and κ = 0 where SHARED.
        utility: what each level is worth, where that is asked for.
    """

    alpha: FloatArray
    counts: IntArray | FloatArray
    models: tuple[int, ...]
    log_evidence: FloatArray
    probability: FloatArray
    samples: tuple[FloatArray, ...]
    utility: FloatArray | None = None

    @classmethod
    def of(
        cls,
        alpha: FloatArray,
        counts: IntArray | FloatArray,
        models: tuple[int, ...],
        log_prior: FloatArray,
        utility: FloatArray | None = None,
    ) -> "Distributions":
        """The models' probabilities, and the distributions of S within them."""
        contexts = counts[..., np.newaxis, :, :, :]  # in the place of proposals, in one context
        fits = [weigh(alpha[..., np.newaxis, :, :], contexts, strength) for strength in models]
        found = weighed([evidence.sum(axis=(-2, -1)) for evidence, _ in fits], log_prior, 1.0)
        samples = tuple(sample[..., 0, :, :, :] for _, sample in fits)
        return cls(alpha, counts, models, *found, samples, utility)

    def sample(self, context: Index, rng: Random, repeat: tuple[int, ...] = ()) -> FloatArray:
        """A draw of every row of one context: first of κ, then of S, then of the rows; shape (.., R, Y)."""
        model = picked(self.probability, rng, repeat)[..., np.newaxis, np.newaxis]
        stopped = np.zeros((*model.shape[:-2], *self.samples[0].shape[-3:-1]), dtype=np.int64)
        rest = np.zeros_like(stopped)
        for i, strength in enumerate(self.models):
            if strength > 0:
                sample = picked(self.samples[i], rng, repeat)
                stopped = np.where(model == i, sample, stopped)
                rest = np.where(model == i, strength - sample, rest)
        own = np.asarray(at_context(self.counts, context, trailing=3)[..., 0, :, :], dtype=np.float64)
        shared = np.array(self.models)[model] == SHARED
        everyone: FloatArray = np.asarray(self.counts.sum(axis=-3), dtype=np.float64)
        seen = [np.where(shared, *both) for both in zip(sticks(everyone), sticks(own), strict=True)]
        shapes = [np.add(*parts) + more for *parts, more in zip(sticks(self.alpha), (stopped, rest), seen, strict=True)]
        return levels(dirichlet(np.stack(shapes, axis=-1), rng)[..., 0])

    def rewards(self, context: Index, rng: Random, repeat: tuple[int, ...]) -> FloatArray:
        """Σ_y μ_y utility_y in draws of the rows."""
        assert self.utility is not None  # of outcomes
        return np.asarray(self.sample(context, rng, repeat) @ self.utility)


@dataclass(frozen=True, slots=True, eq=False)
class Measures(Family):
    """Rows of numbers, counts or times.

    Attributes:
        links: the models, with contexts in the place of proposals.
    """

    links: tuple[linking.Link, ...]
    log_evidence: FloatArray
    probability: FloatArray

    @classmethod
    def of(cls, block: Conjugate, statistic: Statistic, models: tuple[int, ...], log_prior: FloatArray) -> "Measures":
        """The models and their probabilities; the block is of one context, and the statistic of all."""
        links = tuple(linking.link(block, statistic[..., np.newaxis, :, :, :], strength) for strength in models)
        return cls(links, *weighed([each.log_evidence.sum(axis=(-2, -1)) for each in links], log_prior, 1.0))

    def rewards(self, context: Index, rng: Random, repeat: tuple[int, ...]) -> FloatArray:
        """Draws within the model that is drawn."""
        model = picked(self.probability, rng, repeat)[..., np.newaxis]
        found = np.zeros(1)
        for i, link in enumerate(self.links):
            drawn = link.rewards(rng, repeat)[..., 0, :, :]
            own = drawn if drawn.shape[-2] == 1 else at_context(drawn, context, trailing=2)
            found = np.where(model == i, own[..., 0, :], found)
        return found


def outcomes(block: Conjugate, statistic: Statistic, models: tuple[int, ...], log_prior: FloatArray) -> Family:
    """What is believed of the outcomes of each arm, whose prior in one context is `block`; the statistic is of all."""
    if isinstance(block, Dirichlet):  # levels, or the bins of the bootstrap
        counts = statistic[..., : block.utility.size]
        return Distributions.of(block.alpha[..., 0, :, :], counts, models, log_prior, block.utility)
    return Measures.of(block, statistic, models, log_prior)
