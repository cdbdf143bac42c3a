"""The log: what it refuses, and that evidence is what its decisions add up to."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from takeup import UNSEEN, Evidence, InputError, Log, Space, event, stream

SPACE = Space(["rest", "surgery"], contexts=["young", "old"], outcomes=["died", "lived"])


def by_chance(n: int, batch: tuple[int, ...] = (), seed: int = 1) -> Log:
    rng = stream(seed, "log")
    p = rng.dirichlet([3, 3], (*batch, n))
    z = (rng.random((*batch, n)) > p[..., 0]).astype(int)
    x, a, y = (rng.integers(low, 2, (*batch, n)) for low in (0, UNSEEN, UNSEEN))
    return Log.of(SPACE, z, p, context=x, implemented=a, outcome=y)


def test_evidence_is_what_the_decisions_of_a_log_add_up_to() -> None:
    log = by_chance(60)
    one_by_one = Evidence.empty(SPACE)
    for i in range(60):
        unseen = {"implemented": log.implemented[i], "outcome": log.outcome[i]}
        seen: dict[str, Any] = {name: None if code == UNSEEN else int(code) for name, code in unseen.items()}
        one_by_one = one_by_one.record(event(SPACE, int(log.proposal[i]), **seen, context=int(log.context[i])))
    assert Evidence.from_log(log) == one_by_one


def test_trials_side_by_side_are_each_their_own() -> None:
    many = by_chance(30, (2, 3))
    counts = Evidence.from_log(many).counts
    for i in np.ndindex(2, 3):
        one = Log.of(
            SPACE,
            many.proposal[i],
            many.probability[i],
            context=many.context[i],
            implemented=many.implemented[i],
            outcome=many.outcome[i],
        )
        np.testing.assert_array_equal(Evidence.from_log(one).counts, counts[i])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"proposal": [0, 2]}, "proposal: got 0 to 2"),
        ({"probability": [0.5, 0.6]}, "sum to one"),
        ({"probability": [[0.5, 0.5], [1.0, 0.0]]}, "0 of the proposal of decision 2"),
        ({"outcome": [0, 5]}, "outcome: got 0 to 5"),
        ({"source": [0, 9]}, "source"),
        ({"outcome": [0.5, 1]}, "outcome: got 0.5, expected whole numbers"),
        ({"outcome": [0, np.nan]}, "outcome: got nan at \\[1\\], expected finite numbers"),
        ({"outcome_by": [1, np.nan]}, "outcome_by: got nan at \\[1\\]"),
        ({"outcome_by": [1, 2, 2]}, r"outcome_by: got shape \(3,\), expected shape \(2,\)"),
        ({"outcome_by": [1, 1]}, "outcome_by: got 1 at decision 2, expected from 2 to 2"),
        ({"implemented_by": [3, 2]}, "implemented_by: got 3 at decision 1, expected from 1 to 2"),
        ({"unit": np.array(["a"])}, r"unit: got shape \(1,\)"),
    ],
)
def test_what_a_log_refuses(wrong: dict[str, list[float]], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Log.of(SPACE, **({"proposal": [0, 1], "probability": [0.5, 0.5]} | wrong))  # type: ignore[arg-type]  # on purpose


def test_what_is_known_before_its_own_decision_is_refused_in_any_of_many_trials() -> None:
    log = by_chance(5, (2, 3))
    by = np.array(log.outcome_by)
    by[1, 2, 3] = 3
    with pytest.raises(InputError, match="outcome_by: got 3 at decision 4, expected from 4 to 5"):
        replace(log, outcome_by=by)
    with pytest.raises(InputError, match="outcome_by: got shape"):
        replace(log, outcome_by=by[..., :4])
    p = np.array(log.probability)
    p[1, 0, 2] = np.nan
    with pytest.raises(InputError, match="sum to one"):
        replace(log, probability=p)


def test_some_decisions_of_a_log_know_of_each_other_what_they_knew() -> None:
    log = Log.of(SPACE, [0, 1, 0, 1], [0.5, 0.5], outcome=[1, 1, 0, 0], outcome_by=[3, 2, 4, 4])
    few = log.only(np.array([True, False, True, True]))
    np.testing.assert_array_equal(few.outcome_by, [2, 3, 3])
    np.testing.assert_array_equal(few.outcome, [1, 0, 0])
    with pytest.raises(InputError, match="in the order of the log"):
        log.only(np.array([1, 0]))
    assert log.fixed
    assert not by_chance(20).fixed
