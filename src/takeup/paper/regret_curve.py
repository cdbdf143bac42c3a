"""Regret in environments 3 and 4 of table 1 over a quantity that varies: the shape of two experiments' results."""

from dataclasses import dataclass
from typing import Any

ENVIRONMENTS = (3, 4)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The final regret of one policy in one environment at one value of the quantity.

    Attributes:
        environment: its number in table 1.
        at: the value of the quantity.
        policy: its name.
        mean: the mean of the final regret over replications.
        mcse: the Monte Carlo standard error of the mean.
    """

    environment: int
    at: float
    policy: str
    mean: float
    mcse: float


@dataclass(frozen=True, slots=True)
class RegretCurve:
    """Regret over the quantity; points are in order of environment, quantity and policy."""

    quantity: str
    points: tuple[CurvePoint, ...]
    horizon: int
    replications: int
    seed: int

    def point(self, environment: int, at: float, policy: str) -> CurvePoint:
        """The point of one policy."""
        return next(p for p in self.points if (p.environment, p.at, p.policy) == (environment, at, policy))

    def records(self) -> list[dict[str, Any]]:
        """The points as plain data, with the quantity under its own name."""
        return [
            {"environment": p.environment, self.quantity: p.at, "policy": p.policy, "mean": p.mean, "mcse": p.mcse}
            for p in self.points
        ]

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "rows": self.records(),
            "horizon": self.horizon,
            "replications": self.replications,
            "seed": self.seed,
        }
