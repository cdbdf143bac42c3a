"""A Posterior is what a policy believes: Dirichlet blocks over compliance and outcomes."""

from dataclasses import dataclass

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import MismatchError
from takeup.evidence import Index, at_context
from takeup.randomness import Random
from takeup.world import World


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """Independent Dirichlet distributions over the rows of a World; a prior is one without data.

    Attributes:
        outcome: α'[x, a, y], the parameters of p(μ given data); shape (.., X, Ka, Y).
        compliance: β'[x, z, a], the parameters of p(π given data); shape (.., X, Kz, Ka). None in a model that
            takes every proposal as implemented, as TS does.
        utility: the reward of each outcome level.
    """

    outcome: FloatArray
    compliance: FloatArray | None
    utility: FloatArray

    def __post_init__(self) -> None:
        for name in ("outcome", "compliance"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, checks.positive(name, getattr(self, name)))

    def at(self, context: Index) -> "Posterior":
        """The blocks of one context, which may be another one in each replication."""
        outcome = at_context(self.outcome, context, trailing=3)
        compliance = None if self.compliance is None else at_context(self.compliance, context, trailing=3)
        return Posterior(outcome, compliance, self.utility)

    def plus(self, outcomes: IntArray | FloatArray, compliance: IntArray | FloatArray | None = None) -> "Posterior":
        """Prior plus counts: what conjugacy makes of n[x, a, y] and n[x, z, a]; β stays as it is without the latter."""
        if compliance is None:
            return Posterior(self.outcome + outcomes, self.compliance, self.utility)
        if self.compliance is None:
            raise MismatchError("counts of compliance do not fit a posterior that has no block for them")
        return Posterior(self.outcome + outcomes, self.compliance + compliance, self.utility)

    def sample(self, rng: Random, draws: int | None = None) -> World:
        """One World in each replication; or, from a single posterior, `draws` of them along a new first axis."""
        repeat = () if draws is None else (draws,)
        outcome = dirichlet(self.outcome, rng, repeat)
        return self._world(outcome, None if self.compliance is None else dirichlet(self.compliance, rng, repeat))

    def sample_values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """What `sample(rng, draws).value()` gives, of shape (.., X, Kz), without the checks that a World makes."""
        repeat = () if draws is None else (draws,)
        reward = dirichlet(self.outcome, rng, repeat) @ self.utility
        if self.compliance is None:
            return np.asarray(reward)
        return np.asarray(np.einsum("...xza,...xa->...xz", dirichlet(self.compliance, rng, repeat), reward))

    def mean(self) -> World:
        """The World of the blocks' means."""
        return self._world(
            _normalised(self.outcome),
            None if self.compliance is None else _normalised(self.compliance),
        )

    def _world(self, outcome: FloatArray, compliance: FloatArray | None) -> World:
        if compliance is None:
            actions = outcome.shape[-2]
            compliance = np.broadcast_to(np.eye(actions), (*outcome.shape[:-2], actions, actions))
        return World(compliance, outcome, self.utility)


def dirichlet(parameters: FloatArray, rng: Random, repeat: tuple[int, ...] = ()) -> FloatArray:
    """Dirichlet draws along the last axis, as normalised gammas.

    Shapes far below one would underflow to rows of zeros; they are drawn on the log scale with the boost
    log G(s) = log G(s + 1) + log(U) / s.
    """
    shape = (*repeat, *parameters.shape)
    if parameters.min() >= 0.1:
        return _normalised(rng.standard_gamma(parameters, size=shape))
    logs = np.log(rng.standard_gamma(parameters + 1, size=shape)) - rng.standard_exponential(shape) / parameters
    return _normalised(np.exp(logs - logs.max(axis=-1, keepdims=True)))


def _normalised(array: FloatArray) -> FloatArray:
    normalised: FloatArray = array / array.sum(axis=-1, keepdims=True)
    return normalised
