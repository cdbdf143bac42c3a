"""Processes of a service that are killed, or stopped for a while, under clients."""

import asyncio
import os
import signal
from contextlib import suppress

import numpy as np

import faults
from gates.gate import Found, Gate, Run
from gates.scene import Scene, defective, lived_through, signalled

LONGEST, SHORTEST = 30.0, 1.0
STOPS = 8
"""Stops of as many lengths, from the shortest to the longest, in turn."""


async def kill_service(made: Scene, rng: np.random.Generator, _: int) -> None:
    """SIGKILL of one service, which is started again."""
    which = int(rng.integers(len(made.running)))
    made.running[which].kill()
    await asyncio.to_thread(made.again, which)


async def kill_writer(made: Scene, rng: np.random.Generator, _: int) -> None:
    """SIGKILL of the process that writes; the service starts another with the next request."""
    which = int(rng.integers(len(made.running)))
    while (pid := made.running[which].writer()) is None:  # the last one has just been killed
        await asyncio.sleep(0.02)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


async def kill_postgres(made: Scene, _: np.random.Generator, __: int) -> None:
    """SIGKILL of PostgreSQL, the postmaster and all its processes."""
    assert made.postgres is not None
    await asyncio.to_thread(faults.kill_postgres, made.postgres)
    await asyncio.to_thread(made.postgres.start)


def seconds(i: int) -> float:
    """How long the i-th stop lasts: 1 s to 30 s, in equal ratios."""
    return float(SHORTEST * (LONGEST / SHORTEST) ** ((i % STOPS) / (STOPS - 1)))


async def stopped(pids: list[int], length: float) -> None:
    """SIGSTOP of these processes, for so many seconds."""
    for pid in pids:
        with suppress(ProcessLookupError):  # a process of PostgreSQL that has ended
            os.kill(pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(length)
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


async def stop_service(made: Scene, _: np.random.Generator, i: int) -> None:
    """SIGSTOP of the service."""
    await stopped([made.running[0].process.pid], seconds(i))


async def stop_writer(made: Scene, _: np.random.Generator, i: int) -> None:
    """SIGSTOP of the process that writes."""
    pid = made.running[0].writer()
    signalled(pid, signal.SIGSTOP)
    assert pid is not None
    await stopped([pid], seconds(i))


async def stop_postgres(made: Scene, _: np.random.Generator, i: int) -> None:
    """SIGSTOP of PostgreSQL, the postmaster and all its processes."""
    assert made.postgres is not None
    await stopped(faults.postgres_processes(made.postgres), seconds(i))


def service_killed(run: Run) -> Found:
    """The service dies."""
    return lived_through(run, kill_service)


def writer_killed(run: Run) -> Found:
    """The writer dies."""
    return lived_through(run, kill_writer)


def postgres_killed(run: Run) -> Found:
    """PostgreSQL dies, below two services."""
    return lived_through(run, kill_postgres, postgres=True, processes=2, pause=1.5)


def service_stopped(run: Run) -> Found:
    """The service stands still."""
    return lived_through(run, stop_service)


def writer_stopped(run: Run) -> Found:
    """The writer stands still."""
    return lived_through(run, stop_writer)


def postgres_stopped(run: Run) -> Found:
    """PostgreSQL stands still."""
    return lived_through(run, stop_postgres, postgres=True)


def forgetful(run: Run) -> Found:
    """Kills of the service, where a commit in 40 is acknowledged that did not take place."""
    return lived_through(run, kill_service, environment=defective("forgetful"))


def keyless(run: Run) -> Found:
    """Kills of the writer, where keys are not looked up when somebody asks again."""
    return lived_through(run, kill_writer, environment=defective("keyless"))


def keyless_stopped(run: Run) -> Found:
    """The writer stands still for longer than clients wait, where keys are not looked up."""
    return lived_through(run, _stop_beyond_patience, environment=defective("keyless"))


def keyless_postgres(run: Run) -> Found:
    """PostgreSQL dies, and keys are not looked up."""
    return lived_through(run, kill_postgres, postgres=True, environment=defective("keyless"))


async def _stop_beyond_patience(made: Scene, _: np.random.Generator, __: int) -> None:
    pid = made.running[0].writer()
    assert pid is not None
    await stopped([pid], 4.0)


AFTERWARDS = "what 32 clients saw can be, and the service goes on by itself"
GATES = (
    Gate(
        name="service-killed",
        part="faults",
        shows=f"SIGKILL of `takeup serve`, which is started again, under clients who ask again: {AFTERWARDS}",
        unit="kills",
        times=200,
        suite=1,
        run=service_killed,
        without="some commits, which are acknowledged all the same",
        control=forgetful,
    ),
    Gate(
        name="writer-killed",
        part="faults",
        shows=f"SIGKILL of the process that writes for a service, which stays: {AFTERWARDS}",
        unit="kills",
        times=200,
        suite=1,
        run=writer_killed,
        without="looking up keys when somebody asks again",
        control=keyless,
    ),
    Gate(
        name="postgresql-killed",
        part="faults",
        shows=f"SIGKILL of PostgreSQL, the postmaster and all its processes, below two services: {AFTERWARDS}",
        unit="kills",
        times=50,
        suite=0,
        run=postgres_killed,
        without="looking up keys when somebody asks again",
        control=keyless_postgres,
    ),
    Gate(
        name="service-stopped",
        part="faults",
        shows=f"SIGSTOP of the service for 1 to 30 s, while clients wait for 3 s and ask again: {AFTERWARDS}",
        unit="stops",
        times=32,
        suite=0,
        run=service_stopped,
        without="some commits, which are acknowledged all the same",
        control=forgetful,
    ),
    Gate(
        name="writer-stopped",
        part="faults",
        shows=f"SIGSTOP of the process that writes for 1 to 30 s: {AFTERWARDS}",
        unit="stops",
        times=32,
        suite=1,
        run=writer_stopped,
        without="looking up keys when somebody asks again",
        control=keyless_stopped,
    ),
    Gate(
        name="postgresql-stopped",
        part="faults",
        shows=f"SIGSTOP of PostgreSQL and all its processes for 1 to 30 s: {AFTERWARDS}",
        unit="stops",
        times=32,
        suite=0,
        run=postgres_stopped,
        without="looking up keys when somebody asks again",
        control=keyless_postgres,
    ),
)
