"""Trials of a plan by the thousand: the plan in arrays for the kernel, and the kernel on all cores."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.design.forms import Form, form_of
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.design.statistics import statistic_of
from takeup.policies import Uniform
from takeup.simulation.engine import Progress, silent
from takeup.simulation.kernels import compile_cpu, look_driver
from takeup.simulation.kernels.cpu import spread
from takeup.simulation.kernels.look_tables import (
    NONE,
    LookInput,
    LookMemory,
    LookOutput,
    Schedule,
    Sharing,
    Thresholds,
)
from takeup.simulation.kernels.streams import key_of
from takeup.simulation.kernels.tables import Replication
from takeup.trial.looks import Looks

BLOCK = 2_000
"""Trials that run as one piece."""
NEVER_ABOVE, NEVER_BELOW = 2.0, -1.0
"""Thresholds that no probability crosses."""


def run(
    plan: Plan,
    scenarios: Mapping[str, Scenario],
    replications: range,
    seed: int,
    progress: Progress = silent,
    *,
    recording: bool = False,
) -> LookOutput:
    """Run these trials of a plan in each scenario; a trial depends on plan, scenario, seed and its number alone.

    `recording` keeps what superiority was asked of at every look.
    """
    form = form_of(plan, list(scenarios.values()))
    given = given_for(plan, form, scenarios, seed)
    compiled = compile_cpu.build(look_driver.replicate_many, form.bind, {"CONTROLLED": plan.rules.control is not None})
    output = output_for(plan, len(scenarios), len(replications), recording)

    def work(start: Replication, count: int) -> int:
        compiled(start, count, given, memory_of(plan, form), output)
        return count

    blocks = (
        (Replication(scenario, row, replications.start + row), min(BLOCK, len(replications) - row))
        for scenario in range(len(scenarios))
        for row in range(0, len(replications), BLOCK)
    )
    spread(work, blocks, os.cpu_count() or 1, progress)
    return output


def given_for(plan: Plan, form: Form, scenarios: Mapping[str, Scenario], seed: int) -> LookInput:
    """The plan in arrays."""
    rules, limits, proposals = plan.rules, plan.limits, len(plan.design.space.proposals)
    return LookInput(
        np.stack([key_of(seed, each.environment.fingerprint()) for each in scenarios.values()]),
        NONE if rules.control is None else rules.control,
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
            not isinstance(plan.design.policy, Uniform),
            limits.rule == "proportional",
            np.broadcast_to(np.asarray(limits.floor, dtype=np.float64), proposals).copy(),
            np.broadcast_to(np.asarray(limits.ceiling, dtype=np.float64), proposals).copy(),
            np.asarray(plan.soften, dtype=np.float64).copy(),
        ),
        form.truth,
        form.reading,
        form.policy,
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


def memory_of(plan: Plan, form: Form) -> LookMemory:
    """Room for one trial."""
    looks, proposals, columns = plan.looks.at.size, len(plan.design.space.proposals), statistic_of(plan).columns

    def whole(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    return LookMemory(
        whole(looks, proposals, columns),
        whole(proposals, columns),
        whole(proposals),
        np.zeros(proposals),
        np.zeros(proposals),
        np.zeros(proposals),
        *form.room(),
    )


def output_for(plan: Plan, scenarios: int, replications: int, recording: bool) -> LookOutput:
    """Room for what is kept of so many trials in each of so many scenarios."""
    proposals, recorded = len(plan.design.space.proposals), plan.looks.at.size if recording else 0

    def room(kind: Any, *shape: int) -> Any:
        return np.zeros((scenarios, replications, *shape), dtype=kind)

    return LookOutput(
        room(np.int8),
        room(np.int16),
        room(np.int16),
        room(np.int64, proposals, statistic_of(plan).columns),
        room(np.int16, proposals),
        room(np.int8, proposals),
        room(np.float32, recorded),
        room(np.int16, recorded),
    )
