"""Policies with covariates: what they share with those without, fits at moments, and what each believes.

Statistical comparisons are at five standard errors: fewer than 50 of them, so that together they raise a false alarm in
fewer than 1 of 30,000 choices of the seeds.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from takeup import (
    TS,
    UNSEEN,
    Category,
    Event,
    Evidence,
    Forgetting,
    InputError,
    LinTS,
    LinTSObs,
    LinTSRobust,
    LinUCB,
    LogitTS,
    LogitTSObs,
    Measure,
    MixtureTS,
    Normal,
    Number,
    Profile,
    Space,
    TSObs,
    UnsuitableError,
    stream,
)
from takeup.conjugates import NormalGamma
from takeup.inference.linear import Regression, Sums
from takeup.inference.logit import Table, fitted, prior_precision, probabilities
from takeup.policies.card import Real, Several, Whole
from takeup.policies.fitted import Fitted, is_due, next_moment
from takeup.policies.linear import FREEDOM, MIDDLE, SPREAD

FloatArray = NDArray[np.float64]
ERRORS = 5.0
PRESSURE = Number(0, 200)
CONTEXTS = Space(3, 2, contexts=4, outcomes=PRESSURE, covariates={"nothing": Measure(0, 1)}, intended=[0, 1, 1])
"""A context is a column of one-hot covariates without an intercept: each has lines of its own, of which the slope does
not matter where its feature is zero."""
LEVELS = Space(2, covariates={"age": Measure(0, 1_000), "site": Category(["a", "b"])})


def decisions(space: Space, many: int, seed: int = 1, flat: bool = False) -> list[Event]:
    """Events in which age matters to both compliance and outcomes, some of which are unseen."""
    rng = stream(seed, "decisions")
    contexts, proposals, actions, levels = space.shape
    found = []
    for i in range(many):
        x, z = int(rng.integers(contexts)), int(rng.integers(proposals))
        v = [1000, 0 if flat else int(rng.integers(1_001))] + [1000 * int(rng.integers(2))] * (not flat)
        age = v[1] / 1_000
        a = int(rng.random() < (0.3 + 0.5 * z / proposals) * (1 - age) + 0.6 * age) % actions
        mean = 0.3 + 0.2 * a - 0.2 * age + 0.05 * x
        y = int(np.clip(rng.normal(200 * mean, 20), 0, 200)) if levels > 2 else int(rng.random() < mean)
        seen = rng.random(2) < 0.9
        found.append(Event(x, z, a if seen[0] else UNSEEN, y if seen[1] else UNSEEN, number=i, features=np.array(v)))
    return found


def learnt(policy: Any, space: Space, events: list[Event]) -> Any:
    state = policy.start(space)
    for each in events:
        state = policy.learn(state, each, stream(0))
    return state


HUNDRED, WEIGHT, FEW, SQUARE = (np.full((1, 1), each) for each in (100.0, 0.8, 3.0, 225.0))
BLOCK = NormalGamma(HUNDRED, WEIGHT, FEW, SQUARE, PRESSURE)


class TestOneHot:
    """With one-hot covariates and no intercept a line is a table of means."""

    def test_one_mean_an_arm_is_the_normal_inverse_gamma_block(self) -> None:
        """Where an arm has one cell it has a noise of its own: all four parameters are those of TS with Normal()."""
        outcomes = np.array([90, 120, 130, 100, 60])
        theirs = BLOCK.plus(PRESSURE.amounts(outcomes).sum(axis=0)[np.newaxis, np.newaxis, :-1])
        prior = Regression.of(np.array([100.0]), np.array([[0.8]]), np.array(225.0), np.array(3.0))
        ours = prior.plus(Sums.of(np.ones((5, 1)), outcomes.astype(float)))
        for mine, other in (("mean", "centre"), ("precision", "weight"), ("square", "square"), ("freedom", "freedom")):
            assert np.asarray(getattr(ours, mine)).item() == pytest.approx(getattr(theirs, other).item(), rel=1e-12)

    def test_several_means_are_those_of_the_blocks_and_share_their_noise(self) -> None:
        """Means and weights are cell by cell those of the blocks; with a known noise that is all there is.

        Where the noise is learnt the line has one for all its cells, and the blocks one for each: Σ ν' s'² adds up.
        """
        rng = stream(3)
        cell, y = rng.integers(3, size=40), rng.integers(60, 140, size=40)
        table = np.stack([PRESSURE.amounts(y[cell == each]).sum(axis=0)[:-1] for each in range(3)])
        theirs = BLOCK.plus(table[np.newaxis])
        for freedom in (np.inf, 9.0):
            prior = Regression.of(np.full(3, 100.0), 0.8 * np.eye(3), np.array(225.0), np.array(freedom))
            ours = prior.plus(Sums.of(np.eye(3)[cell], y.astype(float)))
            np.testing.assert_allclose(ours.mean, theirs.centre[0], rtol=1e-12)
            np.testing.assert_allclose(np.diag(ours.precision), theirs.weight[0], rtol=1e-12)
            if np.isfinite(freedom):
                assert ours.freedom * ours.square == pytest.approx((theirs.freedom * theirs.square).sum(), rel=1e-10)

    @pytest.mark.parametrize("context", range(4))
    def test_lints_allocates_as_ts_with_a_normal_likelihood(self, context: int) -> None:
        evidence = Evidence.of(CONTEXTS, decisions(CONTEXTS, 300, flat=True))
        likelihood = Normal(mean=200 * MIDDLE, sd=200 * SPREAD, weight=1.0, freedom=FREEDOM)
        expected = TS(likelihood=likelihood).allocation(evidence.without_covariates(), context, stream(1))
        unit = Profile(context, np.array([1_000, 0]))
        found = LinTS(ridge=1.0).allocation(evidence, unit, stream(1))
        assert found.exact
        np.testing.assert_allclose(found.probability, expected.probability, atol=1e-9)

    def test_the_outcome_part_of_lints_obs_is_that_of_ts_obs(self) -> None:
        events = decisions(CONTEXTS, 300, flat=True)
        policy = LinTSObs()
        state = learnt(policy, CONTEXTS, events)
        likelihood = Normal(mean=200 * MIDDLE, sd=200 * SPREAD, weight=1.0, freedom=FREEDOM)
        table = state.evidence.without_covariates()
        block: Any = TSObs(likelihood=likelihood).posterior(table, stream(0)).block
        for x in range(4):
            lines = policy.beliefs(state, Profile(x, np.array([1_000, 0])), stream(0)).regression  # type: ignore[attr-defined]
            np.testing.assert_allclose(200 * (lines.mean[:, 0] + MIDDLE), block.centre[x], rtol=1e-9)
            np.testing.assert_allclose(lines.precision[:, 0, 0], block.weight[x], rtol=1e-9)
            np.testing.assert_allclose(lines.freedom, block.freedom[x], rtol=1e-9)
            np.testing.assert_allclose(200**2 * lines.square, block.square[x], rtol=1e-9)

    @pytest.mark.parametrize(("many", "error"), [(10, 0.08), (100, 0.025), (1_000, 0.005)])
    def test_logit_compliance_is_near_the_dirichlet(self, many: int, error: float) -> None:
        """Three actions at shares of 0.6, 0.3 and 0.1, with Dir(1): means and spreads of draws are within `error`."""
        counts = np.array([[0.6, 0.3, 0.1]]) * many
        model, _ = fitted(Table(np.ones((1, 1)), counts), prior_precision(np.array([2.0]), 3))
        ours = probabilities(model.coefficients(stream(1), 20_000), np.ones(1))
        theirs = stream(2).dirichlet(1 + counts[0], size=20_000)
        assert abs(ours.mean(axis=0) - theirs.mean(axis=0)).max() < error
        assert abs(ours.std(axis=0) - theirs.std(axis=0)).max() < error


class TestMoments:
    """Models that have no sums are fitted to all rows, at moments that the number of rows alone says."""

    def test_moments_are_ever_farther_apart(self) -> None:
        moments = [0]
        while moments[-1] < 100_000:
            moments.append(int(next_moment(moments[-1])))
        assert moments[:10] == [0, 1, 2, 3, 4, 5, 6, 8, 10, 12]
        gaps = np.diff(moments)
        assert (np.diff(gaps) >= 0).all()
        assert sum(moments) < 7 * moments[-1]
        assert len(moments) < 70

    @pytest.mark.parametrize("policy", [LogitTS(), LogitTSObs(), LinTSObs()], ids=lambda each: each.name)
    def test_a_fit_is_one_of_the_rows_whatever_their_order(self, policy: Any) -> None:
        """At 30 rows or more, at a moment; to the bit, in any order, and with what was reported late."""
        moments = [0]
        while moments[-1] < 30:
            moments.append(int(next_moment(moments[-1])))
        many = moments[-1]
        events = decisions(LEVELS, many)
        first = learnt(policy, LEVELS, events)
        for seed in range(3):
            order = stream(seed).permutation(many)
            shuffled = [replace(events[i], number=int(n)) for n, i in enumerate(order)]
            state = policy.start(LEVELS)
            for each in shuffled[:-1]:
                waiting = replace(each, implemented=UNSEEN, outcome=UNSEEN)
                state = policy.report(policy.learn(state, waiting, stream(0)), waiting, each, stream(0))
            state = policy.learn(state, shuffled[-1], stream(0))
            for one, other in zip(first.models, state.models, strict=True):
                np.testing.assert_array_equal(one.mode, other.mode)
                np.testing.assert_array_equal(one.factor, other.factor)

    def test_between_two_moments_models_stay_and_sums_go_on(self) -> None:
        policy = LinTSObs()
        events = decisions(LEVELS, 100)
        state: Fitted[Any] = learnt(policy, LEVELS, events[:99])
        later = policy.learn(state, events[99], stream(0))
        assert is_due((99, policy.seen(state.evidence)), state.due) == np.False_
        assert (later.models is state.models) == (not is_due((100, policy.seen(later.evidence)), state.due))
        assert int(later.evidence.total) == 100

    def test_side_by_side_is_one_by_one(self) -> None:
        """Sorted replications with all groups in one table, and single ones with equal rows together, fit the same."""
        space = replace_contexts(LEVELS)
        runs = [decisions(space, 23, seed) for seed in range(3)]
        policy = LogitTSObs()
        together = policy.start(space, (3,))
        for each in zip(*runs, strict=True):
            columns: dict[str, Any] = {
                name: np.array([getattr(one, name) for one in each])
                for name in ("context", "proposal", "implemented", "outcome", "features")
            }
            together = policy.learn(together, Event(**columns), stream(0))
        for i, events in enumerate(runs):
            alone = learnt(policy, space, events)
            for one, other in zip(alone.models, together.models, strict=True):
                np.testing.assert_allclose(one.mode, other.mode[i], atol=1e-8)
                np.testing.assert_allclose(one.factor, other.factor[i], rtol=1e-6, atol=1e-8)


def replace_contexts(space: Space) -> Space:
    return Space(space.proposals, contexts=2, covariates=space.covariates)


UNIT = Profile(0, np.array([1_000, 700, 0]))


class TestBeliefs:
    """Of single experiments, on 400 decisions."""

    def test_lints_obs_multiplies_compliance_by_lines(self) -> None:
        """The mean of draws of Σ_a p v'θ is that of both parts' means, as they are independent."""
        policy = LinTSObs()
        beliefs: Any = policy.beliefs(learnt(policy, LEVELS, decisions(LEVELS, 400)), UNIT, stream(0))
        scores = beliefs.scores(stream(1), 40_000)
        share = beliefs.compliance.draw(stream(2), 40_000).mean(axis=0)
        expected = share @ beliefs.regression.centre(beliefs.features)
        assert (abs(scores.mean(axis=0) - expected) <= ERRORS * scores.std(axis=0) / 100).all()

    def test_logit_obs_multiplies_compliance_by_outcomes(self) -> None:
        policy = LogitTSObs()
        beliefs: Any = policy.beliefs(learnt(policy, LEVELS, decisions(LEVELS, 400)), UNIT, stream(0))
        values = beliefs.values(stream(1), 40_000)
        share = beliefs.compliance.draw(stream(2), 40_000).mean(axis=0)
        expected = share @ beliefs.outcome.draw(stream(3), 40_000).mean(axis=0) @ [0.0, 1.0]
        assert (abs(values.mean(axis=0) - expected) <= ERRORS * values.std(axis=0) / 100).all()

    def test_robust_with_all_shared_believes_what_lints_obs_does(self) -> None:
        """But for the noise, which is one for all actions: centres of 40,000 draws within their errors."""
        events = decisions(LEVELS, 400)
        obs, robust = LinTSObs(), LinTSRobust(shared=1.0)
        assert robust.ignorable
        assert not LinTSRobust().ignorable
        one, other = (
            policy.beliefs(learnt(policy, LEVELS, events), UNIT, stream(0)).scores(stream(i), 40_000)
            for i, policy in enumerate((obs, robust))
        )
        error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / 40_000)
        assert (abs(one.mean(axis=0) - other.mean(axis=0)) <= ERRORS * error).all()

    def test_values_are_rewards_and_scores_are_not_cut(self) -> None:
        """A line from few outcomes leads beyond what there can be; the values end there."""
        policy = LinTS(noise=1.0)
        evidence = Evidence.of(LEVELS, decisions(LEVELS, 2))
        beliefs = policy.beliefs(evidence, UNIT, stream(0))
        assert beliefs.scores(stream(1), 500).max() > 0.5
        values = beliefs.values(stream(1), 500)
        assert values.min() == 0.0
        assert values.max() == 1.0

    def test_linucb_is_the_highest_bound(self) -> None:
        """By an inverse: v'θ + α sqrt(v' A^-1 v) of rewards minus one half."""
        events = [each for each in decisions(LEVELS, 60) if each.outcome != UNSEEN]
        v = np.asarray(UNIT.features) / 1_000
        bound = []
        for z in range(2):
            rows = np.array([np.asarray(each.features) / 1_000 for each in events if each.proposal == z])
            y = np.array([float(each.outcome) - 0.5 for each in events if each.proposal == z])
            inverse = np.linalg.inv(rows.T @ rows + 0.4 * np.eye(3))
            bound.append(v @ inverse @ rows.T @ y + 0.9 * np.sqrt(v @ inverse @ v))
        found = LinUCB(alpha=0.9, ridge=0.4).allocation(Evidence.of(LEVELS, events), UNIT, stream(0))
        assert found.probability.argmax() == int(np.argmax(bound))
        assert found.probability.max() == 1.0

    def test_before_any_data_bounds_tie(self) -> None:
        found = LinUCB().allocation(Evidence.empty(LEVELS), UNIT, stream(0))
        np.testing.assert_array_equal(found.probability, [0.5, 0.5])


REFITTED = [LinTSObs(), LinTSRobust(), LogitTS(), LogitTSObs(), MixtureTS()]


@pytest.mark.parametrize("policy", REFITTED, ids=lambda each: each.name)
class TestRefitted:
    """What the contract holds of policies whose state is the evidence, for those that have rows."""

    def test_proposals_come_up_as_often_as_the_allocation_says(self, policy: Any) -> None:
        """Of 600 proposals from one state, within `ERRORS` of the share in 20,000 draws."""
        state, rng = learnt(policy, LEVELS, decisions(LEVELS, 60)), stream(4)
        beliefs = policy.beliefs(state, UNIT, rng)
        p = beliefs.allocation(rng, 20_000).probability[0]
        share = np.mean([policy.propose(state, UNIT, rng) == 0 for _ in range(600)])
        assert 0.02 < p < 0.98
        assert abs(share - p) <= ERRORS * np.sqrt(p * (1 - p) * (1 / 600 + 1 / 20_000))

    def test_its_card_says_what_it_makes_of_compliance(self, policy: Any) -> None:
        """Needed: unseen compliance teaches nothing. Not used: it makes no difference."""
        seen = [replace(each, implemented=each.proposal) for each in decisions(LEVELS, 60)]
        unseen = [replace(each, implemented=UNSEEN) for each in seen]
        scores = [
            policy.beliefs(learnt(policy, LEVELS, events), UNIT, stream(0)).scores(stream(1), 100)
            for events in (seen, unseen, [])
        ]
        assert np.array_equal(scores[0], scores[1]) == (policy.compliance == "not used")
        assert np.array_equal(scores[1], scores[2]) == (policy.compliance == "needed")

    def test_a_decision_of_which_nothing_is_known_changes_nothing(self, policy: Any) -> None:
        """Up to rounding where a fit comes sooner for it."""
        events = decisions(LEVELS, 30)
        waiting = [replace(each, implemented=UNSEEN, outcome=UNSEEN) for each in decisions(LEVELS, 6, seed=2)]
        one, other = learnt(policy, LEVELS, events), learnt(policy, LEVELS, [*events, *waiting])
        one, other = (replace(each, models=policy.fit(each.rows)) for each in (one, other))
        before, after = (policy.beliefs(each, UNIT, stream(0)).scores(stream(1), 200) for each in (one, other))
        np.testing.assert_allclose(before, after, atol=1e-9)

    def test_every_parameter_works_up_to_its_bounds(self, policy: Any) -> None:
        """Every bound of every parameter, with no decisions, a few, and many that are all alike."""
        alike = [replace(each, implemented=1, outcome=1, features=UNIT.features) for each in decisions(LEVELS, 12)]
        for name, bound in policy.card.parameters.items():
            for value in bounds(bound):
                other = replace(policy, **{name: value})
                for events in ([], decisions(LEVELS, 12), alike):
                    state = learnt(other, LEVELS, events)
                    values = other.beliefs(state, UNIT, stream(0)).values(stream(1), 50)
                    assert ((values >= 0) & (values <= 1)).all(), (name, value)


def bounds(bound: Any) -> list[Any]:
    """The outermost values that a bound allows."""
    match bound:
        case Real():
            return [float(np.nextafter(bound.above, np.inf)) if bound.above >= bound.least else bound.least, bound.most]
        case Several():
            inner: Any = bound.each
            return [[inner.least], [inner.most]]
        case Whole():
            return [bound.least, bound.most]
    raise AssertionError(f"say here what the outermost values of {bound} are")


@pytest.mark.parametrize(("hidden", "low", "high"), [(0.0, 0.4, 1.0), (0.5, 0.0, 0.01)])
def test_robust_tells_whether_compliance_is_ignorable(hidden: float, low: float, high: float) -> None:
    """Of 2,000 decisions at random: P(g = 0), 0.3 before them, where a hidden trait makes no difference, or much."""
    rng = stream(7)
    policy = LinTSRobust()
    many = 2_000
    age, trait, z = rng.integers(1_001, size=many), rng.random(many) < 0.5, rng.integers(2, size=many)
    a = np.where(rng.random(many) < np.where(z == 1, np.where(trait, 0.9, 0.3), 0.1), 1, 0)
    y = rng.random(many) < 0.3 + 0.1 * a + hidden * (trait - 0.4)
    state = policy.start(LEVELS)
    evidence = Evidence.of(
        LEVELS,
        [Event(0, int(z[i]), int(a[i]), int(y[i]), features=np.array([1_000, int(age[i]), 0])) for i in range(many)],
    )
    assert low <= float(policy.shares(replace(state, evidence=evidence), UNIT)) <= high


def test_forgetting_goes_around_lints_and_not_around_what_has_rows() -> None:
    """In its first epoch, where nothing is forgotten, it proposes as LinTS does, from the same stream."""
    events = decisions(LEVELS, 40)
    around: Any = Forgetting(base=LinTS(), half_life=1_000, epoch=1_000)
    kept, plain = learnt(around, LEVELS, events), learnt(LinTS(), LEVELS, events)
    for seed in range(40):
        assert around.propose(kept, UNIT, stream(seed)) == LinTS().propose(plain, UNIT, stream(seed))
    with pytest.raises(InputError, match="works from the evidence alone"):
        Forgetting(base=LinTSObs())  # type: ignore[arg-type]  # which is what is refused


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UnsuitableError, match="LinTS learns from covariates"):
        LinTS().start(Space(2))
    with pytest.raises(UnsuitableError, match="LogitTS-Obs takes outcomes with levels alone"):
        LogitTSObs().start(CONTEXTS)
    with pytest.raises(InputError, match="pilot"):
        LinTS(pilot=np.zeros((1, 2))).start(LEVELS)
    with pytest.raises(InputError, match="at least one strength"):
        LinTSRobust(pooled=())
