"""Processes that are killed, and power that fails, while a store writes."""

import json
import subprocess
import sys

import hammer
from gates.gate import Found, Gate, Run


def hammered(run: Run, *options: str) -> Found:
    """Kill and look so many times, a new database every so often, until something is lost."""
    kills = acknowledged = 0
    wrong: list[str] = []
    while kills < run.times and not wrong:
        some = min(hammer.FRESH, run.times - kills)
        command = [sys.executable, str(hammer.__file__), str(run.folder / "hammer"), "--kills", str(some)]
        command += ["--seed", str(1_000_000 * run.seed + kills), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2_000:])
        result = json.loads(done.stdout)
        kills, acknowledged = kills + result["kills"], acknowledged + result["acknowledged"]
        wrong = result["lost"] + result["differences"]
        run.step(kills)
    figures = f"{kills:,} times, {acknowledged:,} acknowledged"
    if wrong:
        return Found(False, f"{figures}, {len(wrong)} lost or different, the first: {wrong[0]}")
    return Found(acknowledged > kills // 2, f"{figures}, 0 lost, every audit passed")


def killed(run: Run) -> Found:
    """SIGKILL of the process that writes."""
    return hammered(run)


def early(run: Run) -> Found:
    """The answer goes out before the commit."""
    return hammered(run, "--early")


def powers(run: Run) -> Found:
    """The power fails under SQLite."""
    return hammered(run, "--power")


def without_syncs(run: Run) -> Found:
    """The power fails, and nothing was synced."""
    return hammered(run, "--power", "--synchronous", "OFF")


GATES = (
    Gate(
        name="store-killed",
        part="faults",
        shows="SIGKILL of a process that writes to a store: what was acknowledged is there exactly once; audits pass",
        unit="kills",
        times=1_000,
        suite=4,
        run=killed,
        without="the commit before the answer",
        control=early,
        control_times=100,
    ),
    Gate(
        name="power",
        part="faults",
        shows="the power fails under SQLite, and any part of what was not synced is on the disk: the same",
        unit="failures",
        times=1_000,
        suite=4,
        run=powers,
        without="syncs (`synchronous=OFF`)",
        control=without_syncs,
        control_times=100,
    ),
)
