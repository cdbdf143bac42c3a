"""The process that draws pages dies or stands still: decisions do not notice, and pages come back by themselves."""

import asyncio
import os
import signal
from contextlib import suppress

import numpy as np

from gates.clients import GoneError
from gates.gate import Found, Gate, Run
from gates.scene import Scene, defective, lived_through
from pages import fetch, signed_in

MODULE = "takeup.service.pages.render.child"
PATIENCE = 120.0
"""Seconds; the process has the lowest priority, so that a busy machine keeps it waiting."""

CLIENTS = 2


async def drawing(made: Scene, cookie: str, *, other_than: int | None = None) -> int:
    """Wait until a process draws, and the page shows its charts; it must answer all the time."""
    until = asyncio.get_running_loop().time() + PATIENCE
    while asyncio.get_running_loop().time() < until:
        status, _, page = await fetch(made.running[0].port, "GET", f"/app/trials/{made.trial}", Cookie=cookie)
        if status != 200:
            raise GoneError(f"the page was answered {status}")
        pid = made.running[0].child(MODULE)
        if pid not in (None, other_than) and b"being drawn" not in page and b"<svg" in page:
            assert pid is not None
            return pid
        await asyncio.sleep(0.2)
    raise GoneError(f"no page was drawn within {PATIENCE:g} seconds")


async def kill(made: Scene, cookie: str) -> None:
    """SIGKILL; another takes its place."""
    pid = await drawing(made, cookie)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    await drawing(made, cookie, other_than=pid)


async def stop(made: Scene, cookie: str, seconds: float) -> None:
    """SIGSTOP for a while."""
    pid = await drawing(made, cookie)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    await asyncio.sleep(seconds)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    await drawing(made, cookie)


async def either(made: Scene, rng: np.random.Generator, i: int) -> None:
    """A kill and a stop of 1 to 5 s in turn."""
    cookie = await signed_in(made.running[0].port, made.key)
    if i % 2:
        await stop(made, cookie, 1 + 4 * rng.random())
    else:
        await kill(made, cookie)


def hit(run: Run) -> Found:
    """While somebody looks."""
    return lived_through(run, either, number=CLIENTS)


def unreplaced(run: Run) -> Found:
    """A process that died is not replaced."""
    return lived_through(run, either, number=CLIENTS, environment=defective("unreplaced"))


GATES = (
    Gate(
        name="drawing",
        part="faults",
        shows="SIGKILL and SIGSTOP of the process that draws pages: pages answer meanwhile and are drawn again; what "
        "two clients saw can be",
        unit="times",
        times=100,
        suite=0,
        run=hit,
        without="another process in its place",
        control=unreplaced,
    ),
)
