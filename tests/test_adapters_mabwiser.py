"""MABWiser's calls over takeup's policies: the numbers of sums by hand, and what takeup alone knows of compliance."""

import math
from typing import Any, cast

import numpy as np
import pytest
from scipy import stats

from takeup import (
    EXP3,
    TS,
    EpsilonGreedy,
    Evidence,
    Forgetting,
    InputError,
    LabelError,
    Number,
    Space,
    TSObs,
    UnsuitableError,
    event,
    stream,
)
from takeup.adapters.mabwiser import MAB, LearningPolicy, NeighborhoodPolicy

ARMS = ["first", "second"]
DECISIONS = ["first", "first", "second", "first"]
REWARDS = [20, 17, 25, 9]


def expected(mab: MAB, contexts: object = None) -> Any:
    return mab.predict_expectations(contexts)


def fitted(policy: Any, **given: Any) -> MAB:
    mab = MAB(ARMS, policy, **given)
    mab.fit(DECISIONS, REWARDS)
    return mab


def losing(policy: Any) -> MAB:
    mab = MAB(ARMS, policy)
    mab.fit(ARMS, [-9, -1])
    return mab


def test_the_best_mean_wins() -> None:
    """46 / 3 against 25."""
    mab = fitted(LearningPolicy.EpsilonGreedy(epsilon=0))
    assert expected(mab) == pytest.approx({"first": 46 / 3, "second": 25.0})
    assert mab.predict() == "second"
    assert mab.predict([[0]] * 3) == ["second"] * 3


def test_exploring_takes_any_arm() -> None:
    """A share of ε / 2 = 0.3 of 10,000: outside five standard errors once in two million."""
    mab = fitted(LearningPolicy.EpsilonGreedy(epsilon=0.6))
    share = np.mean([arm == "first" for arm in mab.predict(np.zeros((10_000, 1)))])
    assert abs(share - 0.3) < 5 * math.sqrt(0.3 * 0.7 / 10_000)


@pytest.mark.parametrize("alpha", [0.5, 1, 3])
def test_upper_confidence_bounds(alpha: float) -> None:
    """Mean + alpha sqrt(2 log 4 / n), in the units of the rewards."""
    bound = {
        "first": 46 / 3 + alpha * math.sqrt(2 * math.log(4) / 3),
        "second": 25 + alpha * math.sqrt(2 * math.log(4)),
    }
    assert expected(fitted(LearningPolicy.UCB1(alpha=alpha))) == pytest.approx(bound, abs=1e-12)


def test_draws_are_of_beta_distributions() -> None:
    """Beta(1 + successes, 1 + failures) of each arm: Kolmogorov and Smirnov are wrong once in 10,000 for each."""
    mab = MAB([1, 2], LearningPolicy.ThompsonSampling(), seed=4)
    mab.fit([1, 1, 1, 2], [1, 1, 0, 0])
    draws = expected(mab, np.zeros((2000, 1)))
    for arm, beta in ((1, stats.beta(3, 2)), (2, stats.beta(1, 2))):
        assert stats.kstest([each[arm] for each in draws], beta.cdf).pvalue > 1e-4


def test_an_arm_comes_and_goes() -> None:
    mab = fitted(LearningPolicy.EpsilonGreedy(epsilon=0))
    mab.add_arm("third")
    assert mab.cold_arms == ["third"]
    assert mab.predict() == "third"  # never tried, so it comes first
    mab.partial_fit(["third", "third"], [30, 10])
    assert expected(mab)["third"] == 20
    mab.remove_arm("second")
    assert mab.arms == ["first", "third"]
    assert mab.predict() == "third"
    mab.add_arm("second")
    assert mab.cold_arms == ["second"]  # what was known of it is forgotten


def test_fitting_again_forgets() -> None:
    mab = fitted(LearningPolicy.EpsilonGreedy(epsilon=0))
    mab.fit(["first", "second"], [1, 0])
    assert expected(mab) == {"first": 1.0, "second": 0.0}


