"""Numbers with their uncertainty, from posterior draws: what summaries say."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Conjugate, Dirichlet
from takeup.epochs import Epochs
from takeup.evidence import Evidence
from takeup.outcomes import Shown
from takeup.policies.base import LivePolicy
from takeup.policies.beliefs import Blocks, Exact
from takeup.policies.fitted import Fitted
from takeup.policies.latent import Chains
from takeup.policies.robust import FEWEST_CHAINS, MOST_CHAINS, Filled
from takeup.randomness import Random
from takeup.trial.design import Design

LEVEL = 0.95
_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_MOST_DRAWS, _LEAST_DRAWS, _MOST_NUMBERS = 4_000, 200, 2_000_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A posterior mean with its 95 % credible interval, from `n` decisions."""

    mean: float
    low: float
    high: float
    n: int

    def shown(self, how: Shown) -> "Estimate":
        """An estimate of what something is worth, as people are shown it."""
        low, high = sorted((how.sign * self.low, how.sign * self.high))
        return Estimate(how.sign * self.mean, low, high, self.n)


def plain_block(design: Design, arms: int) -> Conjugate:
    """What is believed of the outcomes of so many arms before any data, the same of each: no policy's own prior.

    Levels have a uniform prior; others have the distribution that the policy takes them to have, if it says so.
    """
    space, likelihood = design.space, design.likelihood
    if likelihood is None:
        return Dirichlet(np.ones((len(space.contexts), arms, space.outcome.size)), space.reward)
    return type(likelihood)().prior(space.outcome, (len(space.contexts), arms))


def summary_draws(design: Design) -> int:
    """How many posterior draws a summary rests on."""
    x, z, a, _ = design.space.shape
    return int(np.clip(_MOST_NUMBERS // (x * z * max(a, design.drawn)), _LEAST_DRAWS, _MOST_DRAWS))


def values_by_model(
    policy: LivePolicy, state: Evidence | Epochs | Fitted[Any], rng: Random, draws: int
) -> FloatArray | None:
    """What each proposal is worth by the policy's own model, (draw, context, proposal); None where it has none."""
    if state.space.covariates is not None:
        return None  # it believes something of each unit, and nothing of all
    beliefs = [policy.beliefs(state, x, rng) for x in range(len(state.space.contexts))]
    if any(isinstance(each, Exact) for each in beliefs):
        return None
    many = min(draws, MOST_CHAINS) if any(isinstance(each, Chains | Filled) for each in beliefs) else draws
    if any(isinstance(each, Filled) for each in beliefs):  # a chain costs more the more groups and levels there are
        many = min(many, max(FEWEST_CHAINS, MOST_CHAINS // len(beliefs)))
    return np.stack([each.values(rng, many) for each in beliefs], axis=1)


def believes(policy: LivePolicy, state: Evidence | Epochs | Fitted[Any], plain: Conjugate, rng: Random) -> bool:
    """Whether a policy's own model is this very block of outcomes by proposal, as that of TS without a prior is."""
    if state.space.covariates is not None:
        return False
    for x in range(len(state.space.contexts)):
        beliefs = policy.beliefs(state, x, rng)
        if not isinstance(beliefs, Blocks) or beliefs.posterior.compliance is not None:
            return False
        own, same = beliefs.posterior.block, plain.at(x)
        if not isinstance(own, Dirichlet) or not isinstance(same, Dirichlet):
            return False
        if own.alpha.shape != same.alpha.shape or not np.array_equal(own.alpha, same.alpha):
            return False
    return True


def weighted(draws: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mixture over contexts, and how often each entry is the largest."""
    values = np.einsum("dxk,x->dk", draws, weights)
    best = np.bincount(values.argmax(axis=1), minlength=values.shape[1]) / values.shape[0]
    return np.asarray(values), best


def estimate(draws: FloatArray, n: int) -> Estimate:
    """What draws say of a number."""
    low, high = np.quantile(draws, _TAILS)
    return Estimate(float(draws.mean()), float(low), float(high), n)


def shares(counts: IntArray) -> tuple[Estimate, ...]:
    """The probability of each category under a uniform prior: marginals of a Dirichlet are betas."""
    total = int(counts.sum())
    a = counts + 1.0
    b = a.sum() - a
    low, high = (betaincinv(a, b, tail) for tail in _TAILS)
    return tuple(
        Estimate(float(a[k] / (a[k] + b[k])), float(low[k]), float(high[k]), total) for k in range(counts.size)
    )
