"""What lies beyond the paper: compliance partly seen, pilots, drift, and a policy for compliance that is not ignorable.

The pieces are in modules of their own; here they are run together, each with as many runs as its cost allows.
"""

from dataclasses import asdict, dataclass
from typing import Any

from takeup.paper import audited, contextual, drift, piloted, robust, robust_stroke
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName

REPLICATIONS = 100
ROBUST_LEAST = 50
"""Fewer runs than that leave a random world's ratio to TS without an error."""

_WEIGHTS = {"audited": 8, "piloted": 15, "drift": 20, "robust": 1, "patients": 2}
"""How long a decision of each takes beside one of the robust worlds; for a bar over all of them."""


@dataclass(frozen=True, slots=True)
class BeyondResult:
    """All of it.

    Attributes:
        audited: regret against the fraction of decisions whose compliance is seen.
        piloted: what a pilot is worth to TS-Lat.
        drift: what forgetting is worth when compliance changes.
        robust: TS-Robust beside TS, with the four bars.
        patients: TS-Robust on the stroke patients.
    """

    audited: audited.Audited
    piloted: piloted.Piloted
    drift: drift.DriftResult
    robust: robust.RobustResult
    patients: robust_stroke.PatientsResult

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "audited": asdict(self.audited),
            "piloted": asdict(self.piloted),
            "drift": self.drift.as_json(),
            "robust": self.robust.as_json(),
            "patients": self.patients.as_json(),
        }


def beyond(
    replications: int = REPLICATIONS,
    seed: int = 0,
    engine: EngineName = "auto",
    progress: Progress = silent,
    *,
    curves: bool = True,
    scheduler: object = None,
) -> BeyondResult:
    """Run all of it.

    Args:
        replications: runs of each cell; of TS-Robust fifty at the least.
        seed: the seed.
        engine: what runs them. Environments that change run in the numpy reference whatever is asked for.
        progress: called with the work done; `work` says how much there is.
        curves: whether to run the trade-off curves of TS-Robust too.
        scheduler: for the engine "dask".
    """

    def weighted(piece: str) -> Progress:
        return lambda done: progress(done * _WEIGHTS[piece])

    return BeyondResult(
        audited.curve(
            replications,
            seed,
            engine,
            horizon=contextual.HORIZON,
            progress=weighted("audited"),
            scheduler=scheduler,
        ),
        piloted.worth(
            replications,
            seed,
            engine,
            horizon=contextual.HORIZON,
            progress=weighted("piloted"),
            scheduler=scheduler,
        ),
        drift.drift(replications, seed, weighted("drift")),
        robust.robust(
            max(replications, ROBUST_LEAST), seed, engine, weighted("robust"), curves=curves, scheduler=scheduler
        ),
        robust_stroke.patients(replications, seed, engine, weighted("patients"), scheduler=scheduler),
    )


def work(replications: int = REPLICATIONS, curves: bool = True) -> int:
    """What the progress of `beyond` adds up to."""
    pieces = {
        "audited": audited.decisions(replications, contextual.HORIZON),
        "piloted": piloted.decisions(replications, contextual.HORIZON),
        "drift": drift.decisions(replications),
        "robust": robust.decisions(max(replications, ROBUST_LEAST), curves),
        "patients": robust_stroke.decisions(replications),
    }
    return sum(_WEIGHTS[piece] * many for piece, many in pieces.items())
