"""The mean-field kernels against numpy's `ascend`, scipy and each other."""

from collections.abc import Callable
from functools import cache
from inspect import isfunction
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, polygamma, psi

from takeup.inference.ascent import ascend as reference
from takeup.simulation.kernels import meanfield, meanfield_two

numba = pytest.importorskip("numba")

FloatArray = NDArray[np.float64]
SHAPES = [(2, 2, 2), (1, 2, 2), (3, 2, 4), (2, 3, 2), (6, 6, 2), (2, 4, 7)]
"""Proposals, actions, levels."""


@cache
def compiled(function: Callable[..., Any]) -> Any:
    """The function and all of takeup that it calls, by numba."""
    names = {name: function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__}
    ours = {name: compiled(f) for name, f in names.items() if isfunction(f) and f.__module__.startswith("takeup")}
    copy = FunctionType(function.__code__, {**function.__globals__, **ours}, function.__name__)
    return numba.njit(error_model="numpy")(copy)


class Problem(NamedTuple):
    """Counts n[z, y], priors α[a, y], β[z, a], and φ[z, y, a] to start from."""

    latent: FloatArray
    alpha: FloatArray
    beta: FloatArray
    phi: FloatArray

    def blocks(self, phi: FloatArray) -> tuple[FloatArray, FloatArray]:
        """α' and β' under φ."""
        mass = self.latent[:, :, np.newaxis] * phi
        return self.alpha + mass.sum(axis=0).T, self.beta + mass.sum(axis=1)

    def elbo(self, phi: FloatArray) -> float:
        """The exact ELBO, less what does not depend on φ."""
        outcome, compliance = self.blocks(phi)
        mass = self.latent[:, :, np.newaxis] * phi
        entropy = -(mass * np.log(np.where(mass > 0, phi, 1.0))).sum()
        return float(gammaln(outcome).sum() + gammaln(compliance).sum() - gammaln(outcome.sum(axis=1)).sum() + entropy)

    def reference(self, log_phi: FloatArray) -> tuple[FloatArray, float]:
        """Where numpy's ascent from here ends, and its ELBO."""
        found = reference(self.latent, self.alpha, self.beta, log_phi, tolerance=1e-12)
        return found.log_phi, float(found.elbo) + float(gammaln(self.beta.sum(axis=1) + self.latent.sum(axis=1)).sum())


class Fit(NamedTuple):
    outcome: FloatArray
    compliance: FloatArray
    elbo: float
    evaluations: int
    converged: bool
    work: FloatArray

    @property
    def log_phi(self) -> FloatArray:
        """One plain step from the fit: E[log μ] + E[log π], normalised."""
        outcome = psi(self.outcome) - psi(self.outcome.sum(axis=1, keepdims=True))
        log_phi = outcome.T[np.newaxis] + psi(self.compliance)[:, np.newaxis]
        return np.asarray(log_phi - np.logaddexp.reduce(log_phi, axis=2, keepdims=True))


def drawn(rng: np.random.Generator, proposals: int, actions: int, levels: int) -> Problem:
    """Anything: few counts and many, empty cells, priors below one, some compliance seen."""
    latent = rng.poisson(rng.choice([0.3, 4.0, 300.0]), (proposals, levels)) * rng.integers(0, 2, (proposals, 1))
    seen = rng.poisson(rng.choice([0.0, 3.0]), (actions, levels))
    alpha = rng.uniform(0.05, 2.0, (actions, levels)) + seen
    beta = rng.uniform(0.05, 2.0, (proposals, actions)) + rng.multinomial(seen.sum(), np.ones(actions) / actions)
    return Problem(latent.astype(np.float64), alpha, beta, rng.dirichlet(np.ones(actions), (proposals, levels)))


def general(
    problem: Problem, start: FloatArray | None = None, tolerance: float = 1e-12, max_evaluations: int = 200
) -> Fit:
    proposals, levels, actions = problem.phi.shape
    outcome, compliance = (b.ravel() for b in problem.blocks(problem.phi if start is None else start))
    work = np.full(meanfield.work_size(proposals, actions, levels), np.nan)
    given = meanfield.FitProblem(problem.latent.ravel(), problem.alpha.ravel(), problem.beta.ravel(), actions, levels)
    ascend = compiled(meanfield.ascend)
    elbo, evaluations, converged = ascend(given, outcome, compliance, tolerance, max_evaluations, work)
    blocks = outcome.reshape(actions, levels), compliance.reshape(proposals, actions)
    return Fit(blocks[0], blocks[1], elbo, evaluations, converged, work)


