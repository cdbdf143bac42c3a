"""Load: a pace that must be held, more than can be done, and an hour of it with an eye on memory."""

import asyncio
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import uvloop

import load_clients
from gates import rush
from gates.gate import Found, Gate, Run
from gates.scene import OPTIONS, defective
from load import Requests
from load_kinds import SPEC
from pace import Load, Seen
from serving import Served

PACE, P99 = 500.0, 100.0
"""Decisions a second, and as many reports; milliseconds."""

RUSH, RUSH_P99, CONNECTIONS, KEYS = 8_000, 500.0, 1_900, 8
ALL, FEW, MEASURED = 100_000, 512, 5
"""More a second than anybody asks for, on so many lines and for so many seconds: how many a service takes."""

TRIALS, EVENTS_A_SECOND = 50, 1_000_000 / 3_600
GROWTH = 0.10


def paced(run: Run, *defects: str) -> Found:
    """500 decisions and 500 reports a second for so many seconds."""
    environment = defective(*defects) if defects else None
    server = Served(run.folder / "trials.db", run.folder, OPTIONS, environment=environment)
    try:
        key = server.key("decide", "report", "design")
        trial = server.trial(SPEC, key)
        load = Load([server.port], Requests(trial, key))

        async def go() -> None:
            watching = asyncio.create_task(_progress(run, load.decisions))
            await load.paced(PACE, run.times, "paced")
            watching.cancel()

        uvloop.run(go())
    finally:
        server.stop()
    refused = load.decisions.refused + load.reports.refused
    lost = load_clients.lost(server.database, trial, load.said)
    p99 = max(load.decisions.quantile(0.99), load.reports.quantile(0.99))
    figures = (
        f"{load.decisions.rate:.0f} decisions and {load.reports.rate:.0f} reports a second, {len(load.said):,} in all;"
        f" p50 {load.decisions.quantile(0.5):.0f} ms, p99 {p99:.0f} ms, longest {load.decisions.quantile(1):.0f} ms;"
        f" {len(refused)} refused, {len(lost)} lost"
    )
    fine = not refused and not lost and len(load.said) == 2 * round(PACE * run.times)
    return Found(fine and (p99 < P99 or not run.timed), figures + _first(refused + lost))


def _first(wrong: list[str]) -> str:
    return f": {wrong[0][:160]}" if wrong else ""


async def _progress(run: Run, seen: Seen) -> None:
    while True:
        await asyncio.sleep(1)
        run.step(round(len(seen.seconds) / PACE))


def solitary(run: Run) -> Found:
    """Every request has a transaction for itself."""
    return paced(run, "solitary")


def overloaded(run: Run, *defects: str) -> Found:
    """Twice what the service takes, and eight times the pace that must be held or more, for so many seconds."""
    environment = defective(*defects) if defects else None
    server = Served(run.folder / "trials.db", run.folder, OPTIONS, environment=environment)
    try:
        keys = [server.key("decide", "report", "design") for _ in range(KEYS)]
        trial, other = (server.trial({**SPEC, "name": name}, keys[0]) for name in ("rush", "before"))
        takes = _rushed(run, server, keys, other, ALL, MEASURED, FEW)["statuses"].get("200", 0) / MEASURED
        rate = max(RUSH, round(2 * takes, -2))
        told = _rushed(run, server, keys, trial, rate, run.times, CONNECTIONS)
        ready, _ = server.request("GET", "/ready")
    finally:
        server.stop()
    said = load_clients.Acknowledged(decided=[tuple(each) for each in told["said"]])
    lost = load_clients.lost(server.database, trial, said)
    statuses, away = dict(told["statuses"]), told["broken"]
    accepted = statuses.pop("200", 0)
    shed = statuses.pop("503", 0) + statuses.pop("429", 0)
    waits = 1_000 * np.quantile(told["waits"] or [0.0], (0.5, 0.99))
    figures = (
        f"{rate:,.0f} a second on {CONNECTIONS:,} lines, where {takes:,.0f} are taken on {FEW}:"
        f" {accepted:,} accepted ({accepted / run.times:,.0f} a second),"
        f" p50 {waits[0]:.0f} ms, p99 {waits[1]:.0f} ms; {shed:,} turned away with `Retry-After`,"
        f" {told['unsent']:,} found no free line to the end; {away} broken, {len(lost)} lost; /ready {ready} afterwards"
    )
    odd = f"; answers that must not be: {statuses}" if statuses else ""
    fine = not (statuses or away or lost) and ready == 200 and (shed > 0 or told["unsent"] == 0)
    return Found(fine and (bool(waits[1] < RUSH_P99) or not run.timed), figures + odd)


