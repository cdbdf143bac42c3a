"""Proposals as instruments: the four regrets, two-stage least squares and when it abstains, and the small matrices."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from takeup import (
    Environment,
    Event,
    Evidence,
    InputError,
    Space,
    TwoStage,
    UnsuitableError,
    World,
    regret,
    stream,
    weak_instrument,
)
from takeup.paper.related import instrument_examples as examples
from takeup.policies.instrument import singular_error
from takeup.simulation import simulate
from takeup.simulation.kernels.matrices import smallest_singular, solve
from takeup.simulation.kernels.tables import State


def random_types(kinds: int, arms: int, seed: int, complying: bool = False) -> Environment:
    rng = stream(seed)
    response = np.tile(np.arange(arms), (kinds, 1)) if complying else rng.integers(arms, size=(kinds, arms))
    rates = rng.random((kinds, arms))
    share = rng.random(kinds)
    return Environment.from_types(Space(arms), share / share.sum(), response, np.stack([1 - rates, rates], axis=-1))


class TestRegrets:
    def test_all_are_one_where_everyone_complies(self) -> None:
        """Kallus (2018), theorem 2; with one class of units the latent class's is the same, too."""
        truth = random_types(1, 3, 1, complying=True)
        for of in regret.KINDS.values():
            np.testing.assert_allclose(of(truth), truth.regret(), atol=1e-12)

    def test_without_defiers_compliers_lose_what_proposals_do(self) -> None:
        """Kallus (2018), theorem 5: two arms, and nobody does the opposite."""
        share, rates = [0.2, 0.3, 0.5], np.array([[0.3, 0.9], [0.6, 0.1], [0.4, 0.7]])
        response = [[0, 0], [1, 1], [0, 1]]
        truth = Environment.from_types(Space(2), share, response, np.stack([1 - rates, rates], axis=-1))
        np.testing.assert_allclose(regret.compliers(truth), truth.regret(), atol=1e-12)

    def test_each_is_what_it_says(self) -> None:
        """By a loop over types, with twelve types in two classes of response and some besides."""
        truth = random_types(12, 3, 2)
        assert truth.types is not None
        types = truth.types
        types.response[:4], types.response[4:8] = [0, 1, 2], [1, 1, 0]
        truth = Environment.from_types(truth.space, types.share, types.response, types.outcome)
        mean, share = types.outcome[0, ..., 1], types.share[0]
        for z in range(3):
            now = sum(share[u] * mean[u, types.response[u, z]] for u in range(12))
            fixed = max(sum(share[u] * mean[u, a] for u in range(12)) for a in range(3))
            classes = {tuple(row) for row in types.response}
            best = sum(
                max(sum(share[u] * mean[u, a] for u in range(12) if tuple(types.response[u]) == c) for a in range(3))
                for c in classes
            )
            complying = max(sum(share[u] * mean[u, a] for u in range(4)) for a in range(3))
            assert regret.static(truth)[0, z] == pytest.approx(fixed - now)
            assert regret.latent_class(truth)[0, z] == pytest.approx(best - now)
            assert regret.compliers(truth)[0, z] == pytest.approx(complying - share[:4] @ mean[:4, z])

    def test_potential_outcomes_are_needed(self) -> None:
        truth = Environment.from_world(World.bernoulli(np.eye(2), [0.2, 0.8]))
        with pytest.raises(UnsuitableError, match="from_types"):
            regret.compliers(truth)

    def test_a_trace_adds_them_up(self) -> None:
        truth = random_types(4, 2, 3)
        trace = simulate(truth, TwoStage(), 40, 5, engine="reference")
        np.testing.assert_allclose(trace.cost("proposals", "2SLS-fixed"), trace.final("2SLS-fixed"))
        by_hand = trace.pulls[0, 0, :, 0] @ regret.static(truth)[0]
        np.testing.assert_allclose(trace.cost("static", "2SLS-fixed"), by_hand)
        with pytest.raises(InputError, match="kind: got"):
            trace.cost("all", "2SLS-fixed")  # type: ignore[arg-type]  # as a user may


BOTH = pytest.mark.parametrize("bins", [False, True], ids=["continuous", "bins"])


