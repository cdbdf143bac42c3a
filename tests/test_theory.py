"""Lemma 1, theorems 1 and 2 and the conjecture of Stirn & Jebara (2019), with counter-examples to what is wrong."""

import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from takeup import theory
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.randomness import stream
from takeup.theory.conjecture import proportion

many = settings(max_examples=80)

rates = st.integers(1, 99).map(lambda percent: percent / 100)
"""Rates that are equal or a hundredth apart: what is close is tested by itself."""


def vectors(least: int = 2, most: int = 8) -> st.SearchStrategy[FloatArray]:
    return st.lists(rates, min_size=least, max_size=most).map(np.array)


def uneven(least: int = 2, most: int = 8) -> st.SearchStrategy[FloatArray]:
    return vectors(least, most).filter(lambda mu: bool(np.ptp(mu) > 0))


@st.composite
def matrices(draw: st.DrawFn, rows: int, columns: int) -> FloatArray:
    row = st.lists(st.integers(0, 9), min_size=columns, max_size=columns).filter(any)
    weights = np.array(draw(st.lists(row, min_size=rows, max_size=rows)), dtype=float)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def exact_divergence(p: float, q: float) -> float:
    with localcontext() as context:
        context.prec = 60
        x, y = Decimal(p), Decimal(q)
        return float(x * (x / y).ln() + (1 - x) * ((1 - x) / (1 - y)).ln())


def plain_cost(best: float, other: float) -> float:
    if best == other:
        return 0.0
    return (best - other) / (other * math.log(other / best) + (1 - other) * math.log((1 - other) / (1 - best)))


class TestCost:
    def test_by_hand(self) -> None:
        """kl(1/4, 3/4) = 1/4 ln 1/3 + 3/4 ln 3 = 1/2 ln 3, so f(3/4, 1/4) = 1/2 / (1/2 ln 3) = 1 / ln 3."""
        assert theory.arm_cost(0.75, 0.25) == pytest.approx(1 / math.log(3), rel=1e-14)
        assert theory.arm_cost(0.4, 0.4) == 0

    @many
    @given(st.floats(0.001, 0.999), st.floats(-15, -0.5), st.booleans())
    def test_keeps_its_digits_however_close(self, p: float, exponent: float, up: bool) -> None:
        """Against sixty digits."""
        q = p + (1 if up else -1) * 10**exponent
        assume(0 < q < 1 and q != p)
        assert theory.divergence(p, q) == pytest.approx(exact_divergence(p, q), rel=1e-12)

    def test_of_certain_coins(self) -> None:
        found = theory.divergence([0, 1, 0, 1, 0, 0.5], [0, 1, 0.5, 0.5, 1, 0])
        np.testing.assert_allclose(found, [0, 0, math.log(2), math.log(2), np.inf, np.inf])

    def test_bound_by_hand(self) -> None:
        """Two inferior arms of 0.25 beside 0.75, T = e²: 2 · 2 / ln 3, and half as much again with ε = 1/2."""
        horizon = math.exp(2)
        assert theory.thompson_bound([0.25, 0.75, 0.25], horizon) == pytest.approx(4 / math.log(3))
        assert theory.thompson_bound([0.25, 0.75, 0.25], horizon, epsilon=0.5) == pytest.approx(6 / math.log(3))

    def test_change_by_hand(self) -> None:
        """Compliance of 3/4 turns (3/4, 1/4) into (5/8, 3/8), whose f is 1/4 / (1/4 ln 5/3) = 1 / ln(5/3)."""
        change = theory.bound_change(math.exp(1), [0.75, 0.25], [[0.75, 0.25], [0.25, 0.75]])
        assert change == pytest.approx(1 / math.log(5 / 3) - 1 / math.log(3))

    @pytest.mark.parametrize(
        ("call", "match"),
        [
            (lambda: theory.arm_cost(0.2, 0.3), "other.*larger rate comes first"),
            (lambda: theory.arm_cost(1.0, 0.3), "best.*strictly between 0 and 1"),
            (lambda: theory.arm_cost_gradient(0.3, 0.3), "no gradient"),
            (lambda: theory.thompson_bound([0.5, 0.4], 0.5), "horizon.*at least 1"),
            (lambda: theory.bound_change(10, [0.5, 0.4], np.eye(3)), "compliance.*shape"),
            (lambda: theory.both_effects([0.5, 0.5, 0.5]), "not all equal"),
            (lambda: theory.ignored(3, share=1.0), "share"),
            (lambda: theory.probability_harmful(1, 10, stream(0)), "arms"),
        ],
    )
    def test_refuses(self, call: Any, match: str) -> None:
        with pytest.raises(InputError, match=match):
            call()


