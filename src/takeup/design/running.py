"""Trials of a plan by the thousand: the plan in arrays for the kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.design.forms import Form, form_of
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.design.statistics import Cells, Rates, statistic_of
from takeup.environment import Environment
from takeup.policies.limits import ControlShare
from takeup.simulation.kernels.look_layout import LookLayout
from takeup.simulation.kernels.look_tables import (
    FREE,
    MATCH,
    NONE,
    SQUARE_ROOT,
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
    form = form_of(plan, truths(scenarios))
    return LookLayout(
        given_for(plan, form, scenarios, seed),
        len(scenarios),
        lambda: memory_of(plan, form),
        np.int32 if isinstance(statistic_of(plan), Rates | Cells) else np.int64,
        form.bind,
        {"CONTROLLED": plan.rules.control is not None, "BY_UNIT": plan.by_unit},
        plan.looks.at.size if recording else 0,
    )


def truths(scenarios: Mapping[str, Scenario]) -> list[Scenario]:
    """The scenarios as they begin, and behind them what each changes into, in order."""
    first = list(scenarios.values())
    return [*first, *(replace(each, environment=other) for each in first for _, other in each.environment.later)]


def given_for(plan: Plan, form: Form, scenarios: Mapping[str, Scenario], seed: int) -> LookInput:
    """The plan in arrays; `form` is that of the scenarios' `truths`."""
    rules, limits, proposals = plan.rules, plan.limits, len(plan.space.proposals)
    each = [one.environment for one in scenarios.values()]
    keys = [key_of(seed, one.fingerprint()) for one in each]
    later = [key for key, one in zip(keys, each, strict=True) for _ in one.later]
    return LookInput(
        np.stack([*keys, *later]),
        NONE if rules.control is None else rules.control,
        rules.replace,
        schedule(plan, each),
        Thresholds(
            _or(rules.superiority, NEVER_ABOVE, plan.looks),
            _or(rules.inferiority, NEVER_BELOW, plan.looks),
            _or(rules.equivalence, NEVER_ABOVE, plan.looks),
            _or(rules.futility, NEVER_ABOVE, plan.looks),
        ),
        Sharing(
            np.array(plan.design.even),
            plan.adaptive,
            limits.rule == "proportional",
            np.broadcast_to(np.asarray(limits.floor, dtype=np.float64), proposals).copy(),
            np.broadcast_to(np.asarray(limits.ceiling, dtype=np.float64), proposals).copy(),
            np.asarray(plan.soften, dtype=np.float64).copy(),
            _control_share(plan.control_share),
        ),
        form.truth,
        form.reading,
        form.policy,
    )


def schedule(plan: Plan, environments: Sequence[Environment]) -> Schedule:
    """The pieces of a trial: units that share probabilities and truth, and become known together."""
    looks, burn_in = plan.looks, plan.design.spec.burn_in
    changes = [step for each in environments for step, _ in each.later]
    cuts = np.array([cut for cut in (*changes, burn_in) if 0 < cut < looks.at[-1]], dtype=np.int64)
    ends = np.unique(np.concatenate([looks.at, looks.randomised, cuts]))
    if plan.by_unit:
        ends = np.arange(1, looks.at[-1] + 1)
    size = np.diff(ends, prepend=0)
    begins = ends - size
    first = np.searchsorted(np.searchsorted(looks.randomised, ends), np.arange(looks.at.size + 1))
    known = np.arange(ends.size) % _slots(plan) if plan.by_unit else np.searchsorted(looks.at, ends)
    truth, before = np.empty((len(environments), ends.size), dtype=np.int64), len(environments)
    for i, each in enumerate(environments):
        steps = [step for step, _ in each.later]
        phase = np.searchsorted(steps, begins, side="right")
        truth[i] = np.where(phase == 0, i, before + phase - 1)
        before += len(steps)
    return Schedule(size, known, first, truth, int(np.searchsorted(begins, burn_in)), looks.at, _slots(plan) - 1)


def _slots(plan: Plan) -> int:
    """How many units can be waited for at once, and the one that becomes known: never more than there are."""
    return min(plan.looks.lag, int(plan.looks.at[-1])) + 1


def _control_share(share: ControlShare | None) -> float:
    if isinstance(share, float | int):
        return float(share)
    return {None: FREE, "match": MATCH, "sqrt": SQUARE_ROOT}[share]


def _or(given: FloatArray | None, never: float, looks: Looks) -> FloatArray:
    if given is None:
        return np.full(looks.at.size, never)
    return np.array(given, dtype=np.float64)  # a view that cannot be written to would be another type to numba


def memory_of(plan: Plan, form: Form) -> LookMemory:
    """Room for one trial."""
    proposals, columns = len(plan.space.proposals), statistic_of(plan).columns
    slots = _slots(plan) if plan.by_unit else plan.looks.at.size

    def whole(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    return LookMemory(
        whole(slots, proposals, columns),
        whole(proposals, columns),
        whole(proposals),
        np.zeros(proposals),
        np.zeros(proposals),
        np.zeros(proposals),
        *form.room(),
    )
