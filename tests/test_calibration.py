"""Simulation-based calibration: truth drawn from the prior is a draw like any other from the posterior.

Cook, Gelman & Rubin (2006); Talts et al. (2018). Each of `REPLICATIONS` worlds is drawn from the prior and the policy
itself gathers the data, adaptively. The posterior's distribution function at the truth is then uniform for every
parameter, and so is the rank of the true value of each proposal among posterior draws. Both are held against 20 equal
bins by chi-square tests at the level `LEVEL`: together they raise fewer than 1e-4 false alarms.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import chisquare

from takeup import TS, UNSEEN, Event, Posterior, Space, Thompson, TSCheck, TSObs, World, stream

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Patients = Callable[[IntArray, np.random.Generator], tuple[IntArray, IntArray]]
"""Implemented action and outcome of each replication's patient, given the proposals."""

REPLICATIONS = 3000
HORIZON = 60
BINS = 20
LEVEL = 1e-4 / 200
"""Bonferroni over at most 200 tests in this file."""

EVERYONE = np.arange(REPLICATIONS)
CONTEXT = np.zeros(REPLICATIONS, dtype=np.int64)

ALPHA = np.array([[1.0, 2.0, 0.5], [0.7, 0.7, 0.7], [3.0, 1.0, 1.0]])
BETA = np.array([[4.0, 1.0, 1.0], [0.5, 1.0, 0.5], [1.0, 2.0, 3.0]])
FLAT = pytest.param(np.ones((2, 2)), marks=pytest.mark.long)
"""What uneven priors go beyond."""


def draw(probability: FloatArray, rng: np.random.Generator) -> IntArray:
    """An index from each row."""
    passed = rng.random((len(probability), 1)) >= np.cumsum(probability, axis=1)[:, :-1]
    return np.asarray(passed.sum(axis=1))


