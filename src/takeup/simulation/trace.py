"""What a simulation leaves behind."""

from dataclasses import dataclass

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.errors import LabelError
from takeup.simulation.reporting import Reporting

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Summary:
    """The distribution of one policy's final regret over replications.

    Attributes:
        median: its median.
        mean: its mean.
        sd: its standard deviation.
        standard_error: the Monte Carlo error of the mean, sd / sqrt(replications); nan of a single replication.
        quantiles: its quantiles at 5, 25, 50, 75 and 95 %, by probability.
        replications: how many runs there were.
    """

    median: float
    mean: float
    sd: float
    standard_error: float
    quantiles: dict[float, float]
    replications: int


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Regret and pulls of every policy in every replication, and where they come from.

    Attributes:
        environments: the names, in the order of the first axes below.
        policies: the names, in the order of the second axes below.
        steps: after how many units the regret was recorded; shape (S,).
        regret: the cumulative regret; shape (environments, policies, replications, S).
        pulls: how often each proposal was made in each context; shape (environments, policies, replications, X, Kz).
        replications: the numbers of the replications.
        horizon: T.
        reporting: how much the policies saw.
        seed: the seed.
        version: the version of takeup.
    """

    environments: tuple[str, ...]
    policies: tuple[str, ...]
    steps: IntArray
    regret: FloatArray
    pulls: IntArray
    replications: range
    horizon: int
    reporting: Reporting
    seed: int
    version: str

    def final(self, policy: str, environment: str | None = None) -> FloatArray:
        """The regret of each replication at the last recorded step; the only environment need not be named."""
        return np.asarray(self.regret[self._at(policy, environment)][:, -1])

    def curve(self, policy: str, environment: str | None = None) -> FloatArray:
        """The mean regret at each recorded step."""
        return np.asarray(self.regret[self._at(policy, environment)].mean(axis=0))

    def summary(self, environment: str | None = None) -> dict[str, Summary]:
        """The distribution of the final regret, policy by policy."""
        return {policy: summarise(self.final(policy, environment)) for policy in self.policies}

    def _at(self, policy: str, environment: str | None) -> tuple[int, int]:
        if environment is None and len(self.environments) == 1:
            environment = self.environments[0]
        if environment not in self.environments:
            raise LabelError("environment", repr(environment), f"one of {', '.join(self.environments)}")
        if policy not in self.policies:
            raise LabelError("policy", repr(policy), f"one of {', '.join(self.policies)}")
        return self.environments.index(environment), self.policies.index(policy)


def summarise(regret: FloatArray) -> Summary:
    """The distribution of these regrets."""
    sd = float(regret.std(ddof=1)) if regret.size > 1 else float("nan")
    return Summary(
        median=float(np.median(regret)),
        mean=float(regret.mean()),
        sd=sd,
        standard_error=sd / float(np.sqrt(regret.size)),
        quantiles={q: float(np.quantile(regret, q)) for q in QUANTILES},
        replications=regret.size,
    )
