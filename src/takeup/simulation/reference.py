"""The reference engine: readable numpy, and the oracle for every faster one."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from takeup.environment import Environment
from takeup.evidence import Event
from takeup.policies import Policy
from takeup.populations import CovariateEnvironment
from takeup.randomness import Streams, stream
from takeup.simulation import profiled
from takeup.simulation.engine import Part, Progress, packed_type, proposed, silent
from takeup.simulation.setup import AnyEnvironment, Setup
from takeup.simulation.waiting import Waiting
from takeup.space import UNSEEN

BLOCK = 100
"""Replications that share a stream: block b holds replications 100 b to 100 b + 99, and is always run whole."""

LANES = 20
"""Blocks that run side by side."""


class _Lane(NamedTuple):
    """One block of replications in one environment."""

    environment: AnyEnvironment
    block: int


def run(setup: Setup, policy: Policy[Any], replications: range, progress: Progress = silent) -> Part:
    """Run these replications; any policy that follows the protocol runs here."""
    blocks = range(replications.start // BLOCK, -(-replications.stop // BLOCK))
    lanes = [_Lane(environment, block) for environment in setup.environments.values() for block in blocks]
    parts = []
    wide = LANES if setup.space.covariates is None else profiled.lanes(policy, setup.space, LANES)
    for i in range(0, len(lanes), wide):
        group = lanes[i : i + wide]
        rows = sum(len(_overlap(lane, replications)) for lane in group)
        parts.append(_run(setup, policy, group, rows, progress))
    first = replications.start - blocks.start * BLOCK
    batch = (len(setup.environments), len(blocks) * BLOCK)

    def wanted(name: str) -> np.ndarray:
        array = np.concatenate([getattr(part, name) for part in parts])
        return array.reshape(batch + array.shape[2:])[:, first : first + len(replications)]

    return Part(wanted("regret"), wanted("pulls"), wanted("decisions"))


def _overlap(lane: _Lane, replications: range) -> range:
    """Those of the lane's replications that were asked for."""
    first = lane.block * BLOCK
    return range(max(first, replications.start), min(first + BLOCK, replications.stop))


def _run(setup: Setup, policy: Policy[Any], lanes: Sequence[_Lane], rows: int, progress: Progress) -> Part:
    """Some lanes side by side, of which so many rows are wanted; the first two axes are (lane, row)."""

    def streams(purpose: str) -> Streams:
        return Streams([stream(setup.seed, lane.environment.fingerprint(), purpose, lane.block) for lane in lanes])

    patients, rng = streams("patients"), streams("policy")
    with_covariates = [each.environment for each in lanes if isinstance(each.environment, CovariateEnvironment)]
    if with_covariates:
        return profiled.run(setup, policy, with_covariates, (patients, rng), BLOCK, rows, progress)
    space, batch = setup.space, (len(lanes), BLOCK)
    everyone = np.indices(batch, sparse=True)
    truth = [each.environment for each in lanes if isinstance(each.environment, Environment)]
    changes = [(step, i, other) for i, each in enumerate(truth) for step, other in each.later]
    gap = np.stack([each.regret() for each in truth])
    regret = np.zeros((*batch, setup.steps.size))
    pulls = np.zeros((*batch, *gap.shape[1:]), dtype=np.int64)
    decisions = np.zeros((*batch, setup.horizon if setup.full else 0), dtype=packed_type(space))
    past, before = np.zeros(batch), np.zeros_like(pulls)  # the regret up to the last change, and the pulls until then
    state, waiting = policy.start(space, batch), Waiting(setup.reporting)
    for t in range(setup.horizon):
        for i, other in ((i, other) for step, i, other in changes if step == t):
            past[i] += np.einsum("rxz,xz->r", pulls[i] - before[i], gap[i])
            before[i], truth[i], gap[i] = pulls[i], other, other.regret()
        state = waiting.deliver(policy, state, t, rng)
        arrival, response, report = np.moveaxis(patients.random((len(lanes), 3, BLOCK)), 1, 0)
        x = np.stack([each.meet(u) for each, u in zip(truth, arrival, strict=True)])
        z = proposed(policy, state, x, rng, batch, len(space.proposals))
        answers = (each.respond(*unit) for each, *unit in zip(truth, x, z, response, strict=True))
        a, y = np.moveaxis(np.array(list(answers)), 1, 0)
        seen = np.where(report < setup.reporting.compliance, a, UNSEEN)
        waiting.send(Event(x, z, seen, y, t))
        pulls[(*everyone, x, z)] += 1
        if t + 1 in setup.steps:
            regret[..., np.searchsorted(setup.steps, t + 1)] = past + np.einsum("lrxz,lxz->lr", pulls - before, gap)
        if setup.full:
            decisions[..., t] = np.ravel_multi_index((x, z, a, y), space.shape)
        progress(rows)
    return Part(regret, pulls, decisions)