def in_world(world: World) -> Patients:
    """The paper's patients: a ~ π[z], y ~ μ[a]."""

    def respond(z: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        a = draw(world.compliance[EVERYONE, 0, z], rng)
        return a, draw(world.outcome[EVERYONE, 0, a], rng)

    return respond


def confounded(value: FloatArray) -> Patients:
    """Those with a good outcome comply and the others do the next action: y ~ v[z] comes first, and decides a."""

    def respond(z: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        y = draw(value[EVERYONE, 0, z], rng)
        return np.where(rng.random(REPLICATIONS) < 0.2 + 0.3 * y, z, (z + 1) % value.shape[2]), y

    return respond


def gathered(
    policy: Thompson, space: Space, respond: Patients, seed: int, *, unseen: float = 0.0, pending: float = 0.0
) -> Posterior:
    """What the policy believes after proposing to `HORIZON` patients of each replication's own world."""
    rng, patients = stream(seed, "policy"), stream(seed, "patients")
    state = policy.start(space, (REPLICATIONS,))
    for _ in range(HORIZON):
        z = policy.propose(state, CONTEXT, rng)
        a, y = respond(z, patients)
        hidden = patients.random((2, REPLICATIONS)) < np.array([[unseen], [pending]])
        event = Event(CONTEXT, z, np.where(hidden[0], UNSEEN, a), np.where(hidden[1], UNSEEN, y))
        state = policy.learn(state, event, rng)
    return policy.posterior(state, rng)


def p_values(parameters: FloatArray, truth: FloatArray) -> list[float]:
    """One for each entry of a Dirichlet block: its marginal Beta(s, S - s) at the truth is uniform."""
    level = betainc(parameters, parameters.sum(axis=-1, keepdims=True) - parameters, truth)
    bins = np.minimum((level * BINS).astype(int), BINS - 1).reshape(REPLICATIONS, -1)
    return [uniformity(column) for column in bins.T]


def p_values_of_ranks(posterior: Posterior, truth: World, seed: int) -> list[float]:
    """One for each proposal: the rank of its true value among BINS - 1 posterior draws is uniform."""
    draws = posterior.sample(stream(seed, "ranks"), BINS - 1).value()
    ranks = (draws < truth.value()).sum(axis=0).reshape(REPLICATIONS, -1)
    return [uniformity(column) for column in ranks.T]


def uniformity(bins: IntArray) -> float:
    return float(chisquare(np.bincount(bins, minlength=BINS)).pvalue)


def spaces(proposals: int, outcomes: int) -> Space:
    return Space(proposals, outcomes=outcomes, utility=range(outcomes))


@pytest.mark.parametrize("alpha", [FLAT, ALPHA], ids=["flat", "uneven"])
def test_ts_knows_how_much_it_knows_under_perfect_compliance(alpha: FloatArray) -> None:
    """Values of proposing, K Y + K tests. False alarms: fewer than 1e-4 over the file."""
    policy, space = TS(alpha=alpha), spaces(*alpha.shape)
    truth = policy.prior(space).sample(stream(1, "truth"), REPLICATIONS)
    posterior = gathered(policy, space, in_world(truth), 1)
    assert min(p_values(posterior.outcome, truth.outcome)) > LEVEL
    assert min(p_values_of_ranks(posterior, truth, 1)) > LEVEL


def test_ts_knows_how_much_it_knows_however_compliance_comes_about() -> None:
    """The value of proposing is all that it learns: here the outcome decides who complies. False alarms: as above."""
    policy, space = TS(alpha=[2.0, 1.0]), spaces(3, 2)
    truth = policy.prior(space).sample(stream(2, "truth"), REPLICATIONS)
    posterior = gathered(policy, space, confounded(truth.outcome), 2, unseen=0.5)
    assert min(p_values(posterior.outcome, truth.outcome)) > LEVEL


@pytest.mark.parametrize("alpha", [FLAT, ALPHA], ids=["flat", "uneven"])
def test_ts_check_knows_how_much_it_knows_of_those_who_comply(alpha: FloatArray) -> None:
    """Outcomes of the intended actions under noncompliance, a third of it unseen. False alarms: as above."""
    policy, space = TSCheck(alpha=alpha), spaces(*alpha.shape)
    truth = TSObs(alpha=alpha).prior(space).sample(stream(3, "truth"), REPLICATIONS)
    posterior = gathered(policy, space, in_world(truth), 3, unseen=1 / 3, pending=0.1)
    assert min(p_values(posterior.outcome, truth.outcome)) > LEVEL
    complied = World(np.broadcast_to(np.eye(len(alpha)), truth.compliance.shape), truth.outcome, truth.utility)
    assert min(p_values_of_ranks(posterior, complied, 3)) > LEVEL


@pytest.mark.parametrize(
    ("alpha", "beta"),
    [(np.ones((2, 2)), np.ones((2, 2))), (ALPHA, BETA), (ALPHA[:2], BETA[:, :2])],
    ids=["flat", "uneven", "fewer actions than proposals"],
)
def test_ts_obs_knows_how_much_it_knows(alpha: FloatArray, beta: FloatArray) -> None:
    """Compliance, outcomes and values, with a third of compliance unseen and a fifth of the outcomes pending.

    Complete cases are enough because what is seen depends on nothing here. False alarms: as above.
    """
    space = Space(len(beta), len(alpha), outcomes=alpha.shape[1], utility=range(alpha.shape[1]))
    policy = TSObs(alpha=alpha, beta=beta)
    truth = policy.prior(space).sample(stream(4, "truth"), REPLICATIONS)
    posterior = gathered(policy, space, in_world(truth), 4, unseen=1 / 3, pending=0.2)
    assert posterior.compliance is not None
    assert min(p_values(posterior.outcome, truth.outcome)) > LEVEL
    assert min(p_values(posterior.compliance, truth.compliance)) > LEVEL
    assert min(p_values_of_ranks(posterior, truth, 4)) > LEVEL


@pytest.mark.parametrize("policy", [TS(), TSCheck(), TSObs()], ids=lambda policy: policy.name)
def test_a_wrong_prior_is_noticed(policy: Thompson) -> None:
    """Worlds from priors of (3, 1), beliefs from (1, 1): all tests reject, so those above can fail."""
    space = spaces(2, 2)
    right = TS(alpha=[3.0, 1.0]) if policy.name == "TS" else TSObs(alpha=[3.0, 1.0], beta=[3.0, 1.0])
    truth = right.prior(space).sample(stream(5, "truth"), REPLICATIONS)
    posterior = gathered(policy, space, in_world(truth), 5)
    assert max(p_values(posterior.outcome, truth.outcome)) < LEVEL
    if posterior.compliance is not None:
        assert max(p_values(posterior.compliance, truth.compliance)) < LEVEL


def test_confounding_is_noticed_by_those_who_assume_there_is_none() -> None:
    """TS-Check takes the outcomes of those who complied for those of proposing; here success makes people comply."""
    policy, space = TSCheck(alpha=[2.0, 1.0]), spaces(3, 2)
    truth = TS(alpha=[2.0, 1.0]).prior(space).sample(stream(2, "truth"), REPLICATIONS)
    posterior = gathered(policy, space, confounded(truth.outcome), 2)
    assert max(p_values(posterior.outcome, truth.outcome)) < LEVEL


def test_selecting_outcomes_is_noticed() -> None:
    """A pending outcome that is pending because it is bad: TS, calibrated for proposing, no longer is."""
    policy, space = TS(), spaces(2, 2)
    truth = policy.prior(space).sample(stream(6, "truth"), REPLICATIONS)

    def respond(z: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        a, y = in_world(truth)(z, rng)
        return a, np.where((y == 0) & (rng.random(REPLICATIONS) < 0.2), UNSEEN, y)

    posterior = gathered(policy, space, respond, 6)
    assert max(p_values(posterior.outcome, truth.outcome)) < LEVEL
