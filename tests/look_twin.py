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
from takeup.design.running import given_for, memory_of, truths
from takeup.design.statistics import sees_actions
from takeup.evidence import Evidence
from takeup.policies import TS, TSCheck, TSObs, Uniform
from takeup.policies.allocation import allocate
from takeup.policies.bounded_reading import CellMeans
from takeup.policies.judging import GOING_ON, MAXIMUM, Comparison, Standing, judge
from takeup.policies.limits import shared
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
    form = form_of(plan, truths(plan.scenarios))
    given, memory = given_for(plan, form, plan.scenarios, seed), memory_of(plan, form)
    schedule, looks, lag = given.schedule, plan.looks.at, plan.looks.lag
    dropped = [0] * len(plan.design.space.proposals)
    draw = as_written(look_rates.draw, form)
    standing, wanted, randomised = Standing.of(len(dropped), plan.rules), None, 0
    outcomes: list[IntArray] = []  # of each piece, or of each unit
    for look in range(looks.size):
        for piece in range(schedule.first[look], schedule.first[look + 1]):
            place, known = look - 1, wanted
            if plan.by_unit:
                place = max(piece - lag, 0)
                known = _believed(plan, sum(outcomes[:place], start=np.zeros_like(memory.known)))[1]
            known = None if randomised < plan.design.spec.burn_in else known
            memory.share[:] = _rounded(shares(plan, known, list(standing.offered), place, standing.control))
            memory.waiting[:] = 0
            draw(piece, schedule.truth[0, piece], number, given, memory)
            outcomes.append(memory.waiting.sum(axis=0))
            randomised += schedule.size[piece]
        followed = np.cumsum(schedule.size[: len(outcomes)]) <= looks[look]
        compared, wanted = _believed(plan, np.stack(outcomes)[followed].sum(axis=0))
        verdict = judge(compared, plan.rules, look, standing)
        standing, status, chosen = verdict.standing, verdict.status, verdict.chosen
        for k in verdict.dropped:
            dropped[k] = look + 1
        if status != GOING_ON:
            break
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


def shares(
    plan: Plan, wanted: FloatArray | None, offered: list[int], look: int, control: int | None = None
) -> FloatArray:
    """The probabilities after a look, from betas with the prior in them, or from the policy's own probabilities."""
    policy = plan.design.policy
    if wanted is None or isinstance(policy, Uniform):
        wish, power = np.array(plan.design.even), 1.0
    else:
        wish, power = np.zeros(len(plan.design.even)), float(plan.soften[look])
        wish[offered] = wanted[offered] if isinstance(policy, TSObs) else betas(wanted[offered]).largest()
    return shared(wish, offered, plan.limits, power, control, plan.control_share)


def _rounded(share: FloatArray) -> FloatArray:
    """To whole parts of 2^30, of which the largest takes what is left."""
    parts = np.floor(share * 2**30 + 0.5)
    parts[parts.argmax()] += 2**30 - parts.sum()
    return np.asarray(parts / 2**30)
