"""Load on a service: at a pace that does not wait for answers, or as much as it takes."""

import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import load
from load_clients import Acknowledged

ARMS, CONTEXTS = 6, 4
AHEAD = 1.0
"""Reports begin so many seconds after decisions."""


@dataclass
class Seen:
    """One kind of request: when each was due, how long its answer took, and what was no success."""

    due: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        """In milliseconds."""
        return 1_000 * float(np.quantile(self.seconds, share))

    @property
    def rate(self) -> float:
        """Answers a second, from when the first was due to when the last one came."""
        ends = [due + seconds for due, seconds in zip(self.due, self.seconds, strict=True)]
        return len(ends) / (max(ends) - min(self.due))

    def windows(self, length: float, share: float) -> tuple[float, float]:
        """The least and the largest quantile of all stretches of so many seconds, in milliseconds."""
        due, seconds = np.array(self.due), np.array(self.seconds)
        place = ((due - due.min()) // length).astype(int)
        found = [1_000 * float(np.quantile(seconds[place == i], share)) for i in np.unique(place)]
        return min(found), max(found)


def level(i: int) -> int:
    """The outcome of the i-th unit of a trial with two levels."""
    return (i * 3) % 5 % 2


@dataclass
class Load:
    """Decisions and reports for one trial, over connections that are kept open."""

    ports: Sequence[int]
    requests: load.Requests
    connections: int = 256
    outcome: Callable[[int], object] = level
    decisions: Seen = field(default_factory=Seen)
    reports: Seen = field(default_factory=Seen)
    said: Acknowledged = field(default_factory=Acknowledged)
    seconds: float = 0.0
    _free: asyncio.Queue[load.Connection] = field(default_factory=asyncio.Queue)

    async def paced(self, rate: float, seconds: float, name: str) -> None:
        """So many decisions and as many reports a second.

        Every request has a time when it is due, and its latency counts from there: a server that stalls does not stop
        the clock. A report is due when its decision has been answered, at the earliest.
        """
        async with self.connected(), _undisturbed(), asyncio.TaskGroup() as group:
            begun, total = time.perf_counter(), round(rate * seconds)
            answered: asyncio.Queue[tuple[int, int, float]] = asyncio.Queue()

            async def ask(i: int, due: float) -> None:
                number = await self.decide(f"{name}-{i}", i, due)
                await answered.put((i, number, time.perf_counter()))

            async def decide() -> None:
                for i in range(total):
                    await _until(begun + i / rate)
                    group.create_task(ask(i, begun + i / rate))

            async def report() -> None:
                for n in range(total):
                    due = begun + AHEAD + n / rate
                    await _until(due)
                    i, number, at = await answered.get()
                    if number:
                        group.create_task(self.report(f"{name}-{i}", i, number, max(due, at)))

            group.create_task(decide())
            group.create_task(report())
        self.seconds = time.perf_counter() - begun

    async def flat_out(self, seconds: float, name: str) -> None:
        """One decision and one report after the other on every connection: as much as the service takes."""
        begun = time.perf_counter()

        async def client(c: int) -> None:
            i = 0
            while time.perf_counter() < begun + seconds:
                unit = f"{name}-{c}-{i}"
                number = await self.decide(unit, i, time.perf_counter())
                if number:
                    await self.report(unit, i, number, time.perf_counter())
                i += 1

        async with self.connected(), asyncio.TaskGroup() as group:
            for c in range(self.connections):
                group.create_task(client(c))
        self.seconds = time.perf_counter() - begun

    async def batches(self, seconds: float, size: int, name: str) -> int:
        """Batches, one after the other on every connection; how many decisions were made."""
        begun, made = time.perf_counter(), 0

        async def client(c: int) -> None:
            nonlocal made
            i = 0
            while time.perf_counter() < begun + seconds:
                units = [{"unit": f"{name}-{c}-{i}-{u}", "context": u % CONTEXTS} for u in range(size)]
                request = self.requests.post("decisions/batch", {"units": units}, f"{name}-{c}-{i}")
                answer = await self._send(request, self.decisions, time.perf_counter())
                made += 0 if answer is None else len(answer["decisions"])
                i += 1

        async with self.connected(), asyncio.TaskGroup() as group:
            for c in range(self.connections):
                group.create_task(client(c))
        self.seconds = time.perf_counter() - begun
        return made

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """With all connections open."""
        self._free = asyncio.Queue()
        for i in range(self.connections):
            self._free.put_nowait(await load.Connection.open(self.ports[i % len(self.ports)]))
        try:
            yield
        finally:
            while not self._free.empty():
                await self._free.get_nowait().close()

    async def decide(self, unit: str, i: int, due: float) -> int:
        """The number of the decision; 0 where there is none."""
        asked = {"unit": unit, "context": i % CONTEXTS}
        answer = await self._send(self.requests.post("decisions", asked, f"d{unit}"), self.decisions, due)
        if answer is None:
            return 0
        self.said.decided.append((answer["number"], unit, answer["proposal"]))
        return int(answer["number"])

    async def report(self, unit: str, i: int, number: int, due: float) -> None:
        """What became of a decision."""
        made = {"decision": number, "implemented": (i * 7) % ARMS, "outcome": self.outcome(i)}
        answer = await self._send(self.requests.post("reports", made, f"r{unit}"), self.reports, due)
        if answer is not None:
            self.said.reported.append((answer["sequence"], f"r{unit}"))

    async def _send(self, request: bytes, seen: Seen, due: float) -> Any:
        connection = await self._free.get()
        if connection.closed:  # servers hang up on those who are silent for long
            connection = await load.Connection.open(self.ports[0])
        try:
            status, answer = await connection.ask(request)
        finally:
            self._free.put_nowait(connection)
        seen.due.append(due)
        seen.seconds.append(time.perf_counter() - due)
        if status != 200:
            seen.refused.append(f"{status} {answer.decode(errors='replace')}")
            return None
        return json.loads(answer)


@asynccontextmanager
async def _undisturbed() -> AsyncIterator[None]:
    """Without the collector of garbage, which would stop this process, whose clock it is."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _until(due: float) -> Awaitable[None]:
    return asyncio.sleep(max(0.0, due - time.perf_counter()))
