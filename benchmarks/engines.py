"""Decisions a second: takeup's kernels beside numpy and the libraries of the package index, interleaved in one run.

`--before PATH` takes another version instead, a checkout whose sources run in a process of their own.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

import versions
import workloads
from takeup import TS, TSLat, TSObs, WarmTSLat

Contender = Callable[[int], int]
"""Runs with a seed, returns how many decisions it made."""


def contenders() -> dict[str, dict[str, Contender]]:
    """By workload and name; the slow ones make fewer decisions, as many as last about a second."""
    return {
        "w1": {
            "takeup": lambda seed: workloads.takeup("w1", TS(), seed),
            "numpy": lambda seed: workloads.numpy_ts("w1", seed, 2_000),
            "mabwiser": lambda seed: workloads.mabwiser("w1", seed, 3_000),
            "river": lambda seed: workloads.river("w1", seed, 30_000),
            "pymab": lambda seed: workloads.pymab("w1", seed, 10_000),
        },
        "w1_ts_obs": {
            "takeup": lambda seed: workloads.takeup("w1", TSObs(), seed),
            "numpy": lambda seed: workloads.numpy_ts_obs("w1", seed, 500),
        },
        "w1_numbers": {
            "takeup": lambda seed: workloads.takeup("w1_numbers", TS(), seed),
            "numpy": lambda seed: workloads.numpy_ts_numbers(seed, 2_000),
        },
        "w2": {
            "takeup": lambda seed: workloads.takeup("w2", TS(), seed),
            "numpy": lambda seed: workloads.numpy_ts("w2", seed, 1_000),
            "mabwiser": lambda seed: workloads.mabwiser("w2", seed, 3_000),
            "river": lambda seed: workloads.river("w2", seed, 30_000),
            "pymab": lambda seed: workloads.pymab("w2", seed, 20_000),
        },
        "tslat": {
            "cold": lambda seed: workloads.takeup_latent(TSLat(), 2_000, 100, seed),
            "warm": lambda seed: workloads.takeup_latent(WarmTSLat(), 2_000, 100, seed),
            "warm, T = 1,000": lambda seed: workloads.takeup_latent(WarmTSLat(), 1_000, 200, seed),
            "warm, T = 100,000": lambda seed: workloads.takeup_latent(WarmTSLat(), 100_000, 2, seed),
        },
    }


def main() -> None:
    """Print medians with their spread, or the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", help="one workload, such as w1_numbers")
    parser.add_argument("--before", type=Path, help="a checkout of another version, to compare this one with")
    options = parser.parse_args()
    if options.before is not None:
        for line in versions.compare(options.before, options.rounds, options.only):
            print(line, flush=True)
        return
    chosen = {name: each for name, each in contenders().items() if options.only in (None, name)}
    for each in chosen.values():
        for run in each.values():
            run(0)  # compiles, imports, fills caches
    speeds: dict[str, dict[str, list[float]]] = {w: {name: [] for name in each} for w, each in chosen.items()}
    for seed in range(1, options.rounds + 1):
        for workload, each in chosen.items():
            for name, run in each.items():
                began = time.perf_counter()
                decisions = run(seed)
                speeds[workload][name].append(decisions / (time.perf_counter() - began))
    medians = {w: {name: statistics.median(s) for name, s in by.items()} for w, by in speeds.items()}
    if options.json:
        print(json.dumps(medians))
        return
    table = Table(title=f"Decisions a second, median of {options.rounds} interleaved rounds")
    for column in ("workload", "who", "median", "from", "to", "takeup is faster by"):
        table.add_column(column, justify="left" if column in ("workload", "who") else "right")
    for workload, measured in speeds.items():
        for name, runs in measured.items():
            ratios = sorted(ours / theirs for ours, theirs in zip(measured.get("takeup", runs), runs, strict=True))
            ratio = f"{statistics.median(ratios):.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})"
            row = (f"{statistics.median(runs):,.0f}", f"{min(runs):,.0f}", f"{max(runs):,.0f}")
            table.add_row(workload, name, *row, "" if name == "takeup" or workload == "tslat" else ratio)
        table.add_section()
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
