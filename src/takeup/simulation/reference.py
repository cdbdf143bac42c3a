"""The reference engine: readable numpy, and the oracle for every faster one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from takeup.environment import Environment
from takeup.evidence import Event
from takeup.randomness import Streams, stream
from takeup.simulation.engine import Job, Part, Progress, packed_type, silent
from takeup.space import UNSEEN

BLOCK = 100
"""Replications that share a stream: block b holds replications 100 b to 100 b + 99, and is always run whole."""

LANES = 20
"""Blocks that run side by side."""


class _Lane(NamedTuple):
    """One block of replications in one environment."""

    environment: Environment
    block: int


def run(job: Job, replications: range, progress: Progress = silent) -> Part:
    """Run these replications; any policy that follows the protocol runs here."""
    blocks = range(replications.start // BLOCK, -(-replications.stop // BLOCK))
    lanes = [_Lane(environment, block) for environment in job.environments for block in blocks]
    groups = [lanes[i : i + LANES] for i in range(0, len(lanes), LANES)]
    parts = [_run(job, group, progress, sum(len(_overlap(lane, replications)) for lane in group)) for group in groups]
    first = replications.start - blocks.start * BLOCK
    rows = (len(job.environments), len(blocks) * BLOCK)

    def wanted(name: str) -> np.ndarray:
        array = np.concatenate([getattr(part, name) for part in parts])
        return array.reshape(rows + array.shape[2:])[:, first : first + len(replications)]

    return Part(wanted("regret"), wanted("pulls"), wanted("decisions"))


def _overlap(lane: _Lane, replications: range) -> range:
    """Those of the lane's replications that were asked for."""
    first = lane.block * BLOCK
    return range(max(first, replications.start), min(first + BLOCK, replications.stop))


def _run(job: Job, lanes: Sequence[_Lane], progress: Progress, rows: int) -> Part:
    """Some lanes side by side, of which so many rows are wanted; the first two axes are (lane, row)."""

    def streams(purpose: str) -> Streams:
        return Streams([stream(job.seed, lane.environment.fingerprint(), purpose, lane.block) for lane in lanes])

    patients, rng = streams("patients"), streams("policy")
    policy, space, batch = job.policy, lanes[0].environment.space, (len(lanes), BLOCK)
    everyone = np.indices(batch, sparse=True)
    gap = np.stack([lane.environment.regret() for lane in lanes])
    regret = np.zeros((*batch, job.steps.size))
    pulls = np.zeros((*batch, *gap.shape[1:]), dtype=np.int64)
    decisions = np.zeros((*batch, job.horizon if job.full else 0), dtype=packed_type(space))
    state = policy.start(space, batch)
    arrived: list[tuple[Event] | tuple[Event, Event]] = []
    pending: list[tuple[Event, Event]] = []
    for t in range(job.horizon):
        if t % job.reporting.batch == 0:
            for news in arrived:
                state = policy.learn(state, *news, rng) if len(news) == 1 else policy.report(state, *news, rng)
            arrived = []
        arrival, response, report = np.moveaxis(patients.random((len(lanes), 3, BLOCK)), 1, 0)
        x = np.stack([lane.environment.meet(u) for lane, u in zip(lanes, arrival, strict=True)])
        z = policy.propose(state, x, rng)
        answers = (lane.environment.respond(*unit) for lane, *unit in zip(lanes, x, z, response, strict=True))
        a, y = np.moveaxis(np.array(list(answers)), 1, 0)
        seen = np.where(report < job.reporting.compliance, a, UNSEEN)
        if job.reporting.delay == 0:
            arrived.append((Event(x, z, seen, y),))
        else:
            arrived.append((Event(x, z, seen),))
            pending.append((Event(x, z, seen), Event(x, z, seen, y)))
            if len(pending) > job.reporting.delay:
                arrived.append(pending.pop(0))
        pulls[(*everyone, x, z)] += 1
        if t + 1 in job.steps:
            regret[..., np.searchsorted(job.steps, t + 1)] = np.einsum("lrxz,lxz->lr", pulls, gap)
        if job.full:
            decisions[..., t] = np.ravel_multi_index((x, z, a, y), space.shape)
        progress(rows)
    return Part(regret, pulls, decisions)
