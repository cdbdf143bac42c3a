"""The CPU engine: blocks of replications on threads of one process."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Literal

from takeup import checks
from takeup.environment import Environment
from takeup.policies import Policy
from takeup.simulation.kernels import compile_cpu, driver, lanes
from takeup.simulation.kernels.compile import Compiled
from takeup.simulation.kernels.job import Job, Result
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.reporting import Reporting

Form = Literal["auto", "plain", "lanes"]
"""How a kernel is run: in SIMD lanes where there is such a form, or one replication after the other."""

BLOCK_DECISIONS = 20_000_000
"""About how many decisions a block makes: a second or less, so that progress shows and Ctrl-C is heard."""


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
    threads: int | None = None,
    block: int | None = None,
    form: Form = "auto",
    recurrence: bool = True,
    progress: Callable[[int], object] = lambda _: None,
) -> Result:
    """Run one policy against each environment, many times.

    A result depends on environment, policy, reporting, horizon, seed and the number of the replication alone: not on
    threads, blocks, the range that it is run in, or what runs beside it.

    Args:
        environments: the truths, all of one shape.
        policy: one that has a kernel.
        horizon: T, how many units are met.
        replications: the numbers of the replications.
        seed: any whole number of at least 0.
        reporting: how much of what happens the policy sees, and when.
        steps: after how many decisions the regret is recorded; at the horizon where left out.
        keep_decisions: whether to keep every (x, z, a, y), packed.
        threads: how many; as many as there are cores where left out.
        block: replications that run as one piece.
        form: lanes and plain give the same numbers; `auto` takes lanes where there are any.
        recurrence: whether the two-arm recurrences may stand in for draws; the same distribution, other numbers.
        progress: called with the number of decisions made since the last call.
    """
    job = Job.of(
        environments,
        policy,
        horizon,
        replications,
        seed,
        reporting,
        steps,
        keep_decisions,
        recurrence,
    )
    workers = checks.whole("threads", os.cpu_count() or 1 if threads is None else threads, least=1)
    compiled, columns = _compiled(job, form)
    record = job.record(len(replications))

    def work(scenario: int, row: int, count: int) -> int:
        compiled(
            scenario,
            row,
            replications.start + row,
            count,
            job.horizon,
            job.shape,
            job.scenarios,
            job.report,
            job.parameters,
            job.memory(columns),
            record,
        )
        return count * job.horizon

    size = _block(job, workers, columns) if block is None else checks.whole("block", block, least=1)
    blocks = (
        (scenario, row, min(size, len(replications) - row))
        for scenario in range(len(environments))
        for row in range(0, len(replications), size)
    )
    if workers == 1:
        for each in blocks:
            progress(work(*each))
    else:
        _spread(work, blocks, workers, progress)
    return job.result(record)


def _compiled(job: Job, form: Form) -> tuple[Compiled, int]:
    """The machine code, and how many replications it works on at a time."""
    vectorised = None if form == "plain" else lanes.entry(job)
    if vectorised is None:
        return compile_cpu.build(driver.replicate_many, job.bind, job.switches), 1
    entry, bind = vectorised
    return compile_cpu.build(entry, job.bind | bind, job.switches), LANES


def _block(job: Job, workers: int, columns: int) -> int:
    """Replications of a block: a share of the work that leaves no core idle for long, in whole groups of lanes."""
    groups = -(-len(job.replications) // columns)
    share = -(-groups // (16 * workers))
    most = max(1, BLOCK_DECISIONS // (job.horizon * columns))
    return min(share, most) * columns


def _spread(
    work: Callable[[int, int, int], int],
    blocks: Iterator[tuple[int, int, int]],
    workers: int,
    progress: Callable[[int], object],
) -> None:
    """Hand out blocks to threads, a few ahead of those that are done."""
    with ThreadPoolExecutor(workers) as pool:
        running: set[Future[int]] = set()
        try:
            for each in blocks:
                running.add(pool.submit(work, *each))
                if len(running) >= 2 * workers:
                    running = _collect(running, progress)
            while running:
                running = _collect(running, progress)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _collect(running: set[Future[int]], progress: Callable[[int], object]) -> set[Future[int]]:
    done, rest = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        progress(future.result())
    return rest
