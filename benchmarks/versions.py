"""Two versions of takeup beside each other: each in a process of its own, which runs workloads as it is told to.

A process takes lines of JSON, a workload's name and a seed, and answers with its decisions, seconds by the clock and of
processors, and the sum of the regrets. It imports what every version has.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import takeup
from takeup import TS, Environment, Reporting, TSLat, TSObs, TSRobust, WarmTSLat, World, simulate


class Workload(NamedTuple):
    """A policy among arms whose successes are these, of which 85 % do what is proposed."""

    policy: Any
    success: tuple[float, ...]
    horizon: int
    replications: int
    seen: float = 1.0


SIX, TWO = (0.615, 0.620, 0.625, 0.630, 0.635, 0.640), (0.62, 0.64)
WORKLOADS = {
    "W1, TS": Workload(TS(), SIX, 20_000, 500),
    "W1, TS-Obs": Workload(TSObs(), SIX, 20_000, 500),
    "W2, TS": Workload(TS(), TWO, 10_000, 2_100),
    "TS-Lat-0 cold, two arms, T = 2,000, none seen": Workload(TSLat(), TWO, 2_000, 100, 0),
    "TS-Lat-0 warm, the same": Workload(WarmTSLat(), TWO, 2_000, 100, 0),
    "TS-Lat-0 by Gibbs sampling, T = 200, the same": Workload(TSLat(inference="gibbs"), TWO, 200, 500, 0),
    "TS-Robust, two arms, T = 2,000, all seen": Workload(TSRobust(), TWO, 2_000, 100),
    "TS-Robust, the arms of W1, T = 2,000, all seen": Workload(TSRobust(), SIX, 2_000, 32),
}


class Run(NamedTuple):
    """One run of a workload."""

    decisions: int
    clock: float
    processors: float
    regret: float


Version = Callable[[str, int], Run]
"""Runs a workload with a seed."""


def measure(name: str, seed: int) -> Run:
    """One run by the takeup of this process."""
    policy, success, horizon, replications, seen = WORKLOADS[name]
    arms = len(success)
    follows = np.full((arms, arms), 0.15 / (arms - 1))
    np.fill_diagonal(follows, 0.85)
    truth, reporting = Environment.from_world(World.bernoulli(follows, success)), Reporting(compliance=seen)
    began, busy = time.perf_counter(), time.process_time()
    trace = simulate(truth, policy, horizon, replications, seed, engine="cpu", reporting=reporting)
    took = time.perf_counter() - began, time.process_time() - busy
    return Run(horizon * replications, *took, float(trace.regret.sum()))


@contextmanager
def version(checkout: Path) -> Iterator[Version]:
    """The takeup of a checkout in a process of its own, with a kernel cache of its own."""
    source = checkout.resolve() / "src"
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"PYTHONPATH": str(source), "TAKEUP_CACHE_DIR": cache}
        command = [sys.executable, __file__]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            there = json.loads(process.stdout.readline())
            if not Path(there).is_relative_to(source):
                raise SystemExit(f"{source} holds no takeup: {there} was imported")

            def run(name: str, seed: int) -> Run:
                assert process.stdin is not None
                assert process.stdout is not None
                print(json.dumps([name, seed]), file=process.stdin, flush=True)
                return Run(*json.loads(process.stdout.readline()))

            yield run
            process.stdin.close()


def compare(before: Path, rounds: int, only: str | None = None) -> Iterator[str]:
    """A table in Markdown, line by line: medians, and ratios taken round by round with their spread."""
    now = Path(__file__).parents[1]
    yield "| decisions a second | before | now | faster by, processor time | by the clock | numbers |"
    yield "|---|---|---|---|---|---|"
    with ExitStack() as stack:
        old, new = (stack.enter_context(version(each)) for each in (before, now))
        for name in WORKLOADS:
            if only not in (None, name):
                continue
            for each in (old, new):
                each(name, 0)  # compiles
            pairs = [(old(name, seed), new(name, seed)) for seed in range(1, rounds + 1)]
            speeds = [
                statistics.median(each.decisions / each.clock for each in runs) for runs in zip(*pairs, strict=True)
            ]
            busy = _spread([a.processors / b.processors for a, b in pairs])
            clock = _spread([a.clock / b.clock for a, b in pairs])
            same = "the same" if all(a.regret == b.regret for a, b in pairs) else "others"
            yield f"| {name} | {speeds[0]:,.0f} | {speeds[1]:,.0f} | {busy} | {clock} | {same} |"


def _spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def serve() -> None:
    """What the process of a version does."""
    print(json.dumps(takeup.__file__), flush=True)
    for line in sys.stdin:
        print(json.dumps(measure(*json.loads(line))), flush=True)


if __name__ == "__main__":
    serve()
