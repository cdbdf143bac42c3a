"""Kernels run with the options that `simulate` does not have."""

from collections.abc import Sequence
from typing import Any

from takeup import Environment, Policy, Reporting
from takeup.simulation.engine import Form, Part
from takeup.simulation.kernels import cpu
from takeup.simulation.kernels.layout import Layout
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
