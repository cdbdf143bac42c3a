"""Edges that are killed, with their service and its writer, or lose their power."""

import edge_kills
from gates.gate import Found, Gate, Run


def killed(run: Run, *, sync: bool = True) -> Found:
    """So many kills; what an edge told must be in the log."""
    victims = edge_kills.VICTIMS if sync else ("power",)
    result = edge_kills.torture(run.folder / "edges", run.times, seed=run.seed, victims=victims, sync=sync)
    what = ", ".join(f"{many} of {name}" for name, many in result.kills.items())
    lost = f", the first: {result.lost[0]}" if result.lost else ""
    return Found(
        not result.lost, f"{what}: {result.acknowledged:,} acknowledged, {len(result.lost)} missing or wrong{lost}"
    )


def without_syncs(run: Run) -> Found:
    """An edge tells a proposal before it is on the disk."""
    return killed(run, sync=False)


GATES = (
    Gate(
        name="edges",
        part="faults",
        shows="SIGKILL of edges, of the service and of its writer, and power failures: what an edge told with a sync is"
        " in the log once",
        unit="kills",
        times=200,
        suite=0,
        run=killed,
        without="the sync before an edge tells a proposal",
        control=without_syncs,
        control_times=20,
    ),
)
