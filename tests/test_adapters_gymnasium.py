"""A trial as gymnasium sees it: its own checker passes, and the sums are those of the environment."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from takeup import Environment, Evidence, InputError, Number, Reporting, Space, World, event
from takeup.adapters.gymnasium import TrialEnv
from takeup.environment import Environment as Truth
from takeup.errors import StateError
from takeup.policies import TS
from takeup.randomness import stream

WORLD = World.bernoulli([[[0.7, 0.3], [0.4, 0.6]], [[1.0, 0.0], [0.0, 1.0]]], [[0.2, 0.6], [0.5, 0.4]])
TRUTH = Environment.from_world(WORLD, context=[0.25, 0.75])


def episode(env: TrialEnv, seed: int, propose: Any = lambda seen: 0) -> list[tuple[Any, float, dict[str, Any]]]:
    """What each step showed before it, gave, and told."""
    seen, _ = env.reset(seed=seed)
    rows, over = [], False
    while not over:
        before = seen
        seen, reward, over, _, info = env.step(np.int64(propose(before)))
        rows.append((before, reward, info))
    return rows


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("reporting", [Reporting(), Reporting(compliance=0.5, delay=3, batch=2)])
def test_its_checker_passes(counts: bool, reporting: Reporting) -> None:
    check_env(TrialEnv(TRUTH, 50, reporting, counts=counts), skip_render_check=True)


def test_numbers_pass_too() -> None:
    space = Space(2, outcomes=Number(0, 3, 1))
    truth = Truth.from_counts(space, np.arange(16).reshape(space.shape))
    check_env(TrialEnv(truth, 20, counts=True), skip_render_check=True)


def test_what_happens_is_what_the_environment_says() -> None:
    """Shares of (a, y) given x = 1, z = 0, which all comply with: each of two outcomes within five standard errors."""
    rows = episode(TrialEnv(TRUTH, 1000), seed=1)
    old = [(info["implemented"], reward) for x, reward, info in rows if x == 1]
    assert len(old) / 1000 == pytest.approx(0.75, abs=5 * np.sqrt(0.75 * 0.25 / 1000))
    assert {a for a, _ in old} == {0}
    assert np.mean([reward for _, reward in old]) == pytest.approx(0.5, abs=5 * np.sqrt(0.25 / len(old)))


def test_the_same_person_answers_the_same_proposal_alike() -> None:
    env = TrialEnv(TRUTH, 200)
    first, again, other = episode(env, 5), episode(env, 5), episode(env, 5, propose=lambda seen: 1)
    assert first == again
    assert [seen for seen, *_ in first] == [seen for seen, *_ in other]
    assert first != other


def test_regret_is_the_environments() -> None:
    for x, _, info in episode(TrialEnv(TRUTH, 100), 3, propose=lambda seen: seen):
        assert info["regret"] == TRUTH.regret()[x, info["proposal"]]


@pytest.mark.parametrize("reporting", [Reporting(delay=4), Reporting(batch=5), Reporting(delay=2, batch=3)])
def test_late_outcomes_are_rewarded_when_they_are_reported(reporting: Reporting) -> None:
    at_once, later = (episode(TrialEnv(TRUTH, 31, how), 9) for how in (Reporting(), reporting))
    assert sum(reward for _, reward, _ in later) == sum(reward for _, reward, _ in at_once)
    outcome = {number: y for *_, info in at_once for number, y in info["reported"]}
    told = [(t, *each) for t, (*_, info) in enumerate(later) for each in info["reported"]]
    assert [number for _, number, _ in told] == list(range(31))
    for t, number, y in told:
        assert y == outcome[number]
        known = -(-(number + 1 + reporting.delay) // reporting.batch) * reporting.batch  # as `Reporting` has it
        assert t + 1 == min(known, 31)


def test_compliance_is_seen_as_often_as_it_is_reported() -> None:
    """A share of 0.3 of 1,000: outside five standard errors once in two million."""
    rows = episode(TrialEnv(TRUTH, 1000, Reporting(compliance=0.3)), 2)
    assert np.mean([info["implemented"] >= 0 for *_, info in rows]) == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / 1000))


def test_counts_are_the_evidence() -> None:
    """The table of an episode is that of its events, and a policy of takeup proposes from it."""
    env, rng, space = TrialEnv(TRUTH, 60, Reporting(compliance=0.5), counts=True), stream(1), TRUTH.space

    def propose(seen: Any) -> int:
        return int(TS().propose(Evidence(space, seen["counts"]), int(seen["context"]), rng))

    rows = episode(env, 4, propose)
    events = []
    for (seen, _, info), (after, _, _) in pairwise(rows):
        (_, y), a = info["reported"][0], info["implemented"]
        events.append(event(space, info["proposal"], None if a < 0 else a, y, context=int(seen["context"])))
        assert (after["counts"] == Evidence.of(space, events).counts).all()


def test_the_truth_may_change() -> None:
    turned = Environment.from_world(World.bernoulli([[1, 0], [0, 1]], [1, 0]))
    before = Environment.from_world(World.bernoulli([[1, 0], [0, 1]], [0, 1]))
    rewards = [reward for _, reward, _ in episode(TrialEnv(before.switch(7, turned), 20), 0)]
    assert rewards == [0] * 7 + [1] * 13


def test_mistakes_are_named() -> None:
    env = TrialEnv(TRUTH, 1)
    with pytest.raises(StateError, match=r"reset\(\) begins one"):
        env.step(np.int64(0))
    env.reset(seed=0)
    with pytest.raises(InputError, match="a proposal from 0 to 1"):
        env.step(np.int64(2))
    env.step(np.int64(1))
    with pytest.raises(StateError, match="over"):
        env.step(np.int64(1))
    with pytest.raises(InputError, match="no picture"):
        TrialEnv(TRUTH, render_mode="human")
