"""The figures of docs/robust.md: TS-Robust beside TS, by share of compliance seen, the stroke patients, forgetting.

Usage: python benchmarks/robust.py [replications [engine]] [--seen SHARE ..] [--worlds N] [--world-runs N]
                                   [--seed N] [--seen-only]

The page's table by share seen has more worlds and runs than a CPU makes in an hour. On a GPU:

    python benchmarks/robust.py 4000 gpu --seen-only --seen 1 --worlds 400 --world-runs 200 --seed 20261118
    python benchmarks/robust.py 2000 gpu --seen-only --seen 0.25 --worlds 400 --world-runs 100 --seed 20261118
"""

import argparse
from collections.abc import Sequence
from typing import get_args

from takeup.paper.drift import DriftResult, drift
from takeup.paper.robust import LEAST, Bar, RobustResult, robust
from takeup.paper.robust_seen import SEEN, SeenResult, by_share_seen
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


def judged(bar: Bar) -> str:
    """What was measured, and whether that is at most the limit."""
    return f"{figure(bar.measured, bar.error, 3)}, {'met' if bar.met else 'not met'}"


def show_robust(result: RobustResult) -> None:
    """Verdicts, cells, ratios and trade-off curves."""
    table(["T = 10,000", "limit", "measured"], [[bar.name, f"{bar.limit:g}", judged(bar)] for bar in result.bars])
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
        ["shared", "sharpness", "sweep", "trap", "random, median", "90th percentile", "99th"],
        [
            [f"{s.shared}", f"{s.sharpness:g}", *(figure(bar.measured, bar.error) for bar in s.bars)]
            for s in result.curve
        ],
    )


def show_seen(results: Sequence[SeenResult]) -> None:
    """The bars by share seen, over all worlds and by number of actions, and the worst world."""
    rows = []
    for result in results:
        seen = f"{result.seen:.0%}"
        rows.append([seen, "all", *(f"{judged(bar)} ({bar.limit:g})" for bar in result.bars)])
        rows += [[seen, f"{many}", "", "", *map(judged, bars)] for many, bars in result.by_actions.items()]
    first = results[0]
    print(
        f"{first.replications:,} runs of each p, {4 * first.replications:,} of the trap, {first.worlds:,} worlds of"
        f" each number of actions, {first.world_replications:,} runs in each; the limits are in brackets\n"
    )
    table(["seen", "actions", "sweep", "trap", "worlds, median", "90th percentile", "99th"], rows)
    for result in results:
        worst = result.worst
        print(
            f"worst with {result.seen:.0%} seen: {worst['world']} of {worst['actions']} actions,"
            f" {figure(worst['ratio'], worst['ratio_error'])} times TS"
        )
    print()


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


def main() -> None:
    """Everything, or the table by share seen alone."""
    parser = argparse.ArgumentParser(description="The figures of docs/robust.md.")
    parser.add_argument("replications", type=int, nargs="?", default=1000, help="runs of each p of the sweep")
    parser.add_argument("engine", nargs="?", default="auto", choices=get_args(EngineName))
    parser.add_argument("--seen", type=float, nargs="+", default=SEEN, help="shares of compliance seen")
    parser.add_argument("--worlds", type=int, default=40, help="random worlds of each number of actions, by share seen")
    parser.add_argument("--world-runs", type=int, default=20, help="runs in each of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seen-only", action="store_true", help="the table by share seen alone, with all replications")
    asked = parser.parse_args()
    run = Runner(asked.replications, asked.seed, asked.engine)
    by_share = run if asked.seen_only else run.times(max(run.replications // 4, LEAST))
    show_seen(by_share_seen(by_share, seen=asked.seen, worlds=asked.worlds, world_replications=asked.world_runs))
    if asked.seen_only:
        return
    show_robust(robust(run))
    show_patients(patients(run.times(max(run.replications // 2, 2))))
    show_drift(drift(run.times(max(run.replications // 5, 2))))


if __name__ == "__main__":
    main()
