"""Clients that decide, report and read, ask again under the same keys, and write down what they saw."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import load
from gates.history import Entry, Kind, Operation, wrong
from takeup.live import audit
from takeup.randomness import stream
from takeup.store import looking, reading

SPEC: dict[str, Any] = {"name": "Seen", "space": {"proposals": 3, "contexts": 2}, "policy": {"kind": "TSObs"}}
CLIENTS = 32
PATIENCE = 3.0
"""Seconds that a client waits for an answer before it asks again."""

LIMIT = 150.0
"""Seconds after which a service that answers nothing has not come back."""

PAUSE = 0.2
CROWDED = 8
"""A unit in so many is one that several clients ask for."""


class GoneError(Exception):
    """The service did not come back, or said what it must not say."""


@dataclass
class Clients:
    """A crowd, and what it saw.

    Attributes:
        ports: where the services are; a client keeps to one until it gets no answer there.
        trial: which trial.
        key: an API key.
        seed: of what they do.
        number: how many they are.
        history: what they saw.
        unanswered: how often one got no answer, or was told to ask again.
        answered: how many operations were answered.
    """

    ports: Sequence[int]
    trial: str
    key: str
    seed: int
    number: int = CLIENTS
    history: list[Operation] = field(default_factory=list)
    unanswered: int = 0
    answered: int = 0

    async def run(self, operations: int, step: Callable[[int], None] = lambda _: None) -> None:
        """So many operations that are answered."""
        await self.until(lambda: self.answered >= operations, step)

    async def until(self, over: Callable[[], bool], step: Callable[[int], None] = lambda _: None) -> None:
        """Go on until it is over."""
        async with asyncio.TaskGroup() as group:
            for each in range(self.number):
                group.create_task(Client(self, each, stream(self.seed, each)).go(over, step))

    def wrong(self, database: str | Path) -> list[str]:
        """What cannot be, by the log that there is now; and what an audit finds."""
        with looking(database) as connection:
            found = audit(connection, self.trial)
            log = [each for event in reading.log(connection, self.trial) if (each := entry(event)) is not None]
        return [*wrong(self.history, log), *([] if found.passed else [f"audit: {found.difference}"])]

    @property
    def acknowledged(self) -> int:
        """How many decisions and reports were acknowledged."""
        return sum(each.done and each.kind != "read" for each in self.history)


def entry(event: Any) -> Entry | None:
    """A line of the log as the checker has it; None where it is no decision and no report."""
    body = json.loads(event.body)
    if event.kind == "decided":
        key, unit = body.get("key", ""), body["unit"]
        return Entry("decide", event.sequence, key, unit, body["number"], body["proposal"], body["at"])
    if event.kind == "reported":
        decision = body["decision"]
        return Entry("report", event.sequence, body.get("key", ""), str(decision), decision, "", body["at"])
    return None


@dataclass
class Client:
    """One of them: one operation at a time."""

    crowd: Clients
    name: int
    rng: np.random.Generator
    _connection: load.Connection | None = None
    _open: list[int] = field(default_factory=list)
    _old: list[tuple[Kind, str, str, dict[str, Any]]] = field(default_factory=list)
    _made: int = 0

    async def go(self, over: Callable[[], bool], step: Callable[[int], None]) -> None:
        """Until it is over."""
        try:
            while not over():
                chance = self.rng.random()
                if chance < 0.1:
                    await self._insist("read", "", "", {})
                elif chance < 0.15 and self._old:
                    await self._insist(*self._old[int(self.rng.integers(len(self._old)))])
                elif chance < 0.55 and self._open:
                    await self._report(self._open.pop(int(self.rng.integers(len(self._open)))))
                else:
                    await self._decide()
                step(self.crowd.answered)
        finally:
            await self._hang_up()

    async def _hang_up(self) -> None:
        """Close the line, if there is one."""
        line, self._connection = self._connection, None
        if line is not None:
            await line.close()

    async def _decide(self) -> None:
        self._made += 1
        own = f"{self.name}-{self._made}"
        crowded = self.rng.random() < 1 / CROWDED  # many make about the same number of requests, and meet
        unit = f"all-{self._made}" if crowded else own
        number = await self._new("decide", f"d{own}", unit, {"unit": unit, "context": len(unit) % 2})
        if number and not crowded:
            self._open.append(number)

    async def _report(self, number: int) -> None:
        made = {"decision": number, "implemented": number % 3, "outcome": number % 2}
        await self._new("report", f"r{number}", str(number), made)

    async def _new(self, kind: Kind, key: str, about: str, body: dict[str, Any]) -> int:
        self._old = [*self._old[-20:], (kind, key, about, body)]
        return await self._insist(kind, key, about, body)

    async def _insist(self, kind: Kind, key: str, about: str, body: dict[str, Any]) -> int:
        """Ask until there is an answer; one in ten who get none never asks again."""
        until = time.monotonic() + LIMIT
        while True:
            asked = time.monotonic()
            try:
                answer = await self._ask(kind, key, body)
            except BaseException:
                self._note(Operation(kind, key, about, asked))
                raise
            if answer is not None:
                number = int(answer["decisions" if kind == "read" else "sequence" if kind == "report" else "number"])
                word, place = (answer.get("proposal") or ""), int(answer.get("sequence", 0))
                self._note(Operation(kind, key, about, asked, time.monotonic(), number, word, place))
                self.crowd.answered += 1
                return number
            self._note(Operation(kind, key, about, asked))
            self.crowd.unanswered += 1
            if self.rng.random() < 0.1:
                return 0
            if time.monotonic() > until:
                raise GoneError(f"no answer for {LIMIT:g} seconds")
            await asyncio.sleep(PAUSE)

    async def _ask(self, kind: Kind, key: str, body: dict[str, Any]) -> Any:
        """The answer; None where there is none, or it says to ask again."""
        requests = load.Requests(self.crowd.trial, self.crowd.key)
        paths = {"decide": "decisions", "report": "reports"}
        request = requests.get("progress") if kind == "read" else requests.post(paths[kind], body, key)
        try:
            if self._connection is None or self._connection.closed:
                port = self.crowd.ports[int(self.rng.integers(len(self.crowd.ports)))]
                async with asyncio.timeout(PATIENCE):  # `wait_for` may lose that it is to end
                    self._connection = await load.Connection.open(port)
            async with asyncio.timeout(PATIENCE):
                status, content = await self._connection.ask(request)
        except (OSError, TimeoutError):
            await self._hang_up()
            return None
        if status == 200:
            return json.loads(content)
        if status in (429, 503) or (status == 409 and json.loads(content)["type"] == "urn:takeup:in-flight"):
            return None
        raise GoneError(f"{kind} was answered {status}: {content[:200].decode(errors='replace')}")

    def _note(self, operation: Operation) -> None:
        self.crowd.history.append(operation)


async def beside(clients: Awaitable[None], faults: Awaitable[None]) -> None:
    """Faults while clients ask; whichever breaks ends the other.

    For `asyncio.run`: uvloop's refuses to close a loop whose tasks were broken off with lines open.
    """
    async with asyncio.TaskGroup() as group:
        group.create_task(_awaited(clients))
        group.create_task(_awaited(faults))


def reasons(group: BaseExceptionGroup[GoneError]) -> list[str]:
    """Why clients gave up, each reason once."""
    found: list[str] = []
    for each in group.exceptions:
        found += reasons(each) if isinstance(each, BaseExceptionGroup) else [str(each)]
    return list(dict.fromkeys(found))


async def _awaited(one: Awaitable[None]) -> None:
    await one
