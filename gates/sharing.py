"""Two services on one file of SQLite, which the docs advise against: it is slower, and must not be wrong."""

import asyncio

import numpy as np

from gates.gate import Found, Gate, Run
from gates.processes import kill_service, kill_writer
from gates.scene import Scene, defective, lived_through


async def hurt(made: Scene, rng: np.random.Generator, i: int) -> None:
    """A while in peace, then a kill of either service or of its writer."""
    await asyncio.sleep(0.5)
    await (kill_service if i % 3 == 0 else kill_writer)(made, rng, i)


def two(run: Run) -> Found:
    """Clients turn to either."""
    return lived_through(run, hurt, processes=2)


def forgetful(run: Run) -> Found:
    """Both acknowledge commits that do not take place."""
    return lived_through(run, hurt, processes=2, environment=defective("forgetful"))


GATES = (
    Gate(
        name="two-services",
        part="faults",
        shows="two services on one SQLite file, one of which is killed now and then: what their 32 clients saw can be",
        unit="kills",
        times=60,
        suite=0,
        run=two,
        without="some commits, which are acknowledged all the same",
        control=forgetful,
    ),
)
