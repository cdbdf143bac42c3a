"""The figures of a plan without simulation, in the form that simulated ones have; their errors are none."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.design.exact import Exact, exact
from takeup.design.plan import Plan
from takeup.design.results import ENDS
from takeup.design.scenarios import NEARLY
from takeup.specfile import SpecError


def exact_metrics(plan: Plan, scenario: str) -> dict[str, Any]:
    """What `Outcomes.metrics` tells, as far as the recursion carries it, for two proposals and two outcomes."""
    truth = plan.scenarios[scenario]
    if truth.environment.later:
        key = f"{plan.source}: scenarios.{scenario}.take_up"
        raise SpecError(key, "one that changes", "one that stays, for exact figures")
    space, values = plan.space, truth.values
    low, width = float(space.reward.min()), float(np.ptp(space.reward))
    found = exact(plan, ((values - low) / width).tolist())
    labels, share = space.proposals, [1 - found.share, found.share]
    better = np.flatnonzero(truth.better(None))
    reject, cover = found.wald()

    def figure(value: float) -> dict[str, float]:
        return {"mean": float(value), "error": 0.0}

    def by_arm(each: Iterable[float]) -> dict[str, Any]:
        return {label: figure(value) for label, value in zip(labels, each, strict=True)}

    superior = [found.probability("superior", k) for k in range(2)]
    selected, dropped = _selected(found), _dropped(plan, superior)
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
        "inconclusive": "best",
        "selected": by_arm(selected),
        "superior_by_arm": by_arm(superior),
        "dropped_by_arm": by_arm(dropped) if dropped else None,
        "stopped_by_look": [figure(each) for each in _by_look(plan, found)],
        "ends_by_look": {end: [figure(each) for each in _by_look(plan, found, end)] for end in ENDS},
        "share": by_arm(share),
        "on_worse": figure(sum(share[k] for k in range(2) if values[k] < values.max() - NEARLY)),
        "ideal_design": figure(100 * selected @ (values - values.min()) / np.ptp(values)) if truth.apart else None,
        "naive_estimates": {
            "against": labels[0],
            "by_arm": {labels[1]: {"coverage": figure(cover), "reject": figure(reject)}},
        },
    }


def _selected(found: Exact) -> FloatArray:
    """How probable it is that a trial is followed by each: the superior one, else the better mean, the first if alike.

    Means are those with two units more, one of each outcome, as of `Outcomes.selected`.
    """
    second = 0.0
    for end in found.ends:
        n_0, s_0, s_1 = np.ogrid[: end.units + 1, : end.units + 1, : end.units + 1]
        better = (s_1 + 1) / (end.units - n_0 + 2) > (s_0 + 1) / (n_0 + 2)
        second += end.expected(better if end.proposal is None else end.proposal)
    return np.array([1 - second, second])


def _dropped(plan: Plan, superior: list[float]) -> list[float]:
    """How probable it is that each is dropped as inferior: never, or where the other is superior; else not known."""
    above, below = plan.rules.superiority, plan.rules.inferiority
    if below is None:
        return [0.0, 0.0]
    return superior[::-1] if above is None or (below + checks.TOLERANCE >= 1 - above).all() else []


def _by_look(plan: Plan, found: Exact, status: str | None = None) -> list[float]:
    """How probable it is to end at each look, in any way or in this one."""
    some = [end for end in found.ends if status in (None, end.status)]
    return [sum(float(e.probability.sum()) for e in some if e.units == units) for units in plan.looks.at.tolist()]
