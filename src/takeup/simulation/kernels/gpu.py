"""The GPU engine: one launch for many scenarios and replications, in blocks that bound its memory."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from takeup import checks
from takeup.environment import Environment
from takeup.errors import EngineError
from takeup.policies import Policy
from takeup.simulation.kernels import compile_gpu
from takeup.simulation.kernels.compile import Compiled, Plain, numba_module
from takeup.simulation.kernels.job import Job, Result
from takeup.simulation.reporting import Reporting

THREADS = 128
"""Threads of a CUDA block."""

BLOCK_BYTES = 4 * 2**30
"""About how much of the device's memory a launch takes."""


def run(
    environments: Sequence[Environment],
    policy: Policy[Any],
    horizon: int,
    replications: range,
    seed: int = 0,
    *,
    reporting: Reporting = Reporting(),
    steps: Sequence[int] | None = None,
    keep_decisions: bool = False,
    block: int | None = None,
    recurrence: bool = True,
    progress: Callable[[int], object] = lambda _: None,
) -> Result:
    """Run one policy against each environment on the GPU; the arguments are those of `cpu.run`.

    The arithmetic is that of the CPU, to the rounding; the logarithms of the rare draws that need one may differ in
    their last bit.

    Raises:
        EngineError: numba-cuda is not installed, or there is no device.
    """
    job = Job.of(environments, policy, horizon, replications, seed, reporting, steps, keep_decisions, recurrence)
    cuda = device()
    entry = compile_gpu.entry(job.bind, job.switches, job.shape, job.rows, job.kernel.real)
    kernel = _compiled(entry, job.kernel.registers)
    whole = job.record(len(replications))
    size = _block(job) if block is None else checks.whole("block", block, least=1)
    scenarios, parameters = _sent(cuda, job.scenarios), _sent(cuda, job.parameters)
    for row in range(0, len(replications), size):
        count = min(size, len(replications) - row)
        total = count * len(environments)
        columns = 1 if compile_gpu.is_local(job.rows, job.kernel.real) else total
        record = _sent(cuda, job.record(count))
        kernel[-(-total // THREADS), THREADS](
            total,
            count,
            replications.start + row,
            job.horizon,
            scenarios,
            job.report,
            parameters,
            _sent(cuda, job.memory(columns)),
            record,
        )
        for name in ("regret", "pulls", "decisions") if keep_decisions else ("regret", "pulls"):
            getattr(whole, name)[:, row : row + count] = getattr(record, name).copy_to_host()
        progress(total * job.horizon)
    return job.result(whole)


def device() -> Any:
    """The module numba.cuda, where there is a device for it."""
    cuda = numba_module("numba.cuda")
    if not cuda.is_available():
        raise EngineError("there is no CUDA device here, or no driver for it; use engine='cpu'")
    return cuda


@cache
def _compiled(entry: Plain, registers: int | None) -> Compiled:
    limit = {} if registers is None else {"max_registers": registers}
    return numba_module("numba.cuda").jit(entry, **limit)


def _sent(cuda: Any, arrays: NamedTuple) -> Any:
    """The tuple with its arrays on the device."""
    return type(arrays)(*(cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arrays))


def _block(job: Job) -> int:
    """Replications of a launch, so that state and record stay within `BLOCK_BYTES`."""
    counts, real, ring = job.rows
    record = 8 * job.steps.size + 8 * job.shape[0] * job.shape[1] + (4 * job.horizon if job.keeping else 0)
    small = compile_gpu.is_local(job.rows, job.kernel.real)
    state = 0 if small else 4 * counts + np.dtype(job.kernel.real).itemsize * real + 4 * ring
    environments = int(job.scenarios.key.shape[0])
    return max(1, BLOCK_BYTES // ((record + state) * environments))