class TestLemmaOne:
    @many
    @given(rates, rates)
    def test_slopes_have_their_signs_off_the_diagonal(self, x: float, y: float) -> None:
        assume(x != y)
        best, other = max(x, y), min(x, y)
        slopes = theory.arm_cost_gradient(best, other)
        assert slopes.best < 0 < slopes.other
        step = 1e-6
        along = (plain_cost(best + step, other) - plain_cost(best - step, other)) / (2 * step)
        across = (plain_cost(best, other + step) - plain_cost(best, other - step)) / (2 * step)
        assert slopes.best == pytest.approx(along, rel=1e-4)
        assert slopes.other == pytest.approx(across, rel=1e-4)

    @many
    @given(rates, st.floats(-9, -4))
    def test_fails_on_the_diagonal(self, x: float, exponent: float) -> None:
        """Towards μ_i = μ_1 f grows like 2 μ (1 - μ) / gap, and is 0 there: neither monotone nor continuous."""
        gap = 10**exponent
        near = theory.arm_cost(x, x - gap)
        assert near == pytest.approx(2 * x * (1 - x) / gap, rel=100 * gap / min(x, 1 - x))
        assert near > theory.arm_cost(x, x / 2) > theory.arm_cost(x, x) == 0


class TestTheoremOne:
    @many
    @given(vectors(2, 2), matrices(2, 2))
    def test_holds_unless_rows_are_equal(self, mu: FloatArray, pi: FloatArray) -> None:
        assert theory.effect(mu, pi) == theory.two_arm_effect(mu, pi)
        if not np.array_equal(pi[0], pi[1]):
            assert theory.bound_change(100, mu, pi) >= -1e-9

    @many
    @given(uneven(2, 2), matrices(1, 2))
    def test_fails_where_rows_are_equal(self, mu: FloatArray, row: FloatArray) -> None:
        """Both proposals have one value, nothing is inferior, and the bound falls to 0."""
        pi = np.tile(row, (2, 1))
        assert theory.two_arm_effect(mu, pi) == theory.effect(mu, pi) == "helpful"
        assert theory.thompson_constant(pi @ mu) == 0

    @many
    @given(vectors(2, 2))
    def test_is_no_strict_rise_where_actions_are_swapped(self, mu: FloatArray) -> None:
        for pi in (np.eye(2), np.eye(2)[::-1]):
            assert theory.two_arm_effect(mu, pi) == theory.effect(mu, pi) == "neutral"

    def test_is_refuted_by_the_helpful_example_of_theorem_two(self) -> None:
        assert theory.effect([0.75, 0.25], theory.all_to_best([0.75, 0.25])) == "helpful"


