"""How an experiment is run. Every experiment of this package takes a `Runner` and calls its `simulate`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from takeup import checks
from takeup.policies import Policy
from takeup.simulation import Reporting, Trace, simulate
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName, Environments


@dataclass(frozen=True, slots=True)
class Runner:
    """How often, from which seed and on which engine an experiment is run.

    Attributes:
        replications: runs of each policy in each environment, at least 2; an experiment says where it makes more or
            fewer.
        seed: any whole number of at least 0.
        engine: see `takeup.simulate`.
        progress: called with the work done; each experiment has a function that says how much there is.
        scheduler: for the engine "dask".
    """

    replications: int = 100
    seed: int = 0
    engine: EngineName = "auto"
    progress: Progress = silent
    scheduler: object = None

    def __post_init__(self) -> None:
        checks.whole("replications", self.replications, least=2)

    def simulate(
        self,
        environments: Environments,
        policies: Policy[Any] | Sequence[Policy[Any]],
        horizon: int,
        replications: int | range | None = None,
        *,
        steps: Sequence[int] | None = None,
        reporting: Reporting = Reporting(),
    ) -> Trace:
        """`takeup.simulate`, with a curve where there are steps; its own replications where none are given."""
        return simulate(
            environments,
            policies,
            horizon,
            self.replications if replications is None else replications,
            self.seed,
            engine=self.engine,
            record="summary" if steps is None else "curve",
            steps=steps,
            reporting=reporting,
            scheduler=self.scheduler,
            progress=self.progress,
        )

    def times(self, replications: int) -> "Runner":
        """The same with another number of replications."""
        return replace(self, replications=replications)

    def weighted(self, cost: int) -> "Runner":
        """The same, with each unit of progress counted `cost` times."""
        return replace(self, progress=lambda done: self.progress(done * cost))
