"""Sizes and boundaries of classical designs against published and computed figures."""

from typing import Any, Literal

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from takeup.design import boundaries
from takeup.design.boundaries import obrien_fleming, pocock, spending
from takeup.design.bounded import bounded
from takeup.design.cells import Cells
from takeup.design.sizes import Goal, events, two_counts, two_means, two_rates
from takeup.errors import InputError

BOTH = Goal(alpha=0.05, sided=2)


@pytest.mark.requirement("R-6.5")
@pytest.mark.parametrize(
    ("looks", "constant", "last"), [(2, 2.1783, 1.9774), (3, 2.2895, 2.0040), (4, 2.3613, 2.0243), (5, 2.4132, 2.0401)]
)
def test_boundaries_of_equally_spaced_looks_are_the_published_ones(looks: int, constant: float, last: float) -> None:
    """Jennison & Turnbull (2000), tables 2.1 and 2.3, two-sided 5 %."""
    even, rising = pocock(looks), obrien_fleming(looks)
    np.testing.assert_allclose(even.upper, constant, atol=5e-5)
    np.testing.assert_allclose(
        rising.upper, last * np.sqrt(looks / np.arange(1, looks + 1)), atol=5e-5 * np.sqrt(looks)
    )
    assert even.error() == pytest.approx(0.05, abs=1e-9)


@pytest.mark.requirement("R-6.5")
def test_an_error_that_is_spent_gives_the_published_boundary() -> None:
    """The O'Brien-Fleming-like spending function at thirds, one-sided 2.5 %, as rpact has it."""
    np.testing.assert_allclose(spending([1 / 3, 2 / 3, 1]).upper, [3.7103, 2.5114, 1.9930], atol=5e-5)
    assert spending([0.2, 0.7, 1], 0.025, "pocock").error() == pytest.approx(0.025, abs=1e-9)
    early = spending([0.02, 0.5, 1])
    assert early.upper[0] == np.inf
    assert early.error() == pytest.approx(0.025, abs=1e-9)


@pytest.mark.parametrize("kind", ["obrien-fleming", "pocock"])
def test_twenty_looks_are_gone_through_once(
    kind: Literal["obrien-fleming", "pocock"], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What went on after a look is carried to the next, not found again for each value that is tried there."""
    seen, grid = list[float](), boundaries._grid

    def counted(low: float, high: float) -> Any:
        seen.append(high)
        return grid(low, high)

    monkeypatch.setattr(boundaries, "_grid", counted)
    found = spending([k / 20 for k in range(1, 21)], 0.025, kind)
    assert seen == found.upper.tolist()
    assert found.error() == pytest.approx(0.025, abs=1e-9)


def test_crossing_is_what_the_normal_distribution_of_all_looks_says() -> None:
    """With two looks it is an integral over a plane, which scipy takes by another method."""
    boundary, drift = pocock(2, 0.05, 1), 1.7
    mean, covariance = drift * np.sqrt(boundary.times), [[1, np.sqrt(0.5)], [np.sqrt(0.5), 1]]
    stay = multivariate_normal(mean, covariance).cdf(boundary.upper)
    assert 1 - boundary.crossing(drift).sum() == pytest.approx(stay, abs=1e-7)
    assert boundary.expected(50.0) == pytest.approx(0.5, abs=1e-9)  # whoever cannot be overlooked is found at once


def test_one_look_is_the_fixed_design() -> None:
    """The drift for a power is then the sum of two normal quantiles, and sizes follow its square."""
    assert obrien_fleming(1).upper[0] == pytest.approx(1.959964, abs=1e-6)
    assert pocock(1, 0.025, 1).drift(0.8) == pytest.approx(1.959964 + 0.841621, abs=1e-6)


@pytest.mark.requirement("R-6.5")
def test_sizes_are_those_of_rpact_and_of_textbooks() -> None:
    """Rates .25 and .35 one-sided 2.5 %; half a standard deviation; a hazard ratio of .7."""
    assert two_rates(0.25, 0.35).units == pytest.approx(656.94, abs=0.005)
    assert two_rates(0.25, 0.35, goal=Goal(power=0.9)).units == pytest.approx(878.46, abs=0.005)
    assert two_rates(0.25, 0.35, take_up=0.8).units == pytest.approx(1007.69, abs=0.005)
    assert two_rates(0.25, 0.35, take_up=0.6).units == pytest.approx(1755.79, abs=0.005)
    assert (two_rates(0.25, 0.35, take_up=0.8).whole, two_rates(0.25, 0.35, take_up=0.6).whole) == (1008, 1756)
    assert two_means(0.5, goal=BOTH).whole == 128
    assert events(0.7, goal=BOTH).units == pytest.approx(246.79, abs=0.005)
    assert events(0.7, goal=BOTH).total == 247


def test_refusal_costs_about_the_square_of_take_up() -> None:
    """Of means exactly, but for Student's t; of counts and hazards nearly, where effects are small."""
    normal = two_means(0.02, take_up=0.5).units / two_means(0.02).units
    assert normal == pytest.approx(4, rel=1e-3)
    assert two_counts(1.0, 0.98, take_up=0.5).units / two_counts(1.0, 0.98).units == pytest.approx(4, rel=0.02)
    assert events(0.98, take_up=0.5).units / events(0.98).units == pytest.approx(4, rel=0.03)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda: two_rates(0.25, 1.35), "treated: got 1.35"),
        (lambda: two_rates(0.25, 0.25), "treated: got 0.25"),
        (lambda: two_rates(0.25, 0.35, take_up=0), "take_up: got 0"),
        (lambda: events(1.0), "ratio: got 1.0"),
        (lambda: Goal(power=1), "power: got 1"),
        (lambda: Goal(sided=3), "sided: got 3"),  # type: ignore[arg-type]  # what the test is about
        (lambda: pocock(0), "looks: got 0"),
        (lambda: pocock(1, 0.6, 1), "alpha: got 0.6"),
        (lambda: pocock(3).drift(0.01), "power: got 0.01"),
        (lambda: Goal(power=0.01), "power: got 0.01"),
        (lambda: Cells.rates(0.25, 1.35, 0.6), "treated: got 1.35"),
        (lambda: spending([0.5, 1], kind="obf"), "kind: got 'obf'"),  # type: ignore[arg-type]  # likewise
        (lambda: spending([0.5, 0.4, 1]), "times: got "),
        (lambda: bounded(Cells.rates(0.25, 0.35, 0.6), -1), "bound: got -1"),
        (lambda: bounded(Cells.rates(0.25, 0.25, 0.6), 0), "mean: got "),
        (lambda: bounded(Cells.rates(0.25, 0.35, 0.6), 0, one=2), "one: got 2"),
        (lambda: bounded(Cells.rates(0.25, 0.35, 0.6), 0, allocation=[0.5, 0.4]), "allocation: got "),
        (lambda: Cells.rates(0.25, 0.35, 0.0), "take_up: got "),
        (lambda: Cells.rates(0.25, 0.35, 0.3, two_sided=0.4), "two_sided: got 0.4"),
        (lambda: Cells.of([[1, 0]], 0, 1), "share: got of shape"),
        (lambda: Cells.of([[1, 0], [0, 1]], [1, 2, 3], 1), "mean: got or sd"),
        (lambda: Cells.of([[1, 0], [0, 1]], 0, -1), "sd: got "),
        (lambda: Cells.times(0.1, -0.1, 0.5, longest=3), "treated: got -0.1"),
    ],
)
def test_what_cannot_be_planned_is_named(wrong: object, named: str) -> None:
    with pytest.raises(InputError, match=named):
        wrong()  # type: ignore[operator]  # a function of nothing