def test_parts_are_as_good_as_the_whole() -> None:
    mab = MAB(ARMS, LearningPolicy.UCB1())
    mab.fit(DECISIONS[:1], REWARDS[:1])
    mab.partial_fit(DECISIONS[1:], REWARDS[1:])
    assert expected(mab) == pytest.approx(expected(fitted(LearningPolicy.UCB1())))


def test_one_by_one_is_as_good_as_at_once_and_stays_small() -> None:
    """2,000 decisions with contexts, actions and rewards that may be unseen: the same table, in a few rows."""
    rng = stream(1)
    arms = [ARMS[k] for k in rng.integers(2, size=2000)]
    did = [[*ARMS, None][k] for k in rng.integers(3, size=2000)]
    rewards = [[0, 1, None][k] for k in rng.integers(3, size=2000)]
    where = [[["young", "old"][k]] for k in rng.integers(2, size=2000)]
    whole, parts = (MAB(ARMS, TSObs(), seed=2) for _ in range(2))
    whole.fit(arms, rewards, where, did)
    for i in range(0, 2000, 50):
        each = slice(i, i + 50)
        parts.partial_fit(arms[each], rewards[each], where[each], did[each])
    space = whole.evidence.space
    assert whole.evidence == parts.evidence
    assert whole.evidence == Evidence.of(space, [event(space, *each) for each in zip(arms, did, rewards, strict=True)])
    assert len(whole._past) == 36
    assert len(parts._past) < 2 * 36 + 256 + 50
    assert whole.predict(where[:20]) == parts.predict(where[:20])


def test_the_same_seed_gives_the_same_answers() -> None:
    many = [MAB([1, 2, 3], LearningPolicy.Random(), seed=seed).predict(np.zeros((50, 1))) for seed in (1, 1, 2)]
    assert many[0] == many[1] != many[2]


def test_what_was_done_is_learnt_from() -> None:
    """All were offered the drug and half refused it: who took it is well, who did not is ill, so nothing beats it."""
    offered, did = ["drug"] * 40, ["drug", "rest"] * 20
    mab = MAB(["drug", "rest"], LearningPolicy.TSObs(), seed=1)
    mab.fit(offered, [1, 0] * 20, implemented=did)
    drug, rest = (np.mean([each[arm] for each in expected(mab, np.zeros((2000, 1)))]) for arm in ("drug", "rest"))
    taken = 21 / 42  # of 40 and a prior of one each
    assert drug == pytest.approx(taken * 21 / 22 + (1 - taken) / 22, abs=0.01)
    assert rest == pytest.approx((21 / 22 + 1 / 22) / 2, abs=0.01)  # nobody was told to rest: a prior of one each
    assert isinstance(mab.learning_policy, TSObs)


def test_an_action_need_not_be_an_arm_and_may_be_unknown() -> None:
    """The evidence is that of the same events in takeup's own words, and stays so when arms go or begin alike."""
    mab = MAB([*ARMS, "third"], TSObs(), seed=1)
    mab.fit(["first", "second", "first"], [1, 0, None], implemented=["elsewhere", None, float("nan")])
    mab.partial_fit(["second", "first"], [1, 1], implemented=["second", "third"])
    space = Space([*ARMS, "third"], [*ARMS, "third", "elsewhere"], outcomes=mab.evidence.space.outcome)
    told = [("first", "elsewhere", 1), ("second", None, 0), ("first", None, None), ("second", "second", 1)]
    events = [event(space, *each) for each in [*told, ("first", "third", 1)]]
    assert mab.evidence == Evidence.of(space, events)
    mab.warm_start({"first": [0, 1], "second": [1, 0], "third": [1, 0.1]}, 1)
    copied = [event(space, "third", None, 0), event(space, "third", "third", 1)]
    assert mab.evidence == Evidence.of(space, events + copied)
    mab.remove_arm("third")
    fewer = Space(ARMS, [*ARMS, "elsewhere", "third"], outcomes=space.outcome)
    left = mab.evidence
    assert set(left.space.implemented) == set(fewer.implemented)
    assert left.total == 5
    assert left.decisions[0, 0, left.space.implemented.index("third")] == 1


