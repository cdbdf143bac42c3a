"""MABWiser's linear policies over takeup's regressions: sums by hand, and rewards that go to what was done."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import takeup
from takeup import InputError, LabelError, UnsuitableError, stream
from takeup.adapters.mabwiser import MAB, LearningPolicy, NeighborhoodPolicy

ARMS = ["first", "second"]
LINEAR = [LearningPolicy.LinGreedy, LearningPolicy.LinTS, LearningPolicy.LinUCB]
Z = ["first", "first", "second", "first"]
Y = [3.0, 1.0, 2.0, 7.0]
V = [[1.0, 0.0], [1.0, 1.0], [0.0, 2.0], [1.0, 2.0]]


def fitted(policy: Any, near: Any = None, **given: Any) -> MAB:
    mab = MAB(ARMS, policy, near, seed=5)
    mab.fit(Z, Y, V, **given)
    return mab


def ridge(rows: list[int], at: list[float], penalty: float = 1.0) -> tuple[float, float]:
    """The mean and the width of a ridge regression on some of the rows, by inversion."""
    features, y, v = np.array(V)[rows], np.array(Y)[rows], np.array(at)
    inverse = np.linalg.inv(features.T @ features + penalty * np.eye(2))
    return float(v @ inverse @ features.T @ y), math.sqrt(v @ inverse @ v)


@pytest.mark.parametrize(("alpha", "penalty"), [(0.0, 1.0), (1.25, 1.0), (2.0, 0.3)])
def test_bounds_of_ridge_regressions(alpha: float, penalty: float) -> None:
    at = [1.0, -0.5]
    found: Any = fitted(LearningPolicy.LinUCB(alpha, penalty)).predict_expectations([at])
    for arm, rows in (("first", [0, 1, 3]), ("second", [2])):
        mean, width = ridge(rows, at, penalty)
        assert found[arm] == pytest.approx(mean + alpha * width, abs=1e-12)


def test_means_without_a_penalty_are_least_squares() -> None:
    mab = MAB(ARMS, LearningPolicy.LinGreedy(epsilon=0, l2_lambda=0))
    mab.fit(["first"] * 3 + ["second"] * 2, [3, 1, 7, 4, 5], [*V[:2], V[3], [1, 0], [0, 1]])
    found: Any = mab.predict_expectations([[1, 2]])
    line = np.linalg.lstsq(np.array([V[0], V[1], V[3]]), np.array([3.0, 1.0, 7.0]), rcond=None)[0]
    assert found == pytest.approx({"first": line @ [1, 2], "second": 14.0})
    with pytest.raises(InputError, match=r"l2_lambda: got 0.*do not tell its 2 coefficients"):
        fitted(LearningPolicy.LinGreedy(l2_lambda=0)).predict([[1, 2]])


def test_draws_are_normal() -> None:
    """Mean v'm and standard deviation alpha sqrt(v' B^-1 v): Kolmogorov and Smirnov are wrong once in 10,000 each."""
    draws: Any = fitted(LearningPolicy.LinTS(0.7)).predict_expectations([[1.0, 0.5]] * 4000)
    for arm, rows in (("first", [0, 1, 3]), ("second", [2])):
        mean, width = ridge(rows, [1.0, 0.5])
        assert stats.kstest([each[arm] for each in draws], stats.norm(mean, 0.7 * width).cdf).pvalue > 1e-4


def test_what_was_learnt_can_be_seen() -> None:
    line = fitted(LearningPolicy.LinTS(0.7)).lines["first"]
    features = np.array([V[0], V[1], V[3]])
    inverse = np.linalg.inv(features.T @ features + np.eye(2))
    assert line.mean == pytest.approx(inverse @ features.T @ [3.0, 1.0, 7.0])
    assert line.covariance() == pytest.approx(0.49 * inverse)
    with pytest.raises(UnsuitableError, match="lines are of"):
        fitted(LearningPolicy.LinTS(), NeighborhoodPolicy.KNearest(2)).lines  # noqa: B018  # that is the test


def test_exploring_takes_any_arm() -> None:
    """A share of ε / 2 = 0.3 of 10,000 for the worse: outside five standard errors once in two million."""
    mab = fitted(LearningPolicy.LinGreedy(epsilon=0.6))
    found = mab.predict([[1.0, 0.0]] * 10_000)
    assert abs(found.count("second") / 10_000 - 0.3) < 5 * math.sqrt(0.3 * 0.7 / 10_000)


@pytest.mark.parametrize("policy", LINEAR)
def test_any_arm_before_there_are_data(policy: Any) -> None:
    """A half of 400 each, and where nobody is near likewise: outside six standard errors once in 500 million."""
    far = fitted(policy(), NeighborhoodPolicy.Radius(0.1)).predict([[50.0, 50.0]] * 400)
    for found in (MAB(ARMS, policy()).predict([[1.0]] * 400), far):
        assert 140 < found.count("first") < 260
    mab = MAB(ARMS, policy(), NeighborhoodPolicy.Radius(0.1, "euclidean", [0.0, 1.0]))
    assert mab.predict([[1.0], [2.0]]) == ["second", "second"]


@pytest.mark.parametrize("policy", LINEAR)
@pytest.mark.parametrize("scale", [False, True])
def test_parts_are_as_good_as_the_whole(policy: Any, scale: bool) -> None:
    """One by one, with proposals in between, and arms whose rewards come later or not at all."""
    did, y = ["first", None, "second", "second"], [*Y[:3], None]
    for credit in ("chosen", "actual", "comply"):
        whole, parts = (MAB(ARMS, policy(scale=scale, credit=credit), seed=5) for _ in range(2))
        whole.fit(Z * 3, y * 3, V * 3, did * 3)
        parts.fit(Z[:1], y[:1], V[:1], did[:1])
        for i in range(1, 12):
            k = slice(i % 4, i % 4 + 1)
            parts.predict(V[k])
            parts.partial_fit(Z[k], y[k], V[k], did[k])
            whole.predict(V[k])
        for one, other in zip(whole.predict_expectations(V), parts.predict_expectations(V), strict=True):
            assert one == pytest.approx(other, abs=1e-12)


def test_scaling_makes_units_not_matter() -> None:
    """But for an arm with a single decision, which has no variance to divide by."""
    plain, moved = fitted(LearningPolicy.LinUCB(scale=True)), MAB(ARMS, LearningPolicy.LinUCB(scale=True))
    moved.fit(Z, Y, [[v, 1000 * w + 7] for v, w in V])
    pairs: Any = plain.predict_expectations([[1, 0.5], [0, 1]]), moved.predict_expectations([[1, 507], [0, 1007]])
    for one, other in zip(*pairs, strict=True):
        assert one["first"] == pytest.approx(other["first"], abs=1e-9)


def test_neighbours_have_lines_of_their_own() -> None:
    found: Any = fitted(LearningPolicy.LinUCB(1), NeighborhoodPolicy.KNearest(2)).predict_expectations([[1.0, 0.4]])
    mean, width = ridge([0, 1], [1.0, 0.4])
    assert found == pytest.approx({"first": mean + width, "second": math.sqrt(1.16)}, abs=1e-12)


def test_rewards_that_are_not_known_yet_do_not_count() -> None:
    mab = fitted(LearningPolicy.LinUCB())
    before = mab.predict_expectations([[1.0, 1.0]])
    mab.partial_fit(["second", "first"], [None, math.nan], [[5.0, 5.0], [1.0, 1.0]])
    assert mab.predict_expectations([[1.0, 1.0]]) == before
    assert mab.evidence.total == 6


@pytest.mark.parametrize(
    ("credit", "first", "second"),
    [("chosen", [0, 1, 3], [2]), ("actual", [0, 2], [1]), ("comply", [0], [])],
)
def test_a_reward_goes_to_what_is_credited(credit: Any, first: list[int], second: list[int]) -> None:
    """The first did as told, two did as the others were told, one did something else."""
    did = ["first", "second", "first", "elsewhere"]
    found: Any = fitted(LearningPolicy.LinUCB(credit=credit), implemented=did).predict_expectations([[1.0, 1.0]])
    for arm, rows in (("first", first), ("second", second)):
        mean, width = ridge(rows, [1.0, 1.0])
        assert found[arm] == pytest.approx(mean + width, abs=1e-12)


@pytest.mark.parametrize("credit", ["chosen", "actual"])
def test_a_new_arm_begins_like_its_nearest_and_nothing_else_changes(credit: Any) -> None:
    mab = MAB([*ARMS, "new"], LearningPolicy.LinUCB(credit=credit))
    mab.fit(Z, Y, V, ["first", "second", "second", "first"])
    before: Any = mab.predict_expectations([[1.0, 1.0]])
    mab.warm_start({"first": [1, 0], "second": [0, 1], "new": [0.9, 0.1]}, 0.5)
    assert mab.predict_expectations([[1.0, 1.0]]) == pytest.approx({**before, "new": before["first"]})
    mab.remove_arm("first")
    left: Any = mab.predict_expectations([[1.0, 1.0]])
    assert left["second"] == pytest.approx(sum(ridge([2], [1.0, 1.0])))


def test_lines_find_what_is_best_for_whom() -> None:
    """1,000 decisions of two arms that are best on either side of 0; far from it nobody is told wrong."""
    rng = stream(2)
    x, z = rng.normal(size=1000), rng.integers(2, size=1000)
    mab = MAB(ARMS, LearningPolicy.LinTS(0.1), seed=1)
    y = np.where(z == 0, x, -x) + rng.normal(size=1000)
    mab.fit([ARMS[k] for k in z], y.tolist(), np.stack([np.ones(1000), x], axis=1))
    assert mab.predict([[1, 1.0], [1, -1.0], [1, 2.0]]) == ["first", "second", "first"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: MAB(ARMS, LearningPolicy.LinUCB()).fit(Z, Y), "contexts is missing; expected a row of numbers"),
        (lambda: fitted(LearningPolicy.LinUCB()).predict(), "contexts: got 0 values"),
        (lambda: fitted(LearningPolicy.LinUCB()).predict([[1.0]]), "2 in each row, as in fit"),
        (lambda: MAB(ARMS, LearningPolicy.LinTS()).predict_expectations(), "contexts is missing"),
        (lambda: MAB(ARMS, LearningPolicy.LinUCB()).fit(ARMS, [1, 2], [["a"], ["b"]]), "texts.*a column of 0 and 1"),
        (lambda: MAB(ARMS, LearningPolicy.LinUCB()).fit(ARMS, [1, 2], [[1.0], [math.nan]]), "missing or infinite"),
        (lambda: fitted(LearningPolicy.LinUCB(credit="actual")), "implemented is missing.*credit='actual'"),
        (lambda: LearningPolicy.LinUCB(credit="nobody"), "one of chosen, actual, comply"),  # type: ignore[arg-type]
        (lambda: LearningPolicy.LinUCB(-1), "alpha: got -1"),
        (lambda: LearningPolicy.LinTS(0), "alpha: got 0"),
        (lambda: LearningPolicy.LinTS(1, 0), "l2_lambda: got 0"),
        (lambda: LearningPolicy.LinUCB(1, -1), "l2_lambda: got -1"),
        (lambda: LearningPolicy.LinGreedy(1.5), "epsilon: got 1.5"),
        (lambda: LearningPolicy.LinGreedy(0.5, 1, "yes"), "True or False"),  # type: ignore[arg-type]
        (lambda: MAB([1, "1"], LearningPolicy.LinUCB()), "labels that all read differently"),
        (lambda: MAB(["a"], LearningPolicy.LinUCB()), "at least 2"),
        (lambda: MAB(ARMS, takeup.LinTSObs()), "needs covariates with bounds.*LinUCB"),
    ],
)
def test_mistakes_are_named(call: Any, said: str) -> None:
    with pytest.raises((InputError, LabelError, UnsuitableError), match=said):
        call()
