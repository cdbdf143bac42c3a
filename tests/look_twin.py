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


def replay(plan: Plan, seed: int, number: int) -> Replayed | None:
    """Trial `number` of the first scenario, with probabilities from quadrature and limits from `Limits`.

    None where a digit that neither knows would decide.
    """
    form = form_of(plan, list(plan.scenarios.values()))
    given, memory = given_for(plan, form, plan.scenarios, seed), memory_of(plan, form)
    proposals, looks = len(plan.design.space.proposals), plan.looks.at.size
    memory.share[:], dropped = plan.design.even, [0] * proposals
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
        memory.share[:] = shares(plan, table, list(standing.offered), look)
        if look + 1 < looks and _at_a_half(memory.share):
            return None
    else:
        status, chosen = MAXIMUM, None
    last = standing.control if chosen is None else chosen
    return Replayed(status, look, NONE if last is None else last, dropped)


def shares(plan: Plan, table: FloatArray, offered: list[int], look: int) -> FloatArray:
    """The probabilities after a look, from tables of successes and failures with the prior in them."""
    share = np.zeros(len(table))
    floor, ceiling = (np.broadcast_to(each, len(table))[offered] for each in (plan.limits.floor, plan.limits.ceiling))
    limits = Limits(floor, ceiling, plan.limits.rule)
    if isinstance(plan.design.policy, TS):
        wanted = softened(betas(table[offered]).largest(), float(plan.soften[look]))
    else:
        wanted = np.array(plan.design.even)[offered]
    share[offered] = limits.project(wanted / wanted.sum())
    return share


def _at_a_half(share: FloatArray) -> bool:
    """Whether a binomial draw has a probability near 1/2, where it is turned over: the last digit would decide."""
    rest = 1 - np.cumsum(share) + share
    return bool((np.abs(share[rest > 1e-9] / rest[rest > 1e-9] - 0.5) < 1e-5).any())
