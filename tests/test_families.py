"""Families of distributions against scipy.stats and against sums over every outcome; the worlds made of them."""

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from takeup import (
    TS,
    Count,
    Environment,
    Exponentials,
    InputError,
    LogNormals,
    MismatchError,
    Normals,
    Number,
    Poissons,
    Samples,
    Space,
    Time,
    TSObs,
    Uniform,
    UnsuitableError,
    World,
    simulate,
    stream,
)
from takeup.environment import _cumulative, _look_up, invert
from takeup.outcomes import Levels
from takeup.policies.description import describe, environment_of

PRESSURE = Number(60, 220, 1, "mmHg", better="lower")
CURVED = Number(60, 220, 1, utility=((80, 0.0), (120, 1.0), (130, 0.8), (180, -2.0)))
MONEY = Number(0.5, 500, 0.5, scale="log")
MONEY_CURVED = Number(0.5, 500, 0.5, scale="log", utility=((0.5, 0.0), (20, 5.0), (400, 9.0)))
DAYS = Time(90, step=0.1)
VISITS = Count(60, exposure="days", longest=30, step=0.5, better="higher")
TIGHT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-13}


def test_tables_are_differences_of_the_distribution_function() -> None:
    """Each point has what is nearer to it than to another; the ends have all that is beyond."""
    edges = np.arange(60.5, 220)
    table = Normals([118.0, 150.5], [14.0, 0.3], PRESSURE).table()
    for a, (mean, sd) in enumerate(((118.0, 14.0), (150.5, 0.3))):
        right = np.diff(np.concatenate([[0], stats.norm.cdf(edges, mean, sd), [1]]))
        np.testing.assert_allclose(table[0, a], right, **TIGHT)
    edges = np.arange(0.75, 500, 0.5)
    table = LogNormals(30.0, 2.5, MONEY).table()
    right = np.diff(np.concatenate([[0], stats.lognorm.cdf(edges, np.log(2.5), scale=30), [1]]))
    np.testing.assert_allclose(table[0, 0], right, **TIGHT)


def test_a_table_of_counts_has_every_exposure_as_often() -> None:
    table = Poissons([0.2, 3.0], VISITS).table().reshape(2, 61, 60)
    for a, rate in enumerate((0.2, 3.0)):
        for k in (0, 7, 59):
            right = stats.poisson(rate * 0.5 * (k + 1))
            np.testing.assert_allclose(table[a, :-1, k] * 60, right.pmf(np.arange(60)), **TIGHT)
            np.testing.assert_allclose(table[a, -1, k] * 60, right.sf(59), rtol=1e-9, atol=1e-13)
    code = VISITS.code({"events": 4, "exposure": 10})
    assert Poissons(0.3, VISITS).table()[0, 0, code] == pytest.approx(stats.poisson.pmf(4, 3) / 60)
    np.testing.assert_allclose(
        Poissons(2.5, Count(40)).table()[0, 0, :40], stats.poisson.pmf(np.arange(40), 2.5), **TIGHT
    )


def test_a_table_of_times_has_the_step_around_each_and_nobody_censored_before_the_end() -> None:
    table = Exponentials(40.0, DAYS).table()[0, 0]
    times = stats.expon(scale=40)
    for k in (1, 200, 899):
        right = times.cdf(0.1 * k + 0.05) - times.cdf(0.1 * k - 0.05)
        assert table[2 * k] == pytest.approx(right, rel=1e-9)
    assert table[0] == pytest.approx(times.cdf(0.05))
    assert table[-2] == pytest.approx(times.cdf(90) - times.cdf(89.95))
    assert table[-1] == pytest.approx(times.sf(90))
    assert table[1:-1:2].max() == 0


