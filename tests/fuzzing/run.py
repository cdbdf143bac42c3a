"""A service, its furniture and its probe; cases on many connections; and what is looked at in the end."""

import asyncio
import itertools
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzzing import requests
from fuzzing.aftermath import Resources, audits, causes, resources
from fuzzing.broken import PAUSE, broken
from fuzzing.client import Client, FailedError, Failure, Tally, kind_of
from fuzzing.furniture import Furniture, furnish
from fuzzing.lives import specs
from fuzzing.probe import alive, children
from fuzzing.raw import raw
from fuzzing.values import Dice
from fuzzing.watching import Watch
from serving import Served

SHARES = {"specs": 12, "bodies": 28, "text": 16, "broken": 12, "paths": 14, "forms": 8, "raw": 8, "large": 2}
"""How many of a hundred cases are of each family."""
PLAIN: dict[str, Callable[[Dice, Furniture, str], bytes]] = {
    "bodies": requests.bodies,
    "text": requests.text,
    "paths": requests.paths,
    "forms": requests.forms,
    "large": requests.large,
}
_ORDER = [family for family, share in SHARES.items() for _ in range(share)]
END_SECONDS, ORPHAN_SECONDS = 60.0, 10.0
"""How long a service may take to end, and what it has started to end after it."""
LEAVE_SECONDS = 30.0
"""How long it may take to close what those who have left had open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is done.

    Attributes:
        folder: for databases and logs.
        database: a URL, or None for a SQLite file in the folder.
        seed: what all chance comes from.
        cases: how many.
        first: the number of the first.
        only: the families that are wanted.
        seconds: when to stop at the latest.
        connections: how many clients there are at once.
        fresh: after so many cases a new service begins, with a new database.
        patience: seconds after which an answer will not come: a spec may wait for its turn and its check for 40, an
            audit of a long log takes its time.
        lost: a service that leaves the probe so many seconds is replaced.
        control: for how many seconds the probe asks before anything else happens.
        environment: variables of the service; they may take a protection away, to see that this would be noticed.
    """

    folder: Path
    database: str | None = None
    seed: int = 1
    cases: int = 200_000
    first: int = 0
    only: tuple[str, ...] = tuple(SHARES)
    seconds: float = float("inf")
    connections: int = 16
    fresh: int = 50_000
    patience: float = 120.0
    lost: float = 30.0
    control: float = 10.0
    environment: Mapping[str, str] | None = None

    @property
    def numbers(self) -> Iterator[int]:
        """The numbers of the cases."""
        wanted = (number for number in itertools.count(self.first) if family_of(number) in self.only)
        return itertools.islice(wanted, self.cases)


@dataclass(slots=True)
class Result:
    """What was found.

    Attributes:
        tallies: by family.
        failures: what the service should not have done.
        watches: what the probe saw, one for each service.
        resources: what each service had open and in memory, at its beginning and at its end.
        warnings: what else is in the services' logs.
        audited: how many trials the audits in the end looked at.
        seconds: how long the fuzzing took.
    """

    tallies: dict[str, Tally] = field(default_factory=lambda: {family: Tally() for family in SHARES})
    failures: list[Failure] = field(default_factory=list)
    watches: list[Watch] = field(default_factory=list)
    resources: list[tuple[Resources, Resources]] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    audited: int = 0
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        """How many there were."""
        return sum(tally.cases for tally in self.tallies.values())


def family_of(number: int) -> str:
    """The family of a case, which its number alone decides."""
    return _ORDER[number * 37 % len(_ORDER)]


async def play(client: Client, seed: int, number: int, tally: Tally) -> None:
    """One case: a pure function of the seed and the number, but for the texts of keys."""
    family, dice, mark = family_of(number), Dice(seed, number), f"f{seed}-{number}"
    client.begin(f"{seed}:{number}", family, tally)
    if family == "specs":
        await specs(client, dice, mark)
    elif family == "raw":
        answers = await client.shout(raw(dice, client.furniture, client.id), stay=dice.chance(0.8))
        kinds = {kind_of(answer) for answer in answers if answer.status >= 400}
        tally.accepted += any(answer.status < 400 for answer in answers)
        tally.refused.update(kinds if answers else {"no answer"})
    elif family == "broken":
        case = broken(dice, client.furniture, client.id)
        if len(case.pieces) > 1 or not case.ends:
            dripped = await client.drip(case.pieces, PAUSE, ends=case.ends)
        else:
            dripped = await client.send(case.pieces[0])
        tally.accepted += dripped is not None and dripped.status < 400
        if dripped is None or dripped.status >= 400:
            tally.refused["no end" if dripped is None else kind_of(dripped)] += 1
    else:
        answer = await client.send(PLAIN[family](dice, client.furniture, client.id))
        if answer.status < 400:
            tally.accepted += 1
        else:
            tally.refused[kind_of(answer)] += 1


