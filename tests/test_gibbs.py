"""Gibbs sampling against the sum over every latent assignment, quadrature and simulation-based calibration.

Statistical comparisons are of means over independent chains, at five standard errors or at the level `LEVEL`: fewer
than 500 of them, so that together they raise a false alarm in fewer than 1 of 1,000 choices of the seeds.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

import naive
from takeup import TS, UNSEEN, Event, Evidence, InputError, Posterior, Space, TSLat, TSObs, WarmTSLat, World, stream
from takeup.inference import gibbs
from test_oracle import Case, patients_of

FloatArray = NDArray[np.float64]
LEVEL = 1e-6
ERRORS = 5.0
CHAINS = 2000

UNEVEN = np.array([[0.4, 1.0, 2.0], [1.0, 3.0, 0.5], [2.0, 1.0, 1.0]])


def unseen(*cells: tuple[int, int, int]) -> list[Event]:
    """So many decisions with proposal z and outcome y, compliance unseen; each cell is (z, y, how many)."""
    return [Event(0, z, UNSEEN, y) for z, y, many in cells for _ in range(many)]


SEEN = [Event(0, 0, 0, 1), Event(0, 1, 1, 0), Event(0, 1, 0)]  # of the last one the outcome is pending
CASES = {
    "nothing seen": Case(Space(2), 1.0, 1.0, unseen((0, 1, 3), (1, 0, 2)), 1),
    "some seen": Case(Space(2), 1.0, 1.0, SEEN + unseen((0, 1, 3), (1, 0, 2)), 2),
    "priors": Case(
        Space(2), np.array([[3.0, 1], [0.5, 2]]), np.array([[4.0, 1], [0.6, 3]]), SEEN + unseen((0, 1, 4)), 3
    ),
    "small priors": Case(Space(2), 0.3, 0.2, unseen((0, 1, 3), (1, 0, 2)), 4),
    "three actions": Case(
        Space(2, 3, outcomes=3, utility=range(3)), UNEVEN, UNEVEN[:2] + 0.5, unseen((0, 2, 3), (1, 0, 2), (1, 1, 1)), 5
    ),
    "more proposals": Case(Space(4, 2), 1.0, np.array([2.0, 1]), unseen((0, 1, 2), (1, 0, 2), (2, 1, 2), (3, 0, 1)), 6),
    "more levels": Case(
        Space(2, 2, outcomes=4, utility=range(4)), 1.0, 1.0, SEEN + unseen((0, 3, 2), (0, 2, 1), (1, 0, 3)), 7
    ),
}


def side_by_side(case: Case, chains: int) -> Evidence:
    return Evidence(case.space, np.broadcast_to(case.evidence.counts, (chains, *case.evidence.counts.shape)))


def errors(draws: FloatArray, expected: FloatArray) -> FloatArray:
    """How many standard errors the mean over the first axis is away."""
    return np.asarray((draws.mean(axis=0) - expected) / (draws.std(axis=0, ddof=1) / len(draws) ** 0.5 + 1e-12))


def of_both(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    assert posterior.compliance is not None
    return posterior.outcome, posterior.compliance


@pytest.mark.parametrize("name", CASES)
def test_chains_have_the_means_of_the_enumerated_posterior(name: str) -> None:
    """E[μ] and E[π] over all assignments of the latent actions, from chains of 60 sweeps."""
    case = CASES[name]
    blocks = gibbs.draw(case.prior, side_by_side(case, CHAINS), stream(case.seed), sweeps=60)
    for parameters, mean in zip(of_both(blocks), naive.means(naive.mixture(*case.arrays, case.events)), strict=True):
        assert np.abs(errors(parameters / parameters.sum(axis=-1, keepdims=True), mean)).max() < ERRORS


@pytest.mark.parametrize("name", ["nothing seen", "some seen", "priors", "small priors"])
def test_allocations_are_those_of_the_enumerated_posterior(name: str) -> None:
    case = CASES[name]
    policy = TSLat(inference="gibbs", sweeps=60, alpha=case.alpha, beta=case.beta)
    found = policy.allocation(case.evidence, 0, stream(case.seed), draws=CHAINS)
    assert found.draws == CHAINS
    expected = naive.allocation(naive.mixture(*case.arrays, case.events))
    assert abs(found.probability[0] - expected) < ERRORS * found.standard_error[0]
    assert found.probability.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", CASES)
def test_a_slide_leaves_values_and_posterior_as_they_are(name: str) -> None:
    """Worlds from the enumerated posterior, slid: Π μ stays, and so do the means of μ, π and their squares."""
    case, rng = CASES[name], stream(9)
    components = naive.mixture(*case.arrays, case.events)
    weight = np.exp(np.array([w for w, _, _ in components]) - naive.log_evidence(components))
    chosen = rng.choice(len(components), size=20_000, p=weight / weight.sum())
    draws = Posterior(
        np.stack([a for _, a, _ in components])[chosen],
        np.stack([b for _, _, b in components])[chosen],
        case.space.reward,
    ).sample(rng)
    seen = case.prior.plus(case.evidence.implemented_outcomes, case.evidence.compliance)
    outcome, compliance = draws.outcome.copy(), draws.compliance.copy()
    actions = case.space.shape[2]
    gibbs.slide(seen, outcome, compliance, 0, actions - 1, rng)
    np.testing.assert_allclose(compliance @ outcome, draws.compliance @ draws.outcome, atol=1e-9)
    assert (np.abs(outcome - draws.outcome).max(axis=(1, 2, 3)) > 1e-3).mean() > 0.1  # it moves
    for before, after in ((draws.outcome, outcome), (draws.compliance, compliance)):
        for power in (1, 2):
            assert np.abs(errors(after**power - before**power, np.zeros(before.shape[1:]))).max() < ERRORS


TABLES = [
    [[1, 3], [2, 2]],
    [[40, 60], [30, 25]],
    [[40, 60], [60, 40]],
    [[440, 560], [30, 25]],
    [[4400, 5600], [60, 60]],
    [[440_000, 560_000], [60, 60]],
]


def table(counts: list[list[int]]) -> Evidence:
    full = np.zeros((1, 2, 3, 3), dtype=np.int64)
    full[0, :, UNSEEN, :2] = counts
    return Evidence(Space(2), full)


@pytest.mark.parametrize(
    "counts",
    [pytest.param(each, marks=pytest.mark.long if i in (1, 4) else []) for i, each in enumerate(TABLES)],
    ids=str,
)
def test_the_budget_is_enough_at_any_size(counts: list[list[int]]) -> None:
    """After 80 sweeps exact to the error of 2,000 chains, after the default 20 within 0.012 beyond it: up to 1e6."""
    expected = naive.latent_allocation(np.array(counts))
    for sweeps, bias in ((80, 0.0), (gibbs.SWEEPS, 0.012)):
        policy = TSLat(inference="gibbs", sweeps=sweeps)
        found = policy.allocation(table(counts), 0, stream(3, sweeps), draws=CHAINS)
        assert abs(found.probability[0] - expected) < bias + ERRORS * (expected * (1 - expected) / CHAINS) ** 0.5


def test_the_quadrature_is_the_enumeration() -> None:
    """Five patients: quadrature over μ and the sum over 32 assignments."""
    case = CASES["nothing seen"]
    expected = naive.allocation(naive.mixture(*case.arrays, case.events))
    assert naive.latent_allocation(np.array([[0, 3], [2, 0]])) == pytest.approx(expected, abs=1e-3)


class TestCalibration:
    """Truth drawn from the prior is a draw like any other from the posterior: Talts et al. (2018)."""

    replications, horizon, bins = 1000, 60, 20

    def gathered(self, truth: World, space: Space, seed: int, seen: float) -> Evidence:
        """Data that TS itself gathers in each world, of which a share has compliance seen and a tenth is pending."""
        rng, everyone = stream(seed, "data"), np.arange(self.replications)
        policy, context = TS(), np.zeros(self.replications, dtype=np.int64)
        state = policy.start(space, (self.replications,))
        for _ in range(self.horizon):
            z = policy.propose(state, context, rng)
            a = naive_draw(truth.compliance[everyone, 0, z], rng)
            y = naive_draw(truth.outcome[everyone, 0, a], rng)
            hidden = rng.random((2, self.replications)) < np.array([[1 - seen], [0.1]])
            state = policy.learn(
                state, Event(context, z, np.where(hidden[0], UNSEEN, a), np.where(hidden[1], UNSEEN, y)), rng
            )
        return state

    def p_values(self, policy: TSLat, space: Space, seed: int, seen: float) -> dict[str, float]:
        """Uniformity of the rank of every true value, outcome rate and compliance among draws from as many chains."""
        truth = policy.prior(space).sample(stream(seed, "truth"), self.replications)
        evidence = self.gathered(truth, space, seed, seen)
        chains = self.bins - 1
        many = Evidence(space, np.broadcast_to(evidence.counts, (chains, *evidence.counts.shape)))
        rng = stream(seed, "chains")
        draws = policy.posterior(many, rng).sample(rng)
        found = {}
        for name, drawn, true in (
            ("value", draws.value(), truth.value()),
            ("outcome", draws.outcome, truth.outcome),
            ("compliance", draws.compliance, truth.compliance),
        ):
            ranks = (drawn < true).sum(axis=0).reshape(self.replications, -1)
            for i, column in enumerate(ranks.T):
                found[f"{name} {i}"] = float(chisquare(np.bincount(column, minlength=self.bins)).pvalue)
        return found

    @pytest.mark.parametrize("seen", [0.0, 0.3], ids=["nothing seen", "some seen"])
    @pytest.mark.parametrize(
        ("alpha", "beta"),
        [
            pytest.param(1.0, 1.0, id="flat", marks=pytest.mark.long),
            pytest.param([[3.0, 1], [0.7, 2]], [[4.0, 1], [0.5, 3]], id="uneven"),
        ],
    )
    def test_it_knows_how_much_it_knows(self, alpha: Any, beta: Any, seen: float) -> None:
        """Ten tests at 1e-6 each: a false alarm in 1 of 100,000 seeds."""
        found = self.p_values(TSLat(inference="gibbs", alpha=alpha, beta=beta), Space(2), 11, seen)
        assert min(found.values()) > LEVEL, found

    def test_three_of_each(self) -> None:
        """21 tests: a false alarm in 1 of 47,000 seeds."""
        space = Space(3, outcomes=3, utility=range(3))
        found = self.p_values(TSLat(inference="gibbs", alpha=UNEVEN, beta=UNEVEN), space, 12, 0.2)
        assert min(found.values()) > LEVEL, found

    def test_mean_field_does_not(self) -> None:
        """Its posteriors are too narrow, and this test says so: the ones above can fail."""
        found = self.p_values(TSLat(), Space(2), 11, 0.0)
        assert max(found["value 0"], found["value 1"]) < LEVEL


def test_with_all_compliance_seen_it_is_ts_obs() -> None:
    case = patients_of(40, 3, (3, 2, 2), seen=1.0)
    ours = TSLat(inference="gibbs").posterior(case.evidence, stream(1))
    theirs = TSObs().posterior(case.evidence, stream(1))
    for one, other in zip(of_both(ours), of_both(theirs), strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_patient_gets_one_action() -> None:
    """The blocks of a chain hold prior, seen and unseen, once each; decisions of which nothing is known, nowhere."""
    case = patients_of(60, 4, (3, 3, 2), seen=0.3)
    more = Evidence.of(case.space, [*case.events, Event(0, 1), Event(0, 2)])
    outcome, compliance = of_both(TSLat(inference="gibbs").posterior(more, stream(2)))
    assert outcome.sum() == 3 * 2 + 60
    assert compliance.sum() == 3 * 3 + 60
    by_level = outcome[0].sum(axis=0) - 3
    np.testing.assert_array_equal(by_level, more.proposed_outcomes[0].sum(axis=0))


def test_soft_start_and_name() -> None:
    policy = TSLat(inference="gibbs", soft_start=10)
    assert policy.name == "TS-Lat-10 Gibbs"
    np.testing.assert_array_equal(policy.posterior(table([[5, 4], [0, 0]]), stream(0)).outcome, 1)
    assert policy.posterior(table([[5, 4], [1, 0]]), stream(0)).outcome.sum() == 14


@pytest.mark.parametrize(("argument", "bad"), [("inference", "exact"), ("sweeps", 0), ("sweeps", 2.5)])
def test_bad_arguments_are_refused(argument: str, bad: Any) -> None:
    with pytest.raises(InputError, match=f"{argument}: got"):
        TSLat(**{argument: bad})
    with pytest.raises(InputError, match="latent: got TS-Lat-0 Gibbs"):
        WarmTSLat(TSLat(inference="gibbs"))


def naive_draw(probability: FloatArray, rng: np.random.Generator) -> NDArray[np.int64]:
    """An index from each row."""
    passed = rng.random((len(probability), 1)) >= np.cumsum(probability, axis=1)[:, :-1]
    return np.asarray(passed.sum(axis=1))
