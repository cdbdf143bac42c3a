"""Plans side by side, on common random numbers: what one has more than another, and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup.design.operate import REPLICATIONS, operate
from takeup.design.plan import Plan
from takeup.design.results import Figure, Outcomes
from takeup.design.scenarios import NEARLY
from takeup.errors import InputError, MismatchError
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName

METRICS = ("claimed", "right", "size", "successes", "on_worse")
"""By what plans are compared; `claimed` is the error in a null scenario, and `right` the power in an alternative."""


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Trials of several plans in the same scenarios, with the same seed and the same numbers.

    Attributes:
        outcomes: by plan, then by scenario.
        seed: the seed.
    """

    outcomes: Mapping[str, Mapping[str, Outcomes]]
    seed: int

    @property
    def plans(self) -> list[str]:
        """Their names; the others are compared with the first."""
        return list(self.outcomes)

    @property
    def scenarios(self) -> list[str]:
        """The names of the scenarios."""
        return list(self.outcomes[self.plans[0]])

    def metrics(self, scenario: str) -> list[str]:
        """By what plans are compared in this scenario: the error where it is a null, else the power."""
        null = self.outcomes[self.plans[0]][scenario].truth.role == "null"
        left_out = ("right", "on_worse") if null else ("claimed",)
        return [metric for metric in METRICS if metric not in left_out]

    def figure(self, plan: str, scenario: str, metric: str) -> Figure:
        """What this plan has of it."""
        return Figure.of(self.outcomes[plan][scenario].each()[metric])

    def difference(self, plan: str, scenario: str, metric: str) -> Figure:
        """What this plan has more than the first, trial by trial, so that what they share falls out of the error."""
        mine, first = (self.outcomes[name][scenario].each()[metric] for name in (plan, self.plans[0]))
        return Figure.of(mine - first)

    def plain(self) -> list[dict[str, Any]]:
        """For machines: an entry for each scenario and metric."""
        return [
            {
                "scenario": scenario,
                "metric": metric,
                "plans": {plan: self.figure(plan, scenario, metric).plain() for plan in self.plans},
                "difference": {plan: self.difference(plan, scenario, metric).plain() for plan in self.plans[1:]},
            }
            for scenario in self.scenarios
            for metric in self.metrics(scenario)
        ]


def compare(
    plans: Mapping[str, Plan] | Sequence[Plan],
    scenarios: Sequence[str] | None = None,
    replications: int | range = REPLICATIONS,
    seed: int = 0,
    *,
    engine: EngineName = "auto",
    scheduler: object = None,
    progress: Progress = silent,
) -> Compared:
    """Run several plans in the same scenarios, on common random numbers.

    Trials of the same scenario, seed and number draw from the same streams, whatever the plan: the more alike plans
    are, the more of the noise they share, and the error of a difference is that of what they do not.

    Args:
        plans: at least two, by name; a sequence is named by where each was read.
        scenarios: the names of some scenarios; all where left out.
        replications: how many trials of each, or a range of their numbers.
        seed: any whole number of at least 0.
        engine: as of `operate`.
        scheduler: likewise.
        progress: called with the number of trials made.
    """
    named = dict(plans) if isinstance(plans, Mapping) else {plan.source: plan for plan in plans}
    if len(named) < 2 or len(named) < len(plans):
        raise InputError("plans", ", ".join(named) or "none", "at least two, each with a name of its own")
    (first, reference), *others = named.items()
    for name, plan in others:
        _check(first, reference, name, plan)
    options: dict[str, Any] = {"engine": engine, "scheduler": scheduler, "progress": progress}
    return Compared(
        {name: operate(plan, scenarios, replications, seed, **options) for name, plan in named.items()}, seed
    )


def _check(first: str, reference: Plan, name: str, plan: Plan) -> None:
    """Plans are comparable where the same proposals are worth the same in the same scenarios."""
    here, there = reference.space.proposals, plan.space.proposals
    if here != there:
        raise MismatchError(f"{first} has the proposals {', '.join(here)}, and {name} has {', '.join(there)}")
    one, other = set(reference.scenarios), set(plan.scenarios)
    if one != other:
        left, right = ", ".join(sorted(one - other)), ", ".join(sorted(other - one))
        raise MismatchError(f"{first} and {name} have other scenarios: {left or 'none'} and {right or 'none'}")
    for scenario, truth in reference.scenarios.items():
        mine, theirs = truth.values, plan.scenarios[scenario].values
        if np.abs(mine - theirs).max() > NEARLY or truth.role != plan.scenarios[scenario].role:
            told = (
                f"{mine.round(6).tolist()} ({truth.role})",
                f"{theirs.round(6).tolist()} ({plan.scenarios[scenario].role})",
            )
            raise MismatchError(f"scenario {scenario}: proposing is worth {told[0]} in {first}, {told[1]} in {name}")
