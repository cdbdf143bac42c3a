"""The reference simulation: readable numpy, and the oracle for every faster engine."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.environment import Environment
from takeup.errors import InputError, MismatchError
from takeup.evidence import Event
from takeup.policies import Policy
from takeup.randomness import Streams, stream
from takeup.simulation.reporting import Reporting
from takeup.simulation.trace import Trace
from takeup.space import UNSEEN
from takeup.version import __version__

BLOCK = 100
"""Replications that share a stream: block b holds replications 100 b to 100 b + 99, and is always run whole."""

LANES = 20
"""Blocks that run side by side."""

Progress = Callable[[int], object]
"""Called with the number of decisions made since the last call."""

Value = TypeVar("Value")


class _Lane(NamedTuple):
    """One block of replications in one environment."""

    environment: Environment
    block: int


def simulate(
    environment: Environment | Sequence[Environment] | Mapping[str, Environment],
    policies: Policy[Any] | Sequence[Policy[Any]],
    horizon: int,
    replications: int | range,
    seed: int = 0,
    *,
    reporting: Reporting = Reporting(),
    steps: Sequence[int] | None = None,
    progress: Progress = lambda _: None,
) -> Trace:
    """Run each policy against each environment, many times.

    All policies meet the same patients: replication i at step t has one context and one response to each proposal,
    whatever the policy. The result of a replication depends on environment, reporting, policy, seed and its number
    alone, not on what else runs beside it.

    Args:
        environment: the truth, or several of one space, by name or numbered from 0.
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
    environments = _named(environment)
    chosen = {policy.name: policy for policy in _listed(policies)}
    if not chosen or len(chosen) != len(_listed(policies)):
        raise InputError("policies", [p.name for p in _listed(policies)], "at least one, all with different names")
    for policy in chosen.values():
        policy.start(next(iter(environments.values())).space)  # fails before the first minute, not after it
    blocks = range(numbers.start // BLOCK, -(-numbers.stop // BLOCK))
    lanes = [_Lane(truth, block) for truth in environments.values() for block in blocks]

    def run(policy: Policy[Any]) -> list[FloatArray | IntArray]:
        """Regret and pulls under one policy, (environment, replication, ..)."""
        groups = [lanes[i : i + LANES] for i in range(0, len(lanes), LANES)]
        parts = zip(*(_run(group, reporting, policy, horizon, seed, kept, progress) for group in groups), strict=True)
        first = numbers.start - blocks.start * BLOCK
        whole = (np.concatenate(part) for part in parts)
        rows = (len(environments), len(blocks) * BLOCK)
        return [array.reshape(rows + array.shape[2:])[:, first : first + len(numbers)] for array in whole]

    regret, pulls = (np.stack(arrays, axis=1) for arrays in zip(*map(run, chosen.values()), strict=True))
    return Trace(
        tuple(environments), tuple(chosen), kept, regret, pulls, numbers, horizon, reporting, seed, __version__
    )


def _run(
    lanes: Sequence[_Lane],
    reporting: Reporting,
    policy: Policy[Any],
    horizon: int,
    seed: int,
    steps: IntArray,
    progress: Progress,
) -> tuple[FloatArray, IntArray]:
    """Cumulative regret at the steps, (lane, row, S), and pulls by context and proposal, (lane, row, X, Kz)."""

    def streams(purpose: str) -> Streams:
        return Streams([stream(seed, lane.environment.fingerprint(), purpose, lane.block) for lane in lanes])

    patients, rng = streams("patients"), streams("policy")
    batch = (len(lanes), BLOCK)
    everyone = np.indices(batch, sparse=True)
    gap = np.stack([lane.environment.regret() for lane in lanes])
    regret = np.zeros(batch)
    recorded = np.zeros((*batch, steps.size))
    pulls = np.zeros((*batch, *gap.shape[1:]), dtype=np.int64)
    state = policy.start(lanes[0].environment.space, batch)
    for t in range(horizon):
        arrival, response, report = np.moveaxis(patients.random((len(lanes), 3, BLOCK)), 1, 0)
        x = np.stack([lane.environment.meet(u) for lane, u in zip(lanes, arrival, strict=True)])
        z = policy.propose(state, x, rng)
        answers = (lane.environment.respond(*unit) for lane, *unit in zip(lanes, x, z, response, strict=True))
        a, y = np.moveaxis(np.array(list(answers)), 1, 0)
        seen = np.where(report < reporting.compliance, a, UNSEEN)
        state = policy.learn(state, Event(x, z, seen, y), rng)
        regret += gap[everyone[0], x, z]
        pulls[(*everyone, x, z)] += 1
        recorded[..., steps == t + 1] = regret[..., np.newaxis]
        progress(regret.size)
    return recorded, pulls


def _named(environment: Environment | Sequence[Environment] | Mapping[str, Environment]) -> dict[str, Environment]:
    if isinstance(environment, Mapping):
        named = dict(environment)
    else:
        named = {str(i): each for i, each in enumerate(_listed(environment))}
    if not named:
        raise InputError("environment", "none", "at least one environment")
    if len({each.space.shape for each in named.values()}) > 1:
        shapes = {name: each.space.shape for name, each in named.items()}
        raise MismatchError(f"environments run together must be of one shape; simulate these apart: {shapes}")
    return named


def _listed(given: Value | Sequence[Value]) -> list[Value]:
    return list(given) if isinstance(given, Sequence) else [given]


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
