"""Decisions at the edge: how many a second in process, beside the same over HTTP; and what a lease's length costs.

PYTHONPATH=tests python benchmarks/edge.py [--only pace] [--only regret] [--rounds 5] [--decisions 200000] [--quick]

`pace`: a real `takeup serve` on SQLite, and this process, which is pinned to one core with all its threads: those that
write the spool, send batches and renew the lease run meanwhile. In each round decisions are made without a break (the
rate, by the clock and by the processor time of all threads), with a look at the clock before and after each, with a
sync before each answer by one thread and by many, and over HTTP one after the other; before the next begins everything
is sent, which is timed too. In the end every decision must be in the log once.

`regret`: two arms of 0.62 and 0.64, of which 85 % follow the proposal, 1,000 decisions a second for half an hour,
decided one by one and from leases of 1, 30 and 600 seconds. A lease is a batch: what was decided under one is learnt,
with its outcomes, when the next begins. (An edge asks for the next when half of one is over, which is kinder.)
"""

import argparse
import gc
import math
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import edges
from serving import Served, served
from takeup import TS, Reporting, TSRobust, simulate
from takeup.client import Client, Edge, RemoteTrial
from workloads import environment

RATE = 1_000
"""Decisions a second of the regret."""
LEASES = (1, 30, 600)
HALF_HOUR = 1_800
THREADS = 32
KEPT = 1_000
"""How many decisions of a run are asked for again, and looked for in the log with their proposals."""
SPEC = {**edges.SPEC, "edge": {"allowed": True, "seconds": 600, "most": 100_000_000}}


class Took(NamedTuple):
    """Decisions of one round: how many a second, and how many microseconds each, where they were timed.

    Attributes:
        rate: by the clock.
        quantiles: p50, p99 and p99.9.
        core: how many a second of processor time, of all threads of this process; 0 where nobody looked.
    """

    rate: float
    quantiles: tuple[float, float, float] | None = None
    core: float = 0.0


def quantiles(nanoseconds: Sequence[int]) -> tuple[float, float, float]:
    """The median, the 99th and the 99.9th percentile, in microseconds."""
    found = np.quantile(np.array(nanoseconds) / 1_000, (0.5, 0.99, 0.999))
    return float(found[0]), float(found[1]), float(found[2])


def straight(decide: Callable[[str, int], object], units: Sequence[str]) -> Took:
    """One after the other, without looking at the clock between them."""
    gc.collect()
    began, busy = time.perf_counter(), time.process_time()
    for unit in units:
        decide(unit, 0)
    clock, busy = time.perf_counter() - began, time.process_time() - busy
    return Took(len(units) / clock, core=len(units) / busy)


def timed(decide: Callable[[str, int], object], units: Sequence[str]) -> Took:
    """One after the other, each by the clock."""
    gc.collect()
    clock, took = time.perf_counter_ns, []
    for unit in units:
        began = clock()
        decide(unit, 0)
        took.append(clock() - began)
    return Took(1e9 * len(units) / sum(took), quantiles(took))


def crowd(decide: Callable[[str, int], object], units: Sequence[str], threads: int) -> Took:
    """By many threads at once, each decision by the clock."""
    took: list[int] = []

    def work(some: Sequence[str]) -> None:
        mine = []
        for unit in some:
            began = time.perf_counter_ns()
            decide(unit, 0)
            mine.append(time.perf_counter_ns() - began)
        took.extend(mine)

    workers = [threading.Thread(target=work, args=(units[i::threads],)) for i in range(threads)]
    began = time.perf_counter()
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return Took(len(units) / (time.perf_counter() - began), quantiles(took))


