"""What a policy makes of the evidence: the one place from which proposals, probabilities and summaries are read."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.conjugates.quadrature import Variables
from takeup.errors import UnsuitableError
from takeup.policies.allocation import Allocation, allocate
from takeup.posterior import Posterior
from takeup.randomness import Random


class Beliefs(ABC):
    """What a policy believes of one context; leading axes, where there are any, are replications side by side.

    A policy states its rule once, here: what is proposed, and with which probability, both follow from `scores`.
    """

    __slots__ = ()

    @abstractmethod
    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """Joint draws of what each proposal is worth: (.., Kz), or (draws, .., Kz) where a number is given."""

    def scores(self, rng: Random, draws: int | None = None) -> FloatArray:
        """Draws of what decides; the highest is proposed. The values themselves, unless the policy says otherwise."""
        return self.values(rng, draws)

    def variables(self) -> Variables | None:
        """The scores in a single experiment, where they are independent and a quadrature has them; else None."""
        return None

    def propose(self, rng: Random) -> IntArray:
        """The proposal with the highest score in one draw, in each replication."""
        return highest(self.scores(rng))

    def allocation(self, rng: np.random.Generator, draws: int) -> Allocation:
        """The probability of each proposal in a single experiment: how often it is the highest in this many draws."""
        scores = self.scores(rng, checks.whole("draws", draws, least=1))
        p = np.bincount(highest(scores), minlength=scores.shape[-1]) / draws
        return Allocation(p, np.sqrt(p * (1 - p) / draws), draws)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks(Beliefs):
    """Dirichlet blocks: Thompson sampling in closed form.

    Attributes:
        posterior: of one context.
    """

    posterior: Posterior

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """E[r given x, z, θ] in draws of θ."""
        return self.posterior.sample_values(rng, draws)[..., 0, :]

    def variables(self) -> Variables | None:
        """Those of each proposal, where it is taken as implemented and nothing but its value decides."""
        alone = type(self) is Blocks and self.posterior.compliance is None
        return self.posterior.block.variables() if alone else None

    def allocation(self, rng: np.random.Generator, draws: int) -> Allocation:
        """Exact where the integral is one-dimensional (see `takeup.policies.allocation`), else from draws."""
        return allocate(self.posterior) or Beliefs.allocation(self, rng, draws)


@dataclass(frozen=True, slots=True, eq=False)
class Exact(Beliefs):
    """A rule that gives the probabilities themselves, without a model of what a proposal is worth.

    Attributes:
        probability: of each proposal; shape (.., Kz).
    """

    probability: FloatArray

    def __post_init__(self) -> None:
        checks.probabilities("probability", self.probability)

    @classmethod
    def tied(cls, best: NDArray[np.bool_]) -> "Exact":
        """The same probability for each of the best, and none for the others."""
        return cls(best / best.sum(axis=-1, keepdims=True))

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """Refused: there is no model to draw from."""
        raise UnsuitableError("this policy has no model of what a proposal is worth")

    def propose(self, rng: Random) -> IntArray:
        """A proposal by its probability, in each replication."""
        return drawn(self.probability, rng)

    def allocation(self, rng: np.random.Generator, draws: int) -> Allocation:
        """The probabilities as they are."""
        return Allocation(self.probability, np.zeros(self.probability.size), draws=0)


def among(beliefs: Beliefs, offered: Sequence[int], rng: np.random.Generator, draws: int) -> FloatArray:
    """The probability of each of some proposals in a single experiment, where no others are offered any more.

    Exact where there is a quadrature, else from draws; a rule without a model has its own probabilities, rescaled.
    """
    chosen = list(offered)
    if isinstance(beliefs, Exact):
        p = beliefs.probability[chosen]
        return np.asarray(p / p.sum() if p.sum() > 0 else np.full(p.size, 1 / p.size))
    variables = beliefs.variables()
    if variables is not None:
        return variables.largest(chosen)
    scores = beliefs.scores(rng, checks.whole("draws", draws, least=1))[..., chosen]
    return np.asarray(np.bincount(highest(scores), minlength=len(chosen)) / draws)


def highest(scores: FloatArray) -> IntArray:
    """The index of the highest score along the last axis; an UnsuitableError where some are not numbers."""
    if np.isnan(scores).any():
        raise UnsuitableError("the policy's draws are not numbers; its parameters may be too large or too small")
    return np.asarray(scores.argmax(axis=-1))


def drawn(weight: FloatArray, rng: Random) -> IntArray:
    """An index along the last axis by its weight; the first where all weights are zero."""
    cumulative = np.cumsum(weight, axis=-1)
    mark = rng.random(weight.shape[:-1])[..., np.newaxis] * cumulative[..., -1:]
    passed = (mark >= cumulative) & (cumulative[..., -1:] > 0)
    return np.asarray(passed.sum(axis=-1))
