"""What a simulation leaves behind."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.environment import Environment
from takeup.errors import LabelError, MismatchError
from takeup.policies import Policy
from takeup.simulation.description import describe
from takeup.simulation.reporting import Reporting
from takeup.version import __version__

if TYPE_CHECKING:
    import polars

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Summary:
    """The distribution of one policy's final regret over replications.

    Attributes:
        median: its median.
        mean: its mean.
        sd: its standard deviation; nan of a single replication.
        standard_error: the Monte Carlo error of the mean, sd / sqrt(replications).
        quantiles: its quantiles at 5, 25, 50, 75 and 95 %, by probability.
        replications: how many runs there were.
    """

    median: float
    mean: float
    sd: float
    standard_error: float
    quantiles: dict[float, float]
    replications: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trace:
    """Regret and pulls of every policy in every replication, and where they come from.

    Attributes:
        environments: the truths by name, in the order of the first axes below.
        policies: the policies by name, in the order of the second axes below.
        engines: whose streams each policy ran on: "reference", "cpu" or "gpu".
        steps: after how many units the regret was recorded; shape (S,).
        regret: the cumulative regret; shape (environments, policies, replications, S).
        pulls: how often each proposal was made in each context; shape (environments, policies, replications, X, Kz).
        decisions: every (x, z, a, y) as its index in the table; shape (environments, policies, replications, T), or
            T = 0 where they were not recorded.
        replications: the numbers of the replications, rising.
        horizon: T.
        reporting: how much the policies saw, and when.
        seed: the seed.
        version: the version of takeup.
    """

    environments: Mapping[str, Environment]
    policies: Mapping[str, Policy[Any]]
    engines: tuple[str, ...]
    steps: IntArray
    regret: FloatArray
    pulls: IntArray
    decisions: NDArray[np.unsignedinteger[Any]]
    replications: IntArray
    horizon: int
    reporting: Reporting
    seed: int
    version: str = __version__

    def final(self, policy: str, environment: str | None = None) -> FloatArray:
        """The regret of each replication at the last recorded step; the only environment need not be named."""
        return np.asarray(self.regret[self._at(policy, environment)][:, -1])

    def curve(self, policy: str, environment: str | None = None) -> FloatArray:
        """The mean regret at each recorded step."""
        return np.asarray(self.regret[self._at(policy, environment)].mean(axis=0))

    def summary(self, environment: str | None = None) -> dict[str, Summary]:
        """The distribution of the final regret, policy by policy."""
        return {policy: summarise(self.final(policy, environment)) for policy in self.policies}

    def spec(self) -> dict[str, Any]:
        """What was simulated, as plain data: all that two parts of one simulation have in common."""
        return {
            "environments": describe(self.environments),
            "policies": describe(self.policies),
            "engines": list(self.engines),
            "steps": self.steps.tolist(),
            "horizon": self.horizon,
            "reporting": describe(self.reporting),
            "full": bool(self.decisions.shape[-1]),
            "seed": self.seed,
            "version": self.version,
        }

    def __add__(self, other: "Trace") -> "Trace":
        mine, theirs = self.spec(), other.spec()
        differing = [name for name in mine if mine[name] != theirs[name]]
        if differing:
            raise MismatchError(f"traces of different simulations do not add; these differ in {', '.join(differing)}")
        shared = np.intersect1d(self.replications, other.replications)
        if shared.size:
            raise MismatchError(f"{shared.size} replications are in both traces, number {shared[0]} for one")
        numbers = np.concatenate([self.replications, other.replications])
        order = np.argsort(numbers)

        def joined(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(self, name), getattr(other, name)], axis=2)[:, :, order]

        return replace(
            self,
            regret=joined("regret"),
            pulls=joined("pulls"),
            decisions=joined("decisions"),
            replications=numbers[order],
        )

    def frame(self) -> "polars.DataFrame":
        """A row a replication: final regret and pulls."""
        from takeup.simulation import frames

        return frames.replications(self)

    def curves(self) -> "polars.DataFrame":
        """A row a recorded step: mean, sd and quantiles of the regret over replications."""
        from takeup.simulation import frames

        return frames.curves(self)

    def every_decision(self) -> "polars.DataFrame":
        """A row a decision, in names; of a trace with record="full"."""
        from takeup.simulation import frames

        return frames.decisions(self)

    def write(self, path: str) -> None:
        """Write a Parquet file with all of it, spec, seed and version included."""
        from takeup.simulation import frames

        frames.write(self, path)

    @staticmethod
    def read(path: str) -> "Trace":
        """Read what `write` wrote."""
        from takeup.simulation import frames

        return frames.read(path)

    def _at(self, policy: str, environment: str | None) -> tuple[int, int]:
        environments, policies = list(self.environments), list(self.policies)
        if environment is None and len(environments) == 1:
            environment = environments[0]
        if environment not in environments:
            raise LabelError("environment", repr(environment), f"one of {', '.join(environments)}")
        if policy not in policies:
            raise LabelError("policy", repr(policy), f"one of {', '.join(policies)}")
        return environments.index(environment), policies.index(policy)


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
