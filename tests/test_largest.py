"""The probability to be the largest against brute-force quadrature of scipy, closed forms and draws."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import fixed_quad

from naive import FloatArray
from takeup import TS, Count, Event, Evidence, Normal, Number, Space, Time, stream
from takeup.conjugates.quadrature import MOST_EXACT, Variables, betas, gammas, students

TIGHT = 1e-10


def largest_student(centre: FloatArray, scale: FloatArray, freedom: FloatArray) -> FloatArray | None:
    return _largest(students(centre, scale, freedom))


def largest_gamma(shape: FloatArray, rate: FloatArray, *, rising: bool) -> FloatArray | None:
    return _largest(gammas(shape, rate, np.exp, np.log, rising=rising))


def _largest(variables: Variables | None) -> FloatArray | None:
    return None if variables is None else variables.largest()


def brute(variables: Sequence[Any]) -> list[float]:
    """P(each is the largest), by rules of 100 nodes between many quantiles of all of them."""
    levels = [1e-16, 1e-13, 1e-10, 1e-7, 1e-5, 1e-3, 0.02, 0.15, 0.5]
    edges = np.unique([edge for each in variables for q in levels for edge in (each.ppf(q), each.isf(q))])
    edges = edges[np.isfinite(edges)]
    found = []
    for one in variables:
        others = [each for each in variables if each is not one]

        def density(t: Any, one: Any = one, others: Sequence[Any] = others) -> Any:
            return one.pdf(t) * np.prod([each.cdf(t) for each in others], axis=0)

        pieces = [fixed_quad(density, low, high, n=100)[0] for low, high in pairwise(edges)]
        found.append(sum(pieces) + float(one.sf(edges[-1])))
    return found


STUDENTS = {
    "alike": ([0.0, 0.5], [1.0, 1.0], [3.0, 3.0]),
    "few and many degrees of freedom": ([0.0, 0.2, -1.0], [1.0, 0.5, 2.0], [1.0, 200.0, 3.5]),
    "scales a million apart": ([0.0, 0.3], [1.0, 1e-6], [3.0, 3.0]),
    "scales a million apart, three": ([0.0, 1e-6, 0.0], [1.0, 1e-6, 1e-3], [3.0, 30.0, 4.0]),
    "far from zero": ([1e9, 1e9 + 3.0], [2.0, 1.0], [10.0, 7.0]),
    "no doubt": ([0.0, 50.0], [1.0, 1.0], [3.0, 9.0]),
    "very many degrees": ([0.0, 0.01], [0.01, 0.02], [1e7, 1e5]),
}


@pytest.mark.parametrize("name", STUDENTS)
def test_students_by_brute_force(name: str) -> None:
    centre, scale, freedom = (np.array(each) for each in STUDENTS[name])
    found = largest_student(centre, scale, freedom)
    assert found is not None
    shift = centre.mean()
    right = brute([stats.t(nu, m - shift, s) for m, s, nu in zip(centre, scale, freedom, strict=True)])
    np.testing.assert_allclose(found, right, atol=TIGHT)


GAMMAS = {
    "alike": ([2.0, 3.0], [1.0, 1.0]),
    "less than one event": ([0.1, 0.1, 0.4], [1.0, 30.0, 0.01]),
    "rates a million apart": ([1.5, 1.5], [1.0, 1e6]),
    "more and less": ([40.0, 1.0, 3.0], [30.0, 1.0, 2.0]),
}


@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize("name", GAMMAS)
def test_gammas_by_brute_force(name: str, rising: bool) -> None:
    shape, rate = (np.array(each) for each in GAMMAS[name])
    found = largest_gamma(shape, rate, rising=rising)
    assert found is not None
    variables = [stats.loggamma(s, loc=-np.log(r)) for s, r in zip(shape, rate, strict=True)]
    right = brute(variables if rising else [Falling(each) for each in variables])
    np.testing.assert_allclose(found, right, atol=TIGHT)


class Falling:
    """The negative of a variable."""

    def __init__(self, of: Any) -> None:
        self.of = of

    def pdf(self, t: float) -> Any:
        return self.of.pdf(-t)

    def cdf(self, t: float) -> Any:
        return self.of.sf(-t)

    def sf(self, t: float) -> Any:
        return self.of.cdf(-t)

    def ppf(self, q: float) -> Any:
        return -self.of.isf(q)

    def isf(self, q: float) -> Any:
        return -self.of.ppf(q)


def test_two_gammas_in_closed_form() -> None:
    """Y / (X + Y) of Gamma(a, 1) and Gamma(b, 1) is Beta(b, a): P(X / r > Y / s) = P(Beta < s / (r + s))."""
    for a, b, r, s in (
        (0.1, 0.1, 1, 1e6),
        (5, 7, 2, 3),
        (1e5, 1.1e5, 1, 1.1),
        (1.0, 1e4, 3, 2e4),
        (1e6, 1, 1e6, 1),
        (1e9, 1e9 + 4e4, 1e9, 1e9),
    ):
        found = largest_gamma(np.array([a, b]), np.array([r, s], dtype=float), rising=True)
        assert found is not None
        assert found[0] == pytest.approx(stats.beta(b, a).cdf(s / (r + s)), abs=1e-11 if a <= 1e6 else 1e-9)


def test_one_degree_of_freedom_in_closed_form() -> None:
    """The difference of two Cauchy variables is Cauchy: P = 1/2 + arctan(d / (s + t)) / π."""
    for d, s, t in ((0.5, 1.0, 1.0), (3.0, 1e-3, 1.0), (1e4, 1e-2, 1.0)):
        found = largest_student(np.array([d, 0.0]), np.array([s, t]), np.ones(2))
        assert found is not None
        assert found[0] == pytest.approx(0.5 + np.arctan(d / (s + t)) / np.pi, abs=1e-11)


@pytest.mark.parametrize("kind", ["student", "gamma"])
def test_sixty_four_arms_by_draws_and_by_symmetry(kind: str) -> None:
    """All alike have 1/64 each. Else 40,000 draws, each share within 5 standard errors: an alarm in 27,000 seeds."""
    rng, many = stream(5), 40_000
    if kind == "student":
        alike = largest_student(np.zeros(64), np.ones(64), np.full(64, 3.0))
        centre, scale, freedom = rng.normal(size=64), 10.0 ** rng.uniform(-6, 0, 64), rng.uniform(3, 90, 64)
        found = largest_student(centre, scale, freedom)
        draws = centre + scale * stats.t.rvs(freedom, size=(many, 64), random_state=rng)
    else:
        alike = largest_gamma(np.full(64, 0.3), np.ones(64), rising=True)
        shape = 10.0 ** rng.uniform(-1, 2, 64)
        found = largest_gamma(shape, shape, rising=True)
        draws = rng.standard_gamma(shape, (many, 64)) / shape
    assert alike is not None
    np.testing.assert_allclose(alike, 1 / 64, rtol=1e-10)
    assert found is not None
    assert found.sum() == pytest.approx(1, abs=1e-12)
    share = np.bincount(draws.argmax(axis=1), minlength=64) / many
    assert (abs(share - found) <= 5 * np.sqrt(np.maximum(found, 1 / many) / many)).all()
    ones = np.ones(MOST_EXACT + 1)
    assert (largest_student(ones, ones, ones) if kind == "student" else largest_gamma(ones, ones, rising=True)) is None


CASES = [
    pytest.param(Number(60, 220, 1, better="lower"), id="number"),
    pytest.param(Number(0, 500, 0.5), id="number, higher"),
    pytest.param(Count(30), id="count"),
    pytest.param(Count(20, exposure="days", longest=30, better="higher"), id="count by exposure"),
    pytest.param(Time(90), id="time"),
    pytest.param(Time(90, better="lower"), id="time, lower"),
]


@pytest.mark.parametrize("outcome", CASES)
def test_an_exact_allocation_is_what_draws_come_to(outcome: Any) -> None:
    """Better ends and directions: 20,000 draws of three proposals, within 5 standard errors; an alarm in 500,000."""
    space, rng, many = Space(3, outcomes=outcome), stream(2), 20_000
    z, y = rng.integers(3, size=30), rng.integers(outcome.size, size=30)
    evidence = Evidence.of(space, [Event(0, int(i), 0, int(j)) for i, j in zip(z, y, strict=True)])
    beliefs = TS().beliefs(evidence, 0, stream(0))
    allocation = beliefs.allocation(stream(1), 10)
    assert allocation.exact
    share = np.bincount(beliefs.values(stream(1), many).argmax(axis=-1), minlength=3) / many
    error = np.sqrt(np.maximum(share * (1 - share), 1 / many) / many)
    assert (abs(share - allocation.probability) <= 5 * error).all()


def test_without_a_quadrature_there_are_draws() -> None:
    space = Space(2, outcomes=Number(0, 9, utility=((0, 0), (5, 1), (9, 0))))
    evidence = Evidence.of(space, [Event(0, 0, 0, 3), Event(0, 1, 1, 9)])
    allocation = TS(likelihood=Normal(mean=5, sd=1)).allocation(evidence, 0, stream(1), draws=500)
    assert not allocation.exact
    assert allocation.draws == 500


def test_a_fixed_table_of_three_arms() -> None:
    """Events 25 of 100, 24 of 120 and 24 of 80, of which fewer are better, under uniform priors: as adaptr has them."""
    events, units = np.array([25, 24, 24]), np.array([100, 120, 80])
    arms = betas(np.stack([units - events + 1, events + 1], axis=1).astype(float))
    np.testing.assert_allclose(arms.largest(), [0.1774682, 0.7868545, 0.0356773], atol=5e-8)
    for arm, better, close, futile in ((1, 0.8128285, 0.4649643, 0.5020024), (2, 0.2260860, 0.4364964, 0.9348027)):
        assert arms.exceeds(arm, 0) == pytest.approx(better, abs=5e-8)
        assert arms.within([0, arm], 0.05) == pytest.approx(close, abs=5e-8)
        assert 1 - arms.exceeds(arm, 0, 0.05) == pytest.approx(futile, abs=5e-8)


LEVELS = np.concatenate(
    [[1e-12, 1e-9, 1e-6, 1e-4], np.linspace(0.002, 0.998, 80), [1 - 1e-4, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12]]
)


@pytest.mark.parametrize("margin", [0.0, 0.03, 0.4, -0.2])
def test_margins_by_brute_force(margin: float) -> None:
    """P(one - other > margin) and P(all within it) against sums over a fine grid of each kind of variable."""
    kinds: list[tuple[Variables | None, list[Any]]] = [
        (
            betas(np.array([[3.0, 9.0], [400.0, 900.0], [1.0, 0.5]])),
            [stats.beta(3, 9), stats.beta(400, 900), stats.beta(1, 0.5)],
        ),
        (
            students(np.array([0.0, 0.1, 0.5]), np.array([1.0, 0.02, 0.3]), np.array([3.0, 40.0, 8.0])),
            [stats.t(3, 0, 1), stats.t(40, 0.1, 0.02), stats.t(8, 0.5, 0.3)],
        ),
        (
            gammas(
                np.array([2.0, 300.0]),
                np.array([4.0, 500.0]),
                np.exp,
                lambda v: np.log(np.maximum(v, 1e-300)),
                rising=True,
            ),
            [stats.gamma(2, scale=1 / 4), stats.gamma(300, scale=1 / 500)],
        ),
    ]
    for variables, known in kinds:
        assert variables is not None
        edges = np.unique([edge + m for each in known for m in (0, margin, -margin) for edge in each.ppf(LEVELS)])
        nodes, weights = np.polynomial.legendre.leggauss(40)
        x = (edges[:-1] + np.diff(edges) / 2 * (1 + nodes[:, np.newaxis])).ravel()
        w = (np.diff(edges) / 2 * weights[:, np.newaxis]).ravel()
        right = float(w @ (known[0].pdf(x) * known[1].cdf(x - margin)))
        assert variables.exceeds(0, 1, margin) == pytest.approx(right, abs=1e-8)
        if margin > 0:
            which = range(len(known))
            total = sum(
                known[k].pdf(x) * np.prod([known[i].cdf(x + margin) - known[i].cdf(x) for i in which if i != k], axis=0)
                for k in which
            )
            assert variables.within(list(which), margin) == pytest.approx(float(w @ total), abs=1e-8)


@pytest.mark.parametrize("ask", ["largest", "exceeds", "within"])
def test_those_that_are_not_asked_about_cost_nothing(ask: str) -> None:
    """Of twenty betas two are as alone, to 1e-11, from as many values of distribution functions."""
    rng, evaluated = stream(8, "asked"), list[int]()
    shapes = rng.uniform(1, 200, (20, 2))

    def answer(given: FloatArray, which: list[int]) -> Any:
        variables = betas(given)

        def below(*of: FloatArray) -> FloatArray:
            found = variables.below(*of)
            evaluated.append(found.size)
            return found

        counted = replace(variables, below=below)
        if ask == "exceeds":
            return counted.exceeds(which[0], which[1], 0.05)
        return counted.largest(which) if ask == "largest" else counted.within(which, 0.05)

    alone = answer(shapes[[4, 17]], [0, 1])
    most = sum(evaluated)
    np.testing.assert_allclose(answer(shapes, [4, 17]), alone, atol=1e-11)
    assert sum(evaluated) == 2 * most


def test_what_an_outcome_is_worth_decides_what_a_margin_means() -> None:
    """Days that are the fewer the better: P(B spares more than 10 days) against draws, within 4 errors."""
    time = Time(365, unit="days", better="lower")
    space = Space(2, outcomes=time)
    evidence = Evidence.of(
        space, [Event(0, z, z, time.code(y)) for z, y in ((0, 90), (0, 110), (0, 60), (1, 60), (1, 75))]
    )
    block = TS().posterior(evidence, stream(1)).block
    variables = block.variables()
    assert variables is not None
    rewards = block.sample_rewards(stream(2), (200_000,))[:, 0, :]
    drawn = (rewards[:, 1] - rewards[:, 0] > 10).mean()
    assert variables.exceeds(1, 0, 10.0) == pytest.approx(drawn, abs=4 * 0.5 / np.sqrt(200_000))
