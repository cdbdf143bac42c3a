"""The reference engine where units have covariates: readable numpy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from takeup.covariates import Profile
from takeup.evidence import Event
from takeup.policies import Policy
from takeup.policies.meeting import event_for, space_for, unit_for
from takeup.populations import CovariateEnvironment
from takeup.randomness import Streams
from takeup.simulation.engine import Part, Progress, packed_type, proposed
from takeup.simulation.setup import Setup
from takeup.simulation.waiting import Waiting
from takeup.space import UNSEEN, Space

WIDE = 250
"""From so many whole numbers a table on, fewer replications run side by side: small tables stay near the processor."""

RESPONSE = 3
"""The uniform numbers of a response: hidden type, action and outcome."""


def lanes(policy: Policy[Any], space: Space, most: int) -> int:
    """How many blocks run side by side; results are the same however many."""
    width = int(np.prod(space_for(policy, space).table))
    return max(1, min(most, most * WIDE // width))


def run(
    setup: Setup,
    policy: Policy[Any],
    truth: Sequence[CovariateEnvironment],
    streams: tuple[Streams, Streams],
    block: int,
    rows: int,
    progress: Progress,
) -> Part:
    """Some lanes side by side, of which so many rows are wanted; the first two axes are (lane, row).

    All policies meet the same units: who comes, of which hidden type, and the numbers by which it responds.
    """
    patients, rng = streams
    batch = (len(truth), block)
    everyone = np.indices(batch, sparse=True)
    contexts, proposals = setup.space.shape[:2]
    met = truth[0].uniforms
    regret, total = np.zeros((*batch, setup.steps.size)), np.zeros(batch)
    pulls = np.zeros((*batch, contexts, proposals), dtype=np.int64)
    decisions = np.zeros((*batch, setup.horizon if setup.full else 0), dtype=packed_type(setup.space))
    state, waiting = policy.start(space_for(policy, setup.space), batch), Waiting(setup.reporting)
    for t in range(setup.horizon):
        state = waiting.deliver(policy, state, t, rng)
        uniform = np.moveaxis(patients.random((len(truth), met + RESPONSE + 1, block)), 1, -1)
        arrivals, response, report = uniform[..., :met], uniform[..., met:-1], uniform[..., -1]
        found = [each.meet(u) for each, u in zip(truth, arrivals, strict=True)]
        x, v = (np.stack([getattr(unit, name) for unit, _ in found]) for name in ("context", "features"))
        value = np.stack([value for _, value in found])
        z = proposed(policy, state, unit_for(policy, Profile(x, v)), rng, batch, proposals)
        units = (Profile(*pair) for pair in zip(x, v, strict=True))
        answers = [each.respond(*one) for each, *one in zip(truth, units, z, response, strict=True)]
        a, y = np.moveaxis(np.array(answers), 1, 0)
        seen = np.where(report < setup.reporting.compliance, a, UNSEEN)
        waiting.send(event_for(policy, Event(x, z, seen, y, t, features=v)))
        pulls[(*everyone, x, z)] += 1
        total += value.max(axis=-1) - value[(*everyone, z)]
        if t + 1 in setup.steps:
            regret[..., np.searchsorted(setup.steps, t + 1)] = total
        if setup.full:  # who came, `units` finds again
            decisions[..., t] = np.ravel_multi_index((x, z, a, y), setup.space.shape)
        progress(rows)
    return Part(regret, pulls, decisions)
