"""MABWiser's linear policies and the adapter's, and the calls of its example programs. `make peers` has it."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from takeup import stream
from takeup.adapters import mabwiser as ours

theirs: Any = pytest.importorskip("mabwiser.mab", reason="no mabwiser: pip install 'takeup[bench]'")

SAME = 1e-8
BOTH = [theirs, ours]
ARMS = [1, 2, 3]
KINDS = ["LinGreedy", "LinTS", "LinUCB"]


def both(learning: str, *arguments: Any, near: tuple[Any, ...] | None = None, arms: list[Any] | None = None) -> Any:
    """A bandit of each package, from the same names."""
    for package in BOTH:
        policy = getattr(package.LearningPolicy, learning)(*arguments)
        near_by = None if near is None else getattr(package.NeighborhoodPolicy, near[0])(*near[1:])
        yield package.MAB(arms=arms or ARMS, learning_policy=policy, neighborhood_policy=near_by, seed=3, n_jobs=1)


def past(many: int, arms: int = 3, size: int = 4) -> tuple[Any, Any, Any]:
    """Decisions, rewards and contexts, in units as far apart as age and a rate are; the last one is always the same."""
    rng = stream(many, "lines")
    z, v = rng.integers(arms, size=many), rng.normal(size=(many, size)) * np.geomspace(10, 0.1, size) + 3
    v[:, -1] = 1
    return z + 1, (v[:, 0] * (z - 1) + rng.normal(size=many)).round(2), v


def same(first: Any, second: Any) -> None:
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert list(one) == list(other)
        assert other == pytest.approx(one, abs=SAME, rel=SAME)


@pytest.mark.parametrize(("kind", "first"), [("LinGreedy", 0), ("LinUCB", 1.25), ("LinUCB", 0)])
@pytest.mark.parametrize("penalty", [1, 0.25, 30.0])
@pytest.mark.parametrize("scale", [False, True])
def test_expectations_are_the_same(kind: str, first: float, penalty: float, scale: bool) -> None:
    z, y, v = past(60)
    found, proposed = [], []
    for mab in both(kind, first, penalty, scale):
        mab.fit(z, y, v)
        if not scale:  # there what comes later is scaled in another way than what came before
            mab.partial_fit(z[:7], y[:7] + 1, v[7:14].tolist())
        found.append(mab.predict_expectations(v[:9] + 0.1))
        proposed.append(mab.predict(v))
    same(*found)
    assert proposed[0] == proposed[1]


@pytest.mark.parametrize("scale", [False, True])
def test_means_and_covariances_are_the_same(scale: bool) -> None:
    z, y, v = past(80)
    one, other = both("LinTS", 1.5, 0.5, scale)
    one.fit(z, y, v)
    other.fit(z, y, v)
    for arm, line in other.lines.items():
        model = one._imp.arm_to_model[arm]
        np.testing.assert_allclose(line.mean, model.beta, atol=SAME, rtol=SAME)
        np.testing.assert_allclose(line.covariance(), 1.5**2 * model.A_inv, atol=SAME, rtol=SAME)


def test_draws_are_of_the_same_distribution() -> None:
    """Two samples of 4,000 of each arm: Kolmogorov and Smirnov are wrong once in 10,000."""
    z, y, v = past(40)
    draws = []
    for mab in both("LinTS", 0.8):
        mab.fit(z, y, v)
        draws.append(mab.predict_expectations(np.repeat(v[:1], 4000, axis=0)))
    for arm in ARMS:
        one, other = ([each[arm] for each in drawn] for drawn in draws)
        assert stats.ks_2samp(one, other).pvalue > 1e-4


@pytest.mark.parametrize("near", [("KNearest", 9), ("Radius", 6.0)])
@pytest.mark.parametrize(("kind", "first"), [("LinGreedy", 0), ("LinUCB", 1.0)])
def test_neighbours_are_regressed_on_in_the_same_way(near: Any, kind: str, first: float) -> None:
    z, y, v = past(90)
    found = []
    for mab in both(kind, first, near=near):
        mab.fit(z, y, v)
        found.append((mab.predict_expectations(v[:12]), mab.predict(v[:12])))
    same(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


def test_arms_come_go_and_begin_alike_in_the_same_way() -> None:
    z, y, v = past(50)
    found = []
    for mab in both("LinUCB", 1.25):
        mab.fit(z, y, v)
        mab.add_arm(4)
        new = mab.predict_expectations(v[:3])
        mab.warm_start({1: [0, 1], 2: [1, 0], 3: [1, 1], 4: [0.1, 1]}, distance_quantile=0.5)
        warm = mab.predict_expectations(v[:3])
        mab.partial_fit([4, 1], [9, 8], v[:2])
        mab.remove_arm(2)
        assert mab.is_contextual
        assert mab.cold_arms == []
        found.append([*new, *warm, *mab.predict_expectations(v[:3])])
    same(*found)


def test_a_width_before_any_data_is_that_of_the_ridge() -> None:
    """There an arm without data has l2_lambda where its inverse should be; with 1 they are the same."""
    wide = []
    for mab in both("LinUCB", 1.0, 4.0):
        mab.fit([1], [0], [[1.0, 0.0]])
        wide.append(mab.predict_expectations([[0.0, 1.0]])[2])
    assert wide == pytest.approx([2.0, 0.5])


def test_defaults_are_the_same() -> None:
    for name in KINDS:
        one, other = (getattr(package.LearningPolicy, name)() for package in BOTH)
        assert {field: getattr(other, field) for field in one._fields} == one._asdict()
        values = (0.5, 2, True)
        one, other = (getattr(package.LearningPolicy, name)(*values) for package in BOTH)
        assert [getattr(other, field) for field in one._fields] == list(values)


# The calls of its example programs, with data of our own.


@pytest.mark.parametrize("kind", ["LinUCB", "LinTS"])
@pytest.mark.parametrize("near", [None, ("Radius", 2.0), ("KNearest", 4)], ids=str)
def test_parametric(kind: str, near: Any) -> None:
    """Frames and series of past data, scaled contexts, an update, an arm and a warm start."""
    pandas: Any = pytest.importorskip("pandas")
    z, y, v = past(24, arms=5, size=3)
    frame = pandas.DataFrame({"ad": z, "revenue": y, "age": v[:, 0], "rate": v[:, 1], "member": z % 2})
    contexts = frame[["age", "rate", "member"]]
    contexts = (contexts - contexts.mean()) / contexts.std(ddof=0)
    asked = pandas.DataFrame({"age": [0.3, -1.0], "rate": [0.5, 0.6], "member": [-1.0, 1.0]})
    answers = []
    for mab in both(kind, 1.25, 1, near=near, arms=[1, 2, 3, 4, 5]):
        mab.fit(decisions=frame["ad"], rewards=frame["revenue"], contexts=contexts)
        found, expected = mab.predict(asked), mab.predict_expectations(asked.to_numpy())
        mab.partial_fit(decisions=[5, 2], rewards=pandas.Series([7, 13]), contexts=asked)
        mab.add_arm(6)
        features = {1: [0, 1, 1], 2: [0, 0.4, 0.5], 3: [1, 1, 0.5], 4: [0.2, 1, 0], 5: [0, 1, 0.1], 6: [0, 0.4, 0.6]}
        mab.warm_start(features, distance_quantile=0.75)
        assert mab.predict(asked.iloc[:1]) in mab.arms
        answers.append((found, expected, list(mab.arms)))
    assert [len(each) for each in answers[0]] == [len(each) for each in answers[1]] == [2, 2, 6]
    if kind == "LinUCB":
        assert answers[0][0] == answers[1][0]
        same(answers[0][1], answers[1][1])


def test_parallel() -> None:
    """Many arms that are numpy's numbers, many contexts, scaled in the bandit, on all cores; smaller than theirs."""
    arms: list[Any] = list(np.arange(20))
    z, y, v = past(3000, arms=20, size=12)
    answers = []
    for package, jobs in ((theirs, 1), (ours, -1)):
        policy = package.LearningPolicy.LinUCB(alpha=1.25, scale=True)
        mab = package.MAB(arms=arms, learning_policy=policy, n_jobs=jobs)
        mab.fit(decisions=z[:2000] - 1, rewards=(y > 0)[:2000].astype(int), contexts=v[:2000])
        answers.append(mab.predict(v[2000:]))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("near", [("Radius", 5), ("KNearest", 5)], ids=str)
def test_contextual(near: Any) -> None:
    """The parts of it that have neighbours: UCB1, an update, an arm and a warm start."""
    z, y, v = past(15, arms=3, size=3)
    v = (v - v.mean(axis=0)) / np.maximum(v.std(axis=0), 0.1)
    answers = []
    for mab in both("UCB1", 1.25, near=near):
        mab.fit(decisions=z, rewards=y, contexts=v)
        found = mab.predict(v[:2] + 0.01)
        mab.predict_expectations(v[:2])
        mab.partial_fit(decisions=found, rewards=[7, 13], contexts=v[:2])
        mab.add_arm(4)
        mab.warm_start({1: [0, 1], 2: [1, 0], 3: [1, 1], 4: [0.1, 1]}, distance_quantile=0.75)
        answers.append((found, list(mab.arms)))
    assert answers[0] == answers[1]
