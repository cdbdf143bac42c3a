"""Mixtures of regressions: the bound against enumeration over all assignments, what is found again, and MixtureTS.

What a fit finds again is compared in six numbers at five posterior standard deviations: with a normal
posterior a false alarm in 1 of 290,000 choices of the seed; and in two at half of themselves, which is more than
four deviations.
"""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, logsumexp

from takeup import UNSEEN, Category, Event, Evidence, LinTS, Measure, MixtureTS, Number, Profile, Rows, Space, stream
from takeup.errors import TakeupError
from takeup.inference.linear import Regression, Sums
from takeup.inference.mixture import NEAR, Mixture, Weighted, ascended, fitted, responsibilities, starts, updated
from takeup.policies.linear import line
from takeup.trial.design import Design

PRIOR = Regression.prior(np.ones(2), square=0.05**2, freedom=3.0)
WIDE = line(1.0, None, (2,))
KNOWN = {"age": Measure(0, 1_000), "site": Category(["a", "b"])}
SPACE = Space(2, contexts=2, outcomes=Number(0, 200), covariates=KNOWN)
UNIT = Profile(1, np.array([1_000, 700, 1_000]))


def two_lines(many: int, seed: int, apart: float = 0.5, noise: float = 0.03) -> tuple[Weighted, Any]:
    """Three in ten around one line, and the others around another, `apart` above it."""
    rng = stream(seed, "lines")
    v = np.stack([np.ones(many), rng.random(many)], axis=-1)
    second = rng.random(many) < 0.7
    y = np.where(second, apart - 0.25, -0.25) + np.where(second, -0.2, 0.2) * v[:, 1] + noise * rng.normal(size=many)
    return Weighted(v, y, np.ones(many)), second


def joint(
    rows: Weighted, assignment: tuple[int, ...], alpha: float, components: int, prior: Regression = PRIOR
) -> tuple[float, Any, Any]:
    """Log p(y, k given v), E[π given k] and m[k] of one assignment, each component by itself."""
    k = np.array(assignment)
    counts = np.bincount(k, minlength=components) + alpha
    log = gammaln(counts).sum() - gammaln(counts.sum()) - components * gammaln(alpha) + gammaln(components * alpha)
    means = []
    for each in range(components):
        sums = Sums.of(rows.features[k == each], rows.outcome[k == each])
        log += float(prior.log_evidence(sums))
        means.append(prior.plus(sums).mean)
    return float(log), counts / counts.sum(), np.array(means)


class TestEnumeration:
    """Every assignment of nine rows to two components."""

    @pytest.mark.parametrize(
        ("prior", "noise", "gap", "error"),
        [(PRIOR, 0.03, 1.0, 0.01), (PRIOR, 0.3, 1.2, 0.05), (WIDE, 0.03, 1.0, 0.005)],
    )
    def test_the_bound_is_below_the_evidence_and_values_are_near(
        self, prior: Regression, noise: float, gap: float, error: float
    ) -> None:
        """The bound is below the evidence by at most `gap`, and log 2 as components may be swapped.

        The mean value at v is within `error` of the exact one, where outcomes have a range of 1.
        """
        rows, _ = two_lines(9, 3, noise=noise)
        parts = [joint(rows, each, 1.0, 2, prior) for each in product(range(2), repeat=9)]
        log = np.array([each[0] for each in parts])
        evidence = logsumexp(log)
        mixture, fit = fitted(rows, prior, 1.0, 2)
        weight = np.exp(log - evidence)
        away = []
        for v in ([1.0, 0.0], [1.0, 0.5], [1.0, 1.0]):
            exact = sum(p * (share @ means @ v) for p, (_, share, means) in zip(weight, parts, strict=True))
            away.append(abs(mixture.centre(np.array(v)) - exact))
        assert fit.converged
        assert evidence - np.log(2) - gap < fit.bound < evidence
        assert max(away) < error

    def test_of_one_assignment_the_bound_is_its_probability(self) -> None:
        rows, second = two_lines(9, 4)
        for assignment in (tuple(second.astype(int)), (0,) * 9, (0, 1, 2) * 3):
            certain = np.eye(3)[:, list(assignment)]
            bound = updated(rows, certain, PRIOR, 0.7)[1]
            assert bound == pytest.approx(joint(rows, assignment, 0.7, 3)[0], rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 30), st.floats(0.01, 100), st.booleans())
