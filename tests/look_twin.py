"""One trial with looks as a person would write it: the draws of the kernel, and everything else in other words."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from naive import FloatArray
from takeup.checks import IntArray
from takeup.conjugates.quadrature import betas
from takeup.design.bounded import reading_of
from takeup.design.forms import Form, form_of
from takeup.design.plan import Plan
from takeup.design.running import given_for, memory_of
from takeup.design.statistics import sees_actions
from takeup.evidence import Evidence
from takeup.policies import TS, TSCheck, TSObs, Uniform
from takeup.policies.allocation import allocate
from takeup.policies.bounded_reading import CellMeans
from takeup.policies.judging import GOING_ON, MAXIMUM, Comparison, Standing, judge
from takeup.policies.limits import Limits, softened
from takeup.policies.readings import comparison
from takeup.randomness import stream
from takeup.simulation.kernels import look_rates
from takeup.simulation.kernels.compile import Builder
from takeup.simulation.kernels.look_tables import NONE
from takeup.trial.rules import BoundedTable


class Replayed(NamedTuple):
    """How a trial ended, at which look, what was chosen, and which proposals were dropped when."""

    status: int
    look: int
    chosen: int
    dropped: list[int]


def as_written(function: Callable[..., Any], form: Form, **switches: bool) -> Callable[..., Any]:
    """A kernel's function with what a form binds, as plain Python."""
    found: Callable[..., Any] = Builder(lambda copy, _: copy, form.bind, switches, {})(function)
    return found


def replay(plan: Plan, seed: int, number: int) -> Replayed:
    """Trial `number` of the first scenario, with probabilities from quadrature and limits from `Limits`."""
    form = form_of(plan, list(plan.scenarios.values()))
    given, memory = given_for(plan, form, plan.scenarios, seed), memory_of(plan, form)
    proposals, looks = len(plan.design.space.proposals), plan.looks.at.size
    memory.share[:], dropped = _rounded(np.array(plan.design.even)), [0] * proposals
    draw = as_written(look_rates.draw, form)
    standing = Standing.of(proposals, plan.rules)
    for look in range(looks):
        for piece in range(given.schedule.first[look], given.schedule.first[look + 1]):
            draw(piece, 0, number, given, memory)
        memory.known[:] += memory.waiting[look]
        compared, wanted = _believed(plan, memory.known)
        verdict = judge(compared, plan.rules, look, standing)
        standing, status, chosen = verdict.standing, verdict.status, verdict.chosen
        for k in verdict.dropped:
            dropped[k] = look + 1
        if status != GOING_ON:
            break
        memory.share[:] = shares(plan, wanted, list(standing.offered), look)
    else:
        status, chosen = MAXIMUM, None
    last = standing.control if chosen is None else chosen
    return Replayed(status, look, NONE if last is None else last, dropped)


def evidence_of(plan: Plan, known: IntArray) -> Evidence:
    """The evidence that the cells n[z, a, y] of a trial are, with nothing unseen."""
    space = plan.design.space
    counts = np.zeros(space.table, dtype=np.int64)
    counts[0, :, :-1, :-1] = known.reshape(space.shape[1:])
    return Evidence(space, counts)


def read_cells(plan: Plan, known: IntArray) -> Comparison:
    """What the rules of a plan that sees what was done read."""
    if isinstance(plan.reading, BoundedTable):
        cells = known.reshape(plan.design.space.shape[1:])
        return reading_of(plan).of(CellMeans.of_counts(cells, plan.design.space.reward))
    return comparison(plan.reading, evidence_of(plan, known), plan.design.policy, stream(0, "none"))


def _believed(plan: Plan, known: IntArray) -> tuple[Comparison, FloatArray]:
    """What the rules read, and the betas that the policy allocates by, or what it proposes where it has none."""
    space, policy = plan.design.space, plan.design.policy
    order = [int(np.argmax(space.reward)), int(np.argmin(space.reward))]
    prior = (policy if isinstance(policy, TS) else TS()).prior(space).outcome[0][:, order]
    if not sees_actions(plan):
        units, successes = known.T
        table = prior + np.stack([successes, units - successes], axis=1)
        return betas(table), table
    if isinstance(policy, TSCheck | TSObs):
        found = policy.posterior(evidence_of(plan, known), stream(0, "none"))
        exact = allocate(found)
        assert exact is not None
        return read_cells(plan, known), found.outcome[0][:, order] if policy.name == "TS-Check" else exact.probability
    return read_cells(plan, known), prior + known.reshape(space.shape[1:]).sum(axis=1)[:, order]


def shares(plan: Plan, wanted: FloatArray, offered: list[int], look: int) -> FloatArray:
    """The probabilities after a look, from betas with the prior in them, or from the policy's own probabilities."""
    policy, share = plan.design.policy, np.zeros(len(plan.design.space.proposals))
    floor, ceiling = (np.broadcast_to(each, share.size)[offered] for each in (plan.limits.floor, plan.limits.ceiling))
    limits = Limits(floor, ceiling, plan.limits.rule)
    if isinstance(policy, Uniform):
        probability = np.array(plan.design.even)[offered]
    else:
        best = wanted[offered] if isinstance(policy, TSObs) else betas(wanted[offered]).largest()
        probability = softened(best, float(plan.soften[look]))
    share[offered] = limits.project(probability / probability.sum())
    return _rounded(share)


def _rounded(share: FloatArray) -> FloatArray:
    """To whole parts of 2^30, of which the largest takes what is left."""
    parts = np.floor(share * 2**30 + 0.5)
    parts[parts.argmax()] += 2**30 - parts.sum()
    return np.asarray(parts / 2**30)
