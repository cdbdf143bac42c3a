"""How much a decision can cost, in seconds of the processor, whatever spec was accepted and whatever is known.

    python tests/decision_cost.py FIRST SPECS SEED [--untried]

Specs follow the grammar of the policies' cards. What passes its trial run decides on the tables of the trial run and on
others by chance, from nothing to a thousand million in a cell. One JSON object says what came of it.
"""

import json
import sys
import time

import numpy as np

from fuzzing.specs import spec
from fuzzing.values import Dice
from takeup.checks import IntArray
from takeup.errors import TakeupError
from takeup.live import trial_run
from takeup.live.trial_run import TriedSpec, tried
from takeup.randomness import stream
from takeup.trial.computing import ProcessorTimer, TimeIsUp
from takeup.trial.design import Design
from takeup.trial.spec import parse

TABLES = 6
"""How many tables there are by chance."""
ENOUGH = 2.5
"""After so many seconds of computing a spec has been tried."""
LIMIT, MOST = 1.0, 3.0
"""What a decision may take; and what is not over by then is interrupted."""


def tables(design: Design, seed: int) -> list[tuple[int, IntArray]]:
    """Contexts, and what is known there."""
    found = [(context, known) for _, context, known in trial_run.evidence(design.shown)]
    rng, empty = stream(seed, "tables"), np.zeros(design.shown.table[1:], dtype=np.int64)
    for _ in range(TABLES):
        known = empty.copy()
        known[...] = (rng.random(known.shape) < rng.random()) * 10 ** (9 * rng.random(known.shape))
        found.append((int(rng.integers(design.shown.shape[0])), trial_run._with_sums(design.shown, known)))
    return found


def cost(design: Design, seed: int, timer: ProcessorTimer) -> float:
    """The most that a decision took."""
    most, began = 0.0, time.process_time()
    for context, known in tables(design, seed):
        start = time.process_time()
        try:
            with np.errstate(all="ignore"):
                timer.run(MOST, lambda: trial_run._decide(design, context, known))  # noqa: B023  # it runs at once
        except TimeIsUp:
            return MOST
        most = max(most, time.process_time() - start)
        if time.process_time() - began > ENOUGH:
            break
    return most


def main() -> None:
    """Try specs."""
    first, count, seed = (int(each) for each in sys.argv[1:4])
    check = _untried if "--untried" in sys.argv else tried
    trial_run.limit()
    assert trial_run._timer is not None
    timer, costs, refused = trial_run._timer, dict[int, float](), 0
    for number in range(first, first + count):
        try:
            accepted = check(spec(Dice(seed, "cost", number)))
        except TakeupError:
            refused += 1
            continue
        costs[number] = cost(accepted.design, seed + number, timer)
        if costs[number] > LIMIT:
            break
    slowest = max(costs, key=costs.__getitem__, default=first)
    kind = spec(Dice(seed, "cost", slowest))["policy"]["kind"]
    found = {"costs": list(costs.values()), "refused": refused, "slowest": slowest, "policy": kind}
    sys.stdout.write(json.dumps(found) + "\n")


def _untried(content: object) -> TriedSpec:
    parsed = parse(content, "spec")  # type: ignore[arg-type]  # a table, by the grammar
    return TriedSpec(Design.of(parsed, "spec"), parsed.seed)


if __name__ == "__main__":
    main()
