"""Bayesian linear regression from sums: closed forms, densities row by row, and calibration.

Statistical comparisons are at the level `LEVEL` each; with fewer than 50 of them fewer than 1 of 20,000 choices of the
seeds would sound an alarm.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import naive_regression as naive
from takeup import stream
from takeup.conjugates.quadrature import normals
from takeup.inference.cholesky import back, factored, forth, log_determinant
from takeup.inference.linear import Regression, Sums

FloatArray = NDArray[np.float64]
LEVEL = 1e-6
SAME = 1e-10
RIDGE = np.array([1.0, 0.3, 2.5])
KINDS = [pytest.param(np.inf, id="known"), pytest.param(3.0, id="learnt")]


def rows(many: int, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    rng = stream(seed, "rows")
    features = rng.normal(size=(many, 3)).round(2)
    return features, (features @ np.array([1.0, -2.0, 0.5]) + rng.normal(size=many)).round(2)


def believed(freedom: float, many: int, seed: int = 1) -> tuple[Regression, FloatArray, FloatArray]:
    features, outcome = rows(many, seed)
    prior = Regression.prior(RIDGE, square=1.7, freedom=freedom)
    return prior.plus(Sums.of(features, outcome)), features, outcome


@pytest.mark.parametrize("many", [0, 1, 2, 40])
@pytest.mark.parametrize("freedom", KINDS)
class TestClosedForms:
    def test_the_mean_is_that_of_ridge_regression(self, freedom: float, many: int) -> None:
        after, features, outcome = believed(freedom, many)
        expected = naive.ridge(features, outcome, np.diag(RIDGE), np.zeros(3))
        np.testing.assert_allclose(after.mean, expected, rtol=SAME, atol=SAME)
        np.testing.assert_allclose(after.precision, features.T @ features + np.diag(RIDGE), rtol=SAME)

    def test_the_covariance_is_the_inverse(self, freedom: float, many: int) -> None:
        after, _, _ = believed(freedom, many)
        more = 1.0 if np.isinf(freedom) else after.freedom / (after.freedom - 2)
        expected = after.square * more * np.linalg.inv(after.precision)
        np.testing.assert_allclose(after.covariance(), expected, rtol=SAME, atol=SAME)
        v = np.array([1.0, 2.0, -1.0])
        assert after.scale(v) == pytest.approx(np.sqrt(after.square * v @ np.linalg.inv(after.precision) @ v))

    def test_the_evidence_is_the_density_of_all_outcomes_together(self, freedom: float, many: int) -> None:
        features, outcome = rows(many)
        prior = Regression.prior(RIDGE, square=1.7, freedom=freedom)
        expected = naive.log_density(features, outcome, np.diag(RIDGE), 1.7, freedom) if many else 0.0
        assert float(prior.log_evidence(Sums.of(features, outcome))) == pytest.approx(expected, abs=1e-9)

    def test_rows_may_come_in_two_parts(self, freedom: float, many: int) -> None:
        """The posterior of the first part is the prior of the second, and sums add."""
        features, outcome = rows(many)
        prior = Regression.prior(RIDGE, square=1.7, freedom=freedom)
        first, second = Sums.of(features[::2], outcome[::2]), Sums.of(features[1::2], outcome[1::2])
        once, twice = prior.plus(first + second), prior.plus(first).plus(second)
        for name in ("mean", "precision", "square", "freedom", "factor"):
            np.testing.assert_allclose(getattr(once, name), getattr(twice, name), rtol=1e-9, atol=1e-9)
        together = prior.log_evidence(first) + prior.plus(first).log_evidence(second)
        assert together == pytest.approx(prior.log_evidence(first + second), abs=1e-9)


def test_sums_of_whole_numbers_are_the_same_in_any_order() -> None:
    rng = stream(3)
    features, outcome = rng.integers(-9, 9, size=(50, 3)), rng.integers(0, 99, size=50)
    order = rng.permutation(50)
    one, other = Sums.of(features, outcome), Sums.of(features[order], outcome[order])
    for name in ("count", "square", "cross", "total"):
        assert getattr(one, name).dtype.kind == "i"
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_weights_are_repeated_rows() -> None:
    features, outcome = rows(6)
    many = np.array([0, 1, 2, 0, 3, 1])
    one, other = Sums.of(features, outcome, many), Sums.of(np.repeat(features, many, 0), np.repeat(outcome, many))
    for name in ("count", "square", "cross", "total"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)


def test_side_by_side_is_one_by_one() -> None:
    parts = [rows(20, seed) for seed in range(6)]
    features, outcome = (np.stack(each).reshape(2, 3, *each[0].shape) for each in zip(*parts, strict=True))
    prior = Regression.prior(np.broadcast_to(RIDGE, (2, 3, 3)), square=1.7, freedom=3.0)
    together = prior.plus(Sums.of(features, outcome))
    for i in range(6):
        alone, _, _ = believed(3.0, 20, seed=i)
        for name in ("mean", "square", "factor"):
            np.testing.assert_allclose(getattr(together, name)[divmod(i, 3)], getattr(alone, name), rtol=1e-12)


@pytest.mark.parametrize("freedom", KINDS)
def test_draws_have_the_moments_that_are_stated(freedom: float) -> None:
    """Of 40,000: whitened by the factor, each coefficient is a standard normal or t variable (Kolmogorov-Smirnov)."""
    after, _, _ = believed(freedom, 12)
    draws = after.coefficients(stream(5), 40_000)
    whitened = (draws - after.mean) @ after.factor / np.sqrt(after.square)
    below: Any = stats.norm().cdf if np.isinf(freedom) else stats.t(after.freedom).cdf
    for each in whitened.T:
        assert stats.kstest(each, below).pvalue > LEVEL
    v = np.array([1.0, 2.0, -1.0])
    values = after.values(v, stream(6), 40_000)
    for found in (values, draws @ v):
        assert stats.kstest((found - after.centre(v)) / after.scale(v), below).pvalue > LEVEL
    positive = after.positive(v)
    assert abs((values > 0).mean() - positive) < 4.9 * np.sqrt(positive * (1 - positive) / 40_000)  # LEVEL


def test_which_of_two_is_better_is_known_exactly() -> None:
    """With independent arms of known noise the difference is normal, as the quadrature of normal variables has it."""
    after, _, _ = believed(np.inf, 12)
    other, _, _ = believed(np.inf, 7, seed=2)
    v = np.array([0.5, 1.0, -1.0])
    both = Regression.of(
        np.concatenate([after.mean, other.mean]),
        np.block([[after.precision, np.zeros((3, 3))], [np.zeros((3, 3)), other.precision]]),
        after.square,
        after.freedom,
    )
    variables = normals(
        *(np.array([getattr(each, name)(v) for each in (after, other)]) for name in ("centre", "scale"))
    )
    assert variables is not None
    assert both.positive(np.concatenate([v, -v])) == pytest.approx(variables.largest()[0], abs=1e-11)
    assert after.positive(np.zeros(3)) == 0.5


@pytest.mark.parametrize("freedom", KINDS)
def test_calibration(freedom: float) -> None:
    """The rank of the truth among 19 draws is uniform where truth comes from the prior; χ² over ranks, at `LEVEL`."""
    worlds, many = 8_000, 7
    rng = stream(9, str(freedom))
    prior = Regression.prior(np.broadcast_to(RIDGE, (worlds, 3)), square=1.7, freedom=freedom)
    variance = np.full(worlds, 1.7)
    if not np.isinf(freedom):
        variance = freedom * 1.7 / (2 * rng.standard_gamma(freedom / 2, size=worlds))
    truth = rng.normal(size=(worlds, 3)) * np.sqrt(variance[:, np.newaxis] / RIDGE)
    features = rng.normal(size=(worlds, many, 3))
    noise = np.sqrt(variance)[:, np.newaxis] * rng.normal(size=(worlds, many))
    after = prior.plus(Sums.of(features, np.einsum("wnp,wp->wn", features, truth) + noise))
    draws = after.coefficients(rng, 19)
    at = np.array([1.0, -1.0, 2.0])
    for found, true in [*((draws[..., i], truth[:, i]) for i in range(3)), (draws @ at, truth @ at)]:
        ranks = np.bincount((found < true).sum(axis=0), minlength=20)
        assert stats.chisquare(ranks).pvalue > LEVEL


def test_what_is_singular_but_for_rounding_has_a_factor() -> None:
    """Two features that are the same, a million times, and a prior of 1e-12: the values are right all the same."""
    features = np.tile([3.0, 3.0], (4, 1))
    sums = Sums.of(features, np.array([6.0, 6.0, 6.0, 6.0]), np.full(4, 1e6))
    after = Regression.prior(np.full(2, 1e-12)).plus(sums)
    assert after.centre(np.array([3.0, 3.0])) == pytest.approx(6.0)
    assert 0 < after.scale(np.array([3.0, 3.0])) < 0.01
    assert np.isfinite(after.coefficients(stream(0), 10)).all()


def test_outcomes_far_from_zero_leave_no_negative_variance() -> None:
    features = np.ones((1_000, 1))
    after = Regression.prior(np.ones(1) * 1e-6, freedom=2.0).plus(Sums.of(features, np.full(1_000, 1e9)))
    assert after.square >= 0


def test_factors_solve() -> None:
    rng = stream(2)
    root = rng.normal(size=(4, 5, 5))
    matrix = root @ np.swapaxes(root, -1, -2) + np.eye(5)
    lower, right = factored(matrix), rng.normal(size=(4, 5))
    np.testing.assert_allclose(lower, np.linalg.cholesky(matrix), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        back(lower, forth(lower, right)), np.linalg.solve(matrix, right[..., np.newaxis])[..., 0], rtol=1e-8
    )
    np.testing.assert_allclose(log_determinant(lower), np.linalg.slogdet(matrix)[1], rtol=1e-10)
