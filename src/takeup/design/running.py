"""Trials of a plan by the thousand: the plan in arrays for the kernel, and the kernel on all cores."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.design.looks import Looks
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.outcomes import Levels
from takeup.policies import TS, Uniform
from takeup.simulation.engine import Progress, silent
from takeup.simulation.kernels import comparing, compile_cpu, look_driver
from takeup.simulation.kernels.cpu import spread
from takeup.simulation.kernels.look_driver import LookInput, LookMemory, LookOutput, Schedule, Sharing, Thresholds
from takeup.simulation.kernels.streams import key_of
from takeup.simulation.kernels.tables import Replication
from takeup.specfile import SpecError

LEAST_SHAPE = 0.5
"""The least parameter of a prior with which the kernel's probabilities are as exact as is said of them."""
BLOCK = 2_000
"""Trials that run as one piece."""
NEVER_ABOVE, NEVER_BELOW = 2.0, -1.0
"""Thresholds that no probability crosses."""


def run(
    plan: Plan, scenarios: Mapping[str, Scenario], replications: range, seed: int, progress: Progress = silent
) -> LookOutput:
    """Run these trials of a plan in each scenario; a trial depends on plan, scenario, seed and its number alone."""
    check(plan)
    given = given_for(plan, scenarios, seed)
    looks, proposals = plan.looks.at.size, len(plan.design.space.proposals)
    compiled = compile_cpu.build(look_driver.replicate_many, {}, {"CONTROLLED": plan.rules.control is not None})
    output = _output(len(scenarios), len(replications), proposals)

    def work(start: Replication, count: int) -> int:
        compiled(start, count, given, memory_of(looks, proposals), output)
        return count

    blocks = (
        (Replication(scenario, row, replications.start + row), min(BLOCK, len(replications) - row))
        for scenario in range(len(scenarios))
        for row in range(0, len(replications), BLOCK)
    )
    spread(work, blocks, os.cpu_count() or 1, progress)
    return output


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
        ("stopping.control_share", share, share is not None, "nothing"),
        ("policy.alpha", least, least < LEAST_SHAPE, f"at least {LEAST_SHAPE:g}"),
    ):
        if wrong:
            raise SpecError(f"{plan.source}: {key}", value, f"{allowed}, so far, where a plan is tried")


def given_for(plan: Plan, scenarios: Mapping[str, Scenario], seed: int) -> LookInput:
    """The plan in arrays."""
    rules, space = plan.rules, plan.design.space
    good, worth = int(np.argmax(space.utility)), float(np.ptp(space.reward))
    success = np.stack([each.environment.response[0, ..., good].sum(axis=-1) for each in scenarios.values()])
    policy = plan.design.policy
    prior = (policy if isinstance(policy, TS) else TS()).prior(space).outcome[0]
    proposals = len(space.proposals)
    return LookInput(
        np.stack([key_of(seed, each.environment.fingerprint()) for each in scenarios.values()]),
        success,
        np.ascontiguousarray(prior[:, [good, 1 - good]]),
        look_driver.NONE if rules.control is None else rules.control,
        rules.replace,
        schedule(plan.looks),
        Thresholds(
            _or(rules.superiority, NEVER_ABOVE, plan.looks),
            _or(rules.inferiority, NEVER_BELOW, plan.looks),
            _or(rules.equivalence, NEVER_ABOVE, plan.looks),
            _or(rules.futility, NEVER_ABOVE, plan.looks),
        ),
        Sharing(
            np.array(plan.design.even),
            isinstance(policy, TS),
            plan.limits.rule == "proportional",
            np.broadcast_to(np.asarray(plan.limits.floor, dtype=np.float64), proposals).copy(),
            np.broadcast_to(np.asarray(plan.limits.ceiling, dtype=np.float64), proposals).copy(),
            np.asarray(plan.soften, dtype=np.float64).copy(),
        ),
        comparing.grids(rules.equivalence_margin / worth),
        comparing.grids(rules.futility_margin / worth),
    )


def schedule(looks: Looks) -> Schedule:
    """The pieces of a trial with these looks: units that share their probabilities and become known together."""
    ends = np.unique(np.concatenate([looks.at, looks.randomised]))
    size = np.diff(ends, prepend=0)
    drawn = np.searchsorted(looks.randomised, ends)
    first = np.searchsorted(drawn, np.arange(looks.at.size + 1))
    return Schedule(size, np.searchsorted(looks.at, ends), first, looks.randomised)


def _or(given: FloatArray | None, never: float, looks: Looks) -> FloatArray:
    return np.full(looks.at.size, never) if given is None else np.ascontiguousarray(given, dtype=np.float64)


def memory_of(looks: int, proposals: int) -> LookMemory:
    """Room for one trial."""

    def whole(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    return LookMemory(
        whole(looks, proposals, 2),
        whole(proposals, 2),
        whole(proposals),
        np.zeros(proposals),
        np.zeros(proposals),
        comparing.room(proposals),
    )


def _output(scenarios: int, replications: int, proposals: int) -> LookOutput:
    def room(kind: Any, *shape: int) -> Any:
        return np.zeros((scenarios, replications, *shape), dtype=kind)

    return LookOutput(
        room(np.int8),
        room(np.int16),
        room(np.int16),
        room(np.int32, proposals),
        room(np.int32, proposals),
        room(np.int16, proposals),
        room(np.int8, proposals),
    )
