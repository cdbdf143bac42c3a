"""More requests than a service takes: due whoever has been answered, and sent then, or once a connection is free.

python rush.py FILE PORT TRIAL RATE SECONDS CONNECTIONS KEY [KEY ..]

It runs in a process of its own, and writes to the file as JSON what came of the requests: how long those that were
accepted waited from when they were due to their answers, how many were turned away and how, and what was acknowledged.
A service that lets all connections wait does not stop the clock of the requests that follow.
"""

import asyncio
import gc
import json
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import uvloop

PLACES = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
"""Where connections come from: a service lets so many in from one address."""


class Line(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, rush: "Rush") -> None:
        self._rush, self._buffer, self._due, self._unit = rush, b"", 0.0, ""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio calls this."""
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _: Exception | None) -> None:
        """Asyncio calls this."""
        self.transport = None
        if self._unit:
            self._rush.broken += 1

    def ask(self, request: bytes, unit: str, due: float) -> None:
        """Send a request."""
        assert self.transport is not None
        self._due, self._unit = due, unit
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Asyncio calls this."""
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        lower = head.lower()
        place = lower.index(b"content-length:")
        if len(body) < int(lower[place + 15 : (lower + b"\r\n").index(b"\r\n", place)]):
            return
        unit, self._buffer, self._unit = self._unit, b"", ""
        self._rush.came(self, int(head[9:12]), lower, body, unit, time.perf_counter() - self._due)


@dataclass
class Rush:
    """All requests, and what came of them."""

    trial: str
    keys: list[str]
    free: deque[Line] = field(default_factory=deque)
    waits: list[float] = field(default_factory=list)
    refusals: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    said: list[tuple[int, str, str]] = field(default_factory=list)
    broken: int = 0
    unsent: int = 0

    def came(self, line: Line, status: int, head: bytes, body: bytes, unit: str, seconds: float) -> None:
        """An answer."""
        self.statuses[str(status) if status == 200 or b"retry-after:" in head else f"{status} without Retry-After"] += 1
        if status == 200:
            answer = json.loads(body)
            self.said.append((answer["number"], unit, answer["proposal"]))
            self.waits.append(seconds)
        else:
            self.refusals.append(seconds)
        self.free.append(line)

    async def go(self, port: int, rate: float, seconds: float, connections: int) -> None:
        """So many requests a second."""
        loop = asyncio.get_running_loop()
        heads = [
            f"POST /trials/{self.trial}/decisions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {key}\r\n".encode()
            for key in self.keys
        ]
        for i in range(connections):
            address = (PLACES[i % len(PLACES)], 0)
            _, line = await loop.create_connection(lambda: Line(self), "127.0.0.1", port, local_addr=address)
            self.free.append(line)
        await asyncio.sleep(1.0)  # until all have been let in
        gc.disable()
        begun, i = time.perf_counter(), 0
        while (now := time.perf_counter()) < begun + seconds:
            while i < (now - begun) * rate:
                while self.free and self.free[0].transport is None:
                    self.free.popleft()
                if not self.free:
                    break  # those that are due wait for a connection
                unit = f"rush-{i}"
                body = b'{"unit": "%s", "context": %d}' % (unit.encode(), i % 2)
                head = heads[i % len(heads)] + b"Idempotency-Key: %s\r\nContent-Length: %d\r\n\r\n"
                self.free.popleft().ask(head % (unit.encode(), len(body)) + body, unit, begun + i / rate)
                i += 1
            self.unsent = max(0, int((now - begun) * rate) - i)
            await asyncio.sleep(0.002)
        until = time.perf_counter() + 30
        while len(self.free) + self.broken < connections and time.perf_counter() < until:
            await asyncio.sleep(0.05)

    @property
    def told(self) -> dict[str, Any]:
        """All of it."""
        return {
            "waits": self.waits,
            "refusals": self.refusals,
            "statuses": self.statuses,
            "said": self.said,
            "broken": self.broken,
            "unsent": self.unsent,
        }


def main() -> None:
    """Run from the command line."""
    out, port, trial, rate, seconds, connections, *keys = sys.argv[1:]
    rush = Rush(trial, keys)
    uvloop.run(rush.go(int(port), float(rate), float(seconds), int(connections)))
    Path(out).write_text(json.dumps(rush.told))


if __name__ == "__main__":
    main()
