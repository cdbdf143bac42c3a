"""Bodies that break readers, against a real service that somebody else uses meanwhile; and what a spec costs."""

import asyncio
import json
import subprocess
import sys

import decision_cost
from fuzzing.aftermath import MOST_PEAK
from fuzzing.run import Plan, fuzz
from gates.gate import Found, Gate, Run
from gates.scene import defective

PATIENCE = 60.0
"""Seconds after which an answer will not come: a body that never ends is ended after 30."""
FRESH = 50_000
PART = 200


def mutated(run: Run, *defects: str) -> Found:
    """So many bodies, and a probe in another trial."""
    plan = Plan(
        folder=run.folder,
        seed=run.seed,
        cases=run.times,
        only=("broken",),
        fresh=FRESH,
        patience=PATIENCE,
        control=1.0,
        environment=defective(*defects) if defects else None,
    )
    done = 0

    def told(more: int) -> None:
        nonlocal done
        done += more
        run.step(done, "bodies")

    result = asyncio.run(fuzz(plan, told))
    if result.failures:
        first = result.failures[0]
        return Found(
            False, f"{len(result.failures)} failures in {result.cases:,}, the first: {first.what} ({first.case})"
        )
    before, after = result.resources[-1]
    asked = sum(int(watch.phases.get("fuzz", {}).get("asked", 0)) for watch in result.watches)
    longest = max(watch.phases.get("fuzz", {}).get("longest", 0) for watch in result.watches)
    return Found(
        result.cases == run.times,
        f"{result.cases:,} bodies, no 5xx, none without an answer; others asked {asked:,} times and waited {longest} ms"
        f" at most; memory {before.service:.0f} to {after.service:.0f} MB and its writer's {before.writer:.0f} to"
        f" {after.writer:.0f}, {after.peak:.0f} at most ({MOST_PEAK} allowed); {result.audited:,} trials audited",
    )


def trusting(run: Run) -> Found:
    """JSON is read as Python reads it."""
    return mutated(run, "trusting")


def costs(run: Run, *options: str) -> Found:
    """What decisions cost by specs that pass their trial run."""
    found: list[float] = []
    refused, slowest = 0, ("", 0.0)
    while refused + len(found) < run.times:
        first = refused + len(found)
        part = [first, min(PART, run.times - first), run.seed]
        command = [sys.executable, str(decision_cost.__file__), *map(str, part), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=3_600, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2_000:])
        said = json.loads(done.stdout)
        found, refused = [*found, *said["costs"]], refused + said["refused"]
        if said["costs"] and max(said["costs"]) > slowest[1]:
            slowest = f"{said['policy']}, spec {said['slowest']}", max(said["costs"])
        run.step(first, "specs")
        if slowest[1] > decision_cost.LIMIT:
            break
    over = sum(each > decision_cost.LIMIT for each in found)
    figures = f"{len(found):,} accepted, {refused:,} refused; {slowest[1]:.2f} s for a decision at most ({slowest[0]})"
    return Found(not over and bool(found), f"{figures}; {over} above {decision_cost.LIMIT:g} s of the processor")


def untried(run: Run) -> Found:
    """Specs are accepted without a trial run."""
    return costs(run, "--untried")


GATES = (
    Gate(
        name="bodies",
        part="input",
        shows="bodies with NaN, 1e400, half characters, keys twice, depth 10,000, 300,000 digits, other encodings, cut"
        " off, in chunks, drop by drop, without end, to every operation and form: no 5xx, an answer within 60 s, no"
        " failure in the log, bounded memory, and another trial is served",
        unit="bodies",
        times=100_000,
        suite=0,
        run=mutated,
        without="the strict reading of JSON",
        control=trusting,
        control_times=300,
    ),
    Gate(
        name="spec-cost",
        part="input",
        shows="specs by the grammar of the policies' cards, on the worst tables: what passes its trial run decides"
        " within 1 s of the processor",
        unit="specs",
        times=4_000,
        suite=0,
        run=costs,
        without="the trial run",
        control=untried,
        control_times=400,
    ),
)
