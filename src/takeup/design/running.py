"""Trials of a plan by the thousand: the plan in arrays for the kernel."""

from collections.abc import Mapping

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.design.forms import Form, form_of
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.design.statistics import Cells, Rates, statistic_of
from takeup.policies import Uniform
from takeup.simulation.kernels.look_layout import LookLayout
from takeup.simulation.kernels.look_tables import (
    NONE,
    LookInput,
    LookMemory,
    Schedule,
    Sharing,
    Thresholds,
)
from takeup.simulation.kernels.streams import key_of
from takeup.trial.looks import Looks

NEVER_ABOVE, NEVER_BELOW = 2.0, -1.0
"""Thresholds that no probability crosses."""


def laid_out(plan: Plan, scenarios: Mapping[str, Scenario], seed: int, *, recording: bool = False) -> LookLayout:
    """The trials of a plan in some scenarios; an error that names file, key and value where there is no kernel.

    `recording` keeps what superiority was asked of at every look.
    """
    form = form_of(plan, list(scenarios.values()))
    return LookLayout(
        given_for(plan, form, scenarios, seed),
        len(scenarios),
        lambda: memory_of(plan, form),
        np.int32 if isinstance(statistic_of(plan), Rates | Cells) else np.int64,
        form.bind,
        {"CONTROLLED": plan.rules.control is not None},
        plan.looks.at.size if recording else 0,
    )


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
