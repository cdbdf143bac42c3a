"""TS-Robust for numbers, counts and times: its models against quadrature, and whether it knows how much it knows.

Statistical tests have fixed seeds and say how often they would raise a false alarm with others.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

import naive
from takeup import Event, Evidence, Prior, Space, TSObs, TSRobust, UnsuitableError, stream
from takeup.conjugates import Bootstrap, Exponential, GammaRate, LogNormal, Normal, NormalGamma, Poisson
from takeup.inference.linking import Link, Linked, Worths, link
from takeup.inference.pooling import SHARED
from takeup.outcomes import Count, Levels, Number, Outcome, Time
from takeup.policies import Forgetting
from takeup.policies.description import describe
from takeup.policies.registry import policy_of
from takeup.simulation.kernels.choice import choose

FloatArray = NDArray[np.float64]
NUMBER = Number(-100, 100, 0.01)
TIME = Time(200, step=0.01)
NORMAL, GAMMA = (3.0, 0.7, 2.5, 81.0), (1.5, 18.0)
"""Mean, weight, freedom and square; shape and rate."""


def one(value: float) -> FloatArray:
    return np.full((1, 1), value)


def of(outcome: Outcome, patients: list[tuple[int, Any]], proposals: int = 3) -> NDArray[np.int64]:
    """The statistic [x, z, a, .] of one context and action."""
    space = Space(proposals, 2, outcomes=outcome, intended=[0] * proposals)
    events = [Event(0, z, 0, outcome.code(y)) for z, y in patients]
    return Evidence.of(space, events).counts[..., :1, :-1]


def numbers(size: int, seed: int, proposals: int = 3) -> list[tuple[int, float]]:
    rng = stream(seed, "numbers")
    each = rng.integers(proposals, size=size).tolist()
    return [(z, round(float(rng.normal(6 * z, 8)), 2)) for z in each]


def times(size: int, seed: int, proposals: int = 3) -> list[tuple[int, float, bool]]:
    rng = stream(seed, "times")
    each = rng.integers(proposals, size=size).tolist()
    return [(z, round(float(rng.exponential(5 + 10 * z)), 2), bool(rng.random() < 0.7)) for z in each]


def normal(patients: list[tuple[int, float]], strength: int) -> Link:
    mean, weight, freedom, square = map(one, NORMAL)
    return link(NormalGamma(mean, weight, freedom, square, NUMBER), of(NUMBER, patients), strength)


def rate(patients: list[tuple[int, float, bool]], strength: int) -> Link:
    told = [(z, {"time": t, "censored": not event}) for z, t, event in patients]
    return link(GammaRate(one(GAMMA[0]), one(GAMMA[1]), TIME), of(TIME, told), strength)


class TestModels:
    @pytest.mark.parametrize("strength", [1, 8, 64, 10_000])
    @pytest.mark.parametrize("size", [1, 5, 40])
    def test_evidence_is_that_of_quadrature(self, strength: int, size: int) -> None:
        found = normal(numbers(size, 1), strength).log_evidence.item()
        assert found == pytest.approx(naive.linked_normals(NORMAL, strength, numbers(size, 1)), rel=1e-9, abs=1e-9)
        found = rate(times(size, 2), strength).log_evidence.item()
        assert found == pytest.approx(naive.linked_times(GAMMA, strength, times(size, 2)), rel=1e-9, abs=1e-9)

    @pytest.mark.parametrize("strength", [SHARED, 1, 8, 64, 10_000])
    def test_each_proposal_alone_has_the_prior(self, strength: int) -> None:
        """What only one proposal has seen is as probable under every model."""
        some = [(1, y) for _, y in numbers(30, 3)]
        goal = normal(some, 0).log_evidence.item()
        assert normal(some, strength).log_evidence.item() == pytest.approx(goal, rel=1e-11)
        few = [(1, t, event) for _, t, event in times(30, 4)]
        goal = rate(few, 0).log_evidence.item()
        assert rate(few, strength).log_evidence.item() == pytest.approx(goal, rel=1e-10)

    def test_nothing_seen_says_nothing(self) -> None:
        for strength in (SHARED, 0, 1, 64, 10_000):
            assert normal([], strength).log_evidence.item() == pytest.approx(0, abs=1e-11)
            assert rate([], strength).log_evidence.item() == pytest.approx(0, abs=1e-9)

    def test_great_strength_tends_to_all_shared(self) -> None:
        """The distance in log evidence falls in proportion to 1 / κ."""
        numbered, timed = numbers(40, 5), times(40, 6)
        for found in (
            [normal(numbered, k).log_evidence.item() for k in (SHARED, 1_000, 10_000, 100_000)],
            [rate(timed, k).log_evidence.item() for k in (SHARED, 1_000, 10_000, 100_000)],
        ):
            distance = [abs(each - found[0]) for each in found[1:]]
            assert distance[0] / distance[1] == pytest.approx(10, rel=0.1)
            assert distance[1] / distance[2] == pytest.approx(10, rel=0.1)

    @pytest.mark.parametrize(("events", "exposure"), [(0.1, 1e-6), (1.0, 1.0), (500.0, 1e9)])
    def test_rates_of_every_size(self, events: float, exposure: float) -> None:
        """900,000 events of one proposal and none of another: proposals alone have the prior all the same."""
        outcome = Count(900_000, exposure="months", longest=2)
        block = GammaRate(one(events), one(exposure), outcome)
        for patients in ([(0, {"events": 900_000, "exposure": 1})], [(1, {"events": 0, "exposure": 2})]):
            statistic = of(outcome, patients)
            goal = link(block, statistic, 0).log_evidence.item()
            for strength in (1, 64, 10_000):
                found = link(block, statistic, strength).log_evidence.item()
                assert found == pytest.approx(goal, rel=1e-9, abs=1e-6)

    @pytest.mark.parametrize("strength", [1, 8])
    def test_two_of_them_have_the_stated_correlation(self, strength: int) -> None:
        """In 40,000 draws before any data, within 5 errors of about 1 / 200: a false alarm in a million seeds."""
        mean, weight = one(0.0), one(0.7)
        means = link(NormalGamma(mean, weight, one(50.0), one(4.0), NUMBER), of(NUMBER, []), strength)
        rates = link(GammaRate(one(5.0), one(2.0), Count(1_000)), of(Count(1_000), []), strength)
        for model, goal in ((means, strength / (strength + 0.7)), (rates, strength / (strength + 6.0))):
            drawn = model.rewards(stream(7, strength), (40_000,))[:, 0, :, 0]
            assert np.asarray(np.corrcoef(drawn[:, :2].T))[0, 1] == pytest.approx(goal, abs=5 / 200)


class TestPolicy:
    def evidence(self, outcome: Outcome, seed: int = 8) -> Evidence:
        rng, space = stream(seed), Space(2, outcomes=outcome)
        drawn = [rng.integers((2, 2, outcome.size)).tolist() for _ in range(40)]
        return Evidence.of(space, [Event(0, z, a, y) for z, a, y in drawn] + [Event(0, 0, 1), Event(0, 1)])

    @pytest.mark.parametrize("outcome", [Number(0, 50), Count(9), Count(9, exposure="days", longest=5), Time(50)])
    def test_with_everything_shared_it_is_ts_obs(self, outcome: Outcome) -> None:
        """20,000 draws choose as TS-Obs does, whose allocation is exact, within 4.5 errors: 1 of 100,000 seeds."""
        ours, exact = (
            p.allocation(self.evidence(outcome), 0, stream(9), 20_000) for p in (TSRobust(shared=1), TSObs())
        )
        assert exact.exact
        assert (np.abs(ours.probability - exact.probability) < 4.5 * ours.standard_error).all()

    def test_the_bootstrap_is_that_of_levels(self) -> None:
        """Numbers from 0 to 5 in bins of one: draw by draw what six levels give."""
        space, six = Space(2, outcomes=Number(0, 5, bins=6)), Space(2, outcomes=6, utility=range(6))
        ours, theirs = (
            TSRobust(likelihood=likelihood, alpha=1.0).posterior(
                Evidence.of(s, [Event(0, z, a, y) for z, a, y in ((0, 0, 5), (0, 1, 2), (1, 1, 0), (1, 0, 4))]),
                stream(0),
            )
            for s, likelihood in ((space, Bootstrap(alpha=1.0)), (six, None))
        )
        np.testing.assert_array_equal(ours.probability, theirs.probability)
        np.testing.assert_array_equal(ours.sample(stream(1), 9).value(), theirs.sample(stream(1), 9).value())

    def test_probabilities_are_prior_times_sharpened_evidence(self) -> None:
        evidence = self.evidence(NUMBER)
        believed = TSRobust(sharpness=2.0, shared=0.4, pooled=[8, 0]).posterior(evidence, stream(0))
        assert isinstance(believed, Linked)
        block = TSRobust().prior(evidence.space).block
        logs = np.stack([link(block, evidence.counts[..., :-1, :-1], k).log_evidence for k in (SHARED, 8, 0)], axis=-1)
        weight = np.array([0.4, 0.3, 0.3]) * np.exp(2 * (logs - logs.max(axis=-1, keepdims=True)))
        np.testing.assert_allclose(believed.probability, weight / weight.sum(axis=-1, keepdims=True), rtol=1e-9)
        np.testing.assert_array_equal(believed.compliance[0].sum(axis=-1), 2 + evidence.compliance[0].sum(axis=-1))

    @pytest.mark.parametrize(
        ("outcome", "likelihood"),
        [
            (Number(0, 50), Normal(mean=20)),
            (Number(1, 50, scale="log", utility=((1, 0), (20, 1))), LogNormal()),
            (Number(0, 50), Bootstrap()),
            (Count(9), Poisson(rate=2)),
            (Time(50), Exponential(mean=9)),
        ],
    )
    def test_a_pilot_counts_as_evidence_does(self, outcome: Outcome, likelihood: Any) -> None:
        policy, evidence = TSRobust(likelihood=likelihood), self.evidence(outcome)
        informed = policy_of(describe(policy.informed(Prior.from_evidence(evidence))))
        assert isinstance(informed, TSRobust)
        nothing = Evidence.empty(evidence.space)
        ours, theirs = informed.posterior(nothing, stream(0)), policy.posterior(evidence, stream(0))
        np.testing.assert_allclose(ours.log_evidence, theirs.log_evidence, rtol=1e-11)
        assert informed.allocation(nothing, 0, stream(1), 99).probability.sum() == pytest.approx(1)
        forgets = Forgetting(base=policy, half_life=20, epoch=10)
        state = forgets.start(evidence.space)
        for i in range(30):
            state = forgets.learn(state, Event(0, i % 2, i % 2, 3 * (i % 2), number=i), stream(0))
        assert forgets.allocation(state, 0, stream(1), 99).probability.sum() == pytest.approx(1)

    def test_kernels_are_for_levels(self) -> None:
        with pytest.raises(UnsuitableError, match="use engine='reference'"):
            choose(TSRobust(), Space(2, outcomes=NUMBER))


class TestCalibration:
    """Truth drawn from the prior is a draw like any other from the posterior: Talts et al. (2018)."""

    trials, patients, bins = 2_000, 30, 20

    def numbers(self, model: NDArray[np.int64], rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation of each (trial, z, a), by the strength of each (trial, a).

        The prior is normal with mean 0, sd 10, weight 1 and freedom 12. The unseen sample is drawn person by person.
        """
        variance = 12 * 100 / 2 / rng.gamma(6.0, size=(self.trials, 2, 2))
        mean = rng.normal(0, np.sqrt(variance))
        common, first = variance[:, :1], mean[:, :1]
        hidden = np.maximum(model, 0)[:, np.newaxis]
        people = rng.normal(first[..., np.newaxis], np.sqrt(common)[..., np.newaxis], size=(self.trials, 1, 2, 99))
        total = np.where(np.arange(99) < hidden[..., np.newaxis], people, 0).sum(axis=-1)
        linked = rng.normal(total / (1 + hidden), np.sqrt(common / (1 + hidden)), size=mean.shape)
        chosen = [hidden > 0, model[:, np.newaxis] == SHARED]
        deviation = np.sqrt(np.select([chosen[0] | chosen[1]], [common + 0 * mean], variance))
        return np.select(chosen, [linked, first + 0 * mean], mean), deviation

    def rates(self, model: NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
        """The rate of each (trial, z, a); the prior is Gamma(2, 10), and the unseen sample drawn event by event."""
        rate = rng.gamma(2.0, 1 / 10.0, size=(self.trials, 2, 2))
        first, hidden = rate[:, :1], np.maximum(model, 0)[:, np.newaxis]
        times = rng.exponential(1 / first[..., np.newaxis], size=(self.trials, 1, 2, 99))
        total = np.where(np.arange(99) < hidden[..., np.newaxis], times, 0).sum(axis=-1)
        linked = rng.gamma(2.0 + hidden, 1 / (10.0 + total), size=rate.shape)
        return np.select([hidden > 0, model[:, np.newaxis] == SHARED], [linked, first + 0 * rate], rate)

    def chances(self, model: NDArray[np.int64], rng: np.random.Generator) -> FloatArray:
        """The chance of success of each (trial, z, a); the prior is Beta(1.5, 2), and the unseen come one by one."""
        chance = rng.beta(1.5, 2.0, size=(self.trials, 2, 2))
        first, hidden = chance[:, :1], np.maximum(model, 0)[:, np.newaxis]
        succeed = rng.random((self.trials, 1, 2, 99)) < first[..., np.newaxis]
        total = (succeed & (np.arange(99) < hidden[..., np.newaxis])).sum(axis=-1)
        linked = rng.beta(1.5 + total, 2.0 + hidden - total, size=chance.shape)
        return np.select([hidden > 0, model[:, np.newaxis] == SHARED], [linked, first + 0 * chance], chance)

    @pytest.mark.parametrize("strengths", [(12,), (3, 0)], ids=["in part", "in doubt"])
    @pytest.mark.parametrize("family", ["level", "number", "time"])
    def test_it_knows_how_much_it_knows(self, family: str, strengths: tuple[int, ...]) -> None:
        """Ranks of two values and four mean worths: 36 tests at 1e-6 in all, a false alarm in 1 of 27,000 seeds."""
        rng = stream(10, family, len(strengths))
        doubt = len(strengths) > 1
        models = np.array([SHARED, *strengths] if doubt else strengths)
        model = models[rng.integers(models.size, size=(self.trials, 2))]
        follow = rng.dirichlet([1.5, 1.5], size=(self.trials, 2))
        trial, z = np.arange(self.trials)[:, np.newaxis], rng.integers(2, size=(self.trials, self.patients))
        a = (rng.random(z.shape) < follow[trial, z, 1]).astype(np.int64)
        outcome: Outcome
        prior: dict[str, Any]
        if family == "level":
            outcome, prior = Levels(("no", "yes")), {"alpha": [2.0, 1.5]}
            worth = self.chances(model, rng)
            codes = rng.random(z.shape) < worth[trial, z, a]
        elif family == "number":
            outcome, prior = Number(-400, 400, 0.01), {"likelihood": Normal(mean=0, sd=10, freedom=12)}
            worth, deviation = self.numbers(model, rng)
            codes = np.rint((rng.normal(worth[trial, z, a], deviation[trial, z, a]) + 400) / 0.01)
        else:
            outcome, prior = Time(30, step=0.01), {"likelihood": Exponential(mean=5.0, weight=2.0)}
            rate = self.rates(model, rng)
            worth = (1 - np.exp(-30 * rate)) / rate
            came = rng.exponential(1 / rate[trial, z, a])
            codes = np.where(came > 30, 2 * 3_000 + 1, 2 * np.rint(np.minimum(came, 30) / 0.01))
        counts = np.zeros((self.trials, 1, 2, 3, outcome.width + 1), dtype=np.int64)
        np.add.at(counts, (trial, np.zeros_like(z), z, a), outcome.amounts(codes.astype(np.int64)))
        policy = TSRobust(shared=1 / 3 if doubt else 0, pooled=strengths, sharpness=1, beta=1.5, **prior)
        believed = policy.posterior(Evidence(Space(2, outcomes=outcome), counts), rng)
        true = np.concatenate([worth.reshape(-1, 4), np.einsum("nza,nza->nz", follow, worth)], axis=1)
        ranks = np.zeros(true.shape, dtype=np.int64)
        for _ in range(self.bins - 1):
            drawn = believed.sample(rng)
            reward = drawn.reward if isinstance(drawn, Worths) else drawn.outcome[..., 1]
            ranks += np.concatenate([reward.reshape(-1, 4), drawn.value()[:, 0]], axis=1) < true
        found = [float(chisquare(np.bincount(column, minlength=self.bins)).pvalue) for column in ranks.T]
        assert min(found) > 1e-6, found
