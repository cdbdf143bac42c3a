"""The regret bound analysis of Stirn & Jebara (2019), section 4.1: two arms, noncompliance p from 0 to 1.

The figure is missing from the paper's source; what its text says about it is checked claim by claim.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from takeup.checks import FloatArray
from takeup.environment import Environment
from takeup.paper.agreement import Mean
from takeup.paper.rules import Claim
from takeup.paper.runner import Runner
from takeup.paper.sweep_claims import Runs, check
from takeup.policies import TS, TSCheck, TSObs
from takeup.world import World

HORIZON = 10_000

SUCCESS = (0.75, 0.25)

GRID: FloatArray = np.arange(21) / 20
"""p = 0, 0.05, .., 1."""


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """The distribution of one policy's final regret at one p.

    Attributes:
        policy: its name.
        p: the probability that the other arm is implemented.
        mean: of the regret.
        sd: its standard deviation.
        median: its median.
        mcse: the Monte Carlo error of the mean.
    """

    policy: str
    p: float
    mean: float
    sd: float
    median: float
    mcse: float


@dataclass(frozen=True, slots=True)
class RegretResult:
    """The sweep and what it says about the paper's text."""

    points: list[SweepPoint]
    claims: list[Claim]

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return asdict(self)


def environment(p: float) -> Environment:
    """Success 0.75 and 0.25; with probability p the other arm is implemented."""
    return Environment.from_world(World.bernoulli([[1 - p, p], [p, 1 - p]], list(SUCCESS)))


def sweep(run: Runner) -> RegretResult:
    """TS, TS-Obs and TS-Check at every p, and the claims of the text."""
    policies = [TS(), TSObs(), TSCheck()]
    trace = run.simulate({f"{p:.2f}": environment(p) for p in GRID}, policies, HORIZON, steps=[HORIZON // 2, HORIZON])
    halfway, final = (
        {policy.name: trace.regret[:, i, :, step] for i, policy in enumerate(policies)} for step in range(2)
    )
    return RegretResult(_points(final), check(Runs(GRID, HORIZON, SUCCESS[0] - SUCCESS[1], final, halfway)))


def decisions(replications: int) -> int:
    """How many decisions the sweep takes, for a progress bar."""
    return 3 * GRID.size * HORIZON * replications


def _points(final: Mapping[str, FloatArray]) -> list[SweepPoint]:
    points = []
    for policy, regret in final.items():
        for p, runs in zip(GRID, regret, strict=True):
            mean, error = Mean.of(runs)
            points.append(SweepPoint(policy, float(p), mean, float(runs.std(ddof=1)), float(np.median(runs)), error))
    return points