class TestExamples:
    @BOTH
    def test_the_first_has_its_printed_means(self, bins: bool) -> None:
        """μ = (25/8, 27/8, 13/4) and v = (25/8, 15/8, 4): best are the second action and the third proposal."""
        truth = examples.first_example(examples.uniform_bins() if bins else None)
        assert truth.types is not None
        mean = np.einsum("u,uay,y->a", truth.types.share[0], truth.types.outcome[0], truth.space.reward)
        np.testing.assert_allclose(mean, [25 / 8, 27 / 8, 13 / 4])
        np.testing.assert_allclose(truth.value()[0], [25 / 8, 15 / 8, 4])

    @BOTH
    def test_the_second_has_its_printed_means_once_some_comply(self, bins: bool) -> None:
        """V = (1.45, 1.49, 1.49, 1.49, 1.18), printed as (1.4, 1.5, 1.5, 1.5, 1.2); a tenth comply."""
        truth = examples.second_example(examples.normal_bins() if bins else None)
        np.testing.assert_allclose(truth.value()[0], [1.45, 1.49, 1.49, 1.49, 1.18], atol=1e-9)
        compliance = truth.response[0].sum(axis=-1)
        np.testing.assert_allclose(compliance[-1], 0.2, atol=1e-12)
        assert np.linalg.svd(compliance)[1][-1] == pytest.approx(0.2509, abs=5e-5)
        np.testing.assert_allclose(regret.compliers(truth)[0], [0.11, 0.1, 0.1, 0.1, 0.0], atol=1e-9)

    def test_bins_keep_the_mean_and_the_cut(self) -> None:
        """Twenty bins of a tenth each above and below ±1.2816; what binning loses of the variance is under 2 %."""
        bins = examples.normal_bins().points
        assert bins.mean() == pytest.approx(0, abs=1e-12)
        assert bins[-3] < 1.2816 < bins[-2]
        assert 0.98 < bins.var() < 1
        np.testing.assert_allclose(np.diff(examples.uniform_bins().points), 0.1)

    def test_continuous_rewards_have_their_law_whoever_gets_them(self) -> None:
        """P(a, Y <= y given z) of example 2 by hand, half-way between points of the grid, where rounding is exact.

        Proposed the first, those above the cut take it, and half of the rest: 4/8 in between. Proposed the last, those
        below the cut take it, and 1/8 in between.
        """
        truth = examples.second_example()
        y = truth.space.reward + examples.STEP / 2
        first, last = np.cumsum(truth.response[0, 0, 0]), np.cumsum(truth.response[0, 4, 4])
        noise, cut = stats.norm.cdf(y - 0.9), 0.1
        between = np.clip(noise, cut, 1 - cut) - cut
        np.testing.assert_allclose(first, np.maximum(noise - (1 - cut), 0) + between / 2, atol=1e-11)
        noise = stats.norm.cdf(y - 2)
        np.testing.assert_allclose(last, np.minimum(noise, cut) + (np.clip(noise, cut, 1 - cut) - cut) / 8, atol=1e-11)

    def test_the_first_has_uniform_noise(self) -> None:
        """Proposed the first arm everyone takes it: of 5/8 Y is uniform on [4, 6], of 3/8 on [-1, 1]."""
        truth = examples.first_example()
        y = truth.space.reward + examples.STEP / 2
        above = 1 - np.cumsum(truth.response[0, 0, 0])
        expected = 5 / 8 * np.clip((6 - y) / 2, 0, 1) + 3 / 8 * np.clip((1 - y) / 2, 0, 1)
        np.testing.assert_allclose(above, expected, atol=1e-12)

    def test_bins_and_continuous_rewards_have_the_same_means(self) -> None:
        """P(a | z) and E[Y | z, a] are what the limits of figure 3 rest on; the noise itself matters no further."""
        one, two = examples.second_example(), examples.second_example(examples.normal_bins())
        np.testing.assert_allclose(one.response.sum(axis=-1), two.response.sum(axis=-1), atol=1e-12)
        np.testing.assert_allclose(one.response @ one.space.reward, two.response @ two.space.reward, atol=1e-6)

    @pytest.mark.parametrize(("variance", "compliers", "proposals"), [(1.0, 43_665, 202_821), (1.5, 69_961, 138_278)])
    def test_as_treated_the_second_ends_between_two_arms(
        self, variance: float, compliers: float, proposals: float
    ) -> None:
        """UCB-AT settles where the first and the last action have the same mean among those who took them.

        Proposed the first alone, rewards of those who take either differ by 0.1 (2.655 - 0.245) + 0.4 (0.9 - 2) =
        -0.199 in all; proposed the last alone, by 0.241 + 0.1 (0.9 - 2) = 0.131. As many take the one as the other, so
        that both have the same mean where 0.199 / 0.330 of proposals are the last. Figure 3 has 70,000 and 140,000.
        """
        bins = examples.normal_bins()
        truth = examples.second_example(bins._replace(points=bins.points * variance**0.5))
        taken, earned = truth.response[0].sum(axis=-1), truth.response[0] @ truth.space.reward
        np.testing.assert_allclose(taken[[0, 4], 0], taken[[0, 4], 4])
        apart = earned[[0, 4], 0] - earned[[0, 4], 4]
        mix = np.array([apart[1], -apart[0]]) / (apart[1] - apart[0])
        np.testing.assert_allclose(1e6 * mix @ regret.compliers(truth)[0, [0, 4]], compliers, atol=1)
        np.testing.assert_allclose(1e6 * mix @ regret.proposals(truth)[0, [0, 4]], proposals, atol=1)


