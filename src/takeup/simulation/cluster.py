"""Replications spread over a Dask cluster: blocks of work out, parts of a trace back."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from takeup.errors import EngineError, MissingExtraError
from takeup.policies import Policy
from takeup.simulation.engine import Engine, Part, Progress, silent
from takeup.simulation.setup import Setup

SECONDS = 1.0
"""How long a block takes at least, about: far more than it costs to send one."""

ANSWER_SECONDS = 10.0
"""How long a scheduler may take to answer at first."""

RETRIES = 5
"""How often a block that raised is tried again; one whose worker died goes to another in any case."""


Work: TypeAlias = Callable[[range], Any]
"""Runs some replications and hands back a NamedTuple of arrays (environments, replications, ..); it can be sent."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """An engine that runs another one on a cluster; the result is the other one's, bit by bit.

    Attributes:
        engine: what each worker runs.
        scheduler: the address of a scheduler, a `distributed.Client`, or None for threads of this process.
        seconds: how long a block should take.
        grain: how many replications the engine runs as one.
    """

    engine: Engine
    scheduler: object = None
    seconds: float = SECONDS
    grain: int = 1

    def __call__(self, setup: Setup, policy: Policy[Any], replications: range, progress: Progress = silent) -> Part:
        """Run these replications on the cluster."""
        names = list(setup.environments)

        def some(which: range) -> Work:
            part = replace(setup, environments={names[i]: setup.environments[names[i]] for i in which})
            return partial(self.engine, part, policy)

        def done(runs: int) -> None:
            progress(runs * setup.horizon)

        found: Part = Sweep(some, len(names), replications, self.grain, self.seconds).run(self.scheduler, done)
        return found


@dataclass(frozen=True, slots=True)
class Sweep:
    """Replications in some environments, in blocks of both.

    Attributes:
        some: what a worker does for some of the environments, which are numbered from 0.
        environments: how many there are.
        replications: the numbers of the replications.
        grain: how many replications run as one.
        seconds: how long a block should take.
    """

    some: Callable[[range], Work]
    environments: int
    replications: range
    grain: int = 1
    seconds: float = SECONDS

    def run(self, scheduler: object, done: Progress) -> Any:
        """All of it on a cluster, put together again; `done` is told the number of replications, block by block."""
        with _client(scheduler) as client:
            return self._run(client, done)

    def _run(self, client: Any, done: Progress) -> Any:
        def submit(environments: range, replications: range) -> Any:
            return client.submit(_timed, self.some(environments), replications, retries=RETRIES, pure=False)

        size = self._size(submit)
        across = min(self.environments, size)
        deep = self.grain * max(1, size // across)
        blocks = [
            (range(i, min(i + across, self.environments)), self.replications[j : j + deep])
            for i in range(0, self.environments, across)
            for j in range(0, len(self.replications), deep)
        ]
        whole: list[Any] = [None] * len(blocks)
        running = {submit(*block): i for i, block in enumerate(blocks)}
        for future, (part, _) in _distributed().as_completed(running, with_results=True):
            which = running.pop(future)
            whole[which] = part
            done(len(blocks[which][0]) * len(blocks[which][1]))
        parts = iter(whole)
        rows = [list(islice(parts, -(-len(self.replications) // deep))) for _ in range(0, self.environments, across)]
        return type(whole[0])(*(_tiled(rows, field) for field in whole[0]._fields))

    def _size(self, submit: Callable[[range, range], Any]) -> int:
        """How many environments times grains of replications make a block: as many as last long enough."""
        submit(range(1), self.replications[: self.grain]).result()  # compiles
        size, grains = 1, -(-len(self.replications) // self.grain)
        while True:
            across = min(self.environments, size)
            _, took = submit(range(across), self.replications[: self.grain * max(1, size // across)]).result()
            if took >= self.seconds / 4 or size >= self.environments * grains:
                return max(1, round(size * self.seconds / float(took)))
            size *= 4


def _tiled(rows: list[list[Any]], field: str) -> Any:
    """The blocks of one array, put together again: environments down, replications across."""
    return np.concatenate([np.concatenate([getattr(part, field) for part in row], axis=1) for row in rows])


def _timed(work: Work, replications: range) -> tuple[Any, float]:
    """A block, and how long it took the worker."""
    began = time.perf_counter()
    part = work(replications)
    return part, time.perf_counter() - began


@contextmanager
def _client(scheduler: object) -> Iterator[Any]:
    """A client of this scheduler; one that was handed in is left open."""
    make = _distributed().Client
    if isinstance(scheduler, make):
        yield scheduler
        return
    local = {"processes": False, "dashboard_address": "127.0.0.1:0"}  # any port: None would mean 8787, taken or not
    try:
        client = make(**local) if scheduler is None else make(scheduler, timeout=ANSWER_SECONDS)
    except (OSError, ValueError) as error:
        raise EngineError(f"no Dask scheduler answers at {scheduler!r}: {error}") from error
    with client:
        yield client


def _distributed() -> Any:
    """dask.distributed, which has no types, or an error that names the extra."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise MissingExtraError("dask.distributed", "dask") from error