@pytest.mark.parametrize("mean", [-400.0, 60.0, 118.3, 130.0, 500.0])
@pytest.mark.parametrize("sd", [0.01, 15.0, 300.0])
def test_what_a_normal_number_is_worth_by_quadrature(mean: float, sd: float) -> None:
    """The integral of the worth over the normal density; and E[min(y, t)] likewise, by Gauss-Legendre in pieces."""
    knots = np.array([80, 120, 130, 180.0])
    nodes, weights = np.polynomial.legendre.leggauss(60)
    edges = np.unique([*knots, *np.linspace(mean - 40 * sd, mean + 40 * sd, 161)])
    half = np.diff(edges)[:, np.newaxis] / 2
    y = (edges[:-1, np.newaxis] + half + half * nodes).ravel()
    w = (half * weights).ravel() * stats.norm.pdf(y, mean, sd)
    family = Normals(mean, sd, CURVED)
    np.testing.assert_allclose(family.mean_worth().item(), w @ CURVED.worth(y), rtol=1e-10, atol=1e-10)
    for t in knots:
        np.testing.assert_allclose(family.limited(t).item(), w @ np.minimum(y, t), rtol=1e-10, atol=1e-10)
    assert Normals(mean, sd, PRESSURE).mean_worth().item() == -mean


@pytest.mark.parametrize("median", [0.7, 30.0, 4000.0])
@pytest.mark.parametrize("spread", [1.01, 2.5, 50.0])
def test_what_a_lognormal_number_is_worth_by_quadrature(median: float, spread: float) -> None:
    """Over the logarithm, which is normal; without a utility it is E[min(y, 500)], as more cannot be reported."""
    s = np.log(spread)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    knots = np.log([0.5, 20, 400, 500])
    edges = np.unique([*knots, *np.linspace(np.log(median) - 14 * s, np.log(median) + 14 * s, 101)])
    half = np.diff(edges)[:, np.newaxis] / 2
    u = (edges[:-1, np.newaxis] + half + half * nodes).ravel()
    w = (half * weights).ravel() * stats.norm.pdf(u, np.log(median), s)
    y = np.exp(u)
    assert LogNormals(median, spread, MONEY_CURVED).mean_worth().item() == pytest.approx(
        w @ MONEY_CURVED.worth(y), rel=1e-9
    )
    assert LogNormals(median, spread, MONEY).mean_worth().item() == pytest.approx(w @ np.minimum(y, 500), rel=1e-9)


def test_what_is_worth_on_average_is_the_sum_over_the_grid_but_for_rounding() -> None:
    """Where next to nothing is beyond the ends: rounding to the grid moves a mean by less than the step's square."""
    cases: list[tuple[Any, float]] = [
        (Normals([118.2, 131.7], [12.0, 9.0], PRESSURE), 1e-6),
        (Normals([118.2, 131.7], [12.0, 9.0], CURVED), 1e-3),
        (LogNormals([30.0, 8.0], [2.0, 1.5], MONEY), 1e-2),
        (LogNormals([30.0, 8.0], [2.0, 1.5], MONEY_CURVED), 1e-2),
        (Poissons([0.2, 0.5], VISITS), 1e-9),
        (Poissons([0.2, 9.5], Count(60)), 1e-9),
        (Exponentials([20.0, 300.0], DAYS), 1e-2),
        (Exponentials([20.0, 300.0], Time(90, step=0.1, better="lower")), 1e-2),
    ]
    for family, close in cases:
        table = family.table()
        np.testing.assert_allclose(table.sum(axis=-1), 1, rtol=1e-13)
        np.testing.assert_allclose(table @ family.outcome.worths, family.mean_worth(), atol=close)
        world = World(np.eye(2), family, family.outcome)
        np.testing.assert_allclose(Environment.from_world(world).value(), world.value(), atol=close)


