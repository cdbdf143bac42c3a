"""Somebody else who uses the service: asks it every 20 ms, in a process of their own, and says how long it took.

    python -m fuzzing.probe PORT KEY TRIAL SERVICE

SERVICE is the process that answers. A line on standard input begins a new phase; standard output has a JSON line for
each wait of more than `WORTH` seconds, and one a second that says how the phase stands.
"""

import asyncio
import json
import sys
import time
from collections import Counter, deque
from contextlib import suppress
from pathlib import Path
from typing import Any

import load

EVERY = 0.02
WORTH = 0.3
TICK = 0.1


def runqueue(process: int) -> float:
    """Seconds for which the main thread of a process was ready to run and no processor was free."""
    with suppress(OSError):  # it ended
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(each) for each in task.read_text().split()]
    return found


def alive(process: int) -> bool:
    """Whether a process is there, and is more than what its parent has yet to take note of."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def writer(process: int) -> int:
    """The process that writes for a service; 0 where there is none."""
    for child in children(process):
        with suppress(OSError):
            if b"takeup.store.writer" in Path(f"/proc/{child}/cmdline").read_bytes():
                return child
    return 0


class Probe:
    """Asks, and keeps the waits."""

    def __init__(self, port: int, key: str, trial: str, service: int) -> None:
        self.port, self.service, self.requests = port, service, load.Requests(trial, key)
        self.waits: Counter[int] = Counter()
        self.asked: dict[str, float] = {}
        self.phase, self.errors = "control", 0
        self._samples: deque[tuple[float, float]] = deque(maxlen=1_000)
        self._lag = 0.0
        self._writer = writer(service)

    async def run(self) -> None:
        """Until nobody listens any more."""
        self._name = f"{time.monotonic_ns():x}"
        tasks = [self._loop("health"), self._loop("decision"), self._watch(), self._listen()]
        await asyncio.wait([asyncio.create_task(each) for each in tasks], return_when=asyncio.FIRST_COMPLETED)

    async def _loop(self, what: str) -> None:
        """Ask for one thing again and again; a decision is followed by its report."""
        connection, number = None, 0
        while True:
            due = time.monotonic()
            try:
                if connection is None or connection.closed:
                    connection = await load.Connection.open(self.port)
                for request in self._next(what, number):
                    began = self.asked[what] = time.monotonic()
                    status, _ = await connection.ask(request)
                    self._note(what, began, status)
            except (OSError, ValueError) as error:
                self._note(what, self.asked.get(what, due), 0, str(error))
                connection = None
                await asyncio.sleep(0.2)
            self.asked.pop(what, None)
            number += 1
            await asyncio.sleep(max(0.001, due + EVERY - time.monotonic()))

    def _next(self, what: str, number: int) -> list[bytes]:
        if what == "health":
            return [b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"]
        unit = f"{self._name} {number}"
        report = {"unit": unit, "implemented": number % 3, "outcome": number % 2}
        return [
            self.requests.post("decisions", {"unit": unit, "context": number % 2}, f"d {unit}"),
            self.requests.post("reports", report, f"r {unit}"),
        ]

    def _note(self, what: str, began: float, status: int, error: str = "") -> None:
        until = time.monotonic()
        self.waits[round(1_000 * (until - began))] += 1
        self.errors += status != 200
        if until - began > WORTH or status != 200:
            noise = min(until - began, self._noise(began))
            self._say(wait=until - began, noise=noise, began=began, what=what, status=status, error=error)

    def _noise(self, began: float) -> float:
        """Seconds since then for which service, writer or probe waited for a processor."""
        before = next((total for at, total in reversed(self._samples) if at <= began), None)
        return 0.0 if before is None else self._total() - before

    def _total(self) -> float:
        return runqueue(self.service) + runqueue(self._writer) + self._lag

    async def _watch(self) -> None:
        """Keep an eye on the processors, and say once a second how it goes."""
        said = 0.0
        while True:
            began = time.monotonic()
            self._samples.append((began, self._total()))
            await asyncio.sleep(TICK)
            self._lag += max(0.0, time.monotonic() - began - TICK - 0.005)
            if time.monotonic() - said > 1:
                said = time.monotonic()
                self._writer = writer(self.service)
                oldest = max((said - began for began in self.asked.values()), default=0.0)
                self._say(oldest=oldest, waits=_shape(self.waits), errors=self.errors)

    async def _listen(self) -> None:
        """New phases, until standard input ends."""
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            self._say(waits=_shape(self.waits), errors=self.errors)
            self.phase, self.waits, self.errors = line.decode().strip(), Counter(), 0

    def _say(self, **fields: Any) -> None:
        sys.stdout.write(json.dumps({"phase": self.phase, **fields}) + "\n")
        sys.stdout.flush()


def _shape(waits: Counter[int]) -> dict[str, float]:
    """How many waits, and how many milliseconds they took."""
    asked, so_far, found = waits.total(), 0, {"p50": 0, "p99": 0, "longest": max(waits, default=0)}
    for wait in sorted(waits, reverse=True):
        so_far += waits[wait]
        for name, share in (("p99", 0.01), ("p50", 0.5)):
            if not found[name] and so_far >= share * asked:
                found[name] = wait
    return {"asked": asked, **found}


if __name__ == "__main__":
    port, key, trial, service = sys.argv[1:]
    with suppress(KeyboardInterrupt, BrokenPipeError):
        asyncio.run(Probe(int(port), key, trial, int(service)).run())
