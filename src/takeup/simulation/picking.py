"""Which form of a kernel runs a policy on the CPU, by what a step of each costs on this machine.

Forms give the same numbers to the bit, so that a choice by the clock changes none. A step is measured in replications
of a few steps, whose results are thrown away: in those of the whole horizon a choice would often come too late.
"""

import os
import time
from dataclasses import replace

from takeup.simulation.engine import Choice, Form
from takeup.simulation.kernels import compile_cpu, cpu
from takeup.simulation.kernels.layout import Layout
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.kernels.tables import Replication

FEWEST_STEPS = 4096
"""Steps that a core makes one after the other; with fewer of them nothing is measured."""

SHARE = 64
"""Measuring one form takes no more than about this part of the work."""

ENOUGH = 0.005
"""Seconds after which a step's cost is known well enough."""

SMALL = 1.0
"""Seconds of work below which the usual form is kept."""

COMPILING = 60.0
"""Seconds of work below which a form is not tried that has yet to be compiled, which takes up to 20."""

MARGIN = 0.9
"""The other form is taken where it needs less than this part of the usual one's time."""


def pick(layout: Layout, replications: int, *, free: bool = True, workers: int | None = None) -> Choice:
    """The form for so many replications; the usual one where it is not `free` to be chosen."""
    cores = workers or os.cpu_count() or 1
    usual = cpu.usual(layout, replications)
    other: Form = "plain" if usual == "lanes" else "lanes"

    def steps(form: Form) -> int:
        """How many a core makes one after the other."""
        side_by_side = LANES if form == "lanes" else 1
        return -(-layout.environments * -(-replications // side_by_side) // cores) * int(layout.given.horizon)

    if steps(usual) < FEWEST_STEPS:
        return Choice("cpu", usual)
    took = steps(usual) * cost(layout, usual, steps(usual) // SHARE)
    chosen = Choice("cpu", usual, took)
    if not free or took < SMALL or layout.lanes() is None:
        return chosen
    if took < COMPILING and not is_ready(layout, other):
        return chosen
    instead = steps(other) * cost(layout, other, steps(other) // SHARE)
    return Choice("cpu", other, instead) if instead < MARGIN * took else chosen


def cost(layout: Layout, form: Form, most: int) -> float:
    """Seconds of one core for a step, of 32 replications in lanes or of one, measured in at most so many steps.

    Compiling is not counted.
    """
    code, columns = cpu.compiled(layout, form)
    start, steps, ready = Replication(0, 0, 0), 16, False
    most = min(most, int(layout.given.horizon))
    while True:
        steps = min(steps, max(1, most))
        short = replace(layout, given=layout.given._replace(horizon=steps))
        memory, output = short.memory(columns), short.output(columns)
        if not ready:
            code(start, 0, short.given, memory, output)
            ready = True
        began = time.perf_counter()
        code(start, columns, short.given, memory, output)
        took = time.perf_counter() - began
        if took >= ENOUGH or steps >= most:
            return took / steps
        steps *= 4


def is_ready(layout: Layout, form: Form) -> bool:
    """Whether the machine code of this form is in memory or on disk."""
    return compile_cpu.is_kept(cpu.compiled(layout, form)[0])