@settings(max_examples=40)
@given(st.floats(-4, 4), st.floats(-6, 4), st.sampled_from(["normal", "lognormal", "poisson", "exponential"]))
def test_every_table_is_a_distribution(log_mean: float, log_spread: float, kind: str) -> None:
    """However extreme: no probability is below zero, and an environment can be made of it."""
    mean, spread = 10.0**log_mean, 10.0**log_spread
    families: dict[str, Callable[[], Any]] = {
        "normal": lambda: Normals([mean, -mean], spread, CURVED),
        "lognormal": lambda: LogNormals([mean, 1.0], 1 + spread, MONEY),
        "poisson": lambda: Poissons([spread, mean], VISITS),
        "exponential": lambda: Exponentials([mean, spread], DAYS),
    }
    family = families[kind]()
    table = family.table()
    assert table.min() >= 0
    np.testing.assert_allclose(table.sum(axis=-1), 1, rtol=1e-12)
    assert np.isfinite(family.mean_worth()).all()
    Environment.from_world(World(np.eye(2), family, family.outcome))


def test_samples_are_the_shares_of_real_people() -> None:
    people = Samples([[118, 118.3, 140], [99]], PRESSURE)
    table = people.table()
    assert table[0, 0, [58, 80]].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert people.mean_worth().tolist() == [pytest.approx([-(118 + 118 + 140) / 3, -99.0])]
    world = World(np.eye(2), Samples([["30+", 12], [{"time": 3}]]), Time(90))
    assert world.value().tolist() == [[21.0, 3.0]]
    levels = World(np.eye(2), Samples([["ill", "well"], ["well"]]), Levels(("ill", "well")))
    assert Environment.from_world(levels, space=Space(2, outcomes=["ill", "well"])).value().tolist() == [[0.5, 1.0]]
    with pytest.raises(InputError, match="none of action 1, expected at least one outcome of each action"):
        Samples([[1], []])
    with pytest.raises(InputError, match="utility is missing; expected the outcome that these are of"):
        World(np.eye(2), Samples([[1], [2]]))