class TestTheoremTwo:
    @many
    @given(uneven())
    def test_both_exist_for_every_uneven_mu(self, mu: FloatArray) -> None:
        both = theory.both_effects(mu)
        assert theory.effect(mu, both.helpful) == "helpful"
        assert theory.effect(mu, both.harmful) == "harmful"
        for pi in both:
            np.testing.assert_allclose(pi.sum(axis=1), 1)
            assert (pi >= 0).all()

    @many
    @given(rates, st.integers(2, 6).flatmap(lambda arms: matrices(arms, arms)))
    def test_neither_exists_for_a_constant_mu(self, rate: float, pi: FloatArray) -> None:
        assert theory.effect(np.full(len(pi), rate), pi) == "neutral"

    @many
    @given(uneven(), st.floats(0.001, 0.999), st.data())
    def test_ignored_proposals_raise_every_term(self, mu: FloatArray, share: float, data: st.DataObject) -> None:
        """For any ε and any w: the gap shrinks by 1 - ε and kl at least as much, by joint convexity."""
        instead = data.draw(matrices(1, mu.size))[0]
        values = theory.ignored(mu.size, share, instead) @ mu
        before = theory.arm_cost(mu.max(), mu)
        after = theory.arm_cost(values[mu.argmax()], np.where(mu == mu.max(), values[mu.argmax()], values))
        assert (after[mu < mu.max()] > before[mu < mu.max()]).all()
        assert (after[mu == mu.max()] == 0).all()

    @many
    @given(uneven(3))
    def test_the_harmful_example_of_the_proof_is_not(self, mu: FloatArray) -> None:
        """μ' = (max, min, .., min) lowers every f but those of arms that tie for the best, which had none."""
        found = theory.effect(mu, theory.best_against_worst(mu))
        if np.count_nonzero(mu == mu.max()) == 1:
            between = ((mu > mu.min()) & (mu < mu.max())).any()
            assert found == ("helpful" if between else "neutral")

    def test_its_counter_example(self) -> None:
        """(0.8, 0.5, 0.2) becomes (0.8, 0.2, 0.2): f(0.8, 0.5) = 1.344 falls to f(0.8, 0.2) = 0.721."""
        mu = [0.8, 0.5, 0.2]
        pi = theory.best_against_worst(mu)
        np.testing.assert_array_equal(pi @ mu, [0.8, 0.2, 0.2])
        change = theory.bound_change(math.exp(1), mu, pi)
        assert change == pytest.approx(plain_cost(0.8, 0.2) - plain_cost(0.8, 0.5))
        assert change < -0.6

    def test_with_two_best_arms_it_is_harmful_after_all(self) -> None:
        assert theory.effect([0.8, 0.8, 0.2], theory.best_against_worst([0.8, 0.8, 0.2])) == "harmful"

    @many
    @given(uneven())
    def test_helpful_without_ties(self, mu: FloatArray) -> None:
        """An invertible Π helps wherever an arm lies strictly between best and worst: it does not take f(x, x) = 0."""
        pi = theory.halfway_to_worst(mu)
        assert np.linalg.matrix_rank(pi) == mu.size
        between = ((mu > mu.min()) & (mu < mu.max())).any()
        assert theory.effect(mu, pi) == ("helpful" if between else "neutral")

    @many
    @given(rates, rates, st.integers(2, 6), st.data())
    def test_with_one_inferior_arm_only_ties_help(self, x: float, y: float, arms: int, data: st.DataObject) -> None:
        """Theorem 1's argument for any K: μ = (max, .., max, min) has the least bound but 0."""
        assume(x != y)
        mu = np.full(arms, max(x, y))
        mu[-1] = min(x, y)
        pi = data.draw(matrices(arms, arms))
        if np.ptp(pi @ mu) > 1e-9:
            assert theory.effect(mu, pi) != "helpful"


class TestConjecture:
    def test_two_arms_are_always_harmed(self) -> None:
        """Theorem 1; ties have probability zero."""
        found = theory.probability_harmful(2, 5000, stream(3))
        assert found.estimate == 1
        assert found.low == pytest.approx(0.025 ** (1 / 5000))

    @pytest.mark.parametrize("arms", [3, 7])
    def test_counts_as_a_plain_loop_does(self, arms: int) -> None:
        draws = 300
        found = theory.probability_harmful(arms, draws, stream(4))
        rng = stream(4)
        pi = rng.standard_exponential((draws, arms, arms))
        pi /= pi.sum(axis=-1, keepdims=True)
        harmful = sum(
            plain_bound(p @ mu) > plain_bound(mu) for p, mu in zip(pi, rng.random((draws, arms)), strict=True)
        )
        assert found.estimate == harmful / draws
        assert found.error == pytest.approx(math.sqrt(found.estimate * (1 - found.estimate) / draws))
        assert found.low < found.estimate < found.high

    def test_large_draws_are_cut_into_chunks(self) -> None:
        assert theory.probability_harmful(20, 1100, stream(5)).draws == 1100

    def test_interval_by_hand(self) -> None:
        """Of one draw, one hit: p >= 0.025. Of two, one hit: the roots of p² = 0.025 and (1 - p)² = 0.025."""
        assert proportion(1, 1).low == pytest.approx(0.025)
        assert proportion(1, 1).high == 1
        one = proportion(1, 2)
        assert 1 - (1 - one.low) ** 2 == pytest.approx(0.025)
        assert 1 - one.high**2 == pytest.approx(0.025)


def plain_bound(values: FloatArray) -> float:
    return sum(plain_cost(values.max(), value) for value in values)