def pace(rounds: int, decisions: int) -> bool:
    """Whether every decision is in the log once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(folder / "trials.db", folder, "--rate", "1000000") as server:
            key = server.key(*edges.SCOPES)
            trial = server.trial(SPEC, key)
            if hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            found, given = _rounds(server, key, trial, folder, rounds, decisions)
            for what, took in found.items():
                _tell(what, took)
            wrong = edges.lost(server.database, trial, given)
    print(f"{len(given)} decisions were given; missing or wrong in the log: {len(wrong)} {wrong[:3]}")
    return not wrong


def _rounds(
    server: Served, key: str, trial: str, folder: Path, rounds: int, decisions: int
) -> tuple[dict[str, list[Took]], dict[str, str]]:
    found: dict[str, list[Took]] = {}
    given: dict[str, str] = {}
    with (
        Client(server.url, key) as client,
        Edge(client, trial, spool=folder / "plain") as plain,
        Edge(client, trial, spool=folder / "synced", sync=True) as synced,
        RemoteTrial(client, trial) as remote,
    ):
        for number in range(rounds):
            runs: list[tuple[str, Edge | RemoteTrial, int, Callable[..., Took]]] = [
                ("in process", plain, decisions, straight),
                ("in process, each timed", plain, decisions, timed),
                ("a sync before each answer, 1 thread", synced, max(100, decisions // 400), timed),
                (f"a sync before each answer, {THREADS} threads", synced, max(THREADS, decisions // 40), _many),
                ("over HTTP, 1 connection", remote, max(100, decisions // 400), timed),
            ]
            for what, by, many, run in runs:
                units = [f"{number} {what} {i}" for i in range(many)]
                began, before = time.perf_counter(), plain.ingested.recorded
                found.setdefault(what, []).append(run(by.decide, units))
                while not (plain.flush(60) and synced.flush(60)):
                    pass
                if run is straight:
                    sent = (plain.ingested.recorded - before) / (time.perf_counter() - began)
                    found.setdefault("decided, sent and recorded", []).append(Took(sent))
                given |= {unit: by.decide(unit, 0).proposal for unit in units[-KEPT:]}
        assert plain.ingested.set_aside == synced.ingested.set_aside == 0, (plain.ingested, synced.ingested)
    return found, given


def _many(decide: Callable[[str, int], object], units: Sequence[str]) -> Took:
    return crowd(decide, units, THREADS)


def _tell(what: str, took: list[Took]) -> None:
    rates = [each.rate for each in took]
    print(f"{what}: {statistics.median(rates):,.0f} a second ({min(rates):,.0f} to {max(rates):,.0f})", end="")
    if took[0].core:
        print(f"; {statistics.median(each.core for each in took):,.0f} a second of processor time", end="")
    timed_ones = [each.quantiles for each in took if each.quantiles is not None]
    if timed_ones:
        p50, p99, p999 = (statistics.median(column) for column in zip(*timed_ones, strict=True))
        print(f"; p50 {p50:,.1f}, p99 {p99:,.1f}, p99.9 {p999:,.1f} microseconds", end="")
    print(flush=True)


def regret(seconds: int, replications: dict[str, int]) -> bool:
    """Tell the regret of each policy by the length of its leases, with errors of one standard deviation."""
    truth, horizon = environment("w2"), RATE * seconds
    print(f"two arms of 0.62 and 0.64, 85 % follow; {RATE:,} decisions a second for {seconds:,} s; mean regret (error)")
    for policy in (TS(), TSRobust()):
        many = replications[policy.name]
        for lease in (0, *LEASES):
            began = time.perf_counter()
            reporting = Reporting(batch=max(1, RATE * lease))
            final = simulate(truth, policy, horizon, many, seed=1, engine="cpu", reporting=reporting).final(policy.name)
            error = final.std(ddof=1) / math.sqrt(many)
            what = f"leases of {lease} s" if lease else "one by one"
            print(
                f"{policy.name}, {what}: {final.mean():,.0f} ({error:,.0f}), {many} replications,"
                f" {time.perf_counter() - began:.0f} s",
                flush=True,
            )
    return True


def main() -> None:
    """Run the parts, and fail if a decision is lost."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", choices=["pace", "regret"], help="One part; repeatable.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--decisions", type=int, default=200_000)
    parser.add_argument("--replications", type=int, default=128, help="Of TS; TS-Robust gets half.")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rounds, chosen.decisions, chosen.replications = 2, 20_000, 16
    parts: dict[str, Callable[[], bool]] = {
        "regret": lambda: regret(HALF_HOUR, {"TS": chosen.replications, "TS-Robust": max(2, chosen.replications // 2)}),
        "pace": lambda: pace(chosen.rounds, chosen.decisions),
    }
    passed = [parts[name]() for name in chosen.only or parts]
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()
