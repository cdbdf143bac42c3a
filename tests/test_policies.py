"""What the paper's four policies must do because of the paper; test_policy_contract has what all must do."""

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
    Reporting,
    Space,
    TSCheck,
    TSLat,
    TSObs,
    WarmTSLat,
    World,
    simulate,
    stream,
)


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
        environment, [TSLat(), WarmTSLat()], 80, 200, engine="reference", reporting=Reporting(compliance=0)
    )
    cold, warm = trace.final("TS-Lat-0"), trace.final("TS-Lat-0 warm")
    error = np.hypot(cold.std(ddof=1), warm.std(ddof=1)) / np.sqrt(200)
    assert abs(cold.mean() - warm.mean()) < 4.5 * error
