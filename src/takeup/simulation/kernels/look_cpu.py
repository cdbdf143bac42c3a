"""Trials with looks on the CPU: blocks of them on threads of one process."""

import os

from takeup.simulation.engine import Progress, silent
from takeup.simulation.kernels import compile_cpu, look_driver
from takeup.simulation.kernels.cpu import spread
from takeup.simulation.kernels.look_layout import LookLayout
from takeup.simulation.kernels.look_tables import LookOutput
from takeup.simulation.kernels.tables import Replication

BLOCK = 2_000
"""Trials that run as one piece."""


def run(layout: LookLayout, trials: range, *, progress: Progress = silent) -> LookOutput:
    """Run these trials in every scenario; a trial depends on the layout and its number alone."""
    compiled = compile_cpu.build(look_driver.replicate_many, layout.bind, layout.switches)
    output = layout.output(len(trials))

    def work(start: Replication, count: int) -> int:
        compiled(start, count, layout.given, layout.memory(), output)
        return count

    blocks = (
        (Replication(scenario, row, trials.start + row), min(BLOCK, len(trials) - row))
        for scenario in range(layout.scenarios)
        for row in range(0, len(trials), BLOCK)
    )
    spread(work, blocks, os.cpu_count() or 1, progress)
    return output
