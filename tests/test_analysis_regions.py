"""Confidence regions of ratios: what the test that they invert accepts, whatever their shape."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from takeup import stream
from takeup.analysis import compliers, regions
from takeup.checks import FloatArray

BoolArray = NDArray[np.bool_]


def unrejected(outcome: FloatArray, taken: FloatArray, beta: FloatArray) -> BoolArray:
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
        np.testing.assert_array_equal(regions.holds(region, grid), unrejected(s, d, grid))
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
