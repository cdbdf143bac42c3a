"""What a summary takes proposals to be worth: plainly from the evidence, and by the policy's own model."""

import numpy as np

from takeup.checks import FloatArray
from takeup.conjugates import Conjugate, Dirichlet, Likelihood, likelihood_for
from takeup.evidence import Evidence
from takeup.outcomes import Levels
from takeup.policies.base import LivePolicy
from takeup.policies.beliefs import Exact
from takeup.policies.latent import Chains
from takeup.randomness import Random
from takeup.space import Space
from takeup.trial.design import Design

_MOST_DRAWS, _LEAST_DRAWS, _MOST_NUMBERS = 4_000, 200, 2_000_000
_MOST_CHAINS = 1_000


def plain_block(design: Design, arms: int) -> Conjugate:
    """What is believed of the outcomes of so many arms before any data, the same of each: no policy's own prior.

    Levels have a uniform prior; others have the distribution that the policy takes them to have, if it says so.
    """
    space = design.space
    if isinstance(space.outcome, Levels):
        return Dirichlet(np.ones((len(space.contexts), arms, space.outcome.size)), space.reward)
    given: Likelihood | None = getattr(design.policy, "likelihood", None)
    likelihood = likelihood_for(space.outcome) if given is None else type(given)()
    return likelihood.prior(space.outcome, (len(space.contexts), arms))


def summary_draws(space: Space) -> int:
    """How many posterior draws a summary rests on."""
    x, z, a, _ = space.shape
    return int(np.clip(_MOST_NUMBERS // (x * z * max(a, space.outcome.width)), _LEAST_DRAWS, _MOST_DRAWS))


def values_by_model(policy: LivePolicy, evidence: Evidence, rng: Random, draws: int) -> FloatArray | None:
    """What each proposal is worth by the policy's own model, (draw, context, proposal); None where it has none."""
    beliefs = [policy.beliefs(evidence, x, rng) for x in range(len(evidence.space.contexts))]
    if any(isinstance(each, Exact) for each in beliefs):
        return None
    many = min(draws, _MOST_CHAINS) if any(isinstance(each, Chains) for each in beliefs) else draws
    return np.stack([each.values(rng, many) for each in beliefs], axis=1)
