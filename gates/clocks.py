"""A machine's clock that is set a day ahead, and back again, under a service."""

import asyncio
from pathlib import Path

import numpy as np

from gates.gate import Found, Gate, Run
from gates.scene import Fault, Scene, defective, lived_through

DAY = 86_400


def at_hand(folder: Path, *defects: str) -> dict[str, str]:
    """The environment of a service whose clock `set_to` moves."""
    set_to(folder, 0)
    return defective("clock", *defects, TAKEUP_CLOCK=str(folder / "clock"))


def set_to(folder: Path, seconds: int) -> None:
    """So many seconds ahead, for all processes of the service, from now on."""
    (folder / "clock.new").write_text(str(seconds))
    (folder / "clock.new").replace(folder / "clock")


async def jump(made: Scene, rng: np.random.Generator, i: int) -> None:
    """A day ahead, back, a day behind, right again."""
    set_to(made.folder, (DAY, 0, -DAY, 0)[i % 4] + int(rng.integers(-30, 30)))
    await asyncio.sleep(0.2)


def _under(run: Run, fault: Fault, *defects: str) -> Found:
    return lived_through(run, fault, environment=at_hand(run.folder, *defects), pause=0.4)


def jumps(run: Run) -> Found:
    """The clock jumps."""
    return _under(run, jump)


def undated(run: Run) -> Found:
    """The clock jumps, and the log takes its time as it is."""
    return _under(run, jump, "undated")


GATES = (
    Gate(
        name="clock",
        part="faults",
        shows="the machine's clock a day ahead, back, a day behind: the log's time never goes back, what 32 clients "
        "saw can be, and the audit passes",
        unit="jumps",
        times=400,
        suite=3,
        run=jumps,
        without="the later of the clock's time and the log's",
        control=undated,
        control_times=3,
    ),
)
