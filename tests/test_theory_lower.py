"""The lower bound for observed noncompliance, against closed forms and against every alternative on a grid."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import Bounds, LinearConstraint, linprog, minimize
from scipy.special import betaincc

from takeup import theory
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.randomness import stream

many = settings(max_examples=60)
few = settings(max_examples=12)


def sparse_world(seed: int, proposals: int, actions: int, zeros: float) -> tuple[FloatArray, FloatArray]:
    """Random Π, in which an entry is 0 with this probability, and μ."""
    rng = stream(seed, "world", proposals, actions)
    weights = rng.standard_exponential((proposals, actions)) * (rng.random((proposals, actions)) >= zeros)
    empty = weights.sum(axis=1) == 0
    weights[empty, rng.integers(actions, size=empty.sum())] = 1
    return weights / weights.sum(axis=1, keepdims=True), rng.uniform(0.05, 0.95, actions)


class TestReach:
    @many
    @given(st.floats(1e-6, 0.999), st.floats(1e-6, 0.999), st.floats(0, 1), st.floats(0.1, 1))
    def test_two_actions_have_a_closed_form(self, x: float, y: float, low: float, spread: float) -> None:
        """With utilities low and low + spread the row must move from q to q*: kl(q, q*)."""
        q, known = min(x, y), max(x, y)
        found = theory.divergence_to_reach([q, 1 - q], [low + spread, low], low + spread * known)
        assert found == pytest.approx(float(theory.divergence(q, known)), rel=1e-7, abs=1e-12)

    @pytest.mark.parametrize("seed", range(12))
    def test_is_the_minimum_over_the_simplex(self, seed: int) -> None:
        """Against a general solver on the primal problem, started from the best action."""
        actions = 3 + seed % 3
        rng = stream(seed, "reach")
        pi, u = rng.dirichlet(np.ones(actions)), rng.random(actions)
        target = pi @ u + rng.uniform(0.1, 0.9) * (u.max() - pi @ u)
        start = 0.02 / actions + 0.98 * np.eye(actions)[u.argmax()]
        start = start / start.sum()
        found = minimize(  # type: ignore[call-overload]  # its stubs do not know linear constraints
            lambda q: float(np.sum(pi * np.log(pi / q))),
            start,
            jac=lambda q: -pi / q,
            method="SLSQP",
            bounds=Bounds(1e-9, 1),
            constraints=[LinearConstraint(np.ones(actions), 1, 1), LinearConstraint(u, target, np.inf)],
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert theory.divergence_to_reach(pi, u, target) == pytest.approx(found.fun, rel=1e-5)

    @pytest.mark.parametrize("seed", range(6))
    def test_no_row_on_a_grid_is_closer(self, seed: int) -> None:
        """Rows with zeros included; the nearest of the grid is within two steps of it."""
        (pi, *_), u = sparse_world(seed, 3, 3, zeros=0.4)
        target = pi @ u + 0.6 * (u.max() - pi @ u)
        if target - pi @ u < 0.05:
            target = pi @ u
        grid = simplex(3, 200)
        costs = row_divergence(pi, grid[grid @ u >= target - 1e-12])
        found = float(theory.divergence_to_reach(pi, u, target))
        assert found <= costs.min() + 1e-12
        assert costs.min() <= 1.05 * found + 0.02

    def test_where_the_best_action_never_happens(self) -> None:
        """From (0, 1) to (q, 1 - q): -ln(1 - q). A probability of 1e-300 makes no difference, one of 1e-8 little."""
        for rare in (0.0, 1e-300, 1e-16):
            found = theory.divergence_to_reach([rare, 1 - rare], [0.9, 0.2], 0.2 + 0.7 * 0.4)
            assert found == pytest.approx(-math.log(0.6), rel=1e-14)
        found = theory.divergence_to_reach([1e-8, 1 - 1e-8], [0.9, 0.2], 0.48)
        assert found == pytest.approx(float(theory.divergence(1e-8, 0.4)), rel=1e-12)

    def test_at_the_ends(self) -> None:
        u = [0.9, 0.2, 0.9]
        assert theory.divergence_to_reach([0.5, 0.5, 0.0], u, 0.5) == 0  # there already
        assert theory.divergence_to_reach([0.5, 0.0, 0.5], u, 0.9) == 0  # at the best there is
        assert theory.divergence_to_reach([0.5, 0.5, 0.0], u, 0.9) == np.inf  # would have to give up an action
        assert theory.divergence_to_reach([0.5, 0.0, 0.5], u, 0.95) == np.inf  # beyond every utility
        assert 0 < theory.divergence_to_reach([0.5, 0.5, 0.0], u, 0.9 - 1e-12) < np.inf

    @many
    @given(st.integers(0, 10**6), st.floats(0.01, 0.99))
    def test_what_one_sees_of_compliance_is_worth_something(self, seed: int, share: float) -> None:
        """KLinf(π, v) >= kl(π·μ, v): the reward alone tells less than the action."""
        (pi, *_), mu = sparse_world(seed, 1, 4, zeros=0.3)
        target = pi @ mu + share * (mu.max() - pi @ mu)
        assert theory.divergence_to_reach(pi, mu, target) >= theory.divergence(pi @ mu, target) - 1e-12

    def test_broadcasts(self) -> None:
        pi, mu = sparse_world(1, 5, 3, zeros=0.2)
        targets = np.linspace(0.1, 0.9, 7)[:, np.newaxis]
        found = theory.divergence_to_reach(pi, mu, targets)
        assert found.shape == (7, 5)
        assert found[3, 2] == theory.divergence_to_reach(pi[2], mu, targets[3, 0])

    def test_refuses(self) -> None:
        with pytest.raises(InputError, match=r"utility.*2 actions"):
            theory.divergence_to_reach([0.5, 0.5], [0.1, 0.2, 0.3], 0.2)
        with pytest.raises(InputError, match=r"compliance.*one context"):
            theory.lower_bound(np.ones((1, 2, 2)) / 2, [0.5, 0.4])
        with pytest.raises(InputError, match="success"):
            theory.lower_bound(np.eye(2), [0.5, 0.4, 0.3])


class TestSupported:
    @many
    @given(st.floats(0.001, 0.499))
    def test_the_sweep_of_the_paper(self, p: float) -> None:
        """Δ = (1 - 2p) / 2 and KLinf = kl(p, 1 - p) = (1 - 2p) ln((1 - p) / p); 1 - p is its mirror image."""
        for each in (p, 1 - p):
            found = theory.lower_bound([[1 - each, each], [each, 1 - each]], [0.75, 0.25])
            assert found.constant == pytest.approx(0.5 / math.log((1 - p) / p), rel=1e-9)

    def test_it_jumps_at_the_ends_of_the_sweep(self) -> None:
        """At p = 0 the rewards of the other action are no longer free: f(0.75, 0.25) = 1 / ln 3, not 0."""
        for compliance in (np.eye(2), np.eye(2)[::-1]):
            found = theory.lower_bound(compliance, [0.75, 0.25])
            assert found.constant == pytest.approx(1 / math.log(3), rel=1e-6)
        assert theory.lower_bound(np.full((2, 2), 0.5), [0.75, 0.25]).constant == 0

    def test_two_actions_by_hand(self) -> None:
        """Rows (0.7, 0.3) and (0.2, 0.8): |μ_0 - μ_1| f(0.7, 0.2), whatever else μ is."""
        found = theory.lower_bound([[0.7, 0.3], [0.2, 0.8]], [0.6, 0.5])
        assert found.constant == pytest.approx(0.1 * float(theory.arm_cost(0.7, 0.2)))
        assert np.isnan(found.rates[0])
        assert found.rates[1] == pytest.approx(1 / float(theory.divergence(0.2, 0.7)))
        assert found.gaps == pytest.approx([0, 0.05])
        assert found.supported.all()

    def test_is_a_sum_over_proposals(self) -> None:
        """More proposals than actions, and the other way round."""
        for proposals, actions in ((6, 3), (2, 5)):
            pi, mu = sparse_world(7, proposals, actions, zeros=0.0)
            values = pi @ mu
            inferior = values < values.max()
            each = (values.max() - values[inferior]) / theory.divergence_to_reach(pi[inferior], mu, values.max())
            assert theory.lower_bound(pi, mu).constant == pytest.approx(each.sum())

    def test_certain_success_costs_nothing(self) -> None:
        assert theory.lower_bound(np.eye(2), [1.0, 0.3]).constant == 0


class TestUnsupported:
    @pytest.mark.parametrize("share", [0.01, 0.4, 1.0])
    def test_two_actions_by_hand(self, share: float) -> None:
        """z* = (1, 0), z = (1 - q, q): an alternative must raise μ_1 to μ_0, at q kl(μ_1, μ_0) a try: f for any q."""
        found = theory.lower_bound([[1.0, 0.0], [1 - share, share]], [0.8, 0.4])
        assert found.constant == pytest.approx(float(theory.arm_cost(0.8, 0.4)), rel=1e-6)
        assert list(found.supported) == [True, False]

    @pytest.mark.parametrize("mu", [[0.8, 0.5, 0.2], [0.3, 0.9, 0.5, 0.6]])
    def test_with_full_compliance_it_is_that_of_lai_and_robbins(self, mu: list[float]) -> None:
        found = theory.lower_bound(np.eye(len(mu)), mu)
        assert found.constant == pytest.approx(float(theory.thompson_constant(mu)), rel=1e-6)

    def test_certain_outcomes(self) -> None:
        """An action that never succeeds costs f(0.8, 0) = 0.8 / -ln 0.2.

        Beside one that always does, it is cheaper to move the row from (0.5, 0.5) to (0.7, 0.3) than to raise it.
        """
        found = theory.lower_bound(np.eye(2), [0.8, 0.0])
        assert found.constant == pytest.approx(0.8 / -math.log(0.2), rel=1e-6)
        found = theory.lower_bound([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], [0.7, 1.0, 0.0])
        assert found.rates[1] == pytest.approx(1 / float(theory.divergence(0.5, 0.7)))

    def test_an_action_that_never_happens(self) -> None:
        """Nobody has seen action 2, so it may be worth 1, and the inferior row may lead to it.

        v* = 0.9 · 0.6 + 0.1 · 0.2 = 0.56, v = 0.28, λ = 1 / (1 - v*): KLinf is 0.2 ln(1 - 0.04 λ) + 0.8 ln(1 + 0.36 λ),
        or 0.459. Without the action it is kl(0.2, 0.9) = 1.363: that it might happen trebles the bound.
        """
        pi, mu = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]), np.array([0.6, 0.2, 0.5])
        least = 0.2 * math.log(1 - 0.04 / 0.44) + 0.8 * math.log(1 + 0.36 / 0.44)
        assert theory.lower_bound(pi, mu).constant == pytest.approx(0.28 / least, rel=1e-7)
        without = theory.lower_bound(pi[:, :2], mu[:2]).constant
        assert without == pytest.approx(0.28 / float(theory.divergence(0.2, 0.9)))

    @few
    @given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 4))
    def test_never_above_the_constant_of_a_policy_that_sees_less(self, seed: int, proposals: int, actions: int) -> None:
        pi, mu = sparse_world(seed, proposals, actions, zeros=0.4)
        assert theory.lower_bound(pi, mu).constant <= float(theory.thompson_constant(pi @ mu)) * (1 + 1e-9)

    @pytest.mark.parametrize("seed", [0, 1, 4, *(pytest.param(i, marks=pytest.mark.long) for i in (2, 3, 5, 6, 7, 8))])
    def test_against_every_alternative_on_a_grid(self, seed: int) -> None:
        """The rates hold against each of them, and the program over the grid alone comes close to C from below."""
        pi, mu = coupled_world(seed)
        found = theory.lower_bound(pi, mu)
        inferior = np.flatnonzero(found.gaps > 0)
        constraints = np.concatenate([alternatives(pi, mu, found.supported, int(z)) for z in inferior])
        left = constraints @ found.rates[inferior]
        assert (left >= 1 - 1e-7).all()
        tight = constraints[left < 1.2]
        least = linprog(found.gaps[inferior], A_ub=-tight, b_ub=-np.ones(len(tight))).fun
        assert least is not None
        assert 0.9 * found.constant <= least <= found.constant * (1 + 1e-7)

    def test_rows_that_share_an_action_help_each_other(self) -> None:
        """Both inferior rows reach action 1, so that learning μ_1 counts for both: less than the sum of each alone."""
        pi, mu = np.array([[1.0, 0.0], [0.5, 0.5], [0.45, 0.55]]), [0.7, 0.4]
        together = theory.lower_bound(pi, mu).constant
        alone = [theory.lower_bound(pi[[0, z]], mu).constant for z in (1, 2)]
        assert together == pytest.approx(alone[0], rel=1e-6)
        assert together < 0.6 * sum(alone)


class TestApproach:
    def test_is_the_birth_process(self) -> None:
        """Against the equations of the process, integrated: dP(n, s) / dt for n < 30, from P(0, 0) = 1."""
        rate, target, most = 0.2, 0.8, 30
        states = [(n, s) for n in range(most) for s in range(n + 1)]
        place = {state: i for i, state in enumerate(states)}
        hazard = np.array([betaincc(1 + s, 1 + n - s, target) for n, s in states])
        flow = -np.diag(hazard)
        for (n, s), i in place.items():
            if n + 1 < most:
                flow[place[n + 1, s + 1], i] += rate * hazard[i]
                flow[place[n + 1, s], i] += (1 - rate) * hazard[i]
        start = np.eye(len(states))[0]
        times = np.array([2.0, 20.0, 200.0])
        found = solve_ivp(lambda _, p: flow @ p, (0, times[-1]), start, "DOP853", times, rtol=1e-8, atol=1e-12).y
        trials = np.array([n for n, _ in states]) @ found
        np.testing.assert_allclose(theory.expected_trials(rate, target, times), trials, rtol=1e-5)

    @pytest.mark.parametrize(("rate", "target"), [(0.2, 0.8), (0.25, 0.75), (0.3, 0.7)])
    def test_comes_to_the_constant_from_below(self, rate: float, target: float) -> None:
        """1 / kl per ln T, in the end."""
        decades = np.array([1e5, 1e6, 1e15, 1e16, 1e49, 1e50])
        slopes = np.diff(theory.expected_trials(rate, target, decades))[::2] / math.log(10)
        shares = slopes * float(theory.divergence(rate, target))
        assert 0.85 < shares[0] < shares[1] < shares[2] < 1
        assert shares[2] > 0.99

    def test_refuses(self) -> None:
        with pytest.raises(InputError, match="target"):
            theory.expected_trials(0.5, 0.4, 10)
        with pytest.raises(InputError, match="horizon"):
            theory.expected_trials(0.4, 0.5, [10, 0.5])


def simplex(actions: int, steps: int) -> FloatArray:
    """All distributions whose entries are multiples of 1 / steps."""
    cuts = itertools.combinations(range(steps + actions - 1), actions - 1)
    bars = np.array([(-1, *cut, steps + actions - 1) for cut in cuts])
    return (np.diff(bars, axis=1) - 1) / steps


def row_divergence(pi: FloatArray, others: FloatArray) -> FloatArray:
    """KL(π, π') term by term."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(pi > 0, pi * np.log(pi / others), 0.0)
    return np.asarray(terms.sum(axis=-1))


def alternatives(pi: FloatArray, mu: FloatArray, supported: NDArray[np.bool_], z: int) -> FloatArray:
    """KL_y(λ) of each inferior row y for many confusing worlds λ in which row z becomes optimal.

    μ' is on a grid. The row moves in every direction of another grid, just so far that its value is v*.
    """
    target = (pi @ mu).max()
    inferior = np.flatnonzero(pi @ mu < target - 1e-12)
    share = np.linspace(0, 1, 40) ** 2
    grids = [m + (0.999 - m) * (share[:1] if fixed else share) for m, fixed in zip(mu, supported, strict=True)]
    raised = np.array(list(itertools.product(*grids)))
    towards = simplex(mu.size, 24)
    short = target - raised @ pi[z]
    with np.errstate(divide="ignore", invalid="ignore"):
        move = np.where(short[:, np.newaxis] <= 0, 0.0, short[:, np.newaxis] / (raised @ (towards - pi[z]).T))
    where, which = np.nonzero((move >= 0) & (move <= 1))
    rows = pi[z] + move[where, which][:, np.newaxis] * (towards[which] - pi[z])
    costs = (theory.divergence(mu, raised) @ pi[inferior].T)[where]
    costs[:, inferior == z] += row_divergence(pi[z], rows)[:, np.newaxis]
    return costs[np.isfinite(costs).all(axis=1)]


def coupled_world(seed: int) -> tuple[FloatArray, FloatArray]:
    """Three actions, of which the optimal proposal leaves one or two out, and two inferior proposals."""
    for attempt in itertools.count():
        pi, mu = sparse_world(1000 * seed + attempt, 3, 3, zeros=0.35)
        values = pi @ mu
        if np.sum(values < values.max() - 0.1) == 2 and not (pi[values.argmax()] > 0).all():
            return pi, mu
    raise AssertionError
