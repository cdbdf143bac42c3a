"""What every policy must do because it is registered, and what the paper's four must do because of the paper."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from takeup import (
    TS,
    UNSEEN,
    Environment,
    Event,
    Evidence,
    InputError,
    Policy,
    Reporting,
    Space,
    TSCheck,
    TSLat,
    TSObs,
    UnsuitableError,
    WarmTSLat,
    World,
    simulate,
    stream,
)
from takeup.policies import REGISTRY

SPACES = [
    Space(2),
    Space(["a", "b", "c"], ["b", "a"], contexts=2, outcomes=3, utility=[0, 0.3, 1], intended=["a", "b", "b"]),
    Space(2, 4, contexts=3, intended=[1, 3]),
    Space(["a", "b", "c"], contexts=["b", "c", "a"]),
]


def suits(policy: Policy[Any], space: Space) -> bool:
    """Whether a policy takes a space; if not, it says so before anything runs."""
    try:
        policy.start(space)
    except UnsuitableError:
        return False
    return True


MEMBERS = [
    pytest.param(policy, space, id=f"{policy.name}-{'x'.join(map(str, space.shape))}")
    for policy in REGISTRY
    for space in SPACES
    if suits(policy, space)
]


@pytest.mark.parametrize("policy", REGISTRY, ids=lambda p: p.name)
def test_takes_a_plain_space(policy: Policy[Any]) -> None:
    assert suits(policy, Space(2))


@pytest.mark.parametrize(("policy", "space"), MEMBERS)
class TestContract:
    """The protocol, on every space, with any mixture of what is seen."""

    def run(self, policy: Policy[Any], space: Space, seed: int, batch: tuple[int, ...] = (5,)) -> np.ndarray:
        world = stream(seed, "world")
        rng = stream(seed, "policy")
        contexts, _, actions, levels = space.shape
        state = policy.start(space, batch)
        proposals = []
        for _ in range(12):
            x = world.integers(contexts, size=batch)
            z = policy.propose(state, x, rng)
            a, y = world.integers(UNSEEN, actions, size=batch), world.integers(UNSEEN, levels, size=batch)
            state = policy.learn(state, Event(x, z, a, y), rng)
            proposals.append(z)
        return np.array(proposals)

    def test_follows_the_protocol(self, policy: Policy[Any], space: Space) -> None:
        assert isinstance(policy, Policy)
        proposals = self.run(policy, space, seed=1)
        assert proposals.shape == (12, 5)
        assert set(np.unique(proposals)) <= set(range(len(space.proposals)))

    def test_is_a_function_of_the_stream(self, policy: Policy[Any], space: Space) -> None:
        np.testing.assert_array_equal(self.run(policy, space, seed=1), self.run(policy, space, seed=1))

    def test_works_on_a_single_experiment(self, policy: Policy[Any], space: Space) -> None:
        assert self.run(policy, space, seed=2, batch=()).shape == (12,)

    def test_explores_before_it_knows(self, policy: Policy[Any], space: Space) -> None:
        """With no evidence every proposal comes up in 500 first decisions; a false alarm is rarer than 1e-60."""
        state = policy.start(space, (500,))
        first = policy.propose(state, np.zeros(500, dtype=np.int64), stream(3))
        assert set(first) == set(range(len(space.proposals)))

    def test_live_means_evidence_is_all_it_needs(self, policy: Policy[Any], space: Space) -> None:
        if policy.live:
            assert isinstance(policy.start(space), Evidence)


@pytest.mark.parametrize("policy", REGISTRY, ids=lambda p: p.name)
def test_bad_parameters_are_refused_before_anything_runs(policy: Policy[Any]) -> None:
    """Every number and every name that a policy takes: not a number, minus one and nonsense in its place."""
    for field in fields(policy):  # type: ignore[arg-type]  # every registered policy is a dataclass
        value = getattr(policy, field.name)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            continue
        for bad in ("nonsense", *(() if isinstance(value, str) else (float("nan"), -1))):
            with pytest.raises(InputError, match=f"{field.name}: got"):
                type(policy)(**{field.name: bad}).start(Space(2))


@pytest.mark.parametrize(
    "policy", [p for p in REGISTRY if p.name not in ("Uniform", "TS-TopTwo")], ids=lambda p: p.name
)
def test_learns_an_easy_problem(policy: Policy[Any]) -> None:
    """Success rates of 0.95 and 0.05: in the last 100 of 200 decisions at least two thirds propose the better one."""
    environment = Environment.from_world(World.bernoulli(np.eye(2), [0.05, 0.95]))
    trace = simulate(environment, policy, 200, 20, engine="reference", record="curve", steps=[100, 200])
    late = trace.regret[0, 0, :, 1] - trace.regret[0, 0, :, 0]
    assert late.mean() < 0.9 * 100 / 3


@pytest.mark.parametrize("policy", [TS(), TSCheck(), TSObs(), TSLat()], ids=lambda p: p.name)
@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, [[1, 2, 3]], "one", [1, 0]])
def test_bad_priors_are_refused_before_anything_runs(policy: TS, bad: ArrayLike) -> None:
    with pytest.raises(InputError, match="alpha: got"):
        type(policy)(alpha=bad).start(Space(2))


@pytest.mark.parametrize("bad", [0, [[1, 1, 1]], -0.5])
def test_bad_compliance_priors_are_refused(bad: ArrayLike) -> None:
    with pytest.raises(InputError, match="beta: got"):
        TSObs(beta=bad).start(Space(2))


@pytest.mark.parametrize(
    ("argument", "bad"),
    [("soft_start", -1), ("soft_start", 1.5), ("restarts", 0), ("tolerance", 0), ("max_evaluations", 2)],
)
def test_bad_parameters_of_ts_lat_are_refused(argument: str, bad: float) -> None:
    with pytest.raises(InputError, match=f"{argument}: got"):
        TSLat(**{argument: bad})  # type: ignore[arg-type]  # as a user may


def test_priors_may_be_full_arrays() -> None:
    """A pilot enters as counts: 3 successes and 1 failure under action 0 on top of a uniform prior."""
    space = Space(2, contexts=2)
    alpha = np.ones((2, 2, 2))
    alpha[0, 0] = [2, 4]
    informed = TSObs(alpha=alpha).posterior(Evidence.empty(space), stream(0))
    pilot = Evidence.of(space, [Event(0, 0, 0, 1)] * 3 + [Event(0, 0, 0, 0)])
    np.testing.assert_array_equal(informed.outcome, TSObs().posterior(pilot, stream(0)).outcome)


class TestPerfectCompliance:
    """Where everyone does what is proposed."""

    environment = Environment.from_world(World.bernoulli(np.eye(3), [0.4, 0.5, 0.6]))

    def test_ts_and_ts_check_make_the_same_decisions(self) -> None:
        trace = simulate(self.environment, [TS(), TSCheck()], 300, 50, engine="reference", record="curve")
        np.testing.assert_array_equal(trace.pulls[0, 0], trace.pulls[0, 1])
        np.testing.assert_array_equal(trace.regret[0, 0], trace.regret[0, 1])

    def test_ts_obs_after_one_success_repeats_the_arm_with_five_ninths_and_ts_with_two_thirds(self) -> None:
        """TS: P(Beta(2,1) > Beta(1,1)) = 2/3.

        TS-Obs: A = P(mu_0 > mu_1) = 2/3 and B = P(pi_00 > pi_10) = 2/3, so A B + (1-A)(1-B) = 4/9 + 1/9 = 5/9.
        """
        evidence = Evidence.of(Space(2), [Event(0, 0, 0, 1)])
        for policy, expected in ((TS(), 2 / 3), (TSObs(), 5 / 9)):
            allocation = policy.allocation(evidence, 0, stream(0))
            assert allocation.exact
            np.testing.assert_allclose(allocation.probability, [expected, 1 - expected], rtol=0, atol=1e-13)

    def test_ts_obs_tends_to_ts_as_its_compliance_prior_tends_to_the_identity(self) -> None:
        """Beta = N identity + 1: the sure are right. The distance to TS falls with every step, to below 1e-3."""
        evidence = Evidence.of(Space(2), [Event(0, 0, 0, 1), Event(0, 1, 1, 0), Event(0, 1, 1, 1)])
        goal = TS().allocation(evidence, 0, stream(0)).probability
        distance = [
            np.abs(TSObs(beta=n * np.eye(2) + 1).allocation(evidence, 0, stream(0)).probability - goal).max()
            for n in (0, 1, 3, 10, 30)
        ]
        assert distance == sorted(distance, reverse=True)
        assert distance[0] > 0.02
        assert distance[-1] < 1e-3


def test_soft_start_explores_from_the_prior_until_the_context_has_seen_enough() -> None:
    """Context 0 has 40 outcomes, context 1 has 39 and a pending one: only the first has a posterior."""
    space = Space(2, contexts=2)
    evidence = Evidence.of(
        space, [Event(0, 0, UNSEEN, 1)] * 40 + [Event(1, 0, UNSEEN, 1)] * 39 + [Event(1, 0, UNSEEN, UNSEEN)]
    )
    policy = TSLat(soft_start=40)
    posterior = policy.posterior(evidence, stream(0))
    assert posterior.outcome[0].sum() == pytest.approx(44)
    np.testing.assert_array_equal(posterior.outcome[1], 1)
    np.testing.assert_array_equal(policy.allocation(evidence, 1, stream(0)).probability, [0.5, 0.5])


@pytest.mark.parametrize(
    ("alpha", "beta", "share"), [(0.3, 0.2, 0.4), ([[5, 1], [1, 5]], 1, 0.1)], ids=["below one", "told apart"]
)
def test_restarts_never_end_lower_and_pay_where_modes_differ(alpha: ArrayLike, beta: float, share: float) -> None:
    """The best of eight beats the first start by more than 0.1 in at least this share of 200 random tables."""
    space = Space(2)
    counts = np.zeros((200, 1, 2, 3, 3), dtype=np.int64)
    counts[..., UNSEEN, :2] = stream(4).integers(0, 60, (200, 1, 2, 2))
    evidence = Evidence(space, counts)
    policies = (TSLat(alpha=alpha, beta=beta, restarts=restarts) for restarts in (1, 8))
    once, best = (policy.fit(policy.prior(space), evidence, stream(5))[1] for policy in policies)
    assert once.converged.all()
    assert (best.elbo >= once.elbo - 1e-9).all()
    assert (best.elbo > once.elbo + 0.1).mean() > share


def test_warm_start_agrees_with_cold_in_distribution_of_regret() -> None:
    """Means of 200 replications within 4.5 standard errors of each other: a false alarm in 1 of 150,000 seeds."""
    environment = Environment.from_world(World.bernoulli([[0.9, 0.1], [0.2, 0.8]], [0.2, 0.8]))
    trace = simulate(
        environment, [TSLat(), WarmTSLat()], 150, 200, engine="reference", reporting=Reporting(compliance=0)
    )
    cold, warm = trace.final("TS-Lat-0"), trace.final("TS-Lat-0 warm")
    error = np.hypot(cold.std(ddof=1), warm.std(ddof=1)) / np.sqrt(200)
    assert abs(cold.mean() - warm.mean()) < 4.5 * error
