"""The CPU engine: blocks of replications on threads of one process."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from takeup.simulation.engine import Form, Part, Progress, silent
from takeup.simulation.kernels import compile_cpu
from takeup.simulation.kernels.compile import Compiled, Plain, Switch
from takeup.simulation.kernels.layout import Layout
from takeup.simulation.kernels.tables import Replication

BLOCK_DECISIONS = 20_000_000
"""About how many decisions a block makes: a second or less, so that progress shows and Ctrl-C is heard."""


def run(
    layout: Layout,
    replications: range,
    *,
    threads: int | None = None,
    block: int | None = None,
    form: Form = "auto",
    progress: Progress = silent,
) -> Part:
    """Run one policy against each environment, many times.

    A result depends on the layout and the number of the replication alone: not on threads, blocks, the range that it
    is run in, or what runs beside it.

    Args:
        layout: what is simulated.
        replications: the numbers of the replications.
        threads: how many; as many as there are cores where left out.
        block: replications that run as one piece.
        form: lanes and plain give the same numbers; `auto` takes the usual one.
        progress: called with the number of decisions made since the last call.
    """
    workers = threads or os.cpu_count() or 1
    code, columns = compiled(layout, usual(layout, len(replications)) if form == "auto" else form)
    output = layout.output(len(replications))

    def work(start: Replication, count: int) -> int:
        code(start, count, layout.given, layout.memory(columns), output)
        return count * int(layout.given.horizon)

    size = block or _block(layout, len(replications), workers, columns)
    blocks = (
        (Replication(scenario, row, replications.start + row), min(size, len(replications) - row))
        for scenario in range(layout.environments)
        for row in range(0, len(replications), size)
    )
    if workers == 1:
        for each in blocks:
            progress(work(*each))
    else:
        spread(work, blocks, workers, progress)
    return layout.part(output)


def usual(layout: Layout, replications: int) -> Form:
    """The form that is taken unmeasured: lanes where there are any, and replications enough for them."""
    few = replications < getattr(layout.kernel, "FEWEST_LANES", 1)
    return "plain" if few or layout.lanes() is None else "lanes"


def compiled(layout: Layout, form: Form) -> tuple[Compiled, int]:
    """The machine code, and how many replications it works on at a time."""
    lanes = None if form == "plain" else layout.lanes()
    if lanes is None:
        alone: dict[Plain, Plain] = getattr(layout.kernel, "ALONE", {})
        own = {name: alone.get(one, one) for name, one in layout.bind.items()} | alone
        known: dict[str, Switch] = {"SHAPE": tuple(layout.given.shape)} if alone else {}
        return compile_cpu.build(layout.entry, own, layout.switches | known), 1
    entry, bind, columns = lanes
    return compile_cpu.build(entry, layout.bind | bind, layout.switches), columns


def _block(layout: Layout, replications: int, workers: int, columns: int) -> int:
    """Replications of a block: a share of the work that leaves no core idle for long, in whole groups of lanes."""
    groups = -(-replications // columns)
    share = -(-groups // (16 * workers))
    most = max(1, BLOCK_DECISIONS // (layout.given.horizon * columns))
    return min(share, most) * columns


def spread(
    work: Callable[[Replication, int], int], blocks: Iterator[tuple[Replication, int]], workers: int, progress: Progress
) -> None:
    """Hand out blocks to threads, a few ahead of those that are done; `work` says how many decisions it made."""
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


def _collect(running: set[Future[int]], progress: Progress) -> set[Future[int]]:
    done, rest = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        progress(future.result())
    return rest
