"""Small and odd logs: whatever is in them, an analysis ends in figures and reasons, or in an error that says why."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from takeup import UNSEEN, Count, Log, Number, Space, Time, stream
from takeup.analysis import analyse
from takeup.analysis.headline import beside
from takeup.analysis.words import reasons
from takeup.outcomes import Levels, Outcome

OUTCOMES: tuple[Outcome, ...] = (
    Levels(("ill", "well")),
    Levels(("bad", "fair", "fine"), (0.0, 1.0, 5.0)),
    Number(0, 10, step=0.5, better="lower"),
    Count(20),
    Count(9, exposure="days", longest=10),
    Time(12),
)
TWO = Space(["usual", "new"], outcomes=["ill", "well"])
HALF = [0.5, 0.5]


def told(log: Log, **how: Any) -> dict[str, Any]:
    """An analysis as JSON, with all of its words; warnings are errors in tests."""
    found = analyse(log, **how)
    assert all([*found.answers(), *beside(found), *(why for _, why in reasons(found))])
    plain: dict[str, Any] = json.loads(json.dumps(found.plain(), allow_nan=False))
    return plain


@pytest.mark.parametrize(
    "log",
    [
        Log.of(TWO, [0], HALF, implemented=[0], outcome=[1]),
        Log.of(TWO, [0, 0, 0], HALF, implemented=[0, 1, 0], outcome=[1, 0, 1]),
        Log.of(TWO, [0, 1] * 4, HALF, implemented=[0, 1] * 4, outcome=[UNSEEN] * 8),
        Log.of(TWO, [0, 1] * 4, HALF, implemented=[UNSEEN] * 8, outcome=[1, 0] * 4),
        Log.of(TWO, [0, 1] * 6, HALF, implemented=[1] * 12, outcome=[0, 1, 1] * 4),
        Log.of(TWO, [0, 1] * 6, HALF, implemented=[0, 1] * 6, outcome=[1] * 12),
        Log.of(TWO, [0, 0, 1, 1], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], outcome=[0, 1, 0, 1]),
        Log.of(Space(TWO.proposals, contexts=2), [0, 1, 0, 1], HALF, context=[0] * 4, outcome=[0, 1, 1, 0]),
        Log.of(Space(2, outcomes=Time(12)), [0, 1], [[1.0, 0.0], [0.0, 1.0]], outcome=[3, 4]),
    ],
    ids=[
        "one decision",
        "one arm never offered",
        "no outcome",
        "no action",
        "all took the same",
        "all outcomes the same",
        "never both possible",
        "a context without anybody",
        "times, never both possible",
    ],
)
def test_odd_logs_are_read_to_the_end(log: Log) -> None:
    assert told(log)["flow"]["assessed"] == len(log)


def odd(seed: int) -> Log:
    """A log of 1 to 30 decisions in which whatever can be lacking may be lacking."""
    rng = stream(seed, "odd")
    n, arms = int(rng.choice([1, 2, 3, 5, 8, 13, 30])), int(rng.integers(2, 4))
    outcome = OUTCOMES[int(rng.integers(len(OUTCOMES)))]
    names = [f"arm {z}" for z in range(arms)]
    actions = [None, [*names, "else"], ["on", "off"]][int(rng.integers(3))]
    contexts = int(rng.integers(1, 3))
    space = Space(names, actions, contexts=contexts, outcomes=outcome)
    p = rng.dirichlet(np.full(arms, 0.7), n) if rng.random() < 0.5 else np.tile(rng.dirichlet(np.full(arms, 3)), (n, 1))
    if rng.random() < 0.3:
        p[: n if rng.random() < 0.5 else n // 2, -1] = 0.0
        p /= p.sum(axis=1, keepdims=True)
    z = np.array([rng.choice(arms, p=each) for each in p])
    many = len(space.implemented)
    a = np.where(rng.random(n) < 0.7, np.minimum(z, many - 1), rng.integers(0, many, n))
    y = rng.integers(0, outcome.size, n)
    for column in (a, y):
        if (chance := rng.random()) < 0.15:
            column[:] = column[0]
        elif chance < 0.25:
            column[:] = UNSEEN
        elif chance < 0.55:
            column[rng.random(n) < 0.4] = UNSEEN
        elif chance < 0.65:
            column[z == 0] = UNSEEN
    log = Log.of(space, z, p, context=rng.integers(0, contexts, n), implemented=a, outcome=y)
    return replace(log, estimated=bool(log.constant and rng.random() < 0.3))


@pytest.mark.parametrize("seed", [0, 2, 3, 153])
def test_logs_made_at_random_are_read_to_the_end(seed: int) -> None:
    told(odd(seed), promise=0.1, finished=bool(seed % 2))


@pytest.mark.long
def test_many_logs_made_at_random_are_read_to_the_end() -> None:
    for seed in range(4, 300):
        told(odd(seed), promise=None if seed % 3 else 0.1, finished=bool(seed % 2))
