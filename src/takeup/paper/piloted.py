"""What a pilot is worth: regret of TS-Lat, which sees no compliance, after a pilot in which compliance was seen.

Each replication has a pilot of its own: so many patients of the same environment, proposals at random, everything seen.
Its table becomes the policy's prior, and the trial of the paper follows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup.environment import Environment
from takeup.evidence import Evidence
from takeup.paper.contextual import HORIZON, environment
from takeup.policies import TS, Thompson, TSLat, Uniform
from takeup.prior import Prior
from takeup.randomness import stream
from takeup.simulation import Reporting, simulate
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName

ENVIRONMENTS = (3, 4)
PATIENTS = (0, 50, 500)


@dataclass(frozen=True, slots=True)
class Row:
    """The final regret of one policy in one environment after one size of pilot.

    Attributes:
        environment: its number in table 1.
        patients: those of the pilot; their own regret is not counted.
        policy: its name.
        mean: the mean of the final regret over replications.
        mcse: the Monte Carlo standard error of the mean.
    """

    environment: int
    patients: int
    policy: str
    mean: float
    mcse: float


@dataclass(frozen=True, slots=True)
class Piloted:
    """The rows, and what they rest on.

    Attributes:
        rows: by environment, size of the pilot and policy.
        horizon: T.
        discount: how much a decision of the pilot counts.
        replications: how many pilots and trials each row rests on.
        seed: the seed.
    """

    rows: tuple[Row, ...]
    horizon: int
    discount: float
    replications: int
    seed: int

    def at(self, environment: int, patients: int, policy: str) -> Row:
        """One row."""
        return next(r for r in self.rows if (r.environment, r.patients, r.policy) == (environment, patients, policy))


def policies() -> list[Thompson]:
    """TS, and TS-Lat with both ways of inference."""
    return [TS(), TSLat(), TSLat(inference="gibbs")]


def worth(
    replications: int = 400,
    seed: int = 0,
    engine: EngineName = "auto",
    *,
    discount: float = 1.0,
    horizon: int = HORIZON,
    patients: tuple[int, ...] = PATIENTS,
    progress: Progress = silent,
    scheduler: object = None,
) -> Piloted:
    """Run every policy in both environments after pilots of each size."""
    rows = []
    options: dict[str, Any] = {
        "engine": engine,
        "scheduler": scheduler,
        "reporting": Reporting(compliance=0),
        "progress": progress,
    }
    for number in ENVIRONMENTS:
        truth = environment(number)
        for size in patients:
            pilots = [Prior.from_evidence(each, discount) for each in pilots_of(truth, size, replications, seed)]
            for policy in policies():
                runs = [
                    simulate(truth, policy.informed(pilot), horizon, range(i, i + 1), seed, **options)
                    for i, pilot in enumerate(pilots)
                ]
                regret = np.array([run.final(policy.name)[0] for run in runs])
                error = float(regret.std(ddof=1) / np.sqrt(replications))
                rows.append(Row(number, size, policy.name, float(regret.mean()), error))
    return Piloted(tuple(rows), horizon, discount, replications, seed)


def pilots_of(truth: Environment, patients: int, replications: int, seed: int) -> list[Evidence]:
    """The tables of as many pilots; their patients are others than those of the trials."""
    if patients == 0:
        return [Evidence.empty(truth.space)] * replications
    other = int(stream(seed, "pilot").integers(2**32))
    trace = simulate(truth, Uniform(), patients, replications, other, record="full")
    cells = int(np.prod(truth.space.shape))
    counts = [np.bincount(run, minlength=cells).reshape(truth.space.shape) for run in trace.decisions[0, 0]]
    return [Evidence(truth.space, np.pad(each, ((0, 0), (0, 0), (0, 1), (0, 1)))) for each in counts]


def decisions(replications: int, horizon: int = HORIZON, patients: tuple[int, ...] = PATIENTS) -> int:
    """How many decisions of trials `worth` makes, for a progress bar."""
    return len(policies()) * len(ENVIRONMENTS) * len(patients) * horizon * replications
