"""In which form a plan is run: the kernel's files that draw and read its statistic, with their numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup.design.cell_forms import betas_room, better_first, compares, good_of, policy_part, responses
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.design.statistics import sees_actions
from takeup.outcomes import Levels
from takeup.policies import TS, TSCheck, TSObs, TSRobust, Uniform
from takeup.simulation.kernels import comparing, look_cells, look_rates, look_units
from takeup.simulation.kernels.compile import Plain
from takeup.simulation.kernels.two_arm import SLOTS, can_return, started
from takeup.specfile import SpecError

KNOWN = (TS, Uniform, TSCheck, TSObs, TSRobust)
"""The policies that have kernels."""
READINGS = ("intention to treat", "policy")
LEAST_SHAPE = 0.5
"""The least parameter of a prior with which the kernel's probabilities are as exact as is said of them."""


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
    return _cells(plan, scenarios) if sees_actions(plan) else _rates(plan, scenarios)


def check(plan: Plan) -> None:
    """An error that names the file, the key and the value, where a plan has no kernel."""
    design, looks = plan.design, plan.looks
    space, policy = design.space, design.policy
    kind = space.outcome.kind if not isinstance(space.outcome, Levels) else f"{len(space.outcomes)} levels"
    for key, value, wrong, allowed in (
        ("policy.kind", type(policy).__name__, type(policy) not in KNOWN, ", ".join(each.__name__ for each in KNOWN)),
        ("space.outcomes", kind, kind != "2 levels", "two levels"),
        ("space.contexts", len(space.contexts), len(space.contexts) > 1, "one"),
        ("looks.update", looks.update, plan.by_unit and sees_actions(plan), "'look' where what was done is read"),
        ("stopping.reading", str(plan.reading), plan.reading not in READINGS, " or ".join(map(repr, READINGS))),
    ):
        if wrong:
            raise SpecError(f"{plan.source}: {key}", value, f"{allowed}, so far, where a plan is tried")
    _check_prior(plan)


def _check_prior(plan: Plan) -> None:
    """Whether all shapes are large enough for what is made of them."""
    policy = plan.design.policy
    if not isinstance(policy, TS | TSObs | TSRobust):
        return
    if isinstance(policy, TSRobust) and policy.pilot is not None:
        raise SpecError(f"{plan.source}: policy.pilot", "counts", "nothing, so far, where a plan is tried")
    compared = isinstance(policy, TS) or (isinstance(policy, TSObs) and compares(plan, read=_own(plan)))
    prior, allowed = policy.prior(plan.design.space), LEAST_SHAPE if compared else 1.0
    for name, block in (("alpha", prior.outcome), ("beta", prior.compliance)):
        if block is not None and block.min() < allowed:
            told = f"at least {allowed:g}, so far, where a plan is tried"
            raise SpecError(f"{plan.source}: policy.{name}", float(block.min()), told)


def _own(plan: Plan) -> bool:
    """Whether the rules read the policy's own model, where that is another than what was proposed."""
    return plan.reading == "policy" and sees_actions(plan)


def _betas(plan: Plan) -> look_rates.Betas:
    """What is believed of the value of each proposal before any data, by intention to treat."""
    policy, worth = plan.design.policy, float(np.ptp(plan.design.space.reward))
    return look_rates.Betas(
        better_first(plan, (policy if isinstance(policy, TS) else TS()).prior(plan.design.space)),
        comparing.grids(plan.rules.equivalence_margin / worth),
        comparing.grids(plan.rules.futility_margin / worth),
    )


def _total(plan: Plan) -> float:
    """The most that the two parameters of a proposal can sum to."""
    return float(_betas(plan).prior.sum(axis=1).max() + plan.looks.at[-1])


def _rates(plan: Plan, scenarios: Sequence[Scenario]) -> Form:
    """Two outcomes, read by what was proposed."""
    good = good_of(plan)
    success = np.stack([each.environment.response[0, ..., good].sum(axis=-1) for each in scenarios])
    proposals = len(plan.design.space.proposals)
    bind, given, room = _by_unit(plan) if plan.by_unit else ({}, (), tuple)
    return Form(
        bind,
        look_rates.Rates(success),
        _betas(plan),
        given,
        lambda: (betas_room(proposals, _total(plan)), room()),
    )


def _by_unit(plan: Plan) -> tuple[dict[Plain, Plain], Any, Callable[[], Any]]:
    """How the policy allocates unit by unit: by a recurrence, by a draw, or by a quadrature for each, which is slow."""
    prior = _betas(plan).prior
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


def _cells(plan: Plan, scenarios: Sequence[Scenario]) -> Form:
    """Two outcomes and what was done, read by what was proposed or by the policy's own model."""
    part, proposals = policy_part(plan, read=_own(plan)), len(plan.design.space.proposals)
    bind: dict[Plain, Plain] = {
        look_rates.respond: look_cells.respond,
        look_rates.parameters: look_cells.parameters,
        **part.bind,
    }
    if part.reading is not None:
        return Form(bind, responses(plan, scenarios), part.reading, part.given, lambda: ((), part.room()))
    return Form(
        bind,
        responses(plan, scenarios),
        _betas(plan),
        part.given,
        lambda: (betas_room(proposals, _total(plan)), part.room()),
    )
