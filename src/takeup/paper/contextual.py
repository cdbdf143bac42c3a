"""The contextual simulations of Stirn & Jebara (2019), section 4.2: tables 1 and 2."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from takeup.environment import Environment
from takeup.paper.agreement import REPLICATIONS, Comparison, Published, compare
from takeup.policies import TS, Policy, TSCheck, TSLat, TSObs
from takeup.simulation import Reporting, Summary, simulate
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName
from takeup.world import World

LATENT_COST = 400
"""How many decisions of TS take the time of one of TS-Lat, about; for progress bars."""

HORIZON = 2000
"""Not stated in the paper. TS-Check explores for ever in environment 2, at a cost of 0.2 a step; its regret there
is 398.5."""

_SUCCESS = [[0.65, 0.35], [0.25, 0.75]]
_COMPLIANCE = {
    1: [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
    2: [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]],
    3: [[[0.7, 0.3], [0.4, 0.6]], [[0.6, 0.4], [0.3, 0.7]]],
    4: [[[0.3, 0.7], [0.6, 0.4]], [[0.4, 0.6], [0.7, 0.3]]],
}


PUBLISHED: dict[tuple[int, str], Published] = {
    (environment, policy): Published(*figures)
    for policy, row in {
        "TS": [
            (8.95, 10.18, 4.07),
            (10.55, 11.23, 4.28),
            (21.15, 24.58, 21.24),
            (18.77, 19.53, 10.44),
        ],
        "TS-Check": [
            (9.55, 11.47, 6.21),
            (397.3, 398.5, 10.71),
            (4.35, 4.62, 1.98),
            (233.7, 233.6, 2.69),
        ],
        "TS-Obs": [
            (9.35, 10.49, 3.98),
            (10.35, 11.92, 7.26),
            (5.09, 5.56, 2.49),
            (5.07, 5.68, 2.13),
        ],
        "TS-Lat-0": [
            (4.70, 5.49, 2.57),
            (5.85, 6.24, 2.91),
            (6.18, 32.39, 58.58),
            (8.58, 28.36, 39.67),
        ],
        "TS-Lat-40": [
            (16.45, 16.63, 2.38),
            (17.00, 17.16, 2.21),
            (6.48, 14.18, 25.63),
            (7.32, 18.85, 32.75),
        ],
    }.items()
    for environment, figures in enumerate(row, start=1)
}
"""Table 2 by (environment, policy)."""


def environment(number: int) -> Environment:
    """Environment 1 to 4 of table 1; the two contexts are equally probable."""
    return Environment.from_world(World.bernoulli(_COMPLIANCE[number], _SUCCESS))


def observing() -> list[Policy[Any]]:
    """The rows of table 2 that see compliance or take it for granted, with the paper's uniform priors."""
    return [TS(), TSCheck(), TSObs()]


def latent() -> list[Policy[Any]]:
    """The rows of table 2 that never see compliance."""
    return [TSLat(), TSLat(soft_start=40)]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of table 2, measured."""

    environment: int
    policy: str
    measured: Summary
    published: Published
    comparisons: list[Comparison]


def table(
    replications: int = REPLICATIONS,
    seed: int = 0,
    engine: EngineName = "auto",
    progress: Progress = silent,
    *,
    latent_replications: int | None = None,
    scheduler: object = None,
    stage: Callable[[str], object] = lambda _: None,
) -> list[Cell]:
    """Table 2 again: TS-Lat sees no compliance, the others see all of it.

    Args:
        replications: runs of each cell.
        seed: the seed.
        engine: what runs them.
        progress: called with the work done, in the units of `work`.
        latent_replications: runs of the TS-Lat rows, which cost far more; as many as of the others where left out, and
            0 leaves the rows out.
        scheduler: for the engine "dask".
        stage: called with the name of each policy, before it is compiled and run.
    """
    environments = {str(number): environment(number) for number in _COMPLIANCE}
    latent_runs = replications if latent_replications is None else latent_replications
    rows = [(policy, 1.0, replications, 1) for policy in observing()]
    rows += [(policy, 0.0, latent_runs, LATENT_COST) for policy in latent() if latent_runs]
    traces = []
    for policy, seen, runs, cost in rows:
        stage(policy.name)
        traces.append(
            simulate(
                environments,
                policy,
                HORIZON,
                runs,
                seed,
                engine=engine,
                reporting=Reporting(compliance=seen),
                scheduler=scheduler,
                progress=partial(_weighted, progress, cost),
            )
        )
    return [
        Cell(
            int(number),
            name,
            trace.summary(number)[name],
            PUBLISHED[int(number), name],
            compare(trace.final(name, number), PUBLISHED[int(number), name]),
        )
        for number in environments
        for trace in traces
        for name in trace.setup.policies
    ]


def agreeing(cells: Sequence[Cell]) -> tuple[int, int]:
    """How many figures of the table agree, and of how many."""
    verdicts = [comparison.agrees for cell in cells for comparison in cell.comparisons]
    return sum(verdicts), len(verdicts)


def work(replications: int, latent_replications: int | None = None) -> int:
    """How long the table takes, in decisions of TS, for a progress bar."""
    latent_runs = replications if latent_replications is None else latent_replications
    each = len(_COMPLIANCE) * HORIZON
    return each * (len(observing()) * replications + len(latent()) * latent_runs * LATENT_COST)


def _weighted(progress: Progress, cost: int, decisions: int) -> None:
    progress(decisions * cost)
