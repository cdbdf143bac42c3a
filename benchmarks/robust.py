"""The figures of docs/robust.md: TS-Robust beside TS, the stroke patients, and forgetting.

Usage: python benchmarks/robust.py [replications [engine]]
"""

import sys
from collections.abc import Sequence
from typing import cast

from takeup.paper.drift import DriftResult, drift
from takeup.paper.robust import RobustResult, robust
from takeup.paper.robust_stroke import PatientsResult, patients
from takeup.paper.runner import Runner
from takeup.simulation.run import EngineName


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table in Markdown."""
    for row in (columns, ["---"] * len(columns), *rows):
        print("| " + " | ".join(row) + " |")
    print()


def figure(value: float, error: float, digits: int = 2) -> str:
    """A figure with its Monte Carlo error."""
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def show_robust(result: RobustResult) -> None:
    """Verdicts, cells, ratios and trade-off curves."""
    verdict = {True: "met", False: "not met"}
    table(
        ["T = 10,000", "limit", "measured"],
        [
            [bar.name, f"{bar.limit}", f"{figure(bar.measured, bar.error, 3)}, {verdict[bar.met]}"]
            for bar in result.bars
        ],
    )
    cells = {(cell.where, cell.policy): cell for cell in result.cells}
    rows = []
    for where in dict.fromkeys(cell.where for cell in result.cells):
        ts, obs, ours = (cells[where, policy] for policy in ("TS", "TS-Obs", "TS-Robust"))
        regrets = [figure(each.regret, each.regret_error) for each in (ts, obs, ours)]
        rows.append([where, *regrets, figure(obs.ratio, obs.ratio_error), figure(ours.ratio, ours.ratio_error)])
    table(["world", "TS", "TS-Obs", "TS-Robust", "TS-Obs / TS", "TS-Robust / TS"], rows)
    ratios = sorted(cell.ratio for cell in result.worlds)
    print(
        "held-out worlds, ratios:",
        *(f"{q:.0%} {ratios[int(q * (len(ratios) - 1))]:.2f}" for q in (0.05, 0.25, 0.75, 1)),
    )
    table(
        ["shared", "sharpness", "sweep", "trap", "random, median", "random, 90th percentile"],
        [
            [f"{s.shared}", f"{s.sharpness:g}", *(figure(bar.measured, bar.error) for bar in s.bars)]
            for s in result.curve
        ],
    )


def show_patients(result: PatientsResult) -> None:
    """Excess successes."""
    rows = [
        [gain.outcome, gain.policy, figure(gain.excess, gain.error, 1), figure(gain.over_ts, gain.over_ts_error, 1)]
        for gain in result.gains
    ]
    table(["outcome", "policy", "excess over Uniform", "over TS"], rows)


def show_drift(result: DriftResult) -> None:
    """Regret by phase."""
    rows = [
        [cost.policy, cost.where, figure(cost.regret, cost.regret_error, 1), figure(cost.ratio, cost.ratio_error)]
        for cost in result.costs
    ]
    table(["policy", "phase", "regret", "ratio to the base"], rows)


def main(replications: int = 1000, engine: EngineName = "auto") -> None:
    """Everything."""
    run = Runner(replications, engine=engine)
    show_robust(robust(run))
    show_patients(patients(run.times(max(replications // 2, 2))))
    show_drift(drift(run.times(max(replications // 5, 2))))


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 1000, cast("EngineName", given[1]) if given[1:] else "auto")
