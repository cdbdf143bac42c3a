"""What a policy believes as ArviZ has it: groups of draws, with the labels of the space as coordinates."""

from typing import Any

import numpy as np

from takeup import checks
from takeup.adapters.extra import required
from takeup.checks import FloatArray
from takeup.conjugates import Dirichlet
from takeup.errors import UnsuitableError
from takeup.evidence import Evidence
from takeup.outcomes import Levels
from takeup.policies.base import LivePolicy, Thompson
from takeup.policies.beliefs import Blocks
from takeup.policies.meeting import uses_covariates
from takeup.randomness import stream
from takeup.space import Space
from takeup.version import __version__

Draws = dict[str, FloatArray]


def inference_data(policy: LivePolicy, evidence: Evidence, *, draws: int = 1000, chains: int = 4, seed: int = 0) -> Any:
    """An `arviz.InferenceData` with the groups posterior, prior, sample_stats and observed_data.

    Draws are independent, from the policy's own beliefs; chains are parts of them, as ArviZ expects some. Variables:

    - `value` [context, proposal]: what a proposal is worth;
    - `compliance` [context, proposal, implemented]: π, where the policy has a model of it;
    - `outcome_probability` [context, implemented, outcome]: μ, where the outcome has levels; a policy that
      takes every proposal as implemented has [context, proposal, outcome];
    - `best_proposal` [context] in sample_stats: which proposal is the best in a draw, as an index;
    - `counts` in observed_data: the evidence; the last slot of its last two axes is "unseen".

    Policies whose beliefs are no conjugate blocks have `value` alone; those without a model of values are refused.

    Args:
        policy: whose beliefs.
        evidence: what it has seen.
        draws: of each chain.
        chains: how many.
        seed: of the draws.
    """
    arviz = required("arviz", "arviz")
    many = checks.whole("draws", draws, least=1), checks.whole("chains", chains, least=1)
    if uses_covariates(policy):
        raise UnsuitableError(f"{policy.name} believes something of every profile, and these draws are by context")
    evidence = evidence.without_covariates()
    space = evidence.space
    if not isinstance(policy.start(space), Evidence):
        raise UnsuitableError(f"{policy.name} needs to know when decisions were made, and evidence does not say it")
    groups = {
        name: _drawn(policy, seen, many[0] * many[1], seed, name)
        for name, seen in (("posterior", evidence), ("prior", Evidence.empty(space)))
    }
    shaped = {
        group: {name: each.reshape(many[1], many[0], *each.shape[1:]) for name, each in found.items()}
        for group, found in groups.items()
    }
    best = shaped["posterior"]["value"].argmax(axis=-1)
    data = arviz.from_dict(
        **shaped,
        sample_stats={"best_proposal": best},
        observed_data={"counts": evidence.counts},
        coords=_coordinates(space),
        dims=_axes("implemented" if "compliance" in groups["posterior"] else "proposal"),
    )
    said = {
        "policy": policy.name,
        "seed": seed,
        "inference_library": "takeup",
        "inference_library_version": __version__,
    }
    for group in data.groups():
        data[group].attrs.update(said)
    return data


def _drawn(policy: LivePolicy, evidence: Evidence, many: int, seed: int, group: str) -> Draws:
    """Joint draws, along the first axis, of every part that the policy has a model of."""
    rng = stream(seed, "arviz", group)
    beliefs = [policy.beliefs(evidence, x, rng) for x in range(len(evidence.space.contexts))]
    if not isinstance(policy, Thompson) or type(beliefs[0]).values is not Blocks.values:
        return {"value": np.stack([each.values(rng, many) for each in beliefs], axis=1)}
    posterior = policy.posterior(evidence, rng)
    world = posterior.sample(rng, many)
    found = {"value": world.value()}
    if posterior.compliance is not None:
        found["compliance"] = world.compliance
    if isinstance(posterior.block, Dirichlet):
        found["outcome_probability"] = world.outcome
    return found


def _coordinates(space: Space) -> dict[str, list[str]]:
    levels = isinstance(space.outcome, Levels)
    names = list(space.outcomes) if levels else [*map(str, range(space.outcome.cells)), *space.outcome.sums]
    unseen = "unseen"
    return {
        "context": list(space.contexts),
        "proposal": list(space.proposals),
        "implemented": list(space.implemented),
        "outcome": names,
        "implemented_or_unseen": [*space.implemented, unseen],
        "outcome_or_unseen": [*names, unseen],
    }


def _axes(acts: str) -> dict[str, list[str]]:
    return {
        "value": ["context", "proposal"],
        "compliance": ["context", "proposal", "implemented"],
        "outcome_probability": ["context", acts, "outcome"],
        "best_proposal": ["context"],
        "counts": ["context", "proposal", "implemented_or_unseen", "outcome_or_unseen"],
    }