def homogeneous(counts: int) -> tuple[Evidence, np.ndarray]:
    """Evidence in which outcomes and compliance have exactly their expectations: v = Π μ."""
    compliance, mean = np.array([[0.8, 0.2, 0.0], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]]), np.array([0.2, 0.5, 0.9])
    joint = compliance[..., np.newaxis] * np.stack([1 - mean, mean], axis=-1)
    table = np.zeros((1, 3, 4, 3))
    table[0, :, :3, :2] = np.round(joint * counts)
    return Evidence(Space(3), table.astype(np.int64)), mean


class TestTwoStage:
    def test_it_inverts_the_compliance_matrix(self) -> None:
        evidence, mean = homogeneous(1000)
        estimate = TwoStage().estimate(evidence)
        np.testing.assert_allclose(estimate.mean, mean)
        assert not estimate.abstains
        assert 0 < estimate.lower < estimate.smallest
        assert TwoStage(rate=100).allocation(evidence, 0, stream(0)).probability[2] == 1

    def test_a_weak_instrument_makes_it_abstain_and_say_so(self) -> None:
        """Two proposals that hardly differ, of 50 each: the interval of the smallest singular value reaches zero."""
        events = [Event(0, z, a, 1) for z in range(2) for a in [0] * (26 - 2 * z) + [1] * (24 + 2 * z)]
        evidence = Evidence.of(Space(2), events)
        estimate = TwoStage().estimate(evidence)
        assert estimate.abstains
        assert "too little" in estimate.reason
        assert np.isnan(estimate.mean).all()
        np.testing.assert_allclose(TwoStage(rate=100).allocation(evidence, 0, stream(0)).probability, [0.5, 0.5])
        assert not TwoStage(confidence=None).estimate(evidence).abstains

    def test_its_interval_is_that_of_the_diagnostic(self) -> None:
        """Beside `weak_instrument` on 60 random tables of 200 decisions: the same rule by the delta method.

        It has no draws, so the ends differ a little: by 0.03 at the most, and the verdict only where an end is that
        near to zero.
        """
        rng = stream(8)
        verdicts = []
        for share in np.repeat(np.linspace(0, 0.3, 12), 5):
            rows = [[0.5 + share, 0.5 - share], [0.5 - share, 0.5 + share]]
            counts = np.zeros((1, 2, 3, 3), dtype=np.int64)
            counts[0, :, :2, 0] = [rng.multinomial(100, row) for row in rows]
            evidence = Evidence(Space(2), counts)
            estimate = TwoStage().estimate(evidence)
            diagnosed = weak_instrument(evidence, rng, draws=4000)
            assert max(estimate.lower, 0) == pytest.approx(diagnosed.lower[0], abs=0.03)
            if abs(estimate.lower) > 0.03:
                assert estimate.abstains != diagnosed.invertible[0]
            verdicts.append(estimate.abstains)
        assert 5 < sum(verdicts) < 55

    def test_before_everything_is_seen_it_abstains(self) -> None:
        estimate = TwoStage(confidence=None).estimate(Evidence.of(Space(2), [Event(0, 0, 0, 1)]))
        assert estimate.abstains
        assert "no decision" in estimate.reason

    def test_a_singular_matrix_makes_it_abstain_at_any_confidence(self) -> None:
        evidence = Evidence.of(Space(2), [Event(0, z, a, 1) for z in range(2) for a in range(2)] * 100)
        assert TwoStage(confidence=None).estimate(evidence).abstains

    def test_intended_actions_may_be_in_any_order(self) -> None:
        """Proposal 0 intends action 1 and everyone complies: proposal 0 leads to the better action."""
        space = Space(["a", "b"], ["b", "a"])
        evidence = Evidence.of(space, [Event(0, 0, 1, 1)] * 30 + [Event(0, 1, 0, 0)] * 30)
        np.testing.assert_allclose(TwoStage().estimate(evidence).mean, [1, 0])
        np.testing.assert_allclose(TwoStage(rate=100).allocation(evidence, 0, stream(0)).probability, [1, 0])

    def test_schedules_by_hand(self) -> None:
        """60 decisions, t = 61. Decay: 2 / (0.1 * 61). Fixed: log(61) / 0.1 = 41.1 > 30 pulls, so the rarest is due."""
        evidence = Evidence.of(Space(2), [Event(0, 0, 0, 1)] * 31 + [Event(0, 1, 1, 0)] * 29)
        explore = 2 / (0.1 * 61)
        p = TwoStage(schedule="decay").allocation(evidence, 0, stream(0)).probability
        np.testing.assert_allclose(p, [1 - explore / 2, explore / 2])
        np.testing.assert_array_equal(TwoStage().allocation(evidence, 0, stream(0)).probability, [0, 1])
        np.testing.assert_array_equal(TwoStage(rate=0.2).allocation(evidence, 0, stream(0)).probability, [1, 0])

    def test_the_adaptive_rate_by_hand(self) -> None:
        """Π = 1, gap 1, ψ = 1/8: a = γ / (16 * 1.5). log(61) / a pulls are due: more than 29 at γ = 3, fewer at 4."""
        evidence = Evidence.of(Space(2), [Event(0, 0, 0, 1)] * 31 + [Event(0, 1, 1, 0)] * 29)
        for gamma, second in ((3.0, 1), (4.0, 0)):
            policy = TwoStage(schedule="adaptive", gamma=gamma)
            assert policy.allocation(evidence, 0, stream(0)).probability[1] == second

    def test_proposals_and_actions_must_be_one_to_one(self) -> None:
        for space in (Space(3, 2, intended=[0, 1, 1]), Space(2, intended=[0, 0])):
            with pytest.raises(UnsuitableError, match="inverts"):
                TwoStage().start(space)

    @pytest.mark.parametrize(
        ("argument", "bad"), [("schedule", "never"), ("rate", 0), ("gamma", -1), ("psi", 0), ("confidence", 1)]
    )
    def test_bad_parameters_are_refused(self, argument: str, bad: Any) -> None:
        with pytest.raises(InputError, match=f"{argument}: got"):
            TwoStage(**{argument: bad})


