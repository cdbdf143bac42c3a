"""Histories: what 32 clients saw of a service while everything befell it, against the log."""

import asyncio
from collections.abc import Callable, Sequence

import numpy as np

import faults
from gates import clocks
from gates.clients import Clients, GoneError, beside, reasons
from gates.gate import Found, Gate, Run
from gates.processes import kill_postgres, kill_service, kill_writer, stopped
from gates.scene import Fault, Scene, scene, told
from takeup.randomness import stream

BETWEEN = 2.0
"""Seconds between two faults, about."""


async def stop_service(made: Scene, rng: np.random.Generator, _: int) -> None:
    """The service stands still for a moment, or for longer than clients wait."""
    which = int(rng.integers(len(made.running)))
    await stopped([made.running[which].process.pid], 4 * rng.random())


async def stop_writer(made: Scene, rng: np.random.Generator, _: int) -> None:
    """The writer does."""
    pid = made.running[int(rng.integers(len(made.running)))].writer()
    if pid is not None:
        await stopped([pid], 4 * rng.random())


async def stop_postgres(made: Scene, rng: np.random.Generator, _: int) -> None:
    """PostgreSQL does."""
    assert made.postgres is not None
    await stopped(faults.postgres_processes(made.postgres), 4 * rng.random())


SQLITE: Sequence[Fault] = (kill_service, kill_writer, kill_writer, stop_service, stop_writer, clocks.jump)
POSTGRESQL: Sequence[Fault] = (*SQLITE, kill_postgres, stop_postgres)


def seen(run: Run, befalls: Sequence[Fault], *defects: str, postgres: bool = False) -> Found:
    """So many operations, under faults by chance."""
    environment = clocks.at_hand(run.folder, *defects)
    processes = 2 if postgres else 1
    with scene(run.folder, processes=processes, postgres=postgres, environment=environment) as made:
        clients = Clients([each.port for each in made.running], made.trial, made.key, run.seed)
        rng, counted = stream(run.seed, "faults"), dict.fromkeys((each.__name__ for each in befalls), 0)

        async def hurt(over: Callable[[], bool]) -> None:
            while not over():
                fault = befalls[int(rng.integers(len(befalls)))]
                await asyncio.sleep(BETWEEN * (0.5 + rng.random()))
                counted[fault.__name__] += 1
                await fault(made, rng, int(rng.integers(4)))

        gone: list[str] = []
        try:
            enough = lambda: clients.answered >= run.times  # noqa: E731  # both end with it
            asyncio.run(beside(clients.until(enough, run.step), hurt(enough)))
        except* GoneError as group:
            gone = reasons(group)
        made.end()
        found = told(clients, gone + clients.wrong(made.database))
    words = ", ".join(f"{name.replace('_', ' ')} {times}" for name, times in counted.items() if times)
    return Found(found.passed, f"{found.figures} ({words})")


def sqlite(run: Run) -> Found:
    """On SQLite."""
    return seen(run, SQLITE)


def postgresql(run: Run) -> Found:
    """On PostgreSQL, with two services."""
    return seen(run, POSTGRESQL, postgres=True)


def forgetful(run: Run) -> Found:
    """Some commits do not take place."""
    return seen(run, SQLITE, "forgetful")


def keyless(run: Run) -> Found:
    """Keys are not looked up."""
    return seen(run, (kill_postgres,), "keyless", postgres=True)


CAN_BE = (
    "acknowledged is in the log, nothing is that nobody asked for, one decision a unit, one effect a key, reads "
    "never go back and show what was acknowledged, the log is in the order of time"
)
GATES = (
    Gate(
        name="histories",
        part="histories",
        shows=f"32 clients of a service on SQLite, under kills, stops and a clock that jumps: {CAN_BE}",
        unit="operations",
        times=200_000,
        suite=300,
        run=sqlite,
        without="some commits, which are acknowledged all the same",
        control=forgetful,
        control_times=800,
    ),
    Gate(
        name="histories-postgresql",
        part="histories",
        shows="the same with two services on PostgreSQL, which is killed and stopped too",
        unit="operations",
        times=50_000,
        suite=0,
        run=postgresql,
        without="looking up keys when somebody asks again",
        control=keyless,
        control_times=2_000,
    ),
)
