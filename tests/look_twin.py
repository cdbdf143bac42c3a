"""One trial with looks as a person would write it: the draws of the kernel, and everything else in other words."""

from typing import NamedTuple

import numpy as np

from naive import FloatArray
from takeup.conjugates.quadrature import betas
from takeup.design.plan import Plan
from takeup.design.running import memory_of
from takeup.policies import TS
from takeup.policies.limits import Limits, softened
from takeup.simulation.kernels import look_driver
from takeup.simulation.kernels.look_driver import EQUIVALENT, FUTILE, GOING_ON, MAXIMUM, NONE, SUPERIOR, LookInput


class Replayed(NamedTuple):
    """How a trial ended, at which look, what was chosen, and which proposals were dropped when."""

    status: int
    look: int
    chosen: int
    dropped: list[int]


def replay(plan: Plan, given: LookInput, number: int) -> Replayed | None:
    """Trial `number` of the first scenario, with probabilities from quadrature and limits from `Limits`.

    None where a digit that neither knows would decide.
    """
    labels, looks = plan.design.space.proposals, plan.looks.at.size
    memory, dropped = memory_of(looks, len(labels)), [0] * len(labels)
    memory.share[:] = plan.design.even
    offered, control = list(range(len(labels))), plan.rules.control
    for look in range(looks):
        for piece in range(given.schedule.first[look], given.schedule.first[look + 1]):
            look_driver.draw(piece, 0, number, given, memory)
        memory.known[:] += memory.waiting[look]
        units, successes = memory.known.T
        table = given.prior + np.stack([successes, units - successes], axis=1)
        before = list(offered)
        if control is None:
            status, chosen = _among_all(plan, table, offered, look)
        else:
            status, control, chosen = _against(plan, table, offered, look, control)
        for k in set(before) - set(offered):
            dropped[k] = look + 1
        if status != GOING_ON:
            break
        memory.share[:] = _shares(plan, table, offered, look)
        if look + 1 < looks and _at_a_half(memory.share):
            return None
    else:
        status, chosen = MAXIMUM, NONE
    return Replayed(status, look, (NONE if control is None else control) if chosen == NONE else chosen, dropped)


def _among_all(plan: Plan, table: FloatArray, offered: list[int], look: int) -> tuple[int, int]:
    rules = plan.rules
    while True:
        best = dict(zip(offered, betas(table[offered]).largest(), strict=True))
        first = max(best, key=lambda k: best[k])
        weak = [
            k for k in offered if k != first and rules.inferiority is not None and best[k] < rules.inferiority[look]
        ]
        if not weak:
            break
        for k in weak:
            offered.remove(k)
    if len(offered) == 1 or (rules.superiority is not None and best[first] > rules.superiority[look]):
        return SUPERIOR, first
    if rules.equivalence is not None:
        close = betas(table).within(offered, rules.equivalence_margin)
        if close > rules.equivalence[look]:
            return EQUIVALENT, NONE
    return GOING_ON, NONE


def _against(plan: Plan, table: FloatArray, offered: list[int], look: int, control: int) -> tuple[int, int, int]:
    rules, values = plan.rules, betas(table)
    while True:
        better = {k: values.exceeds(k, control) for k in offered if k != control}
        for k, chance in better.items():
            if rules.inferiority is not None and chance < rules.inferiority[look]:
                offered.remove(k)
        first = max(better, key=lambda k: better[k]) if better else NONE
        if first == NONE or rules.superiority is None or better[first] <= rules.superiority[look]:
            break
        if not rules.replace:
            return SUPERIOR, control, first
        offered.remove(control)
        control = first
    alone = SUPERIOR if len(offered) == 1 else GOING_ON
    reasons = []
    for k in [each for each in offered if each != control]:
        if rules.equivalence is not None:
            close = values.within([k, control], rules.equivalence_margin)
            if close > rules.equivalence[look]:
                offered.remove(k)
                reasons.append(EQUIVALENT)
                continue
        if rules.futility is not None and 1 - values.exceeds(k, control, rules.futility_margin) > rules.futility[look]:
            offered.remove(k)
            reasons.append(FUTILE)
    if len(offered) > 1:
        return GOING_ON, control, NONE
    if alone == SUPERIOR:
        return SUPERIOR, control, control
    return (FUTILE if FUTILE in reasons else EQUIVALENT), control, NONE


def _shares(plan: Plan, table: FloatArray, offered: list[int], look: int) -> FloatArray:
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
