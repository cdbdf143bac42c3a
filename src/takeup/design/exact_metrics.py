"""The figures of a plan without simulation, in the form that simulated ones have; their errors are none."""

from typing import Any

import numpy as np

from takeup.design.exact import Exact, exact
from takeup.design.plan import Plan
from takeup.design.scenarios import NEARLY
from takeup.specfile import SpecError


def exact_metrics(plan: Plan, scenario: str) -> dict[str, Any]:
    """What `Outcomes.metrics` tells, as far as the recursion carries it, for two proposals and two outcomes."""
    truth = plan.scenarios[scenario]
    if truth.environment.later:
        key = f"{plan.source}: scenarios.{scenario}.take_up"
        raise SpecError(key, "one that changes", "one that stays, for exact figures")
    space, values = plan.design.space, truth.values
    low, width = float(space.reward.min()), float(np.ptp(space.reward))
    found = exact(plan, ((values - low) / width).tolist())
    labels, share = space.proposals, [1 - found.share, found.share]
    better = np.flatnonzero(truth.better(None))
    reject, cover = found.wald()

    def figure(value: float) -> dict[str, float]:
        return {"mean": float(value), "error": 0.0}

    superior = [found.probability("superior", k) for k in range(2)]
    claimed = figure(sum(superior))
    null = truth.role == "null"
    sides = {"any": claimed, "one_sided": figure(superior[1]), "two_sided": claimed}
    return {
        "size": {**figure(found.size), "sd": found.spread},
        "claimed": claimed,
        "type_one_error": sides if null else None,
        "power": figure(sum(superior[k] for k in better)) if truth.apart else None,
        "superior": claimed,
        "equivalent": figure(found.probability("equivalent")),
        "futile": figure(0.0),
        "maximum": figure(found.probability("maximum")),
        "successes": figure(low * found.size + width * found.successes),
        "superior_by_arm": {label: figure(each) for label, each in zip(labels, superior, strict=True)},
        "stopped_by_look": [figure(each) for each in _by_look(plan, found)],
        "share": {label: figure(each) for label, each in zip(labels, share, strict=True)},
        "on_worse": figure(sum(share[k] for k in range(2) if values[k] < values.max() - NEARLY)),
        "naive_estimates": {
            "against": labels[0],
            "by_arm": {labels[1]: {"coverage": figure(cover), "reject": figure(reject)}},
        },
    }


def _by_look(plan: Plan, found: Exact) -> list[float]:
    """How probable it is to end at each look."""
    return [sum(float(e.probability.sum()) for e in found.ends if e.units == units) for units in plan.looks.at.tolist()]