def test_no_sweep_lowers_the_bound(seed: int, components: int, many: int, alpha: float, learnt: bool) -> None:
    """From any start, with a noise that is known or not; up to rounding."""
    rng = stream(seed)
    v = np.stack([np.ones(many), rng.random(many)], axis=-1)
    rows = Weighted(v, rng.normal(scale=0.3, size=many), (rng.random(many) < 0.8).astype(np.float64))
    prior = PRIOR if learnt else line(1.0, 0.2, (2,))
    now = rng.dirichlet(np.ones(components), size=many).T
    before = -np.inf
    for _ in range(8):
        mixture, bound = updated(rows, now, prior, alpha)
        assert bound >= before - 1e-9 * (1 + abs(bound))
        before, now = float(bound), responsibilities(rows, mixture)
        np.testing.assert_allclose(now.sum(axis=0), 1.0, atol=1e-12)


class TestFit:
    """Two lines and 600 rows."""

    def test_a_mixture_of_two_lines_is_found_again(self) -> None:
        """Coefficients and shares within five standard deviations of the posterior; nearly all rows are told apart.

        The noise has in it what the prior says, and what it costs that coefficients are not zero.
        """
        rows, second = two_lines(600, 1)
        mixture, fit = fitted(rows, PRIOR, 1.0, 2)
        low, high = np.argsort(mixture.regression.mean[:, 0])
        truth = {low: ([-0.25, 0.2], 0.3), high: ([0.25, -0.2], 0.7)}
        total = mixture.shares.sum()
        for k, (coefficients, share) in truth.items():
            deviation = np.sqrt(np.diagonal(mixture.regression.covariance()[k]))
            assert (abs(mixture.regression.mean[k] - coefficients) < 5 * deviation).all()
            assert abs(mixture.shares[k] / total - share) < 5 * np.sqrt(share * (1 - share) / total)
            noise = (3 * 0.05**2 + np.square(coefficients).sum() + share * 600 * 0.03**2) / (3 + share * 600)
            assert mixture.regression.square[k] == pytest.approx(noise, rel=0.5)
        assert np.mean((fit.responsibilities[high] > 0.5) == second) > 0.98

    def test_the_best_start_is_kept(self) -> None:
        rows, _ = two_lines(80, 2)
        one = Weighted(rows.features[np.newaxis], rows.outcome[np.newaxis], rows.weight[np.newaxis])
        bounds = [float(ascended(one, start, PRIOR, 1.0).bound[0]) for start in starts(one, PRIOR, 3)]
        _, fit = fitted(rows, PRIOR, 1.0, 3)
        assert max(bounds) - 20 * NEAR <= fit.bound <= max(bounds)
        assert max(bounds) > bounds[0] + 10

    def test_rows_that_do_not_count_change_nothing(self) -> None:
        rows, _ = two_lines(40, 5)
        more = Weighted(
            np.concatenate([rows.features, np.zeros((7, 2))]),
            np.append(rows.outcome, np.zeros(7)),
            np.append(rows.weight, np.zeros(7)),
        )
        one, other = (fitted(each, PRIOR, 1.0, 2) for each in (rows, more))
        assert one[1].bound == pytest.approx(other[1].bound, abs=1e-9)
        np.testing.assert_allclose(one[0].regression.mean, other[0].regression.mean, atol=1e-7)

    def test_draws_have_the_mean_that_it_says(self) -> None:
        """Of 40,000 draws at five standard errors: a false alarm in 1 of 1.7 million."""
        mixture, _ = fitted(two_lines(30, 6)[0], PRIOR, 1.0, 2)
        drawn = mixture.values(np.array([1.0, 0.4]), stream(1), 40_000)
        assert abs(drawn.mean() - mixture.centre(np.array([1.0, 0.4]))) < 5 * drawn.std() / 200


def events(many: int, seed: int = 1, space: Space = SPACE) -> list[Event]:
    """Decisions in which numbers come from two groups; of some the outcome is not seen."""
    rng = stream(seed, "events")
    found = []
    for i in range(many):
        x, z, age, site = int(rng.integers(2)), int(rng.integers(2)), int(rng.integers(1_001)), int(rng.integers(2))
        mean = 40 + 30 * z + 0.03 * age + 80 * (rng.random() < 0.4)
        y = int(np.clip(rng.normal(mean, 8), 0, 200)) if space.shape[-1] > 2 else int(rng.random() < mean / 200)
        seen = rng.random() < 0.9
        v = np.array([1_000, age, 1_000 * site])
        found.append(Event(x, z, z, y if seen else UNSEEN, number=i, features=v))
    return found


