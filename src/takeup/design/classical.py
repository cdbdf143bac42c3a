"""The classical designs that a plan competes with: even allocation, and boundaries of textbooks, at the same size."""

from typing import Any

import numpy as np
from scipy.special import ndtr

from takeup.design.boundaries import Spending, spending
from takeup.design.bounded import with_reading
from takeup.design.plan import Plan
from takeup.design.sizes import between
from takeup.design.steady import steady
from takeup.trial.looks import Looks

KEPT = ("control", "reading")
"""What a classical design has of a plan's stopping rules; but it has no policy whose model could be read."""
HIGHEST = 1 - 1e-15
"""The highest threshold that can be written down; where a boundary is further out, nothing is concluded."""


def classical(plan: Plan, alpha: float = 0.05) -> dict[str, Plan]:
    """A design of fixed size, and designs with the plan's looks whose boundary is Pocock's or O'Brien and Fleming's.

    All allocate evenly, drop nothing and end at the first claim; they read what the plan reads, and by intention to
    treat where that is its policy. Their thresholds are normal probabilities Φ(z), which the probability of being
    better under flat priors approaches. The error is that of all claims together: with k proposals each of the k claims
    that one of them is best has α / k, or of the k - 1 claims against a control α / (k - 1); so two proposals without a
    control have the usual two-sided test. With more than two this is conservative. The errors are spent by Lan and
    DeMets (1983), as looks need not be evenly spaced. A take-up that is given for each look is its mean over a whole
    trial where the size is fixed, as there is one look alone.
    """
    between("alpha", alpha)
    plan = with_reading(plan)  # the same reading for all
    proposals = len(plan.space.proposals)
    each = alpha / (proposals if plan.rules.control is None else proposals - 1)
    looks, last = plan.looks, int(plan.looks.at[-1])
    fixed = {"last": last}
    same = {"at": looks.at.tolist(), "lag": looks.lag}
    return {
        "fixed size": _even(steady(plan, list), fixed, 1 - each),
        "Pocock": _even(plan, same, _thresholds(looks, each, "pocock")),
        "O'Brien-Fleming": _even(plan, same, _thresholds(looks, each, "obrien-fleming")),
    }


def _thresholds(looks: Looks, alpha: float, kind: Spending) -> list[float]:
    upper = spending((looks.at / looks.at[-1]).tolist(), alpha, kind).upper
    return [float(each) for each in np.minimum(ndtr(upper), HIGHEST)]


def _even(plan: Plan, looks: dict[str, Any], superiority: float | list[float]) -> Plan:
    stopping = {name: value for name, value in plan.content.get("stopping", {}).items() if name in KEPT}
    if stopping.get("reading") == "policy":
        stopping["reading"] = "intention to treat"
    stopping["superiority"] = superiority
    if plan.rules.control is not None:
        stopping["replace"] = False
    kept = {name: value for name, value in plan.content.items() if name not in ("limits", "burn_in")}
    return Plan.of({**kept, "policy": {"kind": "Uniform"}, "looks": looks, "stopping": stopping}, plan.source)