def test_a_policy_that_learns_from_actions_asks_for_them() -> None:
    with pytest.raises(InputError, match="implemented is missing; expected what was done, which TS-Obs"):
        MAB(ARMS, TSObs()).fit(DECISIONS, [0, 1, 0, 1])


def test_contexts_are_groups() -> None:
    mab = MAB(ARMS, LearningPolicy.EpsilonGreedy(epsilon=0))
    mab.fit(["first", "second"] * 2, [1, 0, 0, 1], [["young"], ["young"], ["old"], ["old"]])
    assert mab.predict([["old"], ["young"], ["old"]]) == ["second", "first", "second"]
    assert mab.predict([["young"]]) == "first"
    assert mab.is_contextual


@pytest.mark.parametrize(
    ("near", "first", "second"),
    [
        (NeighborhoodPolicy.KNearest(2), 1.0, 0.0),
        (NeighborhoodPolicy.KNearest(4), 0.5, 0.5),
        (NeighborhoodPolicy.Radius(1.5), 1.0, 0.0),
        (NeighborhoodPolicy.Radius(9), 0.5, 0.5),
    ],
)
def test_neighbours_count(near: Any, first: float, second: float) -> None:
    mab = MAB(ARMS, LearningPolicy.EpsilonGreedy(epsilon=0), near)
    mab.fit(["first", "second"] * 2, [1, 0, 0, 1], [[0.0], [1.0], [5.0], [6.0]])
    assert expected(mab, [[0.2]]) == {"first": first, "second": second}


def test_nobody_near_is_nobody_known() -> None:
    mab = MAB(ARMS, TS(), NeighborhoodPolicy.Radius(0.1), seed=3)
    mab.fit(["first"] * 50, [1] * 50, [[0.0]] * 50)
    far = mab.predict([[9.0]] * 400)
    assert 140 < far.count("first") < 260  # a half: six standard errors


def test_a_new_arm_begins_like_its_nearest() -> None:
    mab = MAB(["a", "b", "new", "other"], LearningPolicy.EpsilonGreedy(epsilon=0))
    mab.fit(["a", "a", "b"], [1, 0, 1], implemented=["a", "b", "b"])
    mab.warm_start({"a": [1, 0], "b": [0, 1], "new": [0.9, 0.1], "other": [-1, -1]}, 0.25)
    assert mab.cold_arms == ["other"]
    assert expected(mab)["new"] == expected(mab)["a"] == 0.5
    mab.fit(["a"], [1])
    assert mab.cold_arms == ["b", "new", "other"]


def test_successes_may_be_said() -> None:
    mab = MAB(ARMS, LearningPolicy.ThompsonSampling(lambda arm, reward: reward > (18 if arm == "first" else 30)))
    mab.fit(DECISIONS, REWARDS)
    assert set(expected(mab)) == set(ARMS)
    mab.add_arm("third", lambda arm, reward: reward > 0)
    mab.partial_fit(["third"], [5])


def test_other_rewards_are_told() -> None:
    with pytest.raises(InputError, match="0 and 1 for this policy"):
        fitted(LearningPolicy.ThompsonSampling())
    for told in (REWARDS, Number(0, 30, 1)):
        assert set(expected(fitted(TS(), rewards=told))) == set(ARMS)
    with pytest.raises(InputError, match="rewards: got 25"):
        fitted(TS(), rewards=[9, 17, 20])


def test_what_needs_to_know_when_is_refused() -> None:
    with pytest.raises(UnsuitableError, match="TS half-life 1000 learns from the order of decisions"):
        fitted(Forgetting(), rewards=REWARDS)