def _rushed(
    run: Run, server: Served, keys: list[str], trial: str, rate: float, seconds: float, lines: int
) -> dict[str, Any]:
    """What came of so many decisions a second that were asked for."""
    out = run.folder / f"{trial}.json"
    asked = [server.port, trial, rate, seconds, lines, *keys]
    subprocess.run([sys.executable, rush.__file__, str(out), *map(str, asked)], check=True)
    told: dict[str, Any] = json.loads(out.read_text())
    return told


def endless(run: Run) -> Found:
    """Nobody is turned away."""
    return overloaded(run, "endless")


def soaked(run: Run, *defects: str, rate: float = EVENTS_A_SECOND) -> Found:
    """So many events in 50 trials, a million an hour, with an eye on memory."""
    environment = defective(*defects) if defects else None
    server = Served(run.folder / "trials.db", run.folder, OPTIONS, environment=environment)
    seconds = run.times / rate
    try:
        key = server.key("decide", "report", "design")
        names = [server.trial({**SPEC, "name": f"soak {i}"}, key) for i in range(TRIALS)]
        loads = [Load([server.port], Requests(name, key), connections=2) for name in names]
        memory: list[tuple[float, float]] = []

        async def go() -> None:
            watching = asyncio.create_task(_watch(run, server, memory, loads))
            await asyncio.gather(*(load.paced(rate / 2 / TRIALS, seconds, "soak") for load in loads))
            watching.cancel()

        uvloop.run(go())
    finally:
        server.stop()
    refused = [each for load in loads for seen in (load.decisions, load.reports) for each in seen.refused]
    lost: list[str] = []
    for name, load in zip(names, loads, strict=True):
        lost += load_clients.lost(server.database, name, load.said)
    services, writers = ([each[i] for each in memory] for i in (0, 1))
    grown = {"service": _growth(services), "writer": _growth(writers)}
    said = ", ".join(f"{what} {one:.0f} to {other:.0f} MB" for what, (one, other) in grown.items())
    figures = (
        f"{sum(len(load.said) for load in loads):,} events in {TRIALS} trials in {seconds / 60:.0f} minutes; memory:"
        f" {said}; {len(refused)} refused, {len(lost)} lost"
    )
    fine = not refused and not lost
    small = all(other < (1 + GROWTH) * one for one, other in grown.values())
    return Found(fine and (small or not run.timed), figures + _first(refused + lost))


async def _watch(run: Run, server: Served, memory: list[tuple[float, float]], loads: list[Load]) -> None:
    while True:
        await asyncio.sleep(1)
        memory.append((_megabytes(server.process.pid), _megabytes(server.writer())))
        run.step(
            sum(len(load.said) for load in loads), f"service {memory[-1][0]:.0f} MB, writer {memory[-1][1]:.0f} MB"
        )


def _megabytes(pid: int | None) -> float:
    """What a process has of memory for itself, and of what it shares its part."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1_024


def _growth(seen: list[float]) -> tuple[float, float]:
    """The median of the second tenth of the time, and of the last."""
    tenth = max(1, len(seen) // 10)
    return statistics.median(seen[tenth : 2 * tenth] or seen), statistics.median(seen[-tenth:])


def leaky(run: Run) -> Found:
    """The service forgets nothing that it answered."""
    return soaked(run, "leaky")


GATES = (
    Gate(
        name="pace",
        part="load",
        shows="500 decisions and 500 reports a second: p99 below 100 ms from when each is due, errors 0, lost 0",
        unit="seconds",
        times=600,
        suite=2,
        run=paced,
        without="group commit: a transaction a request",
        control=solitary,
        control_times=5,
    ),
    Gate(
        name="overload",
        part="load",
        shows="eight times that, or twice what the service takes if that is more: what is too much is turned away with "
        "429 or 503 and `Retry-After`; those accepted "
        "have a p99 below 500 ms from when each is due, and none of them is lost",
        unit="seconds",
        times=120,
        suite=0,
        run=overloaded,
        without="turning anybody away",
        control=endless,
        control_times=10,
    ),
    Gate(
        name="soak",
        part="load",
        shows="a million events an hour in 50 trials: memory grows by less than a tenth from the second tenth of it "
        "to the last, errors 0, lost 0",
        unit="events",
        times=1_000_000,
        suite=300,
        run=soaked,
        without="forgetting what was answered",
        control=leaky,
        control_times=12_000,
    ),
)
