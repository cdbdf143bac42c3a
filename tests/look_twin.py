"""One trial with looks as a person would write it: the draws of the kernel, and everything else in other words."""

from typing import NamedTuple

import numpy as np

from naive import FloatArray
from takeup.conjugates.quadrature import betas
from takeup.design.forms import form_of
from takeup.design.plan import Plan
from takeup.design.running import given_for, memory_of
from takeup.policies import TS
from takeup.policies.judging import GOING_ON, MAXIMUM, Standing, judge
from takeup.policies.limits import Limits, softened
from takeup.simulation.kernels import look_rates
from takeup.simulation.kernels.look_tables import NONE


class Replayed(NamedTuple):
    """How a trial ended, at which look, what was chosen, and which proposals were dropped when."""

    status: int
    look: int
    chosen: int
    dropped: list[int]


def replay(plan: Plan, seed: int, number: int) -> Replayed:
    """Trial `number` of the first scenario, with probabilities from quadrature and limits from `Limits`."""
    form = form_of(plan, list(plan.scenarios.values()))
    given, memory = given_for(plan, form, plan.scenarios, seed), memory_of(plan, form)
    proposals, looks = len(plan.design.space.proposals), plan.looks.at.size
    memory.share[:], dropped = _rounded(np.array(plan.design.even)), [0] * proposals
    standing = Standing.of(proposals, plan.rules)
    for look in range(looks):
        for piece in range(given.schedule.first[look], given.schedule.first[look + 1]):
            look_rates.draw(piece, 0, number, given, memory)
        memory.known[:] += memory.waiting[look]
        units, successes = memory.known.T
        table = given.reading.prior + np.stack([successes, units - successes], axis=1)
        verdict = judge(betas(table), plan.rules, look, standing)
        standing, status, chosen = verdict.standing, verdict.status, verdict.chosen
        for k in verdict.dropped:
            dropped[k] = look + 1
        if status != GOING_ON:
            break
        memory.share[:] = _shares(plan, table, list(standing.offered), look)
    else:
        status, chosen = MAXIMUM, None
    last = standing.control if chosen is None else chosen
    return Replayed(status, look, NONE if last is None else last, dropped)


def _shares(plan: Plan, table: FloatArray, offered: list[int], look: int) -> FloatArray:
    share = np.zeros(len(table))
    floor, ceiling = (np.broadcast_to(each, len(table))[offered] for each in (plan.limits.floor, plan.limits.ceiling))
    limits = Limits(floor, ceiling, plan.limits.rule)
    if isinstance(plan.design.policy, TS):
        wanted = softened(betas(table[offered]).largest(), float(plan.soften[look]))
    else:
        wanted = np.array(plan.design.even)[offered]
    share[offered] = limits.project(wanted / wanted.sum())
    return _rounded(share)


def _rounded(share: FloatArray) -> FloatArray:
    """To whole parts of 2^30, of which the largest takes what is left."""
    parts = np.floor(share * 2**30 + 0.5)
    parts[parts.argmax()] += 2**30 - parts.sum()
    return np.asarray(parts / 2**30)
