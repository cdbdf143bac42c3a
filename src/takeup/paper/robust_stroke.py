"""TS-Robust on the patients of the International Stroke Trial, whose compliance is not ignorable.

Excess successes as in `takeup.paper.stroke`: the difference in final regret to Uniform on the same 20,000 patients. Six
arms, and the patients as they are: what happened to those who were told z is what happens.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.datasets import Outcome
from takeup.paper.stroke import HORIZON
from takeup.paper.stroke_parameters import OUTCOMES, environments
from takeup.policies import TS, Policy, TSCheck, TSObs, TSRobust, Uniform
from takeup.simulation import simulate
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName

REPLICATIONS = 500
POLICIES: tuple[Policy[Any], ...] = (Uniform(), TS(), TSCheck(), TSObs(), TSRobust())


@dataclass(frozen=True, slots=True)
class Gain:
    """The excess successes of a policy over Uniform, and over TS, with Monte Carlo errors; both are means."""

    outcome: Outcome
    policy: str
    excess: float
    error: float
    over_ts: float
    over_ts_error: float


@dataclass(frozen=True, slots=True)
class PatientsResult:
    """All figures.

    Attributes:
        replications: how many trials each policy ran.
        seed: the seed.
        gains: a row an outcome and policy.
    """

    replications: int
    seed: int
    gains: tuple[Gain, ...]

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return asdict(self)


def patients(
    replications: int = REPLICATIONS,
    seed: int = 0,
    engine: EngineName = "auto",
    progress: Progress = silent,
    *,
    scheduler: object = None,
) -> PatientsResult:
    """Simulate the trial for three outcomes with the patients as they are, in the paper's coding."""
    checks.whole("replications", replications, least=2)
    truths = {str(outcome): truth for outcome, truth in environments("patients").items()}
    trace = simulate(
        truths, POLICIES, HORIZON, replications, seed, engine=engine, scheduler=scheduler, progress=progress
    )
    gains = []
    for outcome in OUTCOMES:
        uniform, ts = (trace.final(policy.name, outcome) for policy in POLICIES[:2])
        for policy in POLICIES[1:]:
            regret = trace.final(policy.name, outcome)
            gains.append(Gain(outcome, policy.name, *_mean(uniform - regret), *_mean(ts - regret)))
    return PatientsResult(replications, seed, tuple(gains))


def decisions(replications: int = REPLICATIONS) -> int:
    """How many decisions `patients` makes, for a progress bar."""
    return len(OUTCOMES) * len(POLICIES) * HORIZON * replications


def _mean(sample: FloatArray) -> tuple[float, float]:
    return float(sample.mean()), float(sample.std(ddof=1) / np.sqrt(sample.size))
