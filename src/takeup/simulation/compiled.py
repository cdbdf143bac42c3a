"""The compiled engines: kernels on the CPU and on a GPU, behind the same call as the reference."""

from collections.abc import Iterable
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from takeup.errors import EngineError, UnsuitableError
from takeup.policies import Policy
from takeup.policies.meeting import space_for
from takeup.populations import CovariateEnvironment
from takeup.simulation import picking
from takeup.simulation.engine import Choice, Form, Part, Progress, silent
from takeup.simulation.kernels import choice, cpu, gpu, populations
from takeup.simulation.kernels.layout import Layout
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.kernels.unit_layout import UnitLayout
from takeup.simulation.reporting import Reporting
from takeup.simulation.setup import AnyEnvironment, Setup
from takeup.space import Space

GRAIN = LANES
"""Replications that a kernel runs as one."""


def available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


def has_kernel(policy: Policy[Any], space: Space, reporting: Reporting = Reporting()) -> bool:
    """Whether there is a kernel for this policy in this space that takes such reports."""
    try:
        choice.choose(policy, space_for(policy, space), waiting=reporting.waiting)
    except UnsuitableError:
        return False
    return True


def has_tables(environments: Iterable[AnyEnvironment]) -> bool:
    """Whether kernels can draw from all of these: of a population of one's own they cannot."""
    return all(not isinstance(each, CovariateEnvironment) or populations.has_tables(each) for each in environments)


def run_cpu(
    setup: Setup, policy: Policy[Any], replications: range, progress: Progress = silent, form: Form = "auto"
) -> Part:
    """On all cores of this machine."""
    return cpu.run(_layout(setup, policy), replications, form=form, progress=progress)


def picked(setup: Setup, policy: Policy[Any], replications: int, *, free: bool, device: bool = False) -> Choice:
    """What runs so many replications: the CPU's kernel, in the faster form where that is free; or a GPU, if it may."""
    layout = _layout(setup, policy)
    choice = picking.pick(layout, replications, free=free)
    able = device and setup.space.covariates is None and has_device()
    return picking.pick_gpu(layout, replications, choice) if able else choice


def has_device() -> bool:
    """Whether a GPU could be used here."""
    try:
        gpu.device()
    except EngineError:
        return False
    return True


def run_gpu(setup: Setup, policy: Policy[Any], replications: range, progress: Progress = silent) -> Part:
    """On one CUDA device."""
    return gpu.run(_layout(setup, policy), replications, progress=progress)


def _layout(setup: Setup, policy: Policy[Any]) -> Layout:
    """The arrays of a policy's simulation, made once; a block that came over the network has a setup of its own."""
    for name, own in setup.policies.items():
        if own is policy:
            return _kept_layout(setup, name)
    return _laid_out(setup, policy)


@lru_cache(maxsize=64)
def _kept_layout(setup: Setup, name: str) -> Layout:
    return _laid_out(setup, setup.policies[name])


def _laid_out(setup: Setup, policy: Policy[Any]) -> Layout:
    kind = Layout if setup.space.covariates is None else UnitLayout
    return kind.of(setup, policy)
