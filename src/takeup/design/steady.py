"""The same plan with a take-up that stays, for what is said of one number alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from takeup.design.falling import FallingTable, phases
from takeup.design.plan import Plan
from takeup.trial.looks import Looks

CHANGING = (list, Mapping)
"""How a take-up that changes is written: one for each look, or from one value to another."""


def steady(plan: Plan, written: type | tuple[type, ...] = CHANGING) -> Plan:
    """The plan in which a take-up that changes is its mean over the units of a whole trial, where written so."""
    tables: Mapping[str, Any] = plan.content["scenarios"]
    mean = {
        name: {**table, "take_up": _mean(table["take_up"], plan.looks)}
        for name, table in tables.items()
        if isinstance(table.get("take_up"), written)
    }
    return plan.changed(scenarios={**tables, **mean}) if mean else plan


def _mean(take_up: list[float] | Mapping[str, float], looks: Looks) -> float:
    changing = FallingTable.model_validate(take_up) if isinstance(take_up, Mapping) else take_up
    starts, shares = zip(*phases(changing, looks), strict=True)
    return float(np.average(shares, weights=np.diff([*starts, looks.at[-1]])))
