"""Plans that tests try: the design of adaptr's README, and two arms."""

from typing import Any

from takeup.design.plan import Plan
from takeup.trial import Design

THREE: dict[str, Any] = {
    "name": "Three arms",
    "space": {"proposals": ["A", "B", "C"], "outcomes": ["event", "none"]},
    "policy": {"kind": "TS"},
    "limits": {"floor": 0.2, "rule": "proportional"},
    "looks": {"first": 300, "every": 100, "last": 2_000, "lag": 100},
    "stopping": {
        "superiority": 0.9814318,
        "inferiority": 1 - 0.9814318,
        "equivalence": {"probability": 0.9, "margin": 0.05},
    },
    "scenarios": {
        "null": {"role": "null", "success": [0.75, 0.75, 0.75]},
        "apart": {"success": [0.75, 0.80, 0.70]},
    },
}
TWO: dict[str, Any] = {
    "name": "Two arms",
    "space": {"proposals": 2},
    "policy": {"kind": "TS"},
    "looks": {"at": [4], "update": "patient"},
    "scenarios": {"any": {"success": [0.3, 0.6]}},
}


def two(**tables: Any) -> Plan:
    return Plan.of({**TWO, **tables})


def told(content: dict[str, Any], found: float = 0.0493) -> dict[str, Any]:
    """The same as if its thresholds had been calibrated, in the scenario null."""
    error = {"target": 0.05, "found": found, "error": 0.0007, "trials": 100_000, "seed": 0, "scenario": "null"}
    error |= {"version": "0.2.0", "digest": Design.of(content).digest("null")}
    return {**content, "stopping": {**content["stopping"], "error": error}}
