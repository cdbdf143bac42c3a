"""A long simulation in blocks of replications, so that it can be stopped and gone on with."""

import time
from collections.abc import Iterator

import numpy as np

from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import Plan
from takeup.simulation.trace import Trace

FIRST = 100
"""Replications in the first block."""

SECONDS = 1.0
"""Blocks grow until they take this long: what Ctrl-C may cost."""


def missing(finished: Trace | None, replications: int) -> list[range]:
    """The numbers below `replications` that a trace does not have, as ranges."""
    have = np.zeros(replications + 2, dtype=bool)
    have[[0, -1]] = True
    if finished is not None:
        have[finished.replications[finished.replications < replications] + 1] = True
    edges = np.flatnonzero(np.diff(have.astype(np.int8)))
    return [range(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def run(plan: Plan, replications: int, finished: Trace | None = None, progress: Progress = silent) -> Iterator[Trace]:
    """Run what is missing, block by block; yields each block's trace."""
    if finished is not None:
        finished.setup.check_same(plan.setup)
    size = FIRST
    for gap in missing(finished, replications):
        start = gap.start
        while start < gap.stop:
            began = time.perf_counter()
            block = range(start, min(gap.stop, start + size))
            yield plan.run(block, progress)
            if time.perf_counter() - began < SECONDS / 2:
                size *= 2
            start = block.stop
