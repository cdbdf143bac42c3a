"""Kernels run with the options that `simulate` does not have."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from takeup import Environment, Policy, Reporting
from takeup.simulation.engine import Form, Part
from takeup.simulation.kernels import cpu
from takeup.simulation.kernels.compile import Builder, Plain, Switch
from takeup.simulation.kernels.layout import Layout
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.kernels.tables import Replication
from takeup.simulation.run import Record, plan


def laid_out(
    environments: Sequence[Environment],
    policy: Policy[Any],
    horizon: int,
    seed: int = 0,
    *,
    reporting: Reporting = Reporting(),
    steps: Sequence[int] | None = None,
    full: bool = False,
    recurrence: bool = True,
) -> Layout:
    """What a kernel is given; the regret is recorded at the horizon where there are no steps."""
    record: Record = "full" if full else "curve"
    kept = [horizon] if steps is None else steps
    checked = plan(environments, policy, horizon, seed, engine="cpu", record=record, steps=kept, reporting=reporting)
    return Layout.of(checked.setup, policy, recurrence=recurrence)


def run_cpu(
    environments: Sequence[Environment],
    policy: Policy[Any],
    horizon: int,
    replications: range,
    seed: int = 0,
    *,
    threads: int | None = None,
    block: int | None = None,
    form: Form = "auto",
    **options: Any,
) -> Part:
    """The CPU's engine; the other options are those of `laid_out`."""
    layout = laid_out(environments, policy, horizon, seed, **options)
    return cpu.run(layout, replications, threads=threads, block=block, form=form)


def uncompiled(entry: Plain, bind: Mapping[Plain, Plain], switches: Mapping[str, Switch]) -> Plain:
    """What stands in for `compile_cpu.build`: a kernel as Python runs it, with these functions and switches."""
    built: Plain = Builder(lambda copied, original: copied, dict(bind), dict(switches), {})(entry)
    return built


def code(layout: Layout, form: Form = "plain") -> Plain:
    """The kernel's entry for Python to run, with what is bound and switched: nothing is compiled.

    The plain form is a GPU's: what stands in for it where a replication has the memory for itself is left out.
    """
    lanes = None if form == "plain" else layout.lanes()
    assert form == "plain" or lanes is not None
    entry, bind = (layout.entry, {}) if lanes is None else lanes[:2]
    return uncompiled(entry, layout.bind | bind, layout.switches)


def interpreted(layout: Layout, replications: range, form: Form = "plain") -> Part:
    """As the CPU's engine, but in Python: for what is the same in any build, in tens of steps and of replications."""
    entry, columns, output = code(layout, form), LANES if form == "lanes" else 1, layout.output(len(replications))
    with np.errstate(over="ignore"):  # words of 32 bits, which wrap in machine code too
        for scenario in range(layout.environments):
            start = Replication(scenario, 0, replications.start)
            entry(start, len(replications), layout.given, layout.memory(columns), output)
    return layout.part(output)
