"""Many clients at once, and what is lost of what they were told."""

import asyncio
import contextlib
import itertools
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import load
from takeup.live import audit
from takeup.store import looking, reading

SPEC: dict[str, Any] = {"name": "Load", "space": {"proposals": 3, "contexts": 2}, "policy": {"kind": "TSObs"}}
IN_FLIGHT = b"urn:takeup:in-flight"
AGAIN = 0.002


class Crowd:
    """Connections that share the work."""

    def __init__(self, ports: Sequence[int], requests: load.Requests) -> None:
        self._ports, self.requests = ports, requests

    async def run(
        self, connections: int, tasks: Sequence[Callable[["Crowd", load.Connection], Awaitable[None]]]
    ) -> None:
        """Every task once, in order, on whichever connection is free."""
        waiting = iter(tasks)

        async def work(port: int) -> None:
            connection = await load.Connection.open(port)
            try:
                for task in waiting:
                    await task(self, connection)
            finally:
                await connection.close()

        ports = [self._ports[i % len(self._ports)] for i in range(connections)]
        await asyncio.gather(*(work(port) for port in ports))

    async def ask(self, connection: load.Connection, what: str, body: dict[str, Any], key: str) -> Any:
        """The answer, asking again as long as another request with the same key is on its way."""
        while True:
            status, answer = await connection.ask(self.requests.post(what, body, key))
            if status == 200:
                return json.loads(answer)
            assert status == 409, answer
            assert IN_FLIGHT in answer, answer
            await asyncio.sleep(AGAIN)


Task = Callable[[Crowd, load.Connection], Awaitable[None]]


async def keys_at_once(crowd: Crowd, keys: int, times: int) -> dict[str, set[str]]:
    """Send every key so many times, on 64 connections; the answers to each."""
    answers: dict[str, set[str]] = {}

    def task(i: int) -> Task:
        async def send(crowd: Crowd, connection: load.Connection) -> None:
            body = {"unit": f"k{i}", "context": i % 2}
            answer = await crowd.ask(connection, "decisions", body, f"key {i}")
            answers.setdefault(f"key {i}", set()).add(json.dumps(answer))

        return send

    order = [i for first in range(0, keys, 64) for _ in range(times) for i in range(first, min(first + 64, keys))]
    await crowd.run(64, [task(i) for i in order])
    return answers


async def units_at_once(crowd: Crowd, units: int, times: int) -> dict[str, set[int]]:
    """Ask for every unit so many times under other keys; the decision numbers of each."""
    numbers: dict[str, set[int]] = {}

    def task(i: int, again: int) -> Task:
        async def send(crowd: Crowd, connection: load.Connection) -> None:
            body = {"unit": f"u{i}", "context": i % 2}
            answer = await crowd.ask(connection, "decisions", body, f"unit {i}, {again}")
            numbers.setdefault(f"u{i}", set()).add(answer["number"])

        return send

    await crowd.run(64, [task(i, again) for i in range(units) for again in range(times)])
    return numbers


@dataclass
class Acknowledged:
    """What the service has said it has done."""

    decided: list[tuple[int, str, str]] = field(default_factory=list)
    reported: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.decided) + len(self.reported)


async def acknowledging(said: Acknowledged, before: int = 0) -> None:
    """Until more than this has been acknowledged, however busy the machine."""
    while len(said) <= before:
        await asyncio.sleep(0.01)


async def decide_and_report(
    port: int, requests: load.Requests, run: str, said: Acknowledged, over: asyncio.Event
) -> None:
    """Sixteen clients, one decision and one report after the other, until it is over or the line is dead."""

    async def client(name: int) -> None:
        connection = await load.Connection.open(port)
        try:
            for i in itertools.count():
                if over.is_set():
                    break
                await both(connection, requests, f"{run}-{name}-{i}", i, said)
        finally:
            await connection.close()

    async def until_it_breaks(name: int) -> None:
        with contextlib.suppress(OSError):
            await client(name)

    await asyncio.gather(*(until_it_breaks(name) for name in range(16)))


async def both(connection: load.Connection, requests: load.Requests, unit: str, i: int, said: Acknowledged) -> None:
    """One decision and its report, each under a key of its own; asked again it is the same."""
    status, answer = await connection.ask(requests.post("decisions", {"unit": unit, "context": i % 2}, f"d{unit}"))
    refuse(status, answer)
    decision = json.loads(answer)
    said.decided.append((decision["number"], unit, decision["proposal"]))
    report = {"decision": decision["number"], "implemented": i % 3, "outcome": i % 2}
    status, answer = await connection.ask(requests.post("reports", report, f"r{unit}"))
    refuse(status, answer)
    said.reported.append((json.loads(answer)["sequence"], f"r{unit}"))


def refuse(status: int, answer: bytes) -> None:
    """Only success, or that the service cannot do it now, in the words that it promised."""
    if status == 503:
        assert json.loads(answer)["type"] == "urn:takeup:unavailable", answer
        raise UnavailableError
    assert status == 200, answer


class UnavailableError(OSError):
    """The service says that it cannot do it now."""


def lost(database: str | Path, trial: str, said: Acknowledged) -> list[str]:
    """What was acknowledged and is not in the log exactly once; and what an audit finds."""
    with looking(database) as connection:
        found = audit(connection, trial)
        decided: Counter[tuple[int, str, str]] = Counter()
        reported: Counter[tuple[int, str]] = Counter()
        for logged in reading.log(connection, trial):
            body = json.loads(logged.body)
            if logged.kind == "decided":
                decided[body["number"], body["unit"], body["proposal"]] += 1
            elif logged.kind == "reported":
                reported[logged.sequence, body["key"]] += 1
    units = Counter(unit for _, unit, _ in decided.elements())
    missing = [f"decision {each}" for each in said.decided if decided[each] != 1]
    missing += [f"report {each}" for each in said.reported if reported[each] != 1]
    keys = Counter(key for _, key in reported.elements())
    twice = [f"{name} twice" for name, times in (units + keys).items() if times > 1]
    return [*missing, *twice, *([] if found.passed else [str(found.difference)])]
