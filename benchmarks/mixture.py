"""Regret of MixtureTS beside LinTS, where outcomes are mixtures and where they are not.

Scenarios A and B are those of Urteaga & Wiggins (2018): two covariates, uniform in [0, 1], two proposals that everybody
follows, and outcomes that are a mixture of two lines in the covariates with normal noise of variance 1. The others have
lines alone, tails, and two far groups with proposals that are best for other people.

Usage: python benchmarks/mixture.py [horizon [replications [scenario ..]]]
"""

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from takeup import CovariateEnvironment, LinTS, Measure, MixtureTS, Number, Policy, Space, simulate
from takeup.populations import Independent, Linear, Table

LOW, HIGH, STEP = -4.0, 10.0, 0.05
SPACE = Space(2, outcomes=Number(LOW, HIGH, STEP), covariates={"one": Measure(0, 1, 0.01), "two": Measure(0, 1, 0.01)})
POLICIES: dict[str, Policy[Any]] = {"LinTS": LinTS()} | {f"K={k}": MixtureTS(components=k) for k in (1, 2, 3)}

Component = tuple[float, Sequence[float]]
"""A share, and a line: an intercept and two slopes."""


def world(first: Sequence[Component], second: Sequence[Component], sd: float = 1.0) -> CovariateEnvironment:
    """Everybody does what is proposed. Of whom there are two kinds by each proposal, there are four hidden types."""
    share = [p * q for p, _ in first for q, _ in second]
    lines = [[one, two] for _, one in first for _, two in second]  # (type, action, feature)
    outcome = Linear(np.array(lines)[:, np.newaxis, np.newaxis], sd)
    assert SPACE.covariates is not None
    return CovariateEnvironment(SPACE, Independent(SPACE.covariates, {}), Table(np.eye(2)), outcome, share=share)


def spread(line: Sequence[float], shifts: dict[float, float]) -> list[Component]:
    """A line that is shifted, each time with its share."""
    return [(share, (line[0] + shift, *line[1:])) for shift, share in shifts.items()]


TAILS = {-3.0: 0.1, 0.0: 0.8, 3.0: 0.1}
GROUPS = {-2.0: 0.5, 2.0: 0.5}
SCENARIOS = {
    "A": world([(0.5, (0, 0, 0)), (0.5, (0, 1, 1))], [(0.5, (0, 2, 2)), (0.5, (0, 3, 3))]),
    "B": world([(0.5, (0, 1, 1)), (0.5, (0, 2, 2))], [(0.3, (0, 0, 0)), (0.7, (0, 3, 3))]),
    "lines": world([(1.0, (0, 1.5, 1.5))], [(1.0, (0, 2.1, 2.1))]),
    "tails": world(spread((2, 1.5, 0), TAILS), spread((2, 0, 1.5), TAILS), sd=0.5),
    "groups": world(spread((2, 1.5, 0), GROUPS), spread((2, 0, 1.5), GROUPS), sd=0.5),
}


def main(horizon: int = 500, replications: int = 1_000, names: Sequence[str] = tuple(SCENARIOS)) -> None:
    """A row for each scenario."""
    print("| scenario | " + " | ".join(POLICIES) + " | ratios to LinTS |", flush=True)
    for name in names:
        started = time.perf_counter()
        trace = simulate(SCENARIOS[name], POLICIES, horizon, replications, engine="reference")
        final = np.stack([trace.final(each) for each in POLICIES])
        mean, error = final.mean(axis=1), final.std(axis=1) / np.sqrt(replications)
        apart = (final[1:] - final[:1]).std(axis=1) / np.sqrt(replications) / mean[0]
        cells = " | ".join(f"{m:.1f} ± {e:.1f}" for m, e in zip(mean, error, strict=True))
        ratios = ", ".join(f"{m / mean[0]:.2f} ± {e:.2f}" for m, e in zip(mean[1:], apart, strict=True))
        print(f"| {name} | {cells} | {ratios} |", flush=True)
        print(f"  {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    asked = [*sys.argv[1:3], *("500", "1000")[len(sys.argv[1:3]) :]]
    main(int(asked[0]), int(asked[1]), sys.argv[3:] or tuple(SCENARIOS))