async def fuzz(plan: Plan, told: Callable[[int], None] = lambda done: None) -> Result:
    """Play all cases, on one service after the other."""
    result, numbers, began = Result(), plan.numbers, time.monotonic()
    until = began + plan.seconds
    while some := list(itertools.islice(numbers, plan.fresh)):
        while some and time.monotonic() < until:
            some = await _era(plan, some, result, until, told)
    result.seconds = time.monotonic() - began
    return result


async def _era(plan: Plan, numbers: list[int], result: Result, until: float, told: Callable[[int], None]) -> list[int]:
    """Play cases on a new service until all are played or the service is lost; those that are left."""
    folder = plan.folder / f"service{len(result.watches)}"
    folder.mkdir()
    database = plan.database or str(folder / "trials.db")
    server = await asyncio.to_thread(Served, database, folder, ["--rate", "1000000"], 0, plan.environment)
    waiting = iter(numbers)
    try:
        furniture = await furnish(server)
        async with _watched(server, furniture) as watch:
            result.watches.append(watch)
            await asyncio.sleep(plan.control)
            await watch.begin("fuzz")
            before = resources(server)
            clients = [Client(server.port, furniture, result.failures, plan.patience) for _ in range(plan.connections)]

            async def work(client: Client) -> None:
                for number in waiting:
                    with watch.busy(f"{plan.seed}:{number}", family_of(number)), suppress(FailedError):
                        await play(client, plan.seed, number, result.tallies[family_of(number)])
                    told(1)
                    if time.monotonic() > until:
                        return

            lost = await _unless(watch.lost(server, plan.lost), [work(client) for client in clients])
            for client in clients:
                client.close()
            await watch.begin("after")
            result.failures += watch.failures + ([] if lost is None else [lost])
            if lost is None:
                await _leave(server, before, result)
    finally:
        _end(server, result)
    result.audited += await asyncio.to_thread(audits, database, result.failures)
    result.failures[:], warnings = causes(server.log, result.failures)
    result.warnings += warnings
    return list(waiting)


async def _unless(watching: Coroutine[Any, Any, Failure], work: list[Coroutine[Any, Any, None]]) -> Failure | None:
    """Do all this work, unless a failure is noticed first that makes it futile."""
    noticing, working = asyncio.ensure_future(watching), asyncio.ensure_future(_all(work))
    try:
        await asyncio.wait([noticing, working], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            return noticing.result()
        working.result()
        return None
    finally:
        noticing.cancel()
        working.cancel()
        await asyncio.gather(noticing, working, return_exceptions=True)


async def _all(work: list[Coroutine[Any, Any, None]]) -> None:
    async with asyncio.TaskGroup() as group:
        for each in work:
            group.create_task(each)


async def _leave(server: Served, before: Resources, result: Result) -> None:
    """What must be so when all is over: ready, nothing under way, nothing left open."""
    until, leaks = time.monotonic() + LEAVE_SECONDS, before.leaks(resources(server))
    while leaks and time.monotonic() < until:
        await asyncio.sleep(0.2)
        leaks = before.leaks(resources(server))
    status, said = await asyncio.to_thread(server.request, "GET", "/ready")
    if status != 200:
        result.failures.append(Failure("", "after", "it is not ready", b"GET /ready", str(said), ""))
    after = resources(server)
    result.resources.append((before, after))
    for what in leaks:
        result.failures.append(Failure("", "after", what, b"", "", ""))


def _end(server: Served, result: Result) -> None:
    """SIGTERM, and SIGKILL where that does not help; whatever it has started must end with it."""
    started = children(server.process.pid)
    if server.process.poll() is None:
        server.process.terminate()
        try:
            server.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            result.failures.append(Failure("", "after", "SIGTERM does not end it", b"", f"{END_SECONDS} s", ""))
            server.kill()
    until = time.monotonic() + ORPHAN_SECONDS
    while (left := [each for each in started if alive(each)]) and time.monotonic() < until:
        time.sleep(0.1)
    for each in left:
        result.failures.append(Failure("", "after", "a process is left behind", b"", str(each), ""))
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


@asynccontextmanager
async def _watched(server: Served, furniture: Furniture) -> AsyncIterator[Watch]:
    """The probe, in a process of its own."""
    tests = str(Path(__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    process = await asyncio.create_subprocess_exec(
        *Watch.command(server, furniture.key("all")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
    )
    watch = Watch(process)
    reading = asyncio.create_task(watch.read())
    try:
        yield watch
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading
