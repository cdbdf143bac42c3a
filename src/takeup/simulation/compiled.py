"""The compiled engines: kernels on the CPU and on a GPU, behind the same call as the reference."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from takeup.errors import UnsuitableError
from takeup.policies import Policy
from takeup.simulation.engine import Part, Progress, packed_type, silent
from takeup.simulation.kernels import choice, cpu, gpu
from takeup.simulation.kernels.job import Result
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
    return _part(setup, cpu.run(*_arguments(setup, policy, replications), **_options(setup, progress)))


def run_gpu(setup: Setup, policy: Policy[Any], replications: range, progress: Progress = silent) -> Part:
    """On one CUDA device."""
    return _part(setup, gpu.run(*_arguments(setup, policy, replications), **_options(setup, progress)))


def _arguments(setup: Setup, policy: Policy[Any], replications: range) -> tuple[Any, ...]:
    return list(setup.environments.values()), policy, setup.horizon, replications, setup.seed


def _options(setup: Setup, progress: Progress) -> dict[str, Any]:
    return {
        "reporting": setup.reporting,
        "steps": setup.steps.tolist(),
        "keep_decisions": setup.full,
        "progress": progress,
    }


def _part(setup: Setup, result: Result) -> Part:
    none = np.zeros((*result.regret.shape[:2], 0), dtype=packed_type(setup.space))
    return Part(result.regret, result.pulls, none if result.decisions is None else result.decisions)
