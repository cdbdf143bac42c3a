"""Clients that decide by themselves under a lease, and die; or their machine, the service or its writer does."""

import json
import subprocess
import sys

import edge_kills
from gates.gate import Found, Gate, Run


def killed(run: Run, *options: str) -> Found:
    """Kill and look so many times, a new database every so often, until something is lost."""
    kills = acknowledged = 0
    lost: list[str] = []
    while kills < run.times and not lost:
        some = min(edge_kills.FRESH, run.times - kills)
        command = [sys.executable, str(edge_kills.__file__), str(run.folder / f"from-{kills}"), "--kills", str(some)]
        command += ["--seed", str(1_000_000 * run.seed + kills), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1_800, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2_000:])
        result = json.loads(done.stdout)
        kills, acknowledged, lost = kills + some, acknowledged + result["acknowledged"], result["lost"]
        run.step(kills)
    figures = f"{kills} kills, {acknowledged:,} decisions told, {len(lost)} lost or twice"
    return Found(not lost, f"{figures}, the first: {lost[0]}" if lost else figures)


def synced(run: Run) -> Found:
    """Edges that sync before they tell."""
    return killed(run)


def unsynced(run: Run) -> Found:
    """Edges that do not, and the power fails."""
    return killed(run, "--unsynced", "--victim", "power")


GATES = (
    Gate(
        name="edge-killed",
        part="faults",
        shows="SIGKILL of an edge, of its machine's power, of the service or of its writer: every decision that was "
        "told is in the log exactly once, with the proposal given",
        unit="kills",
        times=200,
        suite=0,
        run=synced,
        without="a sync before a decision is told",
        control=unsynced,
        control_times=20,
    ),
)