def two(problem: Problem, function: Any, tolerance: float = 1e-12) -> Fit:
    outcome, compliance = problem.blocks(problem.phi)
    given = (tuple(map(float, b.flat)) for b in (problem.latent, problem.alpha, problem.beta, outcome, compliance))
    point, evaluations, converged = function(*given, tolerance, 200)
    blocks = np.reshape(point.outcome, (2, 2)), np.reshape(point.compliance, (2, 2))
    return Fit(blocks[0], blocks[1], point.elbo, evaluations, converged, np.empty(0))


def test_gammas_are_those_of_scipy() -> None:
    x = np.concatenate([np.geomspace(1e-3, 1e8, 4001), np.linspace(7.9, 8.1, 101), [1.0, 2.0, 8.0]])
    far, product, digamma, trigamma = np.transpose([compiled(meanfield.gammas)(v) for v in x])
    np.testing.assert_allclose(far - np.log(product), gammaln(x), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(digamma, psi(x), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(trigamma, polygamma(1, x), rtol=1e-13)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_fit_is_an_optimum_that_numpy_finds(shape: tuple[int, int, int]) -> None:
    """From the same start nearly always the same one: where there are several, two paths may part."""
    rng = np.random.default_rng(shape)
    same = []
    for _ in range(30):
        problem = drawn(rng, *shape)
        fit = general(problem)
        assert fit.converged
        log_phi, elbo = problem.reference(fit.log_phi)
        assert fit.elbo == pytest.approx(elbo, rel=1e-12, abs=1e-7)
        used = np.broadcast_to(problem.latent[:, :, np.newaxis] > 0, log_phi.shape)
        np.testing.assert_allclose(fit.log_phi[used], log_phi[used], rtol=0, atol=1e-4)
        same.append(abs(problem.reference(np.log(problem.phi))[1] - fit.elbo) < 1e-7)
    assert np.mean(same) >= 0.9


def test_two_by_two_finds_what_the_general_form_finds() -> None:
    rng = np.random.default_rng(2)
    problems = [drawn(rng, 2, 2, 2) for _ in range(300)]
    pairs = [(two(problem, compiled(meanfield_two.ascend_two)), general(problem)) for problem in problems]
    assert all(fit.converged for pair in pairs for fit in pair)
    same = [(a, b) for a, b in pairs if abs(a.elbo - b.elbo) < 1e-7]
    assert len(same) >= 0.97 * len(pairs)
    near = [
        np.allclose(a.outcome, b.outcome, rtol=1e-4) and np.allclose(a.compliance, b.compliance, rtol=1e-4)
        for a, b in same
    ]
    assert np.mean(near) >= 0.97  # the others are each other with the labels of the actions swapped


def test_two_by_two_ends_where_numpy_would_stay() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        problem = drawn(rng, 2, 2, 2)
        fit = two(problem, compiled(meanfield_two.ascend_two))
        log_phi, elbo = problem.reference(fit.log_phi)
        assert fit.elbo == pytest.approx(elbo, rel=1e-12, abs=1e-7)
        used = problem.latent > 0
        np.testing.assert_allclose(fit.log_phi[used], log_phi[used], rtol=0, atol=1e-4)


def test_the_exact_elbo_never_falls_in_two_by_two() -> None:
    """A fit that may make one evaluation more goes one step further on the same path."""
    rng = np.random.default_rng(4)
    ascend = compiled(meanfield_two.ascend_two)
    for _ in range(200):
        problem = drawn(rng, 2, 2, 2)
        outcome, compliance = problem.blocks(problem.phi)
        latent, alpha, beta, *start = (
            tuple(map(float, b.flat)) for b in (problem.latent, problem.alpha, problem.beta, outcome, compliance)
        )
        before, done, evaluations = problem.elbo(problem.phi), False, 1
        while not done:
            evaluations += 1
            point, _, done = ascend(latent, alpha, beta, *start, 1e-8, evaluations)
            (u0, u1, v), logits = point.potential, np.empty((2, 2))
            logits[:] = [[u0, u1], [u0 + v, u1 + v]]
            phi = np.exp(-np.logaddexp(0, np.stack([logits, -logits], axis=-1)))
            elbo = problem.elbo(phi)
            assert point.elbo == pytest.approx(elbo, rel=1e-13, abs=1e-11)
            assert elbo >= before - 2 * point.rounding - 1e-13 * abs(elbo)
            before = elbo


def test_cells_and_contrasts_in_turn_are_the_same_bits() -> None:
    """What a GPU does instead, beside what a CPU does."""
    rng = np.random.default_rng(8)
    for _ in range(200):
        first, second = (tuple(map(float, rng.gamma(0.5, 10.0, 4) + 1e-3)) for _ in range(2))
        totals = (first[0] + first[1], second[0] + second[1])
        one = compiled(meanfield_two.contrasts)(first, second, totals)
        assert one == compiled(meanfield_two.contrasts_in_turn)(first, second, totals)
        latent, at = tuple(map(float, rng.integers(0, 50, 4))), tuple(map(float, rng.normal(0, 3, 3)))
        assert compiled(meanfield_two.cells)(latent, at) == compiled(meanfield_two.cells_in_turn)(latent, at)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_exact_elbo_never_falls(shape: tuple[int, int, int]) -> None:
    """A fit that may make one evaluation more goes one step further on the same path."""
    rng = np.random.default_rng(shape)
    for _ in range(4):
        problem = drawn(rng, *shape)
        cells, before = problem.phi.size, problem.elbo(problem.phi)
        for evaluations in range(2, 40):
            fit = general(problem, tolerance=1e-8, max_evaluations=evaluations)
            assert fit.evaluations <= evaluations
            half = (fit.work.size - 7 * (shape[0] + shape[2]) * shape[1]) // 2
            ends = [fit.work[at - cells : at].reshape(problem.phi.shape) for at in (half, 2 * half)]
            phis = [mass / np.maximum(problem.latent, 1)[:, :, np.newaxis] for mass in ends]
            elbo = min((problem.elbo(phi) for phi in phis if not np.isnan(phi).any()), key=lambda e: abs(e - fit.elbo))
            assert fit.elbo == pytest.approx(elbo, rel=1e-13, abs=1e-11)
            assert elbo >= before - 1e-13 * (1 + abs(elbo))
            before = elbo


def test_a_warm_start_is_the_last_fit_plus_the_newcomer() -> None:
    """Where φ is the average of n - 1 old ones and a new one, n φ is (n - 1) old + new: both add to the blocks."""
    problem = drawn(np.random.default_rng(1), 2, 3, 2)
    old, new = np.exp(general(problem).log_phi), np.array([0.2, 0.5, 0.3])
    latent = problem.latent.copy()
    latent[1, 0] += 1
    mixed = old.copy()
    mixed[1, 0] += (new - old[1, 0]) / latent[1, 0]
    grown = problem._replace(latent=latent)
    outcome, compliance = problem.blocks(old)
    outcome[:, 0] += new
    compliance[1] += new
    np.testing.assert_allclose(grown.blocks(mixed)[0], outcome)
    np.testing.assert_allclose(grown.blocks(mixed)[1], compliance)
    assert general(grown, start=mixed).elbo == pytest.approx(grown.reference(np.log(mixed))[1], abs=1e-7)


def test_nothing_latent_leaves_the_prior() -> None:
    problem = drawn(np.random.default_rng(0), 2, 2, 2)._replace(latent=np.zeros((2, 2)))
    for fit in (general(problem), two(problem, compiled(meanfield_two.ascend_two))):
        assert fit.converged
        assert fit.evaluations == 2
        np.testing.assert_array_equal(fit.outcome, problem.alpha)
        np.testing.assert_array_equal(fit.compliance, problem.beta)


def test_a_million_patients_take_no_longer() -> None:
    problem = drawn(np.random.default_rng(5), 2, 2, 2)._replace(latent=np.array([[3e5, 1e5], [2.5e5, 3.5e5]]))
    for fit in (general(problem, tolerance=1e-8), two(problem, compiled(meanfield_two.ascend_two), 1e-8)):
        assert fit.converged
        assert fit.evaluations < 40


def test_a_fit_says_when_it_gave_up() -> None:
    problem = drawn(np.random.default_rng(5), 2, 2, 2)._replace(latent=np.full((2, 2), 50.0))
    fit = general(problem, max_evaluations=3)
    assert fit.evaluations == 3
    assert not fit.converged


def test_the_same_bits_every_time_and_the_same_numbers_in_python() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        problem = drawn(rng, 2, 2, 2)
        fast, again, slow = (
            two(problem, f) for f in (*[compiled(meanfield_two.ascend_two)] * 2, meanfield_two.ascend_two)
        )
        assert fast.elbo == again.elbo
        np.testing.assert_array_equal(fast.outcome, again.outcome)
        assert slow.elbo == pytest.approx(fast.elbo, rel=1e-12, abs=1e-9)
        first, second = general(problem), general(problem)
        np.testing.assert_array_equal(first.outcome, second.outcome)
        assert first.elbo == second.elbo
