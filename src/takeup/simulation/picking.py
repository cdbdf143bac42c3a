"""What runs a policy, by what a step costs on this machine: one of the forms of the CPU's kernel, or a GPU.

Forms give the same numbers to the bit, so that a choice by the clock changes none; a GPU's may differ in a last bit, so
that it is taken only where somebody lets it. A step is measured in replications
of a few steps, whose results are thrown away: in those of the whole horizon a choice would often come too late.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from takeup.simulation.engine import Choice, Form
from takeup.simulation.kernels import compile_cpu, cpu, gpu
from takeup.simulation.kernels.layout import Layout
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.kernels.tables import Replication

FEWEST_STEPS = 16384
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
"""Another one is taken where it needs less than this part of the usual one's time."""

SAMPLE = 100_000
"""Replications that a GPU is tried with, at most: enough to keep it busy."""

FIRST_HORIZON = 16
"""Steps that a GPU is tried with at first."""

ENOUGH_OF_GPU = 0.1
"""Seconds more than at first after which its steps are known well enough."""


def pick(layout: Layout, replications: int, *, free: bool = True, cores: int | None = None) -> Choice:
    """The form for so many replications; the usual one where it is not `free` to be chosen."""
    usual = cpu.usual(layout, replications)
    took = expected(layout, replications, usual, cores)
    chosen = Choice("cpu", usual, took)
    if took is None or took < SMALL or not free or layout.lanes() is None:
        return chosen
    other: Form = "plain" if usual == "lanes" else "lanes"
    if took < COMPILING and not is_ready(layout, other):
        return chosen
    instead = expected(layout, replications, other, cores)
    return chosen if instead is None or instead >= MARGIN * took else Choice("cpu", other, instead)


def pick_gpu(layout: Layout, replications: int, other: Choice) -> Choice:
    """A GPU, where it needs less time than the other choice; not tried for work that is done before it is compiled."""
    if other.seconds is None or other.seconds < COMPILING:
        return other
    took = expected_of_gpu(layout, replications)
    return Choice("gpu", seconds=took) if took < MARGIN * other.seconds else other


def expected_of_gpu(layout: Layout, replications: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """About how many seconds so many replications take on a GPU, by two horizons; compiling is not counted."""
    sample = min(replications, SAMPLE)

    def run(horizon: int) -> float:
        began = clock()
        gpu.run(replace(layout, given=layout.given._replace(horizon=horizon)), range(sample))
        return clock() - began

    whole = int(layout.given.horizon)
    few = many = min(FIRST_HORIZON, whole)
    run(1)
    first = took = run(few)
    while took - first < ENOUGH_OF_GPU and many < whole:
        many = min(4 * many, whole)
        took = run(many)
    step = max(0.0, took - first) / max(1, many - few)
    return (took + step * (whole - many)) * replications / sample


def expected(layout: Layout, replications: int, form: Form, cores: int | None = None) -> float | None:
    """About how many seconds so many replications take; None where they are too few to measure it."""
    units = layout.environments * -(-replications // (LANES if form == "lanes" else 1))
    threads = min(cores or os.cpu_count() or 1, units)
    steps = -(-units // threads) * int(layout.given.horizon)
    return None if steps < FEWEST_STEPS else steps * cost(layout, form, threads, steps // SHARE)


def cost(layout: Layout, form: Form, threads: int, most: int) -> float:
    """Seconds for a step, of 32 replications in lanes or of one, on each of these threads at once.

    Cores share much with each other, so that one alone would promise too much; time is that of threads, which other
    work on the machine does not stretch. At most so many steps are made; compiling is not counted.
    """
    code, columns = cpu.compiled(layout, form)
    most = max(1, min(most, int(layout.given.horizon)))

    def run(steps: int, count: int) -> float:
        short = replace(layout, given=layout.given._replace(horizon=steps))
        memory, output = short.memory(columns), short.output(columns)
        began = time.thread_time()
        code(Replication(0, 0, 0), count, short.given, memory, output)
        return time.thread_time() - began

    run(1, 0)
    steps = min(16, most)
    with ThreadPoolExecutor(threads) as pool:
        while True:
            took = max(pool.map(run, [steps] * threads, [columns] * threads))
            if took >= ENOUGH or steps >= most:
                return took / steps
            steps = min(4 * steps, most)


def is_ready(layout: Layout, form: Form) -> bool:
    """Whether the machine code of this form is in memory or on disk."""
    return compile_cpu.is_kept(cpu.compiled(layout, form)[0])
