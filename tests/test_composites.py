"""Policies made of bandits against their authors' algorithms, run by run, and compositions in the kernels."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import naive_bandits
from takeup import (
    EXP3,
    KLUCB,
    UCB1,
    UNSEEN,
    BayesUCB,
    CausalTS,
    Environment,
    EpsilonGreedy,
    Event,
    Hierarchical,
    Policy,
    Protocol,
    Reporting,
    Space,
    ThompsonBounded,
    TopTwo,
    TwoStage,
    World,
    simulate,
    stream,
)
from takeup.paper.related.compliance_aware import trap
from takeup.simulation.run import EngineName

LEVEL = 1e-4 / 60
"""Of each test; there are fewer than 60, so all together raise a false alarm in fewer than 1 of 10,000 seeds."""

TRAP = trap()
THREE = Environment.from_types(
    Space(3),
    share=[0.3, 0.3, 0.4],
    response=[[0, 1, 2], [2, 2, 2], [1, 0, 1]],
    outcome=np.stack([1 - np.array(rates := [[0.3, 0.8, 0.2], [0.5, 0.5, 0.9], [0.6, 0.1, 0.4]]), rates], axis=-1),
)
ENGINES: tuple[EngineName, ...] = ("cpu", "reference")
HORIZON, RUNS, RATE = 60, 600, 0.2


@cache
def twins(name: str, truth: Environment, *parameters: float | bool) -> NDArray[np.int64]:
    """The pulls of the authors' algorithm."""
    play = getattr(naive_bandits, name)
    return naive_bandits.many(lambda rng: play(truth, HORIZON, rng, *parameters), RUNS, 1)


def pulls_of(policy: Policy[Any], truth: Environment, engine: EngineName) -> NDArray[np.int64]:
    trace = simulate(truth, policy, HORIZON, RUNS, seed=4, engine=engine)
    assert trace.setup.engines == (engine,)
    return trace.pulls[0, 0, :, 0]


def alike(one: NDArray[np.int64], other: NDArray[np.int64]) -> None:
    """Kolmogorov-Smirnov on the pulls of every arm."""
    for z in range(one.shape[1]):
        assert stats.ks_2samp(one[:, z], other[:, z]).pvalue > LEVEL, z


@pytest.mark.long
@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("truth", [TRAP, THREE], ids=["trap", "three"])
@pytest.mark.parametrize("recycle", [True, False], ids=["recycling", "not"])
def test_hierarchical_is_the_authors_algorithm(truth: Environment, recycle: bool, engine: EngineName) -> None:
    """Turns that are drawn ahead have the law of turns that are drawn when they come; false alarms: see LEVEL."""
    twin = twins("hierarchical", truth, RATE, recycle)
    policy = Hierarchical(top=EXP3(mixing=0, rate=RATE), recycle=recycle)
    alike(pulls_of(policy, truth, engine), twin)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("truth", [pytest.param(TRAP, marks=pytest.mark.long), THREE], ids=["trap", "three"])
@pytest.mark.parametrize(("means", "recycle"), [(True, True), (False, False)], ids=["as coded", "as printed"])
def test_bounded_is_the_authors_algorithm(truth: Environment, means: bool, recycle: bool, engine: EngineName) -> None:
    """Likewise for who plays a round; false alarms: see LEVEL."""
    twin = twins("bounded", truth, means, recycle)
    policy = ThompsonBounded(uncertified=Protocol(), recycle=recycle, weight="means" if means else "one")
    alike(pulls_of(policy, truth, engine), twin)


def test_the_twins_differ_where_the_policies_do() -> None:
    """The test can fail: what recycling and weights change is seen in 600 runs."""
    with_, without = (twins("bounded", THREE, which, which) for which in (True, False))
    with pytest.raises(AssertionError):
        alike(with_, without)


LATE = Reporting(compliance=0.7, delay=3, batch=2)
CONTEXTS = Environment.from_world(
    World.bernoulli(
        np.random.default_rng(1).dirichlet([0.5] * 3, (3, 3)), np.random.default_rng(2).random((3, 3)) * 0.8 + 0.1
    )
)
CASES: list[tuple[Policy[Any], Reporting]] = [
    (TopTwo(leader=0.6, resamples=3), LATE),
    (TopTwo(alpha=0.5), Reporting()),
    (EpsilonGreedy(epsilon=1.0, decay="logarithmic", optimism=1.0), LATE),
    (EpsilonGreedy(epsilon=2.0, decay="harmonic"), Reporting()),
    (UCB1(exploration=0.3, optimism=2.0), LATE),
    (KLUCB(constant=3.0), Reporting()),
    (Protocol(base=BayesUCB(alpha=0.5), credit="comply"), LATE),
    (Protocol(base=EXP3(mixing=0.05), credit="actual"), LATE),
    (Protocol(base=UCB1(), credit="chosen"), Reporting()),
    (Hierarchical(base=EpsilonGreedy(), top=EXP3(mixing=0.2)), LATE),
    (Hierarchical(base=EXP3(), recycle=False), Reporting()),
    (ThompsonBounded(uncertified=Hierarchical(base=UCB1()), weight="means"), LATE),
    (ThompsonBounded(uncertified=Protocol(base=EXP3(), credit="comply")), LATE),
    (CausalTS(observed=[[6.0, 4.0], [2.0, 3.0], [5.0, 5.0]]), LATE),
    (TwoStage(schedule="decay", rate=0.5, confidence=None), Reporting()),
    (TwoStage(schedule="adaptive", gamma=100.0, psi=0.1, confidence=0.5), LATE),
    (TwoStage(rate=0.3, confidence=0.2), Reporting(compliance=0.5)),
]


@pytest.mark.long
@pytest.mark.parametrize(("policy", "reporting"), CASES, ids=lambda case: getattr(case, "name", ""))
def test_kernels_agree_in_three_arms_and_contexts(policy: Policy[Any], reporting: Reporting) -> None:
    """Kolmogorov-Smirnov on the final regret of 400 runs, in three contexts; false alarms: see LEVEL."""
    ours, theirs = (
        simulate(CONTEXTS, policy, 100, 400, seed=3, engine=engine, reporting=reporting).regret[0, 0, :, -1]
        for engine in ENGINES
    )
    assert stats.ks_2samp(ours, theirs).pvalue > LEVEL


@pytest.mark.parametrize("policy", [Hierarchical(), ThompsonBounded()], ids=lambda policy: policy.name)
def test_what_waits_is_remembered_by_count(policy: Any) -> None:
    """Forty decisions wait; when all outcomes have come, nobody waits any more, and all that counts has counted."""
    space, rng = Space(2), stream(3)
    state = policy.start(space, (5,))
    events = []
    for i in range(40):
        z = policy.propose(state, np.zeros(5, dtype=np.int64), rng)
        events.append(Event(np.zeros(5, dtype=np.int64), z, z, np.full(5, UNSEEN)))
        state = policy.learn(state, events[-1], rng)
        assert (state.pending.sum(axis=(-3, -2, -1)) == i + 1).all()
    for e in reversed(events):
        state = policy.report(state, e, Event(e.context, e.proposal, e.implemented, np.ones(5, dtype=np.int64)), rng)
    assert (state.pending == 0).all()
    low = state.uncertified if isinstance(policy, ThompsonBounded) else state
    np.testing.assert_array_equal(low.tables[1].sum(axis=(-3, -2, -1)), 40)
    np.testing.assert_array_equal(low.pending, 0)
    assert (low.cache >= 0).all()
