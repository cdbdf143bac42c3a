"""The reference simulation: readable numpy, and the oracle for every faster engine."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.environment import Environment
from takeup.errors import InputError
from takeup.evidence import Event
from takeup.policies import Policy
from takeup.randomness import stream
from takeup.simulation.reporting import Reporting
from takeup.simulation.trace import Trace
from takeup.space import UNSEEN
from takeup.version import __version__

BLOCK = 100
"""Replications that run side by side and share a stream; block k holds replications 100 k to 100 k + 99."""

Progress = Callable[[int], object]
"""Called with the number of decisions made since the last call."""


def simulate(
    environment: Environment,
    policies: Policy[Any] | Sequence[Policy[Any]],
    horizon: int,
    replications: int | range,
    seed: int = 0,
    *,
    reporting: Reporting = Reporting(),
    steps: Sequence[int] | None = None,
    progress: Progress = lambda _: None,
) -> Trace:
    """Run each policy against the environment, many times.

    All policies meet the same patients: replication i at step t has one context and one response to each proposal,
    whatever the policy. A replication's result depends on the environment, the policy, the seed and its number alone,
    not on how many others run.

    Args:
        environment: the truth.
        policies: one, or several with different names.
        horizon: T, how many units are met.
        replications: how many runs, or a range of their numbers, to run a part again or to add to one.
        seed: any whole number of at least 0.
        reporting: how much of what happens the policies see; everything where left out.
        steps: when to record the regret, as numbers of units met so far; after every one where left out.
        progress: called as the work goes on.
    """
    horizon = checks.whole("horizon", horizon, least=1)
    numbers = _numbers(replications)
    kept = _steps(steps, horizon)
    chosen = list(policies) if isinstance(policies, Sequence) else [policies]
    names = tuple(policy.name for policy in chosen)
    if not names or len(set(names)) != len(names):
        raise InputError("policies", list(names), "at least one policy, all with different names")
    for policy in chosen:
        policy.start(environment.space)  # fails before the first minute, not after it
    blocks = [
        [_block(environment, reporting, policy, horizon, block, seed, kept, progress) for policy in chosen]
        for block in range(numbers.start // BLOCK, -(-numbers.stop // BLOCK))
    ]
    first = numbers.start // BLOCK * BLOCK
    wanted = slice(numbers.start - first, numbers.stop - first)
    regret = np.concatenate([[part[0] for part in row] for row in blocks], axis=1)[:, wanted]
    pulls = np.concatenate([[part[1] for part in row] for row in blocks], axis=1)[:, wanted]
    return Trace(names, kept, regret, pulls, numbers, horizon, reporting, seed, __version__)


def _block(
    environment: Environment,
    reporting: Reporting,
    policy: Policy[Any],
    horizon: int,
    block: int,
    seed: int,
    steps: IntArray,
    progress: Progress,
) -> tuple[FloatArray, IntArray]:
    """One block of replications under one policy: cumulative regret at the steps, and pulls by context and proposal."""
    patients = stream(seed, "environment", block)
    rng = stream(seed, "policy", block)
    gap = environment.regret()
    regret = np.zeros(BLOCK)
    recorded = np.zeros((BLOCK, steps.size))
    pulls = np.zeros((BLOCK, *gap.shape), dtype=np.int64)
    everyone = np.arange(BLOCK)
    state = policy.start(environment.space, (BLOCK,))
    for t in range(horizon):
        arrival, response, report = patients.random((3, BLOCK))
        x = environment.meet(arrival)
        z = policy.propose(state, x, rng)
        a, y = environment.respond(x, z, response)
        seen = np.where(report < reporting.compliance, a, UNSEEN)
        state = policy.learn(state, Event(x, z, seen, y), rng)
        regret += gap[x, z]
        pulls[everyone, x, z] += 1
        recorded[:, steps == t + 1] = regret[:, np.newaxis]
        progress(BLOCK)
    return recorded, pulls


def _numbers(replications: int | range) -> range:
    if isinstance(replications, range):
        if replications.step != 1 or replications.start < 0 or not replications:
            raise InputError("replications", replications, "a range from a number of at least 0, in steps of one")
        return replications
    return range(checks.whole("replications", replications, least=1))


def _steps(steps: Sequence[int] | None, horizon: int) -> IntArray:
    if steps is None:
        return np.arange(1, horizon + 1)
    kept = checks.counts("steps", steps)
    if kept.ndim != 1 or not kept.size or kept.min() < 1 or kept.max() > horizon or (np.diff(kept) <= 0).any():
        raise InputError("steps", list(steps), f"rising numbers between 1 and the horizon of {horizon}")
    return kept
