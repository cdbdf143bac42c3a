"""The same calls to MABWiser itself and to the adapter. `make peers` has it."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from takeup import stream
from takeup.adapters import mabwiser as ours

theirs: Any = pytest.importorskip("mabwiser.mab", reason="no mabwiser: pip install 'takeup[bench]'")

SAME = 1e-8
BOTH = [theirs, ours]


def both(arms: list[Any], learning: str, *arguments: Any, near: tuple[Any, ...] | None = None) -> list[Any]:
    """A bandit of each package, from the same names."""
    made = []
    for package in BOTH:
        policy = getattr(package.LearningPolicy, learning)(*arguments)
        near_by = None if near is None else getattr(package.NeighborhoodPolicy, near[0])(*near[1:])
        made.append(package.MAB(arms, policy, near_by, seed=7))
    return made


def past(many: int, binary: bool = False) -> tuple[list[str], list[float]]:
    rng = stream(3, "past")
    z = rng.integers(3, size=many)
    y = rng.random(many) < 0.3 + 0.2 * z if binary else rng.normal(10 + z, 3).round(2)
    return [f"arm {k}" for k in z], y.astype(float).tolist()


ARMS = ["arm 0", "arm 1", "arm 2"]


def same(first: Any, second: Any) -> None:
    """Of the same shape, with the same keys in the same order, and the same numbers."""
    assert type(first) is type(second)
    if isinstance(first, list):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            same(one, other)
    else:
        assert list(first) == list(second)
        assert second == pytest.approx(first, abs=SAME, rel=SAME)


@pytest.mark.parametrize(("learning", "arguments"), [("EpsilonGreedy", (0,)), ("UCB1", (1.25,)), ("UCB1", ())])
@pytest.mark.parametrize("many", [12, 400])
def test_expectations_are_the_same(learning: str, arguments: tuple[Any, ...], many: int) -> None:
    decisions, rewards = past(many)
    pair = both(ARMS, learning, *arguments)
    for mab in pair:
        mab.fit(decisions[: many // 2], rewards[: many // 2])
        mab.partial_fit(decisions[many // 2 :], rewards[many // 2 :])
    same(*(mab.predict_expectations() for mab in pair))
    same(*(mab.predict_expectations([[0], [1]]) for mab in pair))
    assert pair[0].predict() == pair[1].predict()
    assert pair[0].predict([[0], [1]]) == pair[1].predict([[0], [1]])


@pytest.mark.parametrize("learning", ["EpsilonGreedy", "UCB1"])
def test_arms_come_and_go_in_the_same_way(learning: str) -> None:
    decisions, rewards = past(60)
    pair = both(ARMS, learning, *((0,) if learning == "EpsilonGreedy" else ()))
    for mab in pair:
        mab.fit(decisions, rewards)
        mab.add_arm("new")
        assert mab.cold_arms == ["new"]
        mab.partial_fit(["new", "new"], [30, 31])
    same(*(mab.predict_expectations() for mab in pair))
    for mab in pair:
        mab.remove_arm("arm 1")
        assert mab.arms == ["arm 0", "arm 2", "new"]
        assert mab.predict() == "new"


def test_thompson_draws_are_of_the_same_distribution() -> None:
    """Two samples of 4,000 of each arm: Kolmogorov and Smirnov are wrong once in 10,000."""
    decisions, rewards = past(50, binary=True)
    pair = both(ARMS, "ThompsonSampling")
    draws = []
    for mab in pair:
        mab.fit(decisions, rewards)
        draws.append(mab.predict_expectations(np.zeros((4000, 1))))
        assert set(mab.predict(np.zeros((400, 1)))) <= set(ARMS)
    for arm in ARMS:
        one, other = ([each[arm] for each in drawn] for drawn in draws)
        assert stats.ks_2samp(one, other).pvalue > 1e-4


@pytest.mark.parametrize(("learning", "arguments"), [("Softmax", (2.5,)), ("Popularity", ())])
def test_shares_are_of_the_same_distribution(learning: str, arguments: tuple[Any, ...]) -> None:
    """Two samples of 4,000 of each arm, one of which was never tried: wrong once in 10,000."""
    decisions, rewards = past(50)
    draws = []
    for mab in both([*ARMS, "new"], learning, *arguments):
        mab.fit(decisions, rewards)
        draws.append(mab.predict_expectations(np.zeros((4000, 1))))
        proposed = mab.predict(np.zeros((400, 1)))
        assert len(set(proposed)) > 1
    for arm in ARMS:
        one, other = ([each[arm] for each in drawn] for drawn in draws)
        assert stats.ks_2samp(one, other).pvalue > 1e-4


def test_who_has_no_neighbours_gets_an_arm_as_is_said() -> None:
    for mab in both(ARMS, "UCB1", 1.0, near=("Radius", 0.5, "euclidean", [0.0, 1.0, 0.0])):
        mab.fit(ARMS, [9, 5, 1], [[0], [0], [0]])
        assert mab.predict([[7], [8], [0]]) == ["arm 1", "arm 1", "arm 0"]


def test_both_refuse_rewards_that_are_not_binary() -> None:
    for mab in both(ARMS, "ThompsonSampling"):
        with pytest.raises(ValueError, match=r"0 and 1|binary"):
            mab.fit(ARMS, [1, 5, 0])


@pytest.mark.parametrize("near", [("KNearest", 5), ("Radius", 1.0)])
def test_neighbourhoods_are_the_same(near: tuple[Any, ...]) -> None:
    decisions, rewards = past(80)
    where = stream(5, "contexts").normal(size=(80, 2))
    asked = where[:6] + 0.01
    pair = both(ARMS, "EpsilonGreedy", 0, near=near)
    for mab in pair:
        mab.fit(decisions, rewards, where)
    found = [mab.predict_expectations(asked) for mab in pair]
    for one, other in zip(*found, strict=True):
        seen = {arm: value for arm, value in other.items() if np.isfinite(value)}  # they have 0 where we have infinity
        assert seen == pytest.approx({arm: one[arm] for arm in seen}, abs=SAME)


def test_columns_of_a_data_frame_are_contexts() -> None:
    """One value of many decisions, or many values of one: as told by what there was before."""
    pandas: Any = pytest.importorskip("pandas")
    for mab in both(ARMS, "EpsilonGreedy", 0, near=("KNearest", 1)):
        mab.fit(pandas.Series(ARMS), pandas.Series([9, 5, 1]), pandas.Series([0.0, 1.0, 2.0]))
        found = mab.predict_expectations(pandas.Series([0.1, 2.1]))
        assert [{arm for arm, value in each.items() if 0 < value < np.inf} for each in found] == [{"arm 0"}, {"arm 2"}]
    for mab in both(ARMS, "EpsilonGreedy", 0, near=("KNearest", 1)):
        mab.fit(["arm 1"], [5], pandas.Series([0.0, 1.0]))
        mab.partial_fit(["arm 2"], [5], pandas.Series([7.0, 7.0]))
        found = mab.predict_expectations(pandas.Series([6.0, 7.5]))
        assert {arm for arm, value in found.items() if 0 < value < np.inf} == {"arm 2"}


def test_a_warm_start_is_the_same() -> None:
    features = {"arm 0": [1, 0, 0], "arm 1": [0, 1, 0], "arm 2": [0.1, 0.9, 0.1], "arm 3": [0.5, -1, 3]}
    pair = both([*ARMS, "arm 3"], "EpsilonGreedy", 0)
    for mab in pair:
        mab.fit(["arm 0", "arm 1", "arm 1"], [3, 4, 7])
        mab.warm_start(features, 0.5)
        assert mab.cold_arms == ["arm 3"]
    found = [mab.predict_expectations() for mab in pair]
    assert found[0]["arm 2"] == found[1]["arm 2"] == 5.5


def test_defaults_are_the_same() -> None:
    for name in ("EpsilonGreedy", "UCB1", "Softmax", "Popularity", "ThompsonSampling", "Random"):
        policies = [getattr(package.LearningPolicy, name)() for package in BOTH]
        for field in policies[0]._fields:
            assert getattr(policies[1], field) == getattr(policies[0], field)
    for name in ("KNearest", "Radius"):
        near = [getattr(package.NeighborhoodPolicy, name)() for package in BOTH]
        assert [getattr(near[1], field) for field in near[0]._fields] == list(near[0])
    for mab in both(ARMS, "Random"):
        mab.fit(ARMS, [1, 2, 3])
        assert mab.predict() in ARMS
    assert theirs.MAB(ARMS, theirs.LearningPolicy.Random()).seed == ours.MAB(ARMS, ours.LearningPolicy.Random()).seed


LEARNING: list[tuple[str, tuple[Any, ...]]] = [
    ("EpsilonGreedy", (0.25,)),
    ("UCB1", (1.25,)),
    ("ThompsonSampling", (lambda decision, reward: reward > 10,)),
    ("Random", ()),
    ("Softmax", (2,)),
    ("Popularity", ()),
]


@pytest.mark.parametrize(("learning", "arguments"), LEARNING, ids=[name for name, _ in LEARNING])
@pytest.mark.parametrize("near", [None, ("KNearest", 3), ("Radius", 5)], ids=str)
def test_a_day_with_it_is_the_same_day(learning: str, arguments: tuple[Any, ...], near: Any) -> None:
    """Every call that its pages show, in the order of a day: each gives what has the same type, length and labels."""
    decisions, rewards = past(30)
    where = stream(8, "contexts").normal(size=(30, 2)).tolist()
    told = [[], []] if near is None else [[where], [[[1, 1]]]]
    answers = []
    for mab in both(ARMS, learning, *arguments, near=near):
        mab.fit(decisions, rewards, *told[0])
        found = [mab.predict(where[:1]), mab.predict(where[:7]), mab.predict_expectations(where[:7])]
        mab.add_arm("new")
        mab.partial_fit(["new"], [30], *told[1])
        found += [mab.predict(where[:1]), dict(mab.predict_expectations(where[:1])), list(mab.arms)]
        mab.remove_arm("arm 0")
        found += [mab.predict(where), mab.arms, bool(mab.is_contextual), mab.seed]
        answers.append(found)
    for one, other in zip(*answers, strict=True):
        assert type(one) is type(other)
        if isinstance(one, list):
            assert len(one) == len(other)
            assert type(one[0]) is type(other[0]) if one else not other
        if isinstance(one, dict):
            assert list(one) == list(other)
    assert answers[0][5:6] + answers[0][7:] == answers[1][5:6] + answers[1][7:]


QUESTIONS = """
mab = MAB(ARMS, LearningPolicy.UCB1(alpha=1.25))
mab.fit(decisions, rewards)
found = mab.predict([[0]] * 50)
mab.add_arm("new")
mab.partial_fit(["new"], [40])
after = mab.predict()
"""
"""Past data, proposals for many, and one more arm."""


def test_the_same_lines_ask_the_same_questions() -> None:
    """One text for both packages, so that neither needs a line more."""
    decisions, rewards = past(90)
    answers = []
    for package in BOTH:
        told: dict[str, Any] = {**vars(package), "ARMS": list(ARMS), "decisions": decisions, "rewards": rewards}
        exec(QUESTIONS, told)
        answers.append((told["found"], told["after"]))
    assert answers[0] == answers[1]
