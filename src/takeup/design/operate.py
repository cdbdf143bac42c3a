"""What a plan does: its operating characteristics, the thresholds that keep an error, and the size that has a power."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from takeup import checks
from takeup.design.plan import Plan
from takeup.design.results import Figure, Outcomes
from takeup.design.running import run
from takeup.design.scenarios import Scenario
from takeup.errors import InputError
from takeup.simulation.engine import Progress, silent
from takeup.simulation.kernels.look_driver import SUPERIOR, LookOutput

REPLICATIONS = 10_000
STEPS = 14
"""Halvings of a search: the last decides about a few trials in 100,000."""


def operate(
    plan: Plan,
    scenarios: Sequence[str] | None = None,
    replications: int | range = REPLICATIONS,
    seed: int = 0,
    *,
    progress: Progress = silent,
) -> dict[str, Outcomes]:
    """Run a plan many times in each scenario.

    Args:
        plan: what to try.
        scenarios: the names of some of its scenarios; all where left out.
        replications: how many trials of each, or a range of their numbers.
        seed: any whole number of at least 0.
        progress: called with the number of trials made, as the work goes on.
    """
    numbers = replications if isinstance(replications, range) else range(checks.whole("replications", replications, 1))
    names = list(plan.scenarios) if scenarios is None else list(scenarios)
    for name in names:
        if name not in plan.scenarios:
            raise InputError("scenarios", repr(name), f"some of {', '.join(plan.scenarios)}")
    found = run(plan, {name: plan.scenarios[name] for name in names}, numbers, seed, progress)
    return {
        name: Outcomes(plan, name, seed, np.array(numbers), LookOutput(*(part[i] for part in found)))
        for i, name in enumerate(names)
    }


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A threshold that keeps an error.

    Attributes:
        plan: with the threshold.
        target: the error that was asked for.
        threshold: for superiority; inferiority is one less it, where the plan has any.
        errors: what a fresh run found in each null scenario.
    """

    plan: Plan
    target: float
    threshold: float
    errors: Mapping[str, Figure]

    @property
    def worst(self) -> Figure:
        """The largest of the errors."""
        return max(self.errors.values(), key=lambda figure: figure.mean)


def calibrate(
    plan: Plan, target: float = 0.05, replications: int = 100_000, seed: int = 0, *, progress: Progress = silent
) -> Calibration:
    """The threshold for superiority at which no null scenario has a larger error, in common random numbers.

    All thresholds are tried on the same trials, so that the error falls as the threshold rises but for what dropping
    changes. The errors that are told come from other trials, as those of the search flatter the threshold it found.

    Args:
        plan: what to try; its null scenarios count, the worst of them.
        target: the probability of declaring a proposal superior where none is.
        replications: trials of each.
        seed: any whole number of at least 0.
        progress: called with the number of trials made.
    """
    if not 0 < target < 1:
        raise InputError("target", target, "a number between 0 and 1")
    nulls = {name: each for name, each in plan.scenarios.items() if each.role == "null"}
    if not nulls:
        raise InputError("scenarios", ", ".join(plan.scenarios), 'at least one with role = "null"')
    both = plan.rules.inferiority is not None

    def tried(threshold: float) -> Plan:
        return plan.with_thresholds(threshold, 1 - threshold if both else None)

    low, high = 0.5, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        found = _errors(tried(middle), nulls, range(replications), seed, progress)
        if max(figure.mean for figure in found.values()) > target:
            low = middle
        else:
            high = middle
    fresh = range(replications, 2 * replications)
    return Calibration(tried(high), target, high, _errors(tried(high), nulls, fresh, seed, progress))


def _errors(
    plan: Plan, nulls: Mapping[str, Scenario], replications: range, seed: int, progress: Progress
) -> dict[str, Figure]:
    found = run(plan, nulls, replications, seed, progress)
    return {name: Figure.of(found.status[i] == SUPERIOR) for i, name in enumerate(nulls)}


def null_rates(plan: Plan, rates: Sequence[float]) -> Plan:
    """The plan with a null scenario for each of these rates, at which all proposals are alike."""
    from takeup.design.scenarios import ScenarioTable

    proposals, more = len(plan.design.space.proposals), {}
    for rate in rates:
        table = ScenarioTable(role="null", success=[float(rate)] * proposals)
        more[f"null {rate:g}"] = table.build(plan.design.space)
    return replace(plan, scenarios={**plan.scenarios, **more})
