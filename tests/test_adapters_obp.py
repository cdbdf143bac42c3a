"""The dictionary of logged bandit feedback that the Open Bandit Pipeline documents: keys, shapes, sums, both ways."""

from typing import Any

import numpy as np
import pytest

from takeup import UNSEEN, InputError, Log, Space, stream
from takeup.adapters.obp import feedback_of, log_of_feedback

SPACE = Space(
    ["rest", "drug", "surgery"],
    ["rest", "drug", "surgery", "elsewhere"],
    contexts=["young", "old"],
    outcomes=["dead", "ill", "well"],
    utility=(0, 0.4, 1),
)


def some_log(n: int = 200, seed: int = 1) -> Log:
    rng = stream(seed)
    p = rng.dirichlet([2, 3, 4], size=n)
    z = (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1).clip(max=2)
    x, a, y = rng.integers(2, size=n), rng.integers(-1, 4, size=n), rng.integers(3, size=n)
    return Log.of(SPACE, z, p, context=x, implemented=a, outcome=y)


def test_keys_and_shapes_are_as_documented() -> None:
    n, log = 200, some_log()
    feedback = feedback_of(log)
    shapes = {
        "context": (n, 2),
        "action_context": (3, 3),
        "action": (n,),
        "reward": (n,),
        "pscore": (n,),
        "pi_b": (n, 3, 1),
    }
    assert (feedback["n_rounds"], feedback["n_actions"], feedback["position"]) == (n, 3, None)
    for key, shape in shapes.items():
        assert feedback[key].shape == shape
    assert feedback["action"].dtype.kind == "i"


def test_inverse_probability_weighting_gives_the_same() -> None:
    """The value of always proposing z is the mean of r 1{z} / p[z], from either."""
    log = some_log()
    feedback = feedback_of(log)
    for z in range(3):
        theirs = np.mean(feedback["reward"] * (feedback["action"] == z) / feedback["pscore"])
        ours = np.mean(SPACE.reward[log.outcome] * (log.proposal == z) / log.probability[:, z])
        assert theirs == pytest.approx(ours, rel=1e-12)


def same(log: Log, other: Log) -> None:
    assert log.space == other.space
    for name in ("context", "proposal", "implemented", "outcome", "probability"):
        assert np.array_equal(getattr(log, name), getattr(other, name)), name


def test_there_and_back() -> None:
    same(some_log(), log_of_feedback(feedback_of(some_log())))


def test_levels_of_the_same_worth_stay_apart() -> None:
    space = Space(2, outcomes=["dead", "lost", "well"], utility=(0, 0, 1))
    log = Log.of(space, [0, 1, 0, 1], [0.5, 0.5], outcome=[0, 1, 2, 1])
    same(log, log_of_feedback(feedback_of(log)))


def foreign(n: int = 40, k: int = 2, **changes: Any) -> dict[str, Any]:
    """A dictionary as obp's own datasets are: nothing of takeup in it."""
    rng = stream(2)
    p = np.full(n, 1 / k)
    made = {
        "n_rounds": n,
        "n_actions": k,
        "context": np.eye(2)[rng.integers(2, size=n)],
        "action_context": np.eye(k),
        "action": np.arange(n) % k,
        "position": np.zeros(n, dtype=int),
        "reward": rng.integers(2, size=n),
        "pscore": p,
    }
    return made | changes


def test_a_dictionary_of_somebody_else() -> None:
    feedback = foreign()
    log = log_of_feedback(feedback, implemented=np.where(np.arange(40) < 10, UNSEEN, feedback["action"]))
    assert log.space == Space(2, contexts=2)
    assert (log.proposal == feedback["action"]).all()
    assert (log.outcome == feedback["reward"]).all()
    assert (log.context == feedback["context"].argmax(axis=1)).all()
    assert (log.implemented == UNSEEN).sum() == 10
    assert np.allclose(log.probability, 0.5)


def test_two_probabilities_follow_from_one() -> None:
    p = np.linspace(0.1, 0.9, 40)
    log = log_of_feedback(foreign(pscore=p))
    assert np.allclose(log.probability_of_proposal, p)
    assert np.allclose(log.probability.sum(axis=1), 1)


def test_of_three_they_do_not() -> None:
    with pytest.raises(InputError, match="probability"):
        log_of_feedback(foreign(k=3, pscore=np.linspace(0.1, 0.9, 40)))
    p = stream(4).dirichlet([1, 1, 1], size=40)
    feedback = foreign(k=3, pi_b=p[..., np.newaxis])
    assert np.allclose(log_of_feedback(feedback).probability, p)


def test_numbers_as_contexts_are_told_apart_by_hand() -> None:
    rows = stream(5).normal(size=(400, 3))
    feedback = foreign(n=400, context=rows)
    with pytest.raises(InputError, match="400 different rows, expected at most 100 groups"):
        log_of_feedback(feedback)
    group = (rows[:, 0] > 0).astype(int)
    assert (log_of_feedback(feedback, context=group).context == group).all()
    assert len(log_of_feedback(foreign(context=np.arange(40)[:, np.newaxis] % 4)).space.contexts) == 4


def test_pending_outcomes_are_refused_or_left_out() -> None:
    log = Log.of(SPACE, [0, 1, 2], [0.2, 0.3, 0.5], outcome=[0, UNSEEN, 2])
    with pytest.raises(InputError, match=r'1 decisions without an outcome.*pending="leave out"'):
        feedback_of(log)
    assert feedback_of(log, pending="leave out")["action"].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"action": np.zeros(3, dtype=int)}, "40 indices"),
        ({"position": np.arange(40)}, "one: a proposal to each unit"),
        ({"pi_b": np.ones((40, 2))}, "round, action, one position"),
        ({"context": np.zeros(40)}, "a row of numbers for each of 40"),
        ({"n_actions": 1}, "n_actions"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        log_of_feedback(foreign(**changes))


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="no pscore"):
        log_of_feedback({key: value for key, value in foreign().items() if key != "pscore"})
