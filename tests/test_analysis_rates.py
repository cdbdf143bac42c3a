"""Rates: the events by the exposure that one counts by hand, and intervals that hold after adaptive allocation."""

from dataclasses import replace

import numpy as np
import pytest

import adaptive_kinds
from takeup import UNSEEN, Count, InputError, Log, Space, UnsuitableError, stream
from takeup.analysis import rates
from takeup.analysis.figure import Figure, difference_of_positives
from takeup.analysis.showing import always
from test_analysis_times import leukaemia

FALLS = Space(["usual", "new"], outcomes=Count(20, exposure="weeks", longest=52))


def log_of(usual: list[str], new: list[str]) -> Log:
    codes = [FALLS.outcome.code(each) for each in usual + new]
    return Log.of(FALLS, [0] * len(usual) + [1] * len(new), [0.5, 0.5], outcome=codes)


def test_rates_are_events_by_exposure_after_an_even_allocation() -> None:
    """9 events in 50 weeks against 4 in 80: .18 and .05 a week."""
    log = log_of(["2/10", "0/4", "3/16", "4/20"] * 5, ["1/40", "0/10", "1/10", "2/20"] * 5)
    ratio, difference = (rates.rate_effect(log, "new", "usual", measure=each) for each in ("rate ratio", "difference"))
    assert ratio.value == pytest.approx((4 / 80) / (9 / 50), rel=1e-12)
    assert difference.value == pytest.approx(4 / 80 - 9 / 50, rel=1e-12)
    assert ratio.low < ratio.value < ratio.high < 1
    assert difference.low < difference.value < difference.high < 0
    assert ratio.contrast == "new / usual"
    assert ratio.survives_drift


def test_without_an_exposure_the_rate_is_the_mean_count() -> None:
    space = Space(2, outcomes=Count(9))
    log = Log.of(space, [0, 1] * 20, [0.5, 0.5], outcome=[1, 3, 2, 5] * 10)
    assert rates.rate_effect(log, 1, 0).value == pytest.approx(4 / 1.5, rel=1e-12)


def test_of_times_the_rate_is_of_events_by_weeks() -> None:
    """Freireich's leukaemia trial: 9 relapses in 359 weeks of 6-MP, 21 in 182 of placebo."""
    found = rates.rate_effect(leukaemia(), "6-MP", "placebo")
    assert found.value == pytest.approx((9 / 359) / (21 / 182), rel=1e-12)
    assert rates.CONSTANT in found.assumes
    assert not found.survives_drift


def test_an_influence_is_what_leaving_a_decision_out_does() -> None:
    rng = stream(4, "rates")
    p = np.where(rng.random((30, 1)) < 0.5, [0.2, 0.8], [0.7, 0.3])
    z = (rng.random(30) < p[:, 1]).astype(np.int64)
    log = Log.of(FALLS, z, p, outcome=rng.integers(0, FALLS.outcome.size, 30))
    whole = rates.rate_under(log, always(log, 1))
    for t in range(30):
        rest = log.only(np.arange(30) != t)
        change = float(whole.value) - float(rates.rate_under(rest, always(rest, 1)).value)
        assert whole.influence[t] == pytest.approx(change, abs=1e-12)


@pytest.mark.parametrize("trials", [500, pytest.param(4_000, marks=pytest.mark.long)])
def test_rates_after_adaptive_allocation_cover(trials: int) -> None:
    """At least 93 % less 4 errors, with rates that vary between people; plain events by exposure are biased."""
    log = adaptive_kinds.trials(adaptive_kinds.relapses(0.02, 0.01), 200, trials, 6, 0.1)
    ours, theirs = (rates.rate_under(log, always(log, z)) for z in (1, 0))
    ratio = ours.log().minus(theirs.log())
    least = 0.93 - 4 * np.sqrt(0.93 * 0.07 / trials)
    for (low, high), truth in (
        (ratio.interval(0.95), np.log(0.5)),
        (difference_of_positives(ours, theirs, 0.95), -0.01),
    ):
        assert ((low <= truth) & (truth <= high)).mean() > least
    assert abs(theirs.value.mean() - 0.02) < 4.5 * theirs.value.std() / np.sqrt(trials)


def test_the_interval_of_a_difference_is_from_two_on_the_log_scale() -> None:
    """Zou & Donner (2008): rates 4 and 1, errors of their logarithms such that both intervals are times or by 2."""
    wide = np.log(2.0) / 1.959963984540054 / np.sqrt(2)
    one, other = (
        Figure(np.array(rate), rate * wide * np.array([1.0, -1.0]), np.array([0, 0]), np.array([1e9]))
        for rate in (4.0, 1.0)
    )
    low, high = difference_of_positives(one, other, 0.95)
    assert float(low) == pytest.approx(3 - np.hypot(2, 1), rel=1e-6)
    assert float(high) == pytest.approx(3 + np.hypot(4, 0.5), rel=1e-6)


def test_an_interval_is_longer_on_the_side_to_which_influences_are_skewed() -> None:
    """3, -1, -1, -1: an error of √12, t of 3 degrees 3.182446; Σ ψ³ / Σ ψ² (1 + 2 t²) / 6 = 24 / 12 (21.2559) / 6."""
    figure = Figure(np.array(10.0), np.array([3.0, -1, -1, -1]), np.zeros(4, dtype=np.int64), np.array([4.0]))
    for sign in (1.0, -1.0):
        low, high = replace(figure, influence=sign * figure.influence).interval(0.95)
        wide = 3.182446 * np.sqrt(12)
        short, long = (10 - low, high - 10) if sign > 0 else (high - 10, 10 - low)
        assert float(short) == pytest.approx(wide, rel=1e-6)
        assert float(long) == pytest.approx(wide + 2 * 21.25593 / 6, rel=1e-6)


def test_outcomes_that_are_not_known_are_left_out() -> None:
    whole = log_of(["2/10", "0/4", "3/16"] * 5, ["1/40", "0/10", "1/10"] * 5)
    more = Log.of(FALLS, [*whole.proposal, 0, 1], [0.5, 0.5], outcome=[*whole.outcome, UNSEEN, UNSEEN])
    first, second = (rates.rate_effect(each, 1, 0) for each in (whole, more))
    assert (first.value, first.low) == pytest.approx((second.value, second.low), rel=1e-12)
    assert (second.n, second.missing) == (30, 2)


def test_what_cannot_be_told_is_withheld() -> None:
    none = log_of(["2/10", "0/4"] * 10, ["0/40", "0/10"] * 10)
    for measure in ("rate ratio", "difference"):
        found = rates.rate_effect(none, 1, 0, measure=measure)
        assert np.isnan([found.low, found.high]).all()
        assert "no events" in found.withheld
    assert rates.rate_effect(none, 1, 0, measure="difference").value == pytest.approx(-20 / 140)


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(UnsuitableError, match="a rate is of a count"):
        rates.rate_effect(Log.of(Space(2), [0, 1], [0.5, 0.5]), 0, 1)
    log = log_of(["2/10"], ["1/40"])
    with pytest.raises(InputError, match="measure"):
        rates.rate_effect(log, 0, 1, measure="hazard ratio")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="single trial"):
        rates.rate_effect(adaptive_kinds.trials(adaptive_kinds.relapses(0.1, 0.1), 5, 2, 1, 0.5), 0, 1)
