"""TS-Robust: its models against enumeration, its limits against TS-Obs, its kernel against the closed forms."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import gammaln

import naive
from takeup import (
    UNSEEN,
    Environment,
    Event,
    Evidence,
    InputError,
    Reporting,
    Space,
    TSObs,
    TSRobust,
    UnsuitableError,
    World,
    simulate,
    stream,
)
from takeup.inference.pooling import SHARED, Pooled, levels, picked, sticks, weigh
from takeup.policies.description import describe
from takeup.policies.registry import policy_of
from takeup.simulation.kernels import robust
from takeup.simulation.kernels.choice import choose
from takeup.simulation.kernels.robust_filling import lay_out
from takeup.simulation.kernels.robust_tables import SUMS, block_of, room, stick_size
from takeup.simulation.kernels.robust_weighing import contradiction, judge, keep_logs
from takeup.simulation.kernels.robust_weighing import weigh as weigh_block
from takeup.simulation.kernels.tables import Observation, State
from takeup.simulation.run import EngineName

ALPHAS = [np.array([1.0, 1.0]), np.array([0.4, 2.5]), np.array([1.0, 1.0, 1.0]), np.array([0.5, 2.0, 1.5])]

TWO = Environment.from_world(World.bernoulli([[0.8, 0.2], [0.3, 0.7]], [0.3, 0.6]))
ENGINES: tuple[EngineName, ...] = ("cpu", "reference")


def table(alpha: np.ndarray, outcomes: list[tuple[int, int]], proposals: int) -> np.ndarray:
    """n[x, z, a, y] of one context and action."""
    counts = np.zeros((1, proposals, 1, alpha.size), dtype=np.int64)
    for z, y in outcomes:
        counts[0, z, 0, y] += 1
    return counts


def sample(rng: np.random.Generator, levels: int, proposals: int, size: int) -> list[tuple[int, int]]:
    return [
        (int(z), int(y))
        for z, y in zip(rng.integers(proposals, size=size), rng.integers(levels, size=size), strict=True)
    ]


def believe(policy: TSRobust, evidence: Evidence) -> Pooled:
    """What it makes of outcomes with levels."""
    believed = policy.posterior(evidence, stream(0))
    assert isinstance(believed, Pooled)
    return believed


class TestModels:
    @pytest.mark.parametrize("alpha", ALPHAS, ids=str)
    @pytest.mark.parametrize("strength", [0, 1, 4])
    def test_evidence_is_the_sum_over_every_fate_of_the_unseen(self, alpha: np.ndarray, strength: int) -> None:
        outcomes = sample(stream(1, strength), alpha.size, proposals=3, size=9)
        log_evidence, _ = weigh(alpha[np.newaxis, np.newaxis], table(alpha, outcomes, 3), strength)
        assert np.exp(log_evidence[0, 0]) == pytest.approx(naive.pooled_evidence(alpha, strength, outcomes), rel=1e-11)

    @pytest.mark.parametrize("alpha", ALPHAS, ids=str)
    def test_evidence_is_a_distribution_over_all_outcomes(self, alpha: np.ndarray) -> None:
        """Four patients, two told each: the chances of all their outcomes sum to one under every model."""
        for strength in (SHARED, 0, 3, 50):
            every = [
                weigh(alpha[np.newaxis, np.newaxis], table(alpha, list(zip((0, 0, 1, 1), y, strict=True)), 2), strength)
                for y in product(range(alpha.size), repeat=4)
            ]
            assert sum(np.exp(log_evidence[0, 0]) for log_evidence, _ in every) == pytest.approx(1, rel=1e-11)

    def test_nothing_shared_and_all_shared_are_urns(self) -> None:
        """κ = 0 is an urn for each proposal, SHARED one urn for all, whatever the order of the patients."""
        alpha = np.array([0.5, 2.0, 1.5])
        outcomes = sample(stream(2), 3, proposals=2, size=30)
        given = np.broadcast_to(alpha, (1, 1, 3))
        certain = np.ones((1, 2, 1))
        for strength, proposals in ((SHARED, [(0, 1)]), (0, [(0,), (1,)])):
            urns = sum(
                naive.urn(given, certain, [Event(0, z, 0, y) for z, y in outcomes if z in those])[0]
                for those in proposals
            )
            assert weigh(given, table(alpha, outcomes, 2), strength)[0][0, 0] == pytest.approx(urns, rel=1e-12)

    def test_great_strength_tends_to_all_shared(self) -> None:
        """The distance in log evidence falls with κ, in proportion to 1 / κ, to below 1e-3 at κ = 40,000."""
        alpha = np.ones((1, 1, 2))
        counts = table(alpha[0, 0], sample(stream(3), 2, proposals=2, size=40), 2)
        goal = weigh(alpha, counts, SHARED)[0][0, 0]
        distance = [abs(weigh(alpha, counts, strength)[0][0, 0] - goal) for strength in (40, 400, 4_000, 40_000)]
        assert distance == sorted(distance, reverse=True)
        assert distance[-1] < 1e-3
        assert distance[-2] / distance[-1] == pytest.approx(10, rel=0.02)

    @pytest.mark.parametrize("strength", [0, 1, 8, 64])
    def test_each_stick_alone_has_the_prior_and_two_have_the_stated_correlation(self, strength: int) -> None:
        """Moments of b given S, summed over S: those of Beta(α_j, α_>j), and corr = κ / (κ + α_j + α_>j)."""
        first, others = 0.7, 2.2
        _, weight = weigh(np.array([[[first, others]]]), np.zeros((1, 2, 1, 2), dtype=np.int64), strength)
        s = np.arange(strength + 1)
        stop, whole = first + s, first + others + strength
        mean, square = stop / whole, stop * (stop + 1) / (whole * (whole + 1))
        p = weight[0, 0, 0]
        goal = stats.beta(first, others)
        assert p @ mean == pytest.approx(goal.mean(), rel=1e-12)
        assert p @ square - (p @ mean) ** 2 == pytest.approx(goal.var(), rel=1e-11)
        correlation = (p @ mean**2 - (p @ mean) ** 2) / goal.var()
        assert correlation == pytest.approx(strength / (strength + first + others), rel=1e-10, abs=1e-12)

    def test_sticks_and_levels_undo_each_other(self) -> None:
        law = stream(4).dirichlet(np.ones(5), size=(3, 2))
        stop, beyond = sticks(law)
        np.testing.assert_allclose(levels(stop / (stop + beyond)), law, rtol=1e-12)

    def test_an_impossible_index_is_never_picked(self) -> None:
        probability = np.broadcast_to([0.0, 0.5, 0.0, 0.5, 0.0], (20_000, 5))
        drawn = np.bincount(picked(probability, stream(5)), minlength=5)
        assert drawn[[0, 2, 4]].sum() == 0
        assert abs(drawn[1] - 10_000) < 4.5 * np.sqrt(5_000)


class TestPolicy:
    space = Space(3, 2, contexts=2, outcomes=3, utility=[0, 0.4, 1], intended=[0, 1, 1])

    def evidence(self, seed: int = 6) -> Evidence:
        return Evidence(self.space, stream(seed).integers(0, 9, self.space_shape()))

    def space_shape(self) -> tuple[int, ...]:
        x, z, a, y = self.space.shape
        return (x, z, a + 1, y + 1)

    def test_with_everything_shared_it_is_ts_obs(self) -> None:
        """Its mean is that of TS-Obs exactly; 20,000 draws choose as TS-Obs does within 4.5 errors."""
        evidence = self.evidence()
        policy, goal = TSRobust(shared=1, alpha=0.7, beta=1.3, sweeps=None), TSObs(alpha=0.7, beta=1.3)
        mean = goal.posterior(evidence, stream(0)).mean()
        np.testing.assert_allclose(believe(policy, evidence).mean().value(), mean.value(), rtol=1e-12)
        two = Evidence(Space(2), stream(7).integers(0, 9, (1, 2, 3, 3)))
        ours, exact = (p.allocation(two, 0, stream(8), 20_000) for p in (TSRobust(shared=1, sweeps=None), TSObs()))
        assert exact.exact
        assert (np.abs(ours.probability - exact.probability) < 4.5 * ours.standard_error).all()

    def test_with_nothing_shared_each_cell_has_its_own_mean(self) -> None:
        evidence = self.evidence()
        mean = believe(TSRobust(shared=0, pooled=[0], sweeps=None), evidence).mean()
        counts = evidence.counts[..., :-1, :-1] + 1
        np.testing.assert_allclose(mean.outcome, counts / counts.sum(axis=-1, keepdims=True), rtol=1e-12)

    @pytest.mark.parametrize("parameters", [{}, {"alpha": 0.05, "sharpness": 1.0}, {"pooled": [2], "shared": 0.9}])
    def test_draws_have_the_stated_mean(self, parameters: dict[str, Any]) -> None:
        """Each entry of 20,000 draws within 5 errors; 72 entries, a false alarm in 1 of 24,000 seeds."""
        believed = believe(TSRobust(**parameters), self.evidence())
        draws, goal = believed.sample(stream(9), 20_000), believed.mean()
        for name in ("outcome", "compliance"):
            drawn = getattr(draws, name)
            error = drawn.std(axis=0, ddof=1) / np.sqrt(20_000)
            assert (np.abs(drawn.mean(axis=0) - getattr(goal, name)) < 5 * error + 1e-12).all()

    def test_probabilities_are_prior_times_sharpened_evidence(self) -> None:
        """By hand: two told 0 who did 0 succeeded, two told 1 who did 0 failed.

        Shared: B(3, 3) = 1/30. Separate: B(3, 1) B(1, 3) = 1/9. So the odds of sharing are (1/30 : 1/9)^2 = 9 : 100 at
        a sharpness of 2 and even priors.
        """
        evidence = Evidence.of(Space(2), [Event(0, 0, 0, 1)] * 2 + [Event(0, 1, 0, 0)] * 2)
        believed = believe(TSRobust(shared=0.5, pooled=[0], sharpness=2), evidence)
        np.testing.assert_allclose(believed.probability[0, 0], [9 / 109, 100 / 109], rtol=1e-12)
        np.testing.assert_allclose(believed.probability[0, 1], [0.5, 0.5], rtol=1e-12)

    def test_left_out_unseen_compliance_teaches_nothing_and_pending_outcomes_teach_compliance(self) -> None:
        space = Space(2)
        empty, policy = Evidence.empty(space), TSRobust(sweeps=None)
        unseen = empty.record(Event(0, 0, UNSEEN, 1))
        pending = empty.record(Event(0, 0, 1, UNSEEN))
        means = [believe(policy, each).mean() for each in (empty, unseen, pending)]
        np.testing.assert_array_equal(means[0].value(), means[1].value())
        np.testing.assert_array_equal(means[0].outcome, means[2].outcome)
        np.testing.assert_allclose(means[2].compliance[0, 0], [1 / 3, 2 / 3])

    def test_sharing_that_contradicts_the_values_is_discounted(self) -> None:
        """By hand. Told 0: 30 do 0, of whom 24 succeed, and 10 do 1, of whom none. Told 1: 5 of 10 and 10 of 10.

        Shared: (1 + 29) / 42 and (1 + 10) / 22 for actions 0 and 1, so that 0 is best where all is shared, as more do 0
        there; by their own outcomes they have Beta(25, 17) and Beta(16, 6), so that 1 is.
        """
        counts = np.zeros((1, 2, 3, 3), dtype=np.int64)
        counts[0, 0, 0, :2], counts[0, 0, 1, :2] = (6, 24), (10, 0)
        counts[0, 1, 0, :2], counts[0, 1, 1, :2] = (5, 5), (0, 10)
        own = [stats.beta(25, 17), stats.beta(16, 6)]
        z2 = (own[1].mean() - own[0].mean()) ** 2 / (own[0].var() + own[1].var())
        plain, careful = (
            believe(TSRobust(caution=caution), Evidence(Space(2), counts)).probability for caution in (0, 1.5)
        )
        ratio = careful[0, :, :-1] / careful[0, :, -1:] / (plain[0, :, :-1] / plain[0, :, -1:])
        np.testing.assert_allclose(ratio, np.exp(-1.5 * z2 / 2), rtol=1e-9)
        agree = counts.copy()
        agree[0, 1] = [[8, 2, 0], [10, 0, 0], [0, 0, 0]]
        same = [believe(TSRobust(caution=c), Evidence(Space(2), agree)).probability for c in (0, 1.5)]
        np.testing.assert_allclose(same[0], same[1], rtol=1e-12)

    def test_filling_in_keeps_the_outcomes_of_every_proposal(self) -> None:
        evidence = self.evidence()
        believed = believe(TSRobust(), evidence)
        np.testing.assert_allclose(believed.counts.sum(axis=-2), evidence.proposed_outcomes)
        assert (believed.counts >= evidence.counts[..., :-1, :-1]).all()

    def test_with_nothing_shared_and_nothing_seen_it_is_as_sure_as_ts(self) -> None:
        """Mean and spread of each value, of 4,000 draws: those of Beta(1 + s, 1 + f), up to what the prior is worth.

        With two actions it is worth about one person more or less among 50: 0.01 for a mean, a tenth for a spread.
        """
        counts = np.zeros((1, 2, 3, 3), dtype=np.int64)
        counts[0, :, UNSEEN, :2] = [[30, 20], [12, 38]]
        policy = TSRobust(shared=0, pooled=[0])
        values = policy.beliefs(Evidence(Space(2), counts), 0, stream(11)).values(stream(12), 4_000)
        goal = stats.beta([21, 39], [31, 13])
        np.testing.assert_allclose(values.mean(axis=0), goal.mean(), atol=0.012)
        np.testing.assert_allclose(values.std(axis=0), goal.std(), rtol=0.1)

    def test_a_chain_of_many_sweeps_draws_from_the_posterior(self) -> None:
        """Two unseen outcomes beside three seen, two models at a sharpness of one: all completions are enumerated.

        The mean of each value over 10,000 chains of 15 sweeps, within 4.5 errors: a false alarm in 1 of 70,000 seeds.
        """
        counts = np.zeros((1, 2, 3, 3), dtype=np.int64)
        counts[0, 0, 0, 1] = counts[0, 0, 1, 0] = counts[0, 1, 1, 1] = 1
        unseen = [(0, 1), (1, 0)]
        for z, y in unseen:
            counts[0, z, UNSEEN, y] += 1
        policy = TSRobust(shared=0.4, pooled=[0], sharpness=1, caution=0, sweeps=15)
        goal, whole = np.zeros(2), 0.0
        for actions in product(range(2), repeat=2):
            filled = counts.copy()
            filled[0, :, UNSEEN] = 0
            for (z, y), a in zip(unseen, actions, strict=True):
                filled[0, z, a, y] += 1
            believed = believe(policy, Evidence(Space(2), filled))
            evidence = np.exp(believed.log_evidence[0]) @ np.exp(policy.log_prior)
            made = filled[0, :, :2].sum(axis=-1)
            weight = evidence.prod() * np.prod([np.exp(gammaln(1 + made[z]).sum()) for z in range(2)])
            goal += weight * believed.mean().value()[0]
            whole += weight
        values = policy.beliefs(Evidence(Space(2), counts), 0, stream(13)).values(stream(14), 10_000)
        error = values.std(axis=0, ddof=1) / np.sqrt(10_000)
        assert (np.abs(values.mean(axis=0) - goal / whole) < 4.5 * error).all()

    def test_it_survives_a_round_trip_through_its_description(self) -> None:
        policy = TSRobust(shared=0.6, pooled=[4, 0], sharpness=1.5, alpha=[1, 2])
        again = policy_of(describe(policy))
        assert isinstance(again, TSRobust)
        assert describe(again) == describe(policy)

    @pytest.mark.parametrize(
        ("argument", "bad"),
        [
            ("shared", 1.1),
            ("shared", -0.1),
            ("pooled", []),
            ("pooled", [4, 4]),
            ("pooled", [-1]),
            ("pooled", [0.5]),
            ("sharpness", 0),
            ("sharpness", [1, 2]),
        ],
    )
    def test_bad_parameters_are_refused(self, argument: str, bad: ArrayLike) -> None:
        with pytest.raises(InputError, match=f"{argument}: got"):
            TSRobust(**{argument: bad})  # type: ignore[arg-type]  # as a user may

    @pytest.mark.parametrize("prior", ["alpha", "beta"])
    def test_bad_priors_are_refused_before_anything_runs(self, prior: str) -> None:
        with pytest.raises(InputError, match=f"{prior}: got"):
            TSRobust(**{prior: -1}).start(Space(2))  # type: ignore[arg-type]  # as a user may


class TestKernel:
    @pytest.mark.parametrize("sharpness", [3.0, 1.7, 6.5, 50.0, 300.0, 1000.0])
    def test_its_state_follows_the_closed_forms(self, sharpness: float) -> None:
        """The plain functions, uncompiled, on 1,500 events in two contexts: evidence, weights, probabilities.

        Halfway the proposals change places, and so a model in which they share comes back: at 1,000 from e^-20,000.
        """
        space = Space(3, 2, contexts=2, outcomes=3, utility=[0, 0.4, 1], intended=[0, 1, 1])
        policy = TSRobust(alpha=[1.0, 2.5, 1.5], pooled=[9, 0, 2], sweeps=None, sharpness=sharpness)
        told = robust.parameters(policy, space)
        rows = robust.size(policy, space)
        counts, real = np.zeros((rows[0], 1), dtype=np.int32), np.zeros((rows[1], 1))
        column = State(counts, real, 0)
        robust.begin(column, space.shape, told)
        evidence, rng = Evidence.empty(space), stream(10)
        models, away = len(policy.models), np.zeros((2, 2, 1), dtype=bool)
        for i in range(1_500):
            if i == 750:
                halfway = real[block_of(0, 0, space.shape, told) :].reshape(2, 2, told.width)
                away = halfway[..., models : 2 * models] == 0
            x, z, a, y = (int(rng.integers(low, high)) for low, high in ((0, 2), (0, 3), (UNSEEN, 2), (UNSEEN, 3)))
            if y != UNSEEN and rng.random() < 0.7:
                y = 2 if (z == 0) == (i < 750) else 0
            robust.learn(column, Observation(x, z, a, y), space.shape, told, ())
            evidence = evidence.record(Event(x, z, a, y))
        believed, alone = believe(policy, evidence), State(counts, real[:, 0], 0)
        for x in range(2):
            lay_out(alone, x, space.shape, told)
            less = told.caution * contradiction(alone, x, space.shape, told)
            for a in range(2):
                block = block_of(x, a, space.shape, told)
                kept = alone.real[block + models : block + 2 * models].copy()
                product = alone.real[block + 2 * models : block + 3 * models]
                assert (product >= told.little).all()
                assert (product <= 1).all()
                assert (alone.real[block : block + models] < 0).all()  # logarithms were taken on the way
                keep_logs(alone.real, block, told)
                judge(alone.real, block, 0.0, told)
                np.testing.assert_allclose(
                    kept, alone.real[block + models : block + 2 * models], rtol=1e-11, atol=1e-110
                )
                judge(alone.real, block, less, told)
        state = real[block_of(0, 0, space.shape, told) :].reshape(2, 2, told.width)
        models = len(policy.models)
        np.testing.assert_allclose(state[..., :models], believed.log_evidence, rtol=1e-11)
        np.testing.assert_allclose(state[..., models : 2 * models], believed.probability, rtol=1e-9 * told.sharpness)
        assert sharpness < 50 or (believed.probability[away] > 0.5).any()
        for m, strength in enumerate(policy.models):
            if strength != SHARED:
                own = state[..., told.offset[m] : told.offset[m] + 2 * stick_size(strength)].reshape(2, 2, 2, -1)
                total, moment, weights = own[..., 0], own[..., 1], own[..., SUMS:]
                np.testing.assert_allclose(weights / total[..., np.newaxis], believed.samples[m], rtol=1e-10)
                np.testing.assert_allclose(weights.sum(axis=-1), total, rtol=1e-12)
                np.testing.assert_allclose(weights @ np.arange(strength + 1), moment, rtol=1e-12)
        seen = counts[:, 0].reshape(2, -1)
        np.testing.assert_array_equal(seen[:, :18].reshape(2, 3, 2, 3), evidence.counts[..., :-1, :-1])
        np.testing.assert_array_equal(seen[:, 18:24].reshape(2, 3, 2), evidence.compliance)
        np.testing.assert_array_equal(seen[:, 24:].reshape(2, 3, 3), evidence.latent_outcomes)

    def test_completed_counts_are_weighed_as_in_closed_form(self) -> None:
        """Three proposals, two actions and three levels, up to 4,000 patients of each; some weights pass 1e200."""
        space = Space(3, 2, outcomes=3, utility=[0, 0.4, 1], intended=[0, 1, 1])
        policy = TSRobust(alpha=[1.0, 2.5, 1.5], pooled=[96, 0, 2])
        told, rows = robust.parameters(policy, space), robust.size(policy, space)
        column = State(np.zeros((rows[0], 1), dtype=np.int32), np.zeros((rows[1], 1)), 0)
        robust.begin(column, space.shape, told)
        alone = State(column.counts, column.real[:, 0], 0)
        block = room(space.shape).block
        for most in (3, 300, 4_000):
            counts = np.zeros((1, 3, 3, 4), dtype=np.int64)
            counts[0, :, :2, :3] = stream(15, most).integers(most, size=(3, 2, 3))
            believed = believe(policy, Evidence(space, counts))
            column.counts[:18, 0] = counts[0, :, :2, :3].ravel()
            column.counts[18:24, 0] = counts[0, :, :2].sum(axis=-1).ravel()
            lay_out(alone, 0, space.shape, told)
            less = told.caution * contradiction(alone, 0, space.shape, told)
            for a in range(2):
                weigh_block(alone, 0, a, space.shape, told)
                judge(alone.real, block, less, told)
                own = alone.real[block : block + told.width]
                np.testing.assert_allclose(own[:4], believed.log_evidence[0, a], rtol=1e-10)
                np.testing.assert_allclose(own[4:8], believed.probability[0, a], atol=1e-8)
                np.testing.assert_array_equal(own[8:12], 1)
                sticks = own[12:210].reshape(2, 99)
                np.testing.assert_allclose(sticks[:, SUMS:] / sticks[:, :1], believed.samples[1][0, a], atol=1e-9)

    @pytest.mark.parametrize("sharpness", [3.0, pytest.param(1000.0, marks=pytest.mark.long)])
    def test_compiled_it_decides_as_the_reference_where_all_compliance_is_seen(self, sharpness: float) -> None:
        """Kolmogorov-Smirnov on the regret of 1,000 runs each: both together raise a false alarm in 1 of 50,000 seeds.

        The machine code is that of the next test.
        """
        policy = TSRobust(pooled=[8, 0], sharpness=sharpness)
        ours, theirs = (simulate(TWO, policy, 100, 1000, seed=3, engine=e).regret[0, 0, :, -1] for e in ENGINES)
        assert stats.ks_2samp(ours, theirs).pvalue > 1e-5

    @pytest.mark.parametrize("share", [0.3, 0.0])
    def test_it_decides_as_the_reference_where_compliance_is_unseen(self, share: float) -> None:
        """Pulls of the first proposal after 30 decisions, 300 runs each: within 4.5 errors, 1 of 70,000 seeds."""
        runs = [
            simulate(
                TWO,
                TSRobust(sweeps=2, pooled=[8, 0]),
                30,
                300,
                seed=3,
                engine=engine,
                reporting=Reporting(compliance=share),
            )
            for engine in ENGINES
        ]
        first = [run.pulls[0, 0, :, 0, 0].astype(float) for run in runs]
        error = np.sqrt(sum(each.var(ddof=1) / 300 for each in first))
        assert abs(first[0].mean() - first[1].mean()) < 4.5 * error

    def test_shapes_below_one_are_left_to_the_reference(self) -> None:
        assert choose(TSRobust(), Space(2)) is robust
        with pytest.raises(UnsuitableError, match="use engine='reference'"):
            choose(TSRobust(beta=0.5), Space(2))


@pytest.mark.long
def test_the_trap_does_not_hold_it() -> None:
    """Half are always-takers who do well anyway, half are compliers whom the drug harms: the treated do better.

    Over the last 500 of 1,500 decisions TS-Obs still proposes the drug most of the time, at a cost of 1/8 each.
    Their means over 200 runs have standard errors of about 0.5 and 0.15, and the limits are 15 or more of them away.
    """
    trap = Environment.from_types(
        Space(["none", "drug"]),
        share=[0.5, 0.5],
        response=[[1, 1], [0, 1]],
        outcome=[[[0.25, 0.75], [0.25, 0.75]], [[0.5, 0.5], [0.75, 0.25]]],
    )
    trace = simulate(trap, [TSObs(), TSRobust()], 1500, 200, seed=1, record="curve", steps=[1000, 1500], engine="cpu")
    late = (trace.regret[0, :, :, 1] - trace.regret[0, :, :, 0]).mean(axis=1)
    assert late[0] > 40
    assert late[1] < 5
