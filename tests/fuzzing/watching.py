"""What the probe says, and what was under way while it waited."""

import asyncio
import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fuzzing.client import Failure
from serving import Served

HANG = 1.0
"""Seconds for which others may wait, beyond what the machine makes them wait."""
SLOW = 0.2
"""Cases that take longer are remembered."""
WAITS = "waits"
"""The family of failures that are about the time that others wait."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A long wait of the probe.

    Attributes:
        what: what it asked for.
        seconds: how long.
        noise: for how much of it the processes at work were ready to run and no processor was free.
        phase: what was going on.
        status: what was answered, 0 for nothing.
        meanwhile: the cases that were under way, the longest first.
    """

    what: str
    seconds: float
    noise: float
    phase: str
    status: int
    meanwhile: tuple[str, ...]

    def __str__(self) -> str:
        answered = "" if self.status == 200 else f", and got {self.status or 'no answer'}"
        return f"{self.what} for {self.seconds:.1f} s ({self.noise:.1f} s of it for a processor){answered}"


@dataclass(slots=True, eq=False)
class Watch:
    """The probe of one service.

    Attributes:
        process: the probe.
        phases: how many waits each phase had, and how long they were.
        waits: the long ones.
        oldest: for how long the probe has been waiting for what it asks now.
    """

    process: asyncio.subprocess.Process
    phases: dict[str, dict[str, float]] = field(default_factory=dict)
    waits: list[Wait] = field(default_factory=list)
    oldest: float = 0.0
    _begun: dict[str, float] = field(default_factory=dict)
    _slow: deque[tuple[float, float, str]] = field(default_factory=lambda: deque(maxlen=2_000))

    @staticmethod
    def command(server: Served, key: str) -> list[str]:
        """How the probe is started."""
        return [sys.executable, "-m", "fuzzing.probe", str(server.port), key, "probe", str(server.process.pid)]

    async def read(self) -> None:
        """Take down what the probe says, until it ends."""
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            said: dict[str, Any] = json.loads(line)
            if "wait" in said:
                meanwhile = self._meanwhile(said["began"], said["began"] + said["wait"])
                self.waits.append(
                    Wait(said["what"], said["wait"], said["noise"], said["phase"], said["status"], meanwhile)
                )
            else:
                self.phases[said["phase"]] = said["waits"]
                self.oldest = said.get("oldest", self.oldest)

    async def begin(self, phase: str) -> None:
        """Begin another phase."""
        assert self.process.stdin is not None
        if self.process.returncode is None:
            self.process.stdin.write(f"{phase}\n".encode())
            await self.process.stdin.drain()
            await asyncio.sleep(0.5)

    async def lost(self, server: Served, seconds: float) -> Failure:
        """Wait until the service has ended, or has not answered the probe for so long."""
        while server.process.poll() is None and self.oldest <= seconds:
            await asyncio.sleep(1)
        code = server.process.returncode
        what = "the service does not answer others any more" if code is None else f"the service ended with {code}"
        meanwhile = self._meanwhile(time.monotonic() - seconds, time.monotonic())
        return Failure(", ".join(meanwhile[:20]), "service", what, b"", "", "")

    @contextmanager
    def busy(self, case: str, family: str) -> Iterator[None]:
        """A case is under way."""
        name, began = f"{case} ({family})", time.monotonic()
        self._begun[name] = began
        try:
            yield
        finally:
            del self._begun[name]
            if time.monotonic() - began > SLOW:
                self._slow.append((began, time.monotonic(), name))

    @property
    def failures(self) -> list[Failure]:
        """Waits that were too long, or without the answer that was due, while there was fuzzing."""
        found = []
        for each in self.waits:
            if each.phase == "fuzz" and (each.seconds - each.noise > HANG or each.status != 200):
                what = f"got {each.status or 'no answer'}" if each.status != 200 else "waited for more than a second"
                found.append(Failure(", ".join(each.meanwhile[:8]), WAITS, f"others {what}", b"", str(each), ""))
        return found

    def _meanwhile(self, began: float, until: float) -> tuple[str, ...]:
        """Cases that were under way for at least half of this time, the longest first."""
        now = time.monotonic()
        known = [*self._slow, *((at, now, name) for name, at in self._begun.items())]
        shared = [(min(until, end) - max(began, at), name) for at, end, name in known]
        return tuple(name for both, name in sorted(shared, reverse=True) if both > (until - began) / 2)
