"""Lines by action and by proposal: against rows one by one, at both ends of how much is shared, and in draws."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

import naive_regression as naive
from takeup import stream
from takeup.inference.additive import SHARED, Additive, believe, stacked
from takeup.inference.linear import Regression, Sums

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
PROPOSALS, ACTIONS = 3, 2
STRENGTHS = np.array([SHARED, 20.0, 0.5])
PRIOR = Regression.prior(np.full(2, 0.7), square=0.3, freedom=5.0)


def rows(many: int, shift: float = 0.0, seed: int = 1) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
    """Features, proposals, actions and outcomes; proposals change the outcome by `shift` times their number."""
    rng = stream(seed, "rows")
    v = np.column_stack([np.ones(many), rng.random(many)])
    z = rng.integers(PROPOSALS, size=many)
    a = (rng.random(many) < 0.2 + 0.3 * z * v[:, 1]).astype(np.int64)
    y = 0.3 * a - 0.2 * v[:, 1] * (1 - a) + shift * z + rng.normal(0, 0.3, size=many)
    return v, z, a, y


def by_cell(v: FloatArray, z: IntArray, a: IntArray, y: FloatArray) -> Sums:
    own = (z == np.arange(PROPOSALS)[:, np.newaxis, np.newaxis]) & (a == np.arange(ACTIONS)[:, np.newaxis])
    batch = own.shape[:2]
    return Sums.of(np.broadcast_to(v, (*batch, *v.shape)), np.broadcast_to(y, own.shape), own.astype(np.float64))


def wide(v: FloatArray, z: IntArray, a: IntArray) -> FloatArray:
    """(1[a] v, 1[z] v), row by row."""
    parts = [v * (a == k)[:, np.newaxis] for k in range(ACTIONS)] + [
        v * (z == k)[:, np.newaxis] for k in range(PROPOSALS)
    ]
    return np.hstack(parts)


def test_sums_by_proposal_and_action_are_those_of_one_regression() -> None:
    v, z, a, y = rows(50)
    ours, theirs = stacked(by_cell(v, z, a, y)), Sums.of(wide(v, z, a), y)
    for name in ("count", "square", "cross", "total"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-12)


def test_weights_and_coefficients_are_those_of_the_rows_one_by_one() -> None:
    v, z, a, y = rows(40, shift=0.2)
    log_prior = np.log([0.4, 0.3, 0.3])
    found = believe(by_cell(v, z, a, y), PRIOR, STRENGTHS, log_prior, sharpness=2.0)
    evidence = []
    for i, strength in enumerate(STRENGTHS):
        penalty = np.diag([0.7] * 2 * ACTIONS + [strength] * 2 * PROPOSALS)
        expected = naive.ridge(wide(v, z, a), y, penalty, np.zeros(10))
        np.testing.assert_allclose(found.regression.mean[i], expected, atol=1e-7)
        evidence.append(naive.log_density(wide(v, z, a), y, penalty, 0.3, 5.0))
    log_weight = log_prior + 2.0 * np.array(evidence)
    np.testing.assert_allclose(found.weight, np.exp(log_weight - logsumexp(log_weight)), atol=1e-6)


def test_where_all_is_shared_it_is_a_line_for_each_action() -> None:
    v, z, a, y = rows(60, shift=0.5)
    cells = by_cell(v, z, a, y)
    found = believe(cells, PRIOR, STRENGTHS[:1], np.zeros(1))
    for k in range(ACTIONS):
        alone = PRIOR.plus(Sums.of(v[a == k], y[a == k]))
        np.testing.assert_allclose(found.regression.mean[0, 2 * k : 2 * k + 2], alone.mean, atol=1e-6)
    assert abs(found.regression.mean[0, 2 * ACTIONS :]).max() < 1e-6


def test_where_nothing_is_every_proposal_has_the_line_of_its_own_outcomes() -> None:
    """Σ_a 1[a_i = a] v'f[a] + v'g[z], summed over the rows of z, is what least squares on these rows alone gives."""
    v, z, a, y = rows(400, shift=0.5)
    flat = Regression.prior(np.full(2, 1e-4), square=0.3, freedom=5.0)
    found = believe(by_cell(v, z, a, y), flat, np.array([1e-4]), np.zeros(1))
    f, g = found.regression.mean[0].reshape(-1, 2)[:ACTIONS], found.regression.mean[0].reshape(-1, 2)[ACTIONS:]
    for k in range(PROPOSALS):
        own = z == k
        expected = np.linalg.lstsq(v[own], y[own], rcond=None)[0]
        share = np.linalg.lstsq(v[own], (v[own] * f[a[own]]).sum(axis=1), rcond=None)[0]  # of actions, on average
        np.testing.assert_allclose(share + g[k], expected, atol=1e-3)


@pytest.mark.parametrize(("shift", "shared"), [(0.0, True), (0.15, False)])
def test_the_weight_of_sharing_tells_whether_it_is_so(shift: float, shared: bool) -> None:
    """With 2,000 rows and ten seeds: nine above 0.9 where proposals change nothing, all below 0.001 where they do."""
    prior = np.log([0.4, 0.3, 0.3])
    weight = [believe(by_cell(*rows(2_000, shift, seed)), PRIOR, STRENGTHS, prior).weight[0] for seed in range(10)]
    assert np.sum(np.array(weight) > 0.9) >= 9 if shared else max(weight) < 0.001


def test_draws_mix_the_strengths_by_their_weight() -> None:
    """Means of 40,000 draws within 5 standard errors: with 10 of them, a false alarm in 1 of 170,000 seeds."""
    v, z, a, y = rows(30, shift=0.1)
    found = believe(by_cell(v, z, a, y), PRIOR, STRENGTHS, np.log([0.4, 0.3, 0.3]))
    f, g = found.draw(stream(3), 40_000)
    assert f.shape == (40_000, ACTIONS, 2)
    assert g.shape == (40_000, PROPOSALS, 2)
    draws = np.concatenate([f, g], axis=1).reshape(40_000, -1)
    expected = found.weight @ found.regression.mean
    assert (abs(draws.mean(axis=0) - expected) <= 5 * draws.std(axis=0) / 200).all()
    one = Additive(
        Regression.of(*(getattr(found.regression, name)[1:2] for name in ("mean", "precision", "square", "freedom"))),
        np.ones(1),
        ACTIONS,
        2,
    )
    spread = np.concatenate(one.draw(stream(4), 40_000), axis=1).reshape(40_000, -1).std(axis=0)
    np.testing.assert_allclose(spread, np.sqrt(np.diag(one.regression.covariance()[0])), rtol=0.05)


def test_side_by_side_is_one_by_one() -> None:
    cells = [by_cell(*rows(30, 0.1, seed)) for seed in range(4)]
    beside = Sums(
        *(np.stack([getattr(each, name) for each in cells]) for name in ("count", "square", "cross", "total"))
    )
    together = believe(beside, PRIOR, STRENGTHS, np.zeros(3))
    f, _ = together.draw(stream(1))
    assert f.shape == (4, ACTIONS, 2)
    for i, each in enumerate(cells):
        alone = believe(each, PRIOR, STRENGTHS, np.zeros(3))
        np.testing.assert_allclose(together.weight[i], alone.weight, atol=1e-9)
        np.testing.assert_allclose(together.regression.mean[i], alone.regression.mean, atol=1e-9)
