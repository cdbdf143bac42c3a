"""What lies beyond the paper: audits, pilots, drift, compliance that is not ignorable, and other outcomes.

Each experiment has a module of its own; here they are run together.
"""

from dataclasses import asdict, dataclass
from typing import Any

from takeup.paper import audited, drift, piloted, robust, robust_stroke, stroke_outcomes
from takeup.paper.regret_curve import RegretCurve
from takeup.paper.runner import Runner

_WEIGHTS = {"audited": 8, "piloted": 15, "drift": 20, "robust": 1, "patients": 2, "outcomes": 2}
"""How long a decision of each takes beside one of the robust worlds, for one progress bar over all of them."""


@dataclass(frozen=True, slots=True)
class BeyondResult:
    """All of it.

    Attributes:
        audited: regret against the fraction of decisions whose compliance is seen.
        piloted: what a pilot is worth to TS-Lat.
        drift: what forgetting is worth when compliance changes.
        robust: TS-Robust beside TS, with the five bars.
        patients: TS-Robust on the stroke patients.
        outcomes: the stroke trial with the state at six months and with days to death.
    """

    audited: RegretCurve
    piloted: RegretCurve
    drift: drift.DriftResult
    robust: robust.RobustResult
    patients: robust_stroke.PatientsResult
    outcomes: stroke_outcomes.OutcomesResult

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "audited": self.audited.as_json(),
            "piloted": self.piloted.as_json() | {"discount": 1.0},
            "drift": self.drift.as_json(),
            "robust": self.robust.as_json(),
            "patients": asdict(self.patients),
            "outcomes": self.outcomes.as_json(),
        }


def beyond(run: Runner, *, curves: bool = True) -> BeyondResult:
    """Run all of it.

    Args:
        run: how; TS-Robust gets fifty replications at least.
        curves: whether to run what takes longest too: the trade-off curves of TS-Robust, and exponential times.
    """
    runs = {name: run.weighted(weight) for name, weight in _WEIGHTS.items()}
    return BeyondResult(
        audited.curve(runs["audited"]),
        piloted.worth(runs["piloted"]),
        drift.drift(runs["drift"]),
        robust.robust(runs["robust"].times(max(run.replications, robust.LEAST)), curves=curves),
        robust_stroke.patients(runs["patients"]),
        stroke_outcomes.outcomes(runs["outcomes"], slow=curves),
    )


def work(replications: int, curves: bool = True) -> int:
    """What the progress of `beyond` adds up to."""
    decisions = {
        "audited": audited.decisions(replications),
        "piloted": piloted.decisions(replications),
        "drift": drift.decisions(replications),
        "robust": robust.decisions(max(replications, robust.LEAST), curves),
        "patients": robust_stroke.decisions(replications),
        "outcomes": stroke_outcomes.decisions(replications, curves),
    }
    return sum(_WEIGHTS[name] * many for name, many in decisions.items())
