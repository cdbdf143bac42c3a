"""The compiled engines: kernels on the CPU and on a GPU, behind the same call as the reference."""

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from takeup.errors import UnsuitableError
from takeup.policies import Policy
from takeup.simulation.engine import Part, Progress, silent
from takeup.simulation.kernels import choice, cpu, gpu
from takeup.simulation.kernels.layout import Layout
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.reporting import Reporting
from takeup.simulation.setup import Setup
from takeup.space import Space

GRAIN = LANES
"""Replications that a kernel runs as one."""


def available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


def has_kernel(policy: Policy[Any], space: Space, reporting: Reporting = Reporting()) -> bool:
    """Whether there is a kernel for this policy in this space that takes such reports."""
    try:
        choice.choose(policy, space, waiting=reporting.waiting)
    except UnsuitableError:
        return False
    return True


def run_cpu(setup: Setup, policy: Policy[Any], replications: range, progress: Progress = silent) -> Part:
    """On all cores of this machine."""
    return cpu.run(_layout(setup, policy), replications, progress=progress)


def run_gpu(setup: Setup, policy: Policy[Any], replications: range, progress: Progress = silent) -> Part:
    """On one CUDA device."""
    return gpu.run(_layout(setup, policy), replications, progress=progress)


def _layout(setup: Setup, policy: Policy[Any]) -> Layout:
    """The arrays of a policy's simulation, made once; a block that came over the network has a setup of its own."""
    for name, own in setup.policies.items():
        if own is policy:
            return _kept_layout(setup, name)
    return Layout.of(setup, policy)


@lru_cache(maxsize=64)
def _kept_layout(setup: Setup, name: str) -> Layout:
    return Layout.of(setup, setup.policies[name])
