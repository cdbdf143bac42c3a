"""In which form a plan is run: the kernel's files that draw and read its statistic, with their numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.outcomes import Levels
from takeup.policies import TS, Uniform
from takeup.simulation.kernels import comparing, look_rates
from takeup.simulation.kernels.compile import Plain
from takeup.specfile import SpecError

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
    return _rates(plan, scenarios)


def check(plan: Plan) -> None:
    """An error that names the file, the key and the value, where a plan has no kernel."""
    design, looks = plan.design, plan.looks
    space, policy = design.space, design.policy
    kind = space.outcome.kind if not isinstance(space.outcome, Levels) else f"{len(space.outcomes)} levels"
    share = None if plan.control_share is None else str(plan.control_share)
    least = (
        float((policy if isinstance(policy, TS) else TS()).prior(space).outcome.min()) if kind == "2 levels" else 1.0
    )
    for key, value, wrong, allowed in (
        ("policy.kind", policy.name, type(policy) not in (TS, Uniform), "TS or Uniform"),
        ("space.outcomes", kind, kind != "2 levels", "two levels"),
        ("space.contexts", len(space.contexts), len(space.contexts) > 1, "one"),
        ("looks.update", looks.update, looks.update != "look", "'look'"),
        ("burn_in", design.spec.burn_in, design.spec.burn_in > looks.randomised[0], f"at most {looks.randomised[0]}"),
        ("stopping.reading", str(plan.reading), plan.reading != "intention to treat", "'intention to treat'"),
        ("stopping.control_share", share, share is not None, "nothing"),
        ("policy.alpha", least, least < LEAST_SHAPE, f"at least {LEAST_SHAPE:g}"),
    ):
        if wrong:
            raise SpecError(f"{plan.source}: {key}", value, f"{allowed}, so far, where a plan is tried")


def _rates(plan: Plan, scenarios: Sequence[Scenario]) -> Form:
    """Two outcomes, read by what was proposed."""
    space, policy, rules = plan.design.space, plan.design.policy, plan.rules
    good, worth = int(np.argmax(space.utility)), float(np.ptp(space.reward))
    success = np.stack([each.environment.response[0, ..., good].sum(axis=-1) for each in scenarios])
    prior = (policy if isinstance(policy, TS) else TS()).prior(space).outcome[0]
    proposals = len(space.proposals)
    reading = look_rates.Betas(
        np.ascontiguousarray(prior[:, [good, 1 - good]]),
        comparing.grids(rules.equivalence_margin / worth),
        comparing.grids(rules.futility_margin / worth),
    )

    total = float(prior.sum(axis=1).max() + plan.looks.at[-1])

    def room() -> tuple[Any, Any]:
        return look_rates.BetasMemory(np.zeros(1, dtype=np.int64), comparing.room(proposals, total)), ()

    return Form({}, look_rates.Rates(success), reading, (), room)