def model(policy: MixtureTS, made: list[Event], space: Space = SPACE) -> Mixture:
    """What is fitted to these."""
    rows = Rows.empty(space)
    for each in made:
        rows = rows.record(each)
    return policy.fit(rows)[0]


def parts(of: Mixture) -> list[Any]:
    """All that it consists of."""
    return [of.shares, *(getattr(of.regression, name) for name in ("mean", "precision", "square", "freedom", "factor"))]


class TestPolicy:
    """MixtureTS in a space with two contexts."""

    @pytest.mark.parametrize("noise", [None, 0.2])
    @pytest.mark.parametrize("space", [SPACE, Space(2, contexts=2, covariates=KNOWN)], ids=["numbers", "levels"])
    def test_one_component_is_lints(self, noise: float | None, space: Space) -> None:
        """All four parameters of every posterior, to 1e-8; of levels there is one component whatever was asked for."""
        made = events(150, space=space)
        found = model(MixtureTS(components=1 if space is SPACE else 3, noise=noise, ridge=0.5), made, space)
        beliefs: Any = LinTS(noise=noise, ridge=0.5).beliefs(Evidence.of(space, made), UNIT, stream(0))
        assert found.shares.shape == (2, 2, 1)
        for name in ("mean", "precision", "square", "freedom"):
            ours, theirs = (getattr(each, name) for each in (found.regression, beliefs.regression))
            np.testing.assert_allclose(ours[1, :, 0], theirs, rtol=1e-8, atol=1e-10)

    def test_a_fit_is_one_of_the_rows_whatever_their_order(self) -> None:
        """To the bit, and with what was reported late."""
        made, policy = events(90), MixtureTS()
        first = model(policy, made)
        for seed in range(3):
            shuffled = [replace(made[i], number=int(n)) for n, i in enumerate(stream(seed).permutation(90))]
            rows = Rows.empty(SPACE)
            for each in shuffled:
                waiting = replace(each, implemented=UNSEEN, outcome=UNSEEN)
                rows = rows.record(waiting).move(waiting, each)
            for one, other in zip(parts(first), parts(policy.fit(rows)[0]), strict=True):
                np.testing.assert_array_equal(one, other)

    def test_side_by_side_is_one_by_one(self) -> None:
        runs, policy = [events(40, seed) for seed in range(3)], MixtureTS()
        together = Rows.empty(SPACE, (3,))
        for each in zip(*runs, strict=True):
            columns: Any = {
                name: np.array([getattr(one, name) for one in each])
                for name in ("context", "proposal", "implemented", "outcome", "features")
            }
            together = together.record(Event(**columns))
        found = policy.fit(together)[0]
        for i, made in enumerate(runs):
            for one, other in zip(parts(model(policy, made)), parts(found), strict=True):
                np.testing.assert_allclose(one, other[i], rtol=1e-6, atol=1e-8)

    def test_it_believes_the_mixture_of_the_unit_and_its_context(self) -> None:
        policy = MixtureTS()
        made = events(150)
        state = policy.start(SPACE)
        for each in made:
            state = policy.learn(state, each, stream(0))
        beliefs: Any = policy.beliefs(state, UNIT, stream(0))
        of, v = state.models[0], np.array([1.0, 0.7, 1.0])
        share = of.shares[1] / of.shares[1].sum(axis=-1, keepdims=True)
        expected = (share * (of.regression.mean[1] @ v)).sum(axis=-1)
        np.testing.assert_allclose(beliefs.mixture.centre(beliefs.features), expected, rtol=1e-12)
        assert isinstance(of.regression, Regression)
        assert not policy.live


def test_a_live_trial_refuses_it_with_the_reason() -> None:
    space = {
        "proposals": 2,
        "outcomes": {"kind": "number", "low": 0, "high": 26, "step": 1},
        "covariates": {"age": {"kind": "measure", "low": 0, "high": 1}},
    }
    with pytest.raises(TakeupError, match="runs simulations alone"):
        Design.of({"name": "t", "space": space, "policy": {"kind": "MixtureTS"}})
    for outer in ("Forgetting", "Protocol"):
        with pytest.raises(TakeupError, match="base: got MixtureTS"):
            Design.of({"name": "t", "space": space, "policy": {"kind": outer, "base": {"kind": "MixtureTS"}}})
