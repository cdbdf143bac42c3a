"""Replications spread over a Dask cluster: blocks of work out, parts of a trace back."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from takeup.errors import EngineError, MissingExtraError
from takeup.policies import Policy
from takeup.simulation.engine import Engine, Part, Progress, silent
from takeup.simulation.setup import Setup

SECONDS = 1.0
"""How long a block takes at least, about: far more than it costs to send one."""

RETRIES = 5
"""How often a block that raised is tried again; one whose worker died goes to another in any case."""


class _Block(NamedTuple):
    """Some environments and some replications."""

    environments: range
    replications: range


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
        with _client(self.scheduler) as client:
            return self._run(client, setup, policy, replications, progress)

    def _run(self, client: Any, setup: Setup, policy: Policy[Any], replications: range, progress: Progress) -> Part:
        def submit(block: _Block) -> Any:
            names = list(setup.environments)[block.environments.start : block.environments.stop]
            part = replace(setup, environments={name: setup.environments[name] for name in names})
            return client.submit(_timed, self.engine, part, policy, block.replications, retries=RETRIES, pure=False)

        environments, runs = len(setup.environments), len(replications)
        size = self._size(submit, environments, replications)
        across = min(environments, size)
        deep = self.grain * max(1, size // across)
        blocks = [
            _Block(range(i, min(i + across, environments)), replications[j : j + deep])
            for i in range(0, environments, across)
            for j in range(0, runs, deep)
        ]
        whole: list[Any] = [None] * len(blocks)
        running = {submit(block): i for i, block in enumerate(blocks)}
        for future, (part, _) in _distributed().as_completed(running, with_results=True):
            whole[running.pop(future)] = part
            progress(part.pulls.shape[0] * part.pulls.shape[1] * setup.horizon)
        parts = iter(whole)
        rows = [list(islice(parts, -(-runs // deep))) for _ in range(0, environments, across)]
        return Part(*(_tiled(rows, field) for field in Part._fields))

    def _size(self, submit: Callable[[_Block], Any], environments: int, replications: range) -> int:
        """How many environments times grains of replications make a block: as many as last long enough."""
        submit(_Block(range(1), replications[: self.grain])).result()  # compiles
        size, grains = 1, -(-len(replications) // self.grain)
        while True:
            across = min(environments, size)
            _, took = submit(_Block(range(across), replications[: self.grain * max(1, size // across)])).result()
            if took >= self.seconds / 4 or size >= environments * grains:
                return max(1, round(size * self.seconds / float(took)))
            size *= 4


def _tiled(rows: list[list[Part]], field: str) -> Any:
    """The blocks of one array, put together again: environments down, replications across."""
    return np.concatenate([np.concatenate([getattr(part, field) for part in row], axis=1) for row in rows])


def _timed(engine: Engine, setup: Setup, policy: Policy[Any], replications: range) -> tuple[Part, float]:
    """A block, and how long it took the worker."""
    began = time.perf_counter()
    part = engine(setup, policy, replications)
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
        client = make(**local) if scheduler is None else make(scheduler, timeout=10)
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
