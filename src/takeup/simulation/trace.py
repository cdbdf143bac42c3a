"""What a simulation leaves behind."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError, LabelError, MismatchError, UnsuitableError
from takeup.populations import CovariateEnvironment
from takeup.regret import KINDS, Kind
from takeup.simulation.setup import Setup

if TYPE_CHECKING:
    import polars

    from takeup.log import Log

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


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Regret and pulls of every policy in every replication, and what was simulated.

    Attributes:
        setup: what was simulated.
        replications: the numbers of the replications, rising.
        regret: the cumulative regret; shape (environments, policies, replications, steps).
        pulls: how often each proposal was made in each context; shape (environments, policies, replications, X, Kz).
        decisions: every (x, z, a, y), packed into one number, ((x Kz + z) Ka + a) Y + y: its place in a table of
            shape (X, Kz, Ka, Y), which has no slots for what is unseen. `unpacked` takes them apart. Shape
            (environments, policies, replications, T), or T = 0 where they were not kept.
    """

    setup: Setup
    replications: IntArray
    regret: FloatArray
    pulls: IntArray
    decisions: NDArray[np.unsignedinteger[Any]]

    def final(self, policy: str, environment: str | None = None) -> FloatArray:
        """The regret of each replication at the last recorded step; the only environment need not be named."""
        return np.asarray(self.regret[self.place(policy, environment)][:, -1])

    def cost(self, kind: Kind, policy: str, environment: str | None = None) -> FloatArray:
        """The regret of each replication at the horizon, by one of the regrets in `takeup.regret`.

        It is summed over pulls; where the environment changes on the way, over decisions, which must have been kept.
        """
        if kind not in KINDS:
            raise InputError("kind", repr(kind), f"one of {', '.join(KINDS)}")
        where = self.place(policy, environment)
        truth = list(self.setup.environments.values())[where[0]]
        if isinstance(truth, CovariateEnvironment):
            if kind != "proposals":
                raise UnsuitableError(f"the regret by {kind} is not known where there are covariates; 'proposals' is")
            return self.final(policy, environment)
        phases = [each for each in truth.phases if each[0] < self.setup.horizon]
        gaps = np.stack([KINDS[kind](environment) for _, environment in phases])
        if len(gaps) == 1:
            return np.asarray(np.einsum("rxz,xz->r", self.pulls[where], gaps[0]))
        if not self.setup.full:
            raise InputError("trace", "no decisions", "one of a simulation with record='full': the environment changes")
        x, z, _, _ = np.unravel_index(self.decisions[where].astype(np.int64), self.setup.space.shape)
        phase = np.searchsorted([step for step, _ in phases], np.arange(self.setup.horizon), side="right") - 1
        return np.asarray(gaps[phase, x, z].sum(axis=-1))

    def unpacked(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Context, proposal, implemented action and outcome of every decision, as indices.

        Four arrays x, z, a, y of shape (environments, policies, replications, T), of a trace with record="full".
        """
        if not self.setup.full:
            raise InputError("trace", "no decisions", "one of a simulation with record='full'")
        x, z, a, y = np.unravel_index(self.decisions.astype(np.int64), self.setup.space.shape)
        return x, z, a, y

    def curve(self, policy: str, environment: str | None = None) -> FloatArray:
        """The mean regret at each recorded step."""
        return np.asarray(self.regret[self.place(policy, environment)].mean(axis=0))

    def summary(self, environment: str | None = None) -> dict[str, Summary]:
        """The distribution of the final regret, policy by policy."""
        return {policy: summarise(self.final(policy, environment)) for policy in self.setup.policies}

    def __add__(self, other: "Trace") -> "Trace":
        self.setup.check_same(other.setup)
        shared = np.intersect1d(self.replications, other.replications)
        if shared.size:
            raise MismatchError(f"{shared.size} replications are in both traces, number {shared[0]} for one")
        numbers = np.concatenate([self.replications, other.replications])
        order = np.argsort(numbers)

        def joined(name: str) -> NDArray[Any]:
            return np.concatenate([getattr(self, name), getattr(other, name)], axis=2)[:, :, order]

        return Trace(self.setup, numbers[order], joined("regret"), joined("pulls"), joined("decisions"))

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

    def log(self, policy: str, environment: str | None = None, replication: int = 0) -> "Log":
        """The log of one simulated trial, of a trace with record="full": what an analysis of it would have.

        The probabilities are derived again from what the policy knew at each decision, which delay and batches say.

        Args:
            policy: its name.
            environment: its name, where there are several.
            replication: its number.

        Raises:
            UnsuitableError: the policy's probabilities come from draws, or what it knew was not recorded.
        """
        from takeup.simulation import logged

        return logged.log_of(self, policy, environment, replication)

    def write(self, path: str) -> None:
        """Write a Parquet file with all of it, spec, seed and version included."""
        from takeup.simulation import frames

        frames.write(self, path)

    @staticmethod
    def read(path: str) -> "Trace":
        """Read what `write` wrote."""
        from takeup.simulation import frames

        return frames.read(path)

    def place(self, policy: str, environment: str | None = None) -> tuple[int, int]:
        """Where an environment and a policy are along the first two axes; the only environment need not be named."""
        environments, policies = list(self.setup.environments), list(self.setup.policies)
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
