"""Size against what is promised about those who refuse, and what becomes of the error where a promise is broken."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from takeup.design.bounded import bounded
from takeup.design.cells import Cells
from takeup.design.plan import Plan
from takeup.design.sizes import Goal
from takeup.design.steady import steady
from takeup.errors import InputError
from takeup.outcomes import Levels

BROKEN = "broken promise"
"""The scenario that `broken` adds to a plan."""


def promise_curve(
    cells: Cells, promises: Sequence[float], *, one: int = 1, goal: Goal = Goal(), times: float = 2.0
) -> list[dict[str, float]]:
    """A record for each promise Δ, for a trial of fixed size and allocation, by formula.

    Each has `promise`, `size`, the units of all proposals together that the best reading under it needs, `bias`, the
    largest that it allows, `error`, the one-sided error where groups differ by so many `times` what was promised, and
    `alpha`, the error where they differ by no more than that. At 0 compliance and outcomes are read apart, and from
    some promise on nothing is better than intention to treat.
    """
    found = [(float(promise), bounded(cells, promise, one=one, goal=goal)) for promise in promises]
    return [
        {
            "promise": promise,
            "size": each.size.units,
            "bias": each.bias,
            "error": each.error(times * promise),
            "alpha": goal.alpha / goal.sided,
        }
        for promise, each in found
    ]


def promised(plan: Plan, bound: float) -> Plan:
    """The plan with rules that read what this promise allows."""
    stopping = {**plan.content.get("stopping", {}), "reading": {"bounded": float(bound)}}
    return plan.changed(stopping=stopping)


def broken(plan: Plan, difference: float) -> Plan:
    """The plan with one more null scenario, in which groups differ by this much, all towards a false alarm.

    Compliance and the rate of the control are those of the first scenario with `success` in which something is to be
    found. No action changes anything. Those who refuse fare worse than those who do as they are told, by the
    difference; and those who take the treatment whatever they are offered better than these, likewise. A take-up that
    changes is its mean over a whole trial.
    """
    space, control = plan.space, plan.rules.control or 0
    if not isinstance(space.outcome, Levels) or len(space.outcomes) != 2:
        raise InputError("space.outcomes", space.outcome.kind, "two levels, where a promise is broken")
    expected = steady(plan)
    written = next((_short(expected, name) for name in plan.scenarios if _short(expected, name)), None)
    if written is None:
        raise InputError("scenarios", ", ".join(plan.scenarios), "one with success and take_up that is no null")
    proposals, take_up, always = len(space.proposals), written.get("take_up") or 1.0, written.get("two_sided", 0.0)
    rise = np.array([0.0, -difference, difference if always else 0.0])
    share = np.array([take_up - always, 1 - take_up, always])
    rates = written["success"][control] + rise - share @ rise
    if rates.min() < 0 or rates.max() > 1:
        raise InputError("difference", difference, f"one that leaves all rates in 0 to 1; they are {rates.tolist()}")
    complies = np.arange(proposals)
    insists = np.where(complies == control, (control + 1) % proposals, complies)
    outcome = np.empty((3, proposals, 2))
    good = int(np.argmax(space.utility))
    outcome[..., good], outcome[..., 1 - good] = rates[:, np.newaxis], 1 - rates[:, np.newaxis]
    table = {
        "role": "null",
        "share": share.tolist(),
        "response": np.stack([complies, np.full(proposals, control), insists]).tolist(),
        "outcome": outcome.tolist(),
    }
    return plan.changed(scenarios={**plan.content["scenarios"], BROKEN: table})


def _short(plan: Plan, name: str) -> dict[str, Any]:
    """What was written of a scenario in which something is to be found, where it is in the short form."""
    written = dict(plan.content["scenarios"][name])
    whole = written.keys() & {"compliance", "share"} or plan.scenarios[name].role == "null"
    return {} if whole or "success" not in written else written
