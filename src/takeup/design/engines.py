"""What runs the trials of a plan: the kernel of looks on the CPU, on a GPU or on a Dask cluster, or the reference."""

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from takeup.design import reference
from takeup.design.forms import has_kernel
from takeup.design.plan import Plan
from takeup.design.running import laid_out
from takeup.design.scenarios import Scenario
from takeup.simulation.engine import Progress, silent
from takeup.simulation.kernels import look_cpu, look_gpu
from takeup.simulation.kernels.look_tables import LookOutput
from takeup.simulation.run import EngineName, check_engine


class Runner(Protocol):
    """Runs these trials of a plan in each scenario; a trial depends on plan, scenario, seed and its number alone."""

    def __call__(
        self,
        plan: Plan,
        scenarios: Mapping[str, Scenario],
        trials: range,
        seed: int,
        progress: Progress = silent,
        *,
        recording: bool = False,
    ) -> LookOutput:
        """Run them; `recording` keeps what superiority was asked of at every look."""


def engine_of(plan: Plan, name: EngineName = "auto", scheduler: object = None) -> tuple[str, Runner]:
    """Whose draws the trials have, and what runs them: what the CPU and a cluster run is the same.

    "auto" is the CPU, or the reference where there is no kernel for this plan.
    """
    check_engine(name, scheduler)
    if name == "reference" or (name == "auto" and not has_kernel(plan)):
        return "reference", reference.run
    if name == "gpu":
        return "gpu", on_gpu
    return "cpu", partial(on_cluster, scheduler) if name == "dask" else on_cpu


def on_cpu(
    plan: Plan,
    scenarios: Mapping[str, Scenario],
    trials: range,
    seed: int,
    progress: Progress = silent,
    *,
    recording: bool = False,
) -> LookOutput:
    """On all cores of this machine."""
    return look_cpu.run(laid_out(plan, scenarios, seed, recording=recording), trials, progress=progress)


def on_gpu(
    plan: Plan,
    scenarios: Mapping[str, Scenario],
    trials: range,
    seed: int,
    progress: Progress = silent,
    *,
    recording: bool = False,
) -> LookOutput:
    """On one CUDA device."""
    return look_gpu.run(laid_out(plan, scenarios, seed, recording=recording), trials, progress=progress)


def on_cluster(
    scheduler: object,
    plan: Plan,
    scenarios: Mapping[str, Scenario],
    trials: range,
    seed: int,
    progress: Progress = silent,
    *,
    recording: bool = False,
) -> LookOutput:
    """On the workers of a Dask scheduler; threads of this process where there is none."""
    from takeup.simulation.cluster import Sweep, Work

    laid_out(plan, scenarios, seed)  # fails here, not on a worker
    names = list(scenarios)

    def some(which: range) -> Work:
        return partial(_on_worker, plan, {names[i]: scenarios[names[i]] for i in which}, seed, recording)

    found: LookOutput = Sweep(some, len(names), trials, look_cpu.BLOCK).run(scheduler, progress)
    return found


def _on_worker(plan: Plan, scenarios: Mapping[str, Scenario], seed: int, recording: bool, trials: range) -> LookOutput:
    return on_cpu(plan, scenarios, trials, seed, recording=recording)