REFUSED: list[tuple[Any, str]] = [
    (lambda: Normals(1.0, 0.0), "sd: got 0.0"),
    (lambda: Normals([1.0, np.nan], 1.0), "mean: got nan"),
    (lambda: Normals([1.0, 2.0], [1.0, 2.0, 3.0]), r"mean, sd: got shapes \(2,\) and \(3,\)"),
    (lambda: LogNormals(0.0, 2.0), "median: got 0.0"),
    (lambda: LogNormals(1.0, 1.0), "spread: got 1.0, expected numbers above 1"),
    (lambda: Poissons(0.0), "rate: got 0.0"),
    (lambda: Exponentials(-1.0), "mean: got -1.0"),
    (lambda: Normals(1.0, 1.0).mean_worth(), "outcome is missing; .* give them to a World"),
    (
        lambda: World(np.eye(2), Normals([1.0, 2.0], 1.0)),
        r"utility is missing; expected the number .* Number\(60, 220\)",
    ),
    (lambda: World(np.eye(2), Normals([1.0, 2.0], 1.0), Count(9)), "utility: got count, expected the number"),
    (lambda: World(np.eye(2), Normals(1.0, 1.0), PRESSURE), r"outcome: got shape \(1, 1\), expected shape \(1, 2\)"),
    (lambda: World(np.eye(2), np.eye(2), PRESSURE), "utility: got number, expected the reward of each level"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_is_no_distribution_is_refused(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


def test_a_world_of_numbers_has_no_levels_and_fits_its_own_space_alone() -> None:
    world = World(np.eye(2), Normals([120.0, 118.0], 12.0), PRESSURE)
    with pytest.raises(UnsuitableError, match="have no levels"):
        world.outcome  # noqa: B018
    with pytest.raises(MismatchError, match="is not the space's"):
        Environment.from_world(world, space=Space(2, outcomes=Number(60, 221)))
    million = Number(0, 1_000_000)
    large = World(np.full((9, 4), 0.25), Normals(np.arange(4.0), 1.0), million)
    with pytest.raises(InputError, match=r"step: got 36,000,036 probabilities, expected at most 20,000,000; simulate"):
        Environment.from_world(large)


KINDS = {
    "number": World([[0.9, 0.1], [0.2, 0.8]], Normals([130.0, 118.0], [12.0, 15.0]), PRESSURE),
    "money": World([[0.9, 0.1], [0.2, 0.8]], LogNormals([20.0, 40.0], 2.0), MONEY),
    "count": World([[0.9, 0.1], [0.2, 0.8]], Poissons([0.5, 0.3]), Count(20, exposure="days", longest=10)),
    "time": World([[0.9, 0.1], [0.2, 0.8]], Exponentials([40.0, 90.0]), Time(90)),
    "levels": World.bernoulli([[0.9, 0.1], [0.2, 0.8]], [0.3, 0.6]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_simulations_of_every_kind_learn_which_is_better(kind: str) -> None:
    """The reference engine: 150 decisions in 40 trials cost Thompson sampling less than a fixed trial, by 4 errors.

    The regret of the fixed one is half the gap a decision, which is arithmetic.
    """
    environment = Environment.from_world(KINDS[kind])
    trace = simulate(environment, [Uniform(), TS(), TSObs()], 150, 40, engine="reference", seed=3)
    fixed, *others = (trace.regret[0, p, :, -1] for p in range(3))
    gap = float(np.ptp(environment.value()))
    assert fixed.mean() == pytest.approx(75 * gap, rel=0.1)
    for one in others:
        error = np.sqrt((one.var() + fixed.var()) / 40)
        assert one.mean() < fixed.mean() - 4 * error


@given(st.lists(st.integers(0, 3), min_size=65, max_size=90).filter(any), st.integers(0, 2**32))
def test_looking_up_by_halving_is_counting(weights: list[int], seed: int) -> None:
    """A response of probability zero never comes, whatever the number."""
    table = np.array(weights, dtype=np.float64) / sum(weights)
    uniform = np.append(stream(seed).random(50), [0.0, 0.5, np.nextafter(1, 0)])
    zero = np.zeros(uniform.size, dtype=np.int64)
    found = _look_up(np.cumsum(table)[np.newaxis, np.newaxis], zero, zero, uniform)
    np.testing.assert_array_equal(found, invert(table, uniform))
    assert (table[found] > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_environments_of_every_kind_are_written_and_read_again(kind: str) -> None:
    """As a stored result has them: what is drawn is the same."""
    environment = Environment.from_world(KINDS[kind])
    again = environment_of(json.loads(json.dumps(describe(environment))))
    assert again.space == environment.space
    assert again.fingerprint() == environment.fingerprint()
    carried = pickle.loads(pickle.dumps(environment))
    assert carried.fingerprint() == environment.fingerprint()


def test_an_environment_takes_its_tables_with_it() -> None:
    """What is kept to look responses up is kept as long as there is the environment."""
    from takeup.environment import _CUMULATIVE

    environment = Environment.from_world(KINDS["number"])
    environment.respond(0, 0, np.array([0.3]))
    kept = len(_CUMULATIVE)
    assert _cumulative(environment).shape == (1, 2, 2 * PRESSURE.size)
    del environment
    assert len(_CUMULATIVE) == kept - 1


def test_an_environment_of_real_people_whatever_their_outcome() -> None:
    """Of three told the first, two did it and had 100 and 110, one did the other and had 130: 113.3 on average."""
    counts = np.zeros((1, 2, 2, PRESSURE.size), dtype=np.int64)
    for z, a, y in ((0, 0, 100), (0, 0, 110), (0, 1, 130), (1, 1, 90)):
        counts[0, z, a, PRESSURE.code(y)] += 1
    space = Space(2, outcomes=PRESSURE)
    environment = Environment.from_counts(space, counts)
    assert np.abs(environment.value()[0]) == pytest.approx([340 / 3, 90])
    assert environment.response.sum(axis=3)[0] == pytest.approx(np.array([[2 / 3, 1 / 3], [0, 1]]))
    with pytest.raises(InputError, match="no decision with context 0 and proposal 1"):
        Environment.from_counts(space, counts * np.array([1, 0])[:, np.newaxis, np.newaxis])
    with pytest.raises(InputError, match="counts: got shape"):
        Environment.from_counts(space, counts[0])