def test_the_error_of_the_smallest_singular_value() -> None:
    """Against its spread over 4,000 tables of 400 patients a proposal: within 5 %, 4.5 errors of the spread."""
    compliance = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
    rng = stream(1)
    tables = rng.multinomial(400, compliance, size=(4000, 3))
    left, singular, right = np.linalg.svd(tables / 400)
    error = singular_error(tables, left[..., -1], right[..., -1, :])
    assert error.mean() == pytest.approx(singular[..., -1].std(ddof=1), rel=0.05)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_kernels_matrices_are_numpys(size: int) -> None:
    """Forty random stochastic matrices of each size, the first of them singular."""
    rng = stream(size)
    for i in range(40):
        matrix = rng.dirichlet([0.5] * size, size)
        if i == 0:
            matrix[1] = matrix[0]
        vector = rng.random(size)
        real = np.zeros((3 * size * size + 3 * size, 1))
        real[: size * size, 0] = matrix.ravel()
        at = [size * size * k for k in range(4)]
        real[at[3] : at[3] + size, 0] = vector
        state = State(np.zeros((0, 1), dtype=np.int32), real, 0)
        s = smallest_singular(state, at[0], at[3] + size, at[3] + 2 * size, size)
        left, singular, right = np.linalg.svd(matrix)
        assert s == pytest.approx(singular[-1], abs=1e-7)
        if singular[-1] > 1e-3:
            u, v = real[at[3] + size : at[3] + 2 * size, 0], real[at[3] + 2 * size :, 0]
            np.testing.assert_allclose(np.outer(u, v), np.outer(left[:, -1], right[-1]), atol=1e-6)
            expected = np.linalg.solve(matrix, vector)
            solve(state, at[0], at[3], size)
            np.testing.assert_allclose(real[at[3] : at[3] + size, 0], expected, rtol=1e-8, atol=1e-10)