def test_what_takeup_has_not_is_said() -> None:
    with pytest.raises(UnsuitableError, match="TreeBandit"):
        NeighborhoodPolicy.TreeBandit()
    with pytest.raises(AttributeError):
        getattr(LearningPolicy, "Nonsense")  # noqa: B009  # to mypy it would be a policy


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: MAB("ab", TS()), "a list of labels"),
        (lambda: MAB([1, "1"], TS()), "labels that all read differently"),
        (lambda: MAB(["a"], TS()), "at least 2"),
        (lambda: MAB(ARMS, "TS"), "one of LearningPolicy"),
        (lambda: MAB(ARMS, TS(), "near"), "one of NeighborhoodPolicy"),
        (lambda: MAB(ARMS, LearningPolicy.UCB1(alpha=0)), "alpha: got 0"),
        (lambda: MAB(ARMS, EXP3()), "order of decisions"),
        (lambda: MAB(ARMS, LearningPolicy.Softmax(tau=0)), "tau: got 0"),
        (lambda: losing(LearningPolicy.Popularity()).predict(), "0 or more for Popularity"),
        (lambda: NeighborhoodPolicy.Radius(1, no_nhood_prob_of_arm=[0.5, 0.6]), "no_nhood_prob_of_arm"),
        (lambda: MAB(ARMS, TS(), NeighborhoodPolicy.Radius(1, "euclidean", [1])).predict(), "one for each of 2 arms"),
        (lambda: MAB(ARMS, TS()).fit(["third"], [0]), "add_arm"),
        (lambda: MAB(ARMS, TS()).fit(ARMS, [1]), "one for each of 2 decisions"),
        (lambda: MAB(ARMS, TS()).fit(ARMS, [1, 0], [[1]]), "a row of values for each of 2"),
        (lambda: MAB(ARMS, TS()).fit(ARMS, cast("Any", [1, "good"])), "a number each"),
        (lambda: MAB(ARMS, TS()).remove_arm("third"), "one of"),
        (lambda: MAB(ARMS, TS()).remove_arm("first"), "two have to stay"),
        (lambda: MAB(ARMS, TS()).add_arm("first"), "not there yet"),
        (lambda: MAB(ARMS, TS()).warm_start({"first": [1]}, 1), "features of every arm"),
    ],
)
def test_mistakes_are_named(call: Any, said: str) -> None:
    with pytest.raises((InputError, LabelError, UnsuitableError), match=said):
        call()


@pytest.mark.parametrize("name", ["LSHNearest", "Clusters", "TreeBandit"])
def test_neighbourhoods_that_takeup_has_not_are_said(name: str) -> None:
    with pytest.raises(UnsuitableError, match=f"{name}.*KNearest, Radius"):
        getattr(NeighborhoodPolicy, name)


def test_the_simulator_is_elsewhere() -> None:
    with pytest.raises(ImportError, match=r"takeup\.simulate"):
        from takeup.adapters.mabwiser import Simulator  # noqa: F401  # that is the test


def test_shares_follow_the_means() -> None:
    """Means 46/3 and 25: Popularity has 25 / (25 + 46/3) in the mean, Softmax of temperature 0.1 all but e^-96."""
    frame = [[0]] * 4000
    popular = fitted(LearningPolicy.Popularity()).predict_expectations(frame)
    share = [each["second"] for each in cast("list[dict[str, float]]", popular)]
    assert np.mean(share) == pytest.approx(25 / (25 + 46 / 3), abs=5 * 0.35 / 4000**0.5)  # once in a million
    assert set(fitted(LearningPolicy.Softmax(tau=0.1)).predict(frame)) == {"second"}


def test_takeups_own_classes_are_there_by_name() -> None:
    assert LearningPolicy.TSObs is TSObs
    assert isinstance(LearningPolicy.EpsilonGreedy(0.2).policy(1.0), EpsilonGreedy)
