"""The probability to be the largest against brute-force quadrature of scipy, closed forms and draws."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import fixed_quad

from takeup import TS, Count, Event, Evidence, Normal, Number, Space, Time, stream
from takeup.conjugates.quadrature import MOST_EXACT, largest_gamma, largest_student

TIGHT = 1e-10


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
