"""The complier effect: regions against brute force, section 6's setting, published tables."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import adaptive_trials
from takeup import UNSEEN, InputError, Log, Space, UnsuitableError, analysis, stream
from takeup.analysis import compliers, naive, regions, regression
from takeup.checks import FloatArray

BoolArray = NDArray[np.bool_]
TRUTH = 0.3


def accepted(outcome: FloatArray, taken: FloatArray, beta: FloatArray) -> BoolArray:
    """The test that the region inverts, as a textbook has it: is the mean of y - β d zero?"""
    rest = outcome[:, np.newaxis] - np.outer(taken, beta)
    limit = stats.norm.ppf(0.975) * rest.std(axis=0, ddof=1) / math.sqrt(outcome.size)
    return np.asarray(np.abs(rest.mean(axis=0)) <= limit)


def test_regions_hold_exactly_the_effects_that_the_test_accepts() -> None:
    """Of 400 trials of 60, with instruments from none to strong: every shape of region is among them."""
    rng = stream(1, "regions")
    taken = np.linspace(0.0, 0.6, 400)[:, np.newaxis] + rng.normal(size=(400, 60))
    outcome = 0.2 * taken + rng.normal(size=(400, 60)) * rng.choice([0.1, 1.0], size=(400, 1))
    parts = compliers.anderson_rubin(outcome, taken)
    grid = np.concatenate([-np.geomspace(1e3, 1e-3, 60), [0.0], np.geomspace(1e-3, 1e3, 60)])
    for s, d, region in zip(outcome, taken, parts, strict=True):
        np.testing.assert_array_equal(regions.holds(region, grid), accepted(s, d, grid))
        assert regions.holds(region, compliers.ratio(s, d))
    shapes = [(len(rays), math.isfinite(regions.hull(rays)[0])) for rays in map(regions.rays, parts)]
    assert {(1, True), (2, False), (1, False)} == set(shapes)
    assert min(shapes.count(shape) for shape in set(shapes)) > 20


@pytest.mark.parametrize(
    ("quadratic", "expected"),
    [
        ((1.0, 1.0, 0.0), ((0.0, 2.0),)),
        ((1.0, 0.0, 1.0), ()),
        ((-1.0, 0.0, 1.0), ((-math.inf, -1.0), (1.0, math.inf))),
        ((-1.0, 0.0, -1.0), ((-math.inf, math.inf),)),
        ((0.0, 1.0, 3.0), ((1.5, math.inf),)),
        ((0.0, -1.0, 3.0), ((-math.inf, -1.5),)),
        ((0.0, 0.0, -1.0), ((-math.inf, math.inf),)),
        ((0.0, 0.0, 1.0), ()),
        ((1.0, 0.0, 0.0), ((0.0, 0.0),)),
        ((4.0, 2e9, 0.0), ((0.0, 1e9),)),
    ],
)
def test_a_quadratic_is_not_above_zero_in_an_interval_two_rays_all_or_nothing(
    quadratic: tuple[float, float, float], expected: tuple[tuple[float, float], ...]
) -> None:
    assert regions.rays(regions.not_above_zero(*quadratic)) == expected
    said = regions.said(expected)
    assert (said == "") == (len(expected) == 1 and all(map(math.isfinite, expected[0])))


def settled(people: adaptive_trials.People, truth: float, seed: int, many: int = 1_000) -> tuple[float, float, Log]:
    """How often the region and the interval of two-stage least squares hold the truth, and the trials."""
    log = adaptive_trials.trials(people, many, seed, floor=0.1)
    parts = compliers.anderson_rubin(*compliers.complier_scores(log, 1, 0, 1))
    found = regression.instrumented(naive.regressed(log, [1, 0], 1)[0])
    wald = np.abs(found.value - truth) <= stats.norm.ppf(0.975) * found.robust
    return float(regions.holds(parts, truth).mean()), float(wald.mean()), log


def near(share: float, expected: float, many: int = 1_000) -> bool:
    """Within four errors of `many` trials and as many that were published: 1 in 16,000 is not."""
    return abs(share - expected) < 4 * math.sqrt(2 * expected * (1 - expected) / many)


def test_compliers_are_covered_after_thompson_sampling_and_choosers_mislead() -> None:
    """60 % compliers (.3 -> .6), never-takers at .1: .941 to .944 of regions hold .3, .950 by least squares.

    As treated says .468, per protocol .384.
    """
    covered, wald, log = settled(adaptive_trials.refusing(600, (0.3, 0.6), 0.1, 0.6), TRUTH, seed=1)
    assert near(covered, 0.9425)
    assert near(wald, 0.950)
    y, z, a = log.outcome.astype(np.float64), log.proposal, log.implemented
    for found, expected in (
        (naive.mean_difference(y, a == 1, a == 0)[0], 0.468),
        (naive.mean_difference(y, (a == 1) & (z == 1), (a == 0) & (z == 0))[0], 0.384),
    ):
        assert abs(found.mean() - expected) < 4 * found.std() * math.sqrt(2 / found.size) + 0.0005


def test_compliers_are_covered_with_drift_and_least_squares_does_not() -> None:
    """Rates go from .25 to .65 with no effect: .934 of regions hold zero, .288 by least squares."""
    covered, wald, _ = settled(adaptive_trials.refusing(600, (0.25, 0.25), 0.25, 0.6, drift=0.4), 0.0, seed=2)
    assert near(covered, 0.934)
    assert near(wald, 0.288)


def test_one_trial_says_what_many_side_by_side_do() -> None:
    """Missing reports are complete cases, counted; what a single trial is shown is what coverage was measured of."""
    many = adaptive_trials.trials(adaptive_trials.refusing(150, (0.3, 0.6), 0.1, 0.6), 3, 5, floor=0.1)
    a, y = many.implemented.copy(), many.outcome.copy()
    a[:, ::7], y[:, ::5] = UNSEEN, UNSEEN
    many = replace(many, implemented=a, outcome=y)
    parts = compliers.anderson_rubin(*compliers.complier_scores(many, 1, 0, 1), level=0.9)
    for i in range(3):
        columns = {name: getattr(many, name)[i] for name in ("proposal", "probability", "implemented", "outcome")}
        log = Log.of(many.space, **columns)
        found = analysis.complier_effect(log, "new", "usual", level=0.9)
        assert (found.low, found.high) == pytest.approx(tuple(parts[i, 0]), rel=1e-12)
        assert found.missing == 22 + 30 - 5
        assert found.n == 150 - found.missing
        assert any("never reported" in sentence for sentence in found.assumes)


def test_a_ratio_is_of_what_was_reported_alone() -> None:
    """With fixed allocation the value is the plain ratio of the complete cases, whatever the order."""
    rng = stream(4, "ratio")
    z, a, y = rng.integers(0, 3, 400), rng.integers(UNSEEN, 3, 400), rng.integers(UNSEEN, 2, 400)
    a = np.where(rng.random(400) < 0.6, z, a)
    space = Space(["none", "low", "high"], outcomes=2)
    log = Log.of(space, z, [0.2, 0.3, 0.5], implemented=a, outcome=y)
    seen = (a != UNSEEN) & (y != UNSEEN)

    def mean(values: FloatArray, group: int) -> float:
        return float(values[seen & (z == group)].mean())

    found = analysis.complier_effect(log, "high", "none")
    rise = mean(y.astype(float), 2) - mean(y.astype(float), 0)
    assert found.value == pytest.approx(rise / (mean(1.0 * (a == 2), 2) - mean(1.0 * (a == 2), 0)), rel=1e-12)
    backwards = Log.of(space, z[::-1], [0.2, 0.3, 0.5], implemented=a[::-1], outcome=y[::-1])
    again = analysis.complier_effect(backwards, "high", "none")
    assert (again.value, again.low, again.high) == pytest.approx((found.value, found.low, found.high), rel=1e-12)
    assert "mixes people" in found.assumes[0]


def test_what_is_no_interval_says_so() -> None:
    """Nobody does as told: any effect agrees. Nobody takes it, and yet outcomes differ: none does."""
    rng = stream(6, "weak")
    z = np.arange(200) % 2
    space = Space(["usual", "new"], outcomes=2)
    weak = Log.of(space, z, [0.5, 0.5], implemented=rng.integers(0, 2, 200), outcome=rng.integers(0, 2, 200))
    found = analysis.complier_effect(weak, "new", "usual")
    assert not found.shown
    assert "too little difference" in found.withheld
    assert found.region
    assert math.isinf(found.low)
    assert found.plain()["low"] is None
    excluded = Log.of(space, z, [0.5, 0.5], implemented=np.zeros(200, int), outcome=z)
    found = analysis.complier_effect(excluded, "new", "usual")
    assert "no effect at all" in found.withheld
    assert found.region == ()
    assert math.isnan(found.value)
    assert math.isnan(found.low)


def test_what_was_never_offered_is_left_out_and_said() -> None:
    """In the last 50 decisions the old one was no longer offered: they say nothing about the difference."""
    log = adaptive_trials.trials(adaptive_trials.refusing(200, (0.3, 0.6), 0.1, 0.6), 1, 8, floor=0.1)
    z, p = log.proposal[0].copy(), log.probability[0].copy()
    z[150:], p[150:] = 1, (0.0, 1.0)
    ended = Log.of(log.space, z, p, implemented=log.implemented[0], outcome=log.outcome[0])
    found = analysis.complier_effect(ended, "new", "usual")
    assert found.n == 150
    assert "50 others are left out" in found.assumes[-1]
    before = analysis.complier_effect(ended.only(slice(150)), "new", "usual")
    assert (found.low, found.high) == pytest.approx((before.low, before.high), rel=1e-12)


def test_what_is_asked_for_is_checked() -> None:
    log = adaptive_trials.trials(adaptive_trials.compliant(20, 0.3, 0.5), 2, 1)
    with pytest.raises(InputError, match="leading axes, expected a single trial"):
        analysis.complier_effect(log, "new", "usual")
    single = Log.of(Space(2, ["none", "half", "all"]), [0, 0, 0], [0.5, 0.5])
    with pytest.raises(InputError, match="another proposal than 1"):
        analysis.complier_effect(single, 1, 1)
    with pytest.raises(UnsuitableError, match="needs to know what complying means"):
        analysis.complier_effect(single, 1, 0)
    found = analysis.complier_effect(single, 1, 0, action="all")
    assert found.withheld == "only 0 decisions with 1 have a known action and outcome"
