"""The contextual simulations of Stirn & Jebara (2019), section 4.2: tables 1 and 2."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from takeup.environment import Environment
from takeup.paper.agreement import Comparison, PublishedRegret, compare
from takeup.paper.runner import Runner
from takeup.policies import TS, Policy, TSCheck, TSLat, TSObs
from takeup.simulation import Reporting, Summary
from takeup.world import World

LATENT_COST = 400
"""About how many decisions of TS take as long as one of TS-Lat; for progress bars."""

HORIZON = 2000
"""Not stated in the paper, but implied: TS-Check explores for ever in environment 2 at a cost of 0.2 a step, and its
regret there is 398.5."""

_SUCCESS = [[0.65, 0.35], [0.25, 0.75]]
_COMPLIANCE = {
    1: [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
    2: [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]],
    3: [[[0.7, 0.3], [0.4, 0.6]], [[0.6, 0.4], [0.3, 0.7]]],
    4: [[[0.3, 0.7], [0.6, 0.4]], [[0.4, 0.6], [0.7, 0.3]]],
}


PUBLISHED: dict[tuple[int, str], PublishedRegret] = {
    (environment, policy): PublishedRegret(*figures)
    for policy, row in {
        "TS": [(8.95, 10.18, 4.07), (10.55, 11.23, 4.28), (21.15, 24.58, 21.24), (18.77, 19.53, 10.44)],
        "TS-Check": [(9.55, 11.47, 6.21), (397.3, 398.5, 10.71), (4.35, 4.62, 1.98), (233.7, 233.6, 2.69)],
        "TS-Obs": [(9.35, 10.49, 3.98), (10.35, 11.92, 7.26), (5.09, 5.56, 2.49), (5.07, 5.68, 2.13)],
        "TS-Lat-0": [(4.70, 5.49, 2.57), (5.85, 6.24, 2.91), (6.18, 32.39, 58.58), (8.58, 28.36, 39.67)],
        "TS-Lat-40": [(16.45, 16.63, 2.38), (17.00, 17.16, 2.21), (6.48, 14.18, 25.63), (7.32, 18.85, 32.75)],
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
    published: PublishedRegret
    comparisons: list[Comparison]


@dataclass(frozen=True, slots=True)
class Table2Result:
    """Table 2, measured again."""

    cells: tuple[Cell, ...]

    def comparisons(self) -> list[tuple[dict[str, Any], Comparison]]:
        """Every figure of the table, with the names of its row and column."""
        return [
            ({"environment": cell.environment, "policy": cell.policy, "statistic": comparison.statistic}, comparison)
            for cell in self.cells
            for comparison in cell.comparisons
        ]

    def agreeing(self) -> tuple[int, int]:
        """How many figures agree, and of how many."""
        verdicts = [comparison.agrees for _, comparison in self.comparisons()]
        return sum(verdicts), len(verdicts)

    def as_json(self) -> dict[str, Any]:
        """A record for each figure, and how many agree."""
        agree, total = self.agreeing()
        records = [
            place | {"published": c.published, "measured": c.measured, "mcse": c.mcse, "agrees": c.agrees}
            for place, c in self.comparisons()
        ]
        return {"cells": records, "agreeing": agree, "compared": total}


def table(
    run: Runner, latent_replications: int | None = None, stage: Callable[[str], object] = lambda _: None
) -> Table2Result:
    """Table 2 again: TS-Lat sees no compliance, the others see all of it.

    Args:
        run: how; its progress is in the units of `work`.
        latent_replications: runs of the TS-Lat rows, which cost far more; as many as of the others where left out, and
            0 leaves the rows out.
        stage: called with the name of each policy, before it is compiled and run.
    """
    environments = {str(number): environment(number) for number in _COMPLIANCE}
    latent_runs = run.replications if latent_replications is None else latent_replications
    rows = [(policy, run, run.replications, Reporting()) for policy in observing()]
    if latent_runs:
        slow = run.weighted(LATENT_COST)
        rows += [(policy, slow, latent_runs, Reporting(compliance=0)) for policy in latent()]
    traces = []
    for policy, runner, runs, reporting in rows:
        stage(policy.name)
        traces.append(runner.simulate(environments, policy, HORIZON, runs, reporting=reporting))
    cells = (
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
    )
    return Table2Result(tuple(cells))


def work(replications: int, latent_replications: int | None = None) -> int:
    """How long the table takes, in decisions of TS, for a progress bar."""
    latent_runs = replications if latent_replications is None else latent_replications
    each = len(_COMPLIANCE) * HORIZON
    return each * (len(observing()) * replications + len(latent()) * latent_runs * LATENT_COST)
