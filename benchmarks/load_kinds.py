"""The trial that is put under load, and the kinds of outcomes that it may have."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pace import ARMS, CONTEXTS, level

SPEC: dict[str, Any] = {
    "name": "Load",
    "space": {"proposals": ARMS, "contexts": CONTEXTS},
    "policy": {"kind": "TSObs"},
}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of outcome that the same trial may have.

    Attributes:
        outcomes: what a spec says of it; None of two levels.
        outcome: of the i-th unit, as it is reported.
        likelihood: what a spec says of it; None for what suits the kind.
    """

    outcomes: dict[str, Any] | None
    outcome: Callable[[int], object]
    likelihood: dict[str, Any] | None = None

    @property
    def spec(self) -> dict[str, Any]:
        """The trial's."""
        space = SPEC["space"] if self.outcomes is None else {**SPEC["space"], "outcomes": self.outcomes}
        policy = SPEC["policy"] if self.likelihood is None else {**SPEC["policy"], "likelihood": self.likelihood}
        return {**SPEC, "space": space, "policy": policy}


MONEY = {"kind": "number", "low": 1, "high": 20_000, "unit": "EUR", "scale": "log"}
KINDS = {
    "levels": Kind(None, level),
    "numbers": Kind(
        {"kind": "number", "low": 60, "high": 220, "unit": "mmHg", "better": "lower"}, lambda i: 60 + i * 37 % 161
    ),
    "counts": Kind(
        {"kind": "count", "most": 50, "exposure": "days", "longest": 90},
        lambda i: {"events": i * 7 % 12, "exposure": 1 + i * 31 % 90},
    ),
    "times": Kind(
        {"kind": "time", "longest": 90, "unit": "days"}, lambda i: {"time": i * 17 % 90, "censored": i % 3 == 0}
    ),
    "money": Kind(MONEY, lambda i: 1 + i * 7_919 % 20_000, {"kind": "lognormal"}),
    "money in bins": Kind(MONEY, lambda i: 1 + i * 7_919 % 20_000, {"kind": "bootstrap"}),
}
