"""In which form a plan is run: the kernel's files that draw and read its statistic, with their numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup.checks import FloatArray
from takeup.design import kinds
from takeup.design.form_parts import LEAST_SHAPE, betas, betas_room, compares, good_of, responses
from takeup.design.plan import Plan
from takeup.design.policy_forms import policy_part
from takeup.design.reading_forms import reading_part
from takeup.design.scenarios import Scenario
from takeup.design.statistics import sees_actions
from takeup.outcomes import Levels
from takeup.policies import TS, TSCheck, TSObs, TSRobust, Uniform
from takeup.simulation.kernels import look_cells, look_rates, look_units
from takeup.simulation.kernels.compile import Plain
from takeup.simulation.kernels.two_arm import SLOTS, can_return, started
from takeup.specfile import SpecError

KNOWN = (TS, Uniform, TSCheck, TSObs, TSRobust)
"""The policies that have kernels."""
LEAST_DRAWN = 1.0
"""The least of those that gammas are drawn with."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """How the kernel runs a plan.

    Attributes:
        bind: which functions stand in for those of `look_rates`.
        truth: what units are drawn from, in all scenarios.
        reading: what is believed before any data.
        policy: the same of the policy, where it does not allocate by the reading.
        room: makes the memory of the reading and that of the policy, for one trial at work.
    """

    bind: Mapping[Plain, Plain]
    truth: Any
    reading: Any
    policy: Any
    room: Callable[[], tuple[Any, Any]]


def form_of(plan: Plan, scenarios: Sequence[Scenario]) -> Form:
    """The form in which the kernel runs this plan; an error that names file, key and value where there is none."""
    check(plan)
    if sees_actions(plan):
        return _cells(plan, scenarios)
    return _rates(plan, scenarios) if plan.space.outcome.size == 2 else _kind(plan, scenarios)


def has_kernel(plan: Plan) -> bool:
    """Whether a kernel runs this plan; else the reference does."""
    try:
        check(plan)
    except SpecError:
        return False
    return True


def check(plan: Plan) -> None:
    """An error that names the file, the key and the value, where a plan has no kernel."""
    design, looks = plan.design, plan.looks
    space, policy = design.space, design.policy
    kind = space.outcome.kind if not isinstance(space.outcome, Levels) else f"{len(space.outcomes)} levels"
    for key, value, wrong, allowed in (
        ("policy.kind", type(policy).__name__, type(policy) not in KNOWN, ", ".join(each.__name__ for each in KNOWN)),
        ("space.outcomes", kind, sees_actions(plan) and kind != "2 levels", "two levels, where what is done counts"),
        ("space.contexts", len(space.contexts), len(space.contexts) > 1, "one"),
        ("compliance", design.spec.compliance, sees_actions(plan) and design.spec.compliance != "always", "'always'"),
        ("looks.update", looks.update, plan.by_unit and sees_actions(plan), "'look' where what was done is read"),
        ("stopping.reading", str(plan.reading), not _readable(plan), "proposals that intend an action each"),
    ):
        if wrong:
            raise SpecError(f"{plan.source}: {key}", value, f"{allowed}, so far, on other engines than the reference")
    _check_prior(plan)


def _readable(plan: Plan) -> bool:
    """Whether the effect among compliers, where it is read, is one of different actions."""
    intended = plan.space.intended
    return plan.reading != "compliers" or (intended is not None and len(set(intended)) == len(intended))


def _check_prior(plan: Plan) -> None:
    """Whether all shapes are large enough for what is made of them."""
    policy, outcome = plan.design.policy, plan.space.outcome
    if not isinstance(outcome, Levels):
        kinds.check(plan)
    if outcome.size != 2:
        kinds.check_width(plan)
    if not isinstance(outcome, Levels):
        return
    if not isinstance(policy, TS | TSObs | TSRobust):
        return
    if isinstance(policy, TSRobust) and policy.pilot is not None:
        raise SpecError(
            f"{plan.source}: policy.pilot", "counts", "nothing, so far, on other engines than the reference"
        )
    prior = policy.prior(plan.space)
    allowed = LEAST_SHAPE if isinstance(policy, TS) or compares(plan) else LEAST_DRAWN
    for name, block in (("alpha", prior.outcome), ("beta", prior.compliance)):
        if block is not None and block.min() < allowed:
            told = f"at least {allowed:g}, so far, on other engines than the reference"
            raise SpecError(f"{plan.source}: policy.{name}", float(block.min()), told)


def _rates(plan: Plan, scenarios: Sequence[Scenario]) -> Form:
    """Two outcomes, read by what was proposed."""
    good, reading = good_of(plan), betas(plan)
    success = np.stack([each.environment.response[0, ..., good].sum(axis=-1) for each in scenarios])
    room = betas_room(plan, reading.prior)
    bind, given, more = _by_unit(plan, reading.prior) if plan.by_unit else ({}, (), tuple)
    return Form(bind, look_rates.Rates(success), reading, given, lambda: (room(), more()))


def _by_unit(plan: Plan, prior: FloatArray) -> tuple[dict[Plain, Plain], Any, Callable[[], Any]]:
    """How the policy allocates unit by unit: by a recurrence, by a draw, or by a quadrature for each, which is slow."""
    if len(prior) == 2 and can_return(started(prior)):
        bind: dict[Plain, Plain] = {
            look_units.begin_units: look_units.begin_pair,
            look_units.learn_unit: look_units.learn_pair,
            look_units.wish_unit: look_units.wish_pair,
        }
        return bind, look_units.Pair(started(prior)), lambda: look_units.Pair(np.zeros((SLOTS, 1)))
    limits, free = plan.limits, plan.control_share is None and (plan.soften == 1).all()
    if free and np.max(limits.floor) == 0 and np.min(limits.ceiling) == 1:
        return {look_units.wish_unit: look_units.wish_drawn}, (), tuple
    return {}, (), tuple


def _kind(plan: Plan, scenarios: Sequence[Scenario]) -> Form:
    """More than two outcomes, numbers, counts or times, read by what was proposed."""
    part = kinds.part_of(plan)
    return Form(part.bind, kinds.outcomes(plan, scenarios), part.given, (), lambda: (part.room(), ()))


def _cells(plan: Plan, scenarios: Sequence[Scenario]) -> Form:
    """Two outcomes and what was done."""
    read, wish = reading_part(plan), policy_part(plan)
    bind = {look_rates.respond: look_cells.respond, **read.bind, **wish.bind}
    return Form(bind, responses(plan, scenarios), read.given, wish.given, lambda: (read.room(), wish.room()))
