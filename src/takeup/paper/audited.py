"""What it is worth to see compliance: regret against the fraction of decisions whose compliance is audited.

Stirn & Jebara (2019) see all compliance or none. Here each decision of their environments 3 and 4 is audited with one
probability, whatever its action and outcome were: compliance is missing completely at random.
"""

from dataclasses import dataclass
from typing import Any

from takeup.paper.contextual import HORIZON, environment
from takeup.policies import TS, Policy, TSLat, TSObs
from takeup.simulation import Reporting, simulate
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName

ENVIRONMENTS = (3, 4)
FRACTIONS = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Row:
    """The final regret of one policy in one environment at one fraction.

    Attributes:
        environment: its number in table 1.
        fraction: the probability that the compliance of a decision is seen.
        policy: its name.
        mean: the mean of the final regret over replications.
        mcse: the Monte Carlo standard error of the mean.
    """

    environment: int
    fraction: float
    policy: str
    mean: float
    mcse: float


@dataclass(frozen=True, slots=True)
class Audited:
    """The curve, and what it rests on.

    Attributes:
        rows: by environment, fraction and policy.
        horizon: T.
        replications: how many runs each row rests on.
        seed: the seed.
    """

    rows: tuple[Row, ...]
    horizon: int
    replications: int
    seed: int

    def at(self, environment: int, fraction: float, policy: str) -> Row:
        """One row."""
        return next(r for r in self.rows if (r.environment, r.fraction, r.policy) == (environment, fraction, policy))


def policies() -> list[Policy[Any]]:
    """TS needs no compliance, TS-Obs uses what it sees alone, TS-Lat explains the rest in one of two ways."""
    return [TS(), TSObs(), TSLat(), TSLat(inference="gibbs")]


def curve(
    replications: int = 1000,
    seed: int = 0,
    engine: EngineName = "auto",
    *,
    horizon: int = HORIZON,
    fractions: tuple[float, ...] = FRACTIONS,
    progress: Progress = silent,
    scheduler: object = None,
) -> Audited:
    """Run every policy in both environments at each fraction."""
    environments = {str(number): environment(number) for number in ENVIRONMENTS}
    rows = []
    for fraction in fractions:
        trace = simulate(
            environments,
            policies(),
            horizon,
            replications,
            seed,
            engine=engine,
            reporting=Reporting(compliance=fraction),
            progress=progress,
            scheduler=scheduler,
        )
        for name in environments:
            for policy, regret in trace.summary(name).items():
                rows.append(Row(int(name), fraction, policy, regret.mean, regret.standard_error))
    rows.sort(key=lambda row: (row.environment, row.fraction))
    return Audited(tuple(rows), horizon, replications, seed)


def decisions(replications: int, horizon: int = HORIZON, fractions: tuple[float, ...] = FRACTIONS) -> int:
    """How many decisions the curve takes, for a progress bar."""
    return len(policies()) * len(ENVIRONMENTS) * len(fractions) * horizon * replications
