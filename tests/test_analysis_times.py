"""Censored times: against hands, published tables and closed forms under fixed allocation, then after adaptive ones."""

import numpy as np
import pytest

import adaptive_kinds
from takeup import UNSEEN, InputError, Log, Space, Time, UnsuitableError, stream
from takeup.analysis import analyse, survival, times
from takeup.analysis.showing import always
from takeup.checks import FloatArray

MERCAPTOPURINE = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"
PLACEBO = "1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23"
"""Weeks of remission in leukaemia: Freireich et al. (1963), as in Gehan (1965)."""

SPACE = Space(["placebo", "6-MP"], outcomes=Time(35, unit="weeks"))


def leukaemia() -> Log:
    weeks = [*PLACEBO.split(), *MERCAPTOPURINE.split()]
    codes = [SPACE.outcome.code(each) for each in weeks]
    return Log.of(SPACE, [0] * 21 + [1] * 21, [0.5, 0.5], outcome=codes)


def test_kaplan_meier_of_the_leukaemia_trial_is_as_published() -> None:
    """.857 .807 .753 .690 .627 .538 .448 after weeks 6, 7, 10, 13, 16, 22 and 23 of 6-MP."""
    log = leukaemia()
    watched = survival.Watched.of(*times.watched_times(log, 35))
    curve = survival.survival(watched, np.where(log.proposal == 1, 2.0, 0.0))
    after = [curve[np.flatnonzero(watched.time <= week)[-1]] for week in (6, 7, 10, 13, 16, 22, 23)]
    np.testing.assert_allclose(after, [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448], atol=0.0005)


def test_hazard_ratio_and_mean_of_the_leukaemia_trial_are_as_published() -> None:
    """Cox with Breslow's ties: a log hazard ratio of -1.509 (Cox 1972: -1.51); a mean of 23.29 weeks, error 2.83."""
    log = leukaemia()
    assert np.log(times.time_effect(log, "6-MP", "placebo", measure="hazard ratio").value) == pytest.approx(
        -1.50919, abs=5e-6
    )
    mean, influence = survival.restricted_mean(
        survival.Watched.of(*times.watched_times(log, 35)), 1.0 * (log.proposal == 1), 35.0
    )
    assert (mean, np.sqrt(np.sum(influence**2))) == pytest.approx((23.29, 2.83), abs=0.005)
    assert times.time_effect(log, 1, 0).value == pytest.approx(23.287395 - 182 / 21, abs=1e-6)


def drawn(n: int, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Times with many ties, events, and weights some of which are zero."""
    rng = stream(seed, "times")
    weight = np.where(rng.random(n) < 0.3, 0.0, 1 + 9 * rng.random(n))
    event = np.where(rng.random(n) < 0.6, 1.0, 0.0)
    return rng.integers(0, 12, n).astype(np.float64), event, np.asarray(weight, dtype=np.float64)


def area_by_hand(time: FloatArray, event: FloatArray, weight: FloatArray, until: int) -> float:
    """Time by time: S(u) is the product of 1 - events / at risk; the area is the sum of S(u) over whole steps."""
    area, curve = 0.0, 1.0
    for u in range(until):
        at_risk = weight[time >= u].sum()
        curve *= 1 - (weight[(time == u) & (event == 1)].sum() / at_risk if at_risk else 0.0)
        area += curve
    return area


def test_restricted_mean_is_the_area_and_its_error_is_greenwoods() -> None:
    """Σ_u A(u)² d / (R (R - d)) where all weights are one; A(u) is the area beyond u."""
    time, event, weight = drawn(60, 1)
    time[0] = 12  # somebody was watched to the end
    weight[0] = 1.0
    watched = survival.Watched.of(time, event)
    mean, _ = survival.restricted_mean(watched, weight, 12)
    assert mean == pytest.approx(area_by_hand(time, event, weight, 12), rel=1e-12)
    mean, influence = survival.restricted_mean(watched, np.ones(60), 12)
    greenwood = 0.0
    for u in range(12):
        d, risk = np.sum((time == u) & (event == 1)), np.sum(time >= u)
        beyond = float(mean) - area_by_hand(time, event, np.ones(60), u)
        greenwood += beyond**2 * d / (risk * (risk - d))
    assert np.sum(influence**2) == pytest.approx(greenwood, rel=1e-10)


def test_influences_are_derivatives_by_the_weights() -> None:
    """ψ_i = w_i ∂/∂w_i, by differences of a millionth. All weights larger alike change nothing: ψ add up to zero."""
    time, event, weight = drawn(40, 2)
    time[:2], weight[:2] = 12, 3.0
    side = stream(3, "side").random(40) < 0.5
    watched = survival.Watched.of(np.tile(time, (40, 1)), np.tile(event, (40, 1)))

    def mean(w: FloatArray) -> tuple[FloatArray, FloatArray]:
        return survival.restricted_mean(watched, w, 11.0)

    def ratio(w: FloatArray) -> tuple[FloatArray, FloatArray]:
        return survival.hazard_ratio(watched, np.where(side, w, 0.0), np.where(side, 0.0, w))

    for of in (mean, ratio):
        up, down = (of(weight * (1 + step * np.eye(40)))[0] for step in (1e-6, -1e-6))
        influence = of(np.tile(weight, (40, 1)))[1][0]
        np.testing.assert_allclose(influence, (up - down) / 2e-6, atol=1e-6)
        assert influence.sum() == pytest.approx(0.0, abs=1e-9)


def test_exponential_times_have_their_closed_forms() -> None:
    """Hazards of 1/200 and 1/300 by whole days, a third lost: within 4.5 errors, which 1 run in 150,000 misses."""
    people = adaptive_kinds.times(200, 300, censored=0.3)
    log = adaptive_kinds.trials(people, 400, 100, 5, 0.5, "even")
    log = adaptive_kinds.as_one(log)
    ratio = times.log_hazard_ratio(log, 1, 0, 365.0)
    assert abs(ratio.value - np.log(200 / 300)) < 4.5 * ratio.error
    ours, theirs = (times.restricted_mean_under(log, always(log, z), 300.0) for z in (1, 0))
    truth = adaptive_kinds.mean_days(300, 300) - adaptive_kinds.mean_days(200, 300)
    difference = ours.minus(theirs)
    assert abs(difference.value - truth) < 4.5 * difference.error


@pytest.mark.parametrize("trials", [400, pytest.param(4_000, marks=pytest.mark.long)])
def test_time_effects_after_adaptive_allocation_are_unbiased_and_cover(trials: int) -> None:
    """Bias within 4.5 errors; coverage at least 93 % less 4 errors. Unweighted curves are off by more than 4.5."""
    log = adaptive_kinds.trials(adaptive_kinds.times(200, 300, censored=0.3), 300, trials, 8, 0.1)
    truth = adaptive_kinds.mean_days(300, 365) - adaptive_kinds.mean_days(200, 365)
    least = 0.93 - 4 * np.sqrt(0.93 * 0.07 / trials)
    ours, theirs = (times.restricted_mean_under(log, always(log, z), 365.0) for z in (1, 0))
    difference = ours.minus(theirs)
    shown = ~np.isnan(difference.value)
    assert shown.mean() > 0.9
    found = difference.value[shown]
    assert abs(found.mean() - truth) < 4.5 * found.std() / np.sqrt(found.size)
    low, high = difference.interval(0.95)
    assert ((low <= truth) & (truth <= high))[shown].mean() > least
    ratio = times.log_hazard_ratio(log, 1, 0, 365.0)
    low, high = ratio.interval(0.95)
    assert ((low <= np.log(2 / 3)) & (np.log(2 / 3) <= high)).mean() > least


def test_of_many_trials_each_is_as_if_alone() -> None:
    log = adaptive_kinds.trials(adaptive_kinds.times(200, 300, censored=0.3), 80, 3, 9, 0.1)
    together = times.log_hazard_ratio(log, 1, 0, 365.0), times.restricted_mean_under(log, always(log, 1), 200.0)
    for i in range(3):
        one = adaptive_kinds.alone(log, i)
        alone = times.log_hazard_ratio(one, 1, 0, 365.0), times.restricted_mean_under(one, always(one, 1), 200.0)
        for both, single in zip(together, alone, strict=True):
            assert both.value[i] == pytest.approx(float(single.value), rel=1e-12)
            assert both.error[i] == pytest.approx(float(single.error), rel=1e-12)


def test_outcomes_that_are_not_known_are_left_out() -> None:
    whole = leukaemia()
    codes = np.concatenate([whole.outcome, [UNSEEN] * 4])
    more = Log.of(SPACE, [*whole.proposal, 0, 1, 0, 1], [0.5, 0.5], outcome=codes)
    for measure in ("hazard ratio", "difference"):
        with_them, without = (times.time_effect(each, 1, 0, measure=measure) for each in (more, whole))
        assert (with_them.value, with_them.high) == pytest.approx((without.value, without.high), rel=1e-12)
        assert (with_them.n, with_them.missing) == (42, 4)
        assert any("never reported" in each for each in with_them.assumes)


def test_what_is_not_known_is_withheld_with_the_reason() -> None:
    short = leukaemia().only(slice(0, 30))  # of 6-MP the shorter ones
    found = times.time_effect(short, "6-MP", "placebo", until=35)
    assert np.isnan([found.value, found.low]).all()
    assert "6-MP was watched up to 35; choose until=11" in found.withheld
    assert times.time_effect(short, "6-MP", "placebo", until=11).shown
    only = Log.of(SPACE, [0, 1] * 20, [0.5, 0.5], outcome=[10, 71] * 20)
    found = times.time_effect(only, 1, 0, measure="hazard ratio")
    assert "events" in found.withheld
    assert np.isnan(found.value)
    assert "error" in times.time_effect(only, 1, 0).withheld
    none = Log.of(SPACE, [0, 1] * 20, [0.5, 0.5], outcome=[10, 71, 20, 71] * 10)
    assert "error" in times.time_effect(none, 1, 0).withheld  # nobody on 6-MP had the event
    rare = Log.of(SPACE, [0, 1] * 20, [0.995, 0.005], outcome=[10, 20] * 20)
    assert "6-MP was so improbable" in times.time_effect(rare, 1, 0).withheld


def test_mean_times_are_compared_as_long_as_all_were_watched_where_nobody_says() -> None:
    """6-MP was watched for 11 weeks, 11+ being the longest; on placebo the last had the event, which sets no end."""
    short = leukaemia().only(slice(0, 30))
    found, asked = times.time_effect(short, 1, 0), times.time_effect(short, 1, 0, until=11)
    assert (found.value, found.low, found.high) == (asked.value, asked.low, asked.high)
    said = found.assumes[0]
    assert times.CENSORED in found.assumes
    assert said == (
        "Mean times are those before the event within 11 weeks, as long as people of every proposal were watched."
    )
    whole = analyse(short)
    assert whole.primary[0].estimate.value == found.value
    assert whole.log.inferred == (f"{said} --until says otherwise.",)
    sooner = analyse(short, until=8)
    assert sooner.primary[0].estimate.value == times.time_effect(short, 1, 0, until=8).value
    assert not sooner.log.inferred
    with pytest.raises(InputError, match=r"until: got 36\.0, expected a time above 0, at most the longest watch, 35"):
        analyse(short, until=36.0)
    with pytest.raises(InputError, match="as an outcome is a level"):
        analyse(Log.of(Space(2), [0, 1], [0.5, 0.5], outcome=[0, 1]), until=3)


def test_a_proposal_that_was_dropped_is_compared_while_it_was_there() -> None:
    whole = leukaemia()
    probability = np.concatenate([np.full((42, 2), 0.5), np.tile([0.0, 1.0], (10, 1))])
    codes = np.concatenate([whole.outcome, np.full(10, 71)])
    more = Log.of(SPACE, [*whole.proposal, *[1] * 10], probability, outcome=codes)
    found = times.time_effect(more, 1, 0)
    assert found.value == pytest.approx(times.time_effect(whole, 1, 0).value, rel=1e-12)
    assert any("10 others" in each for each in found.assumes)


def test_only_censoring_before_the_end_needs_its_assumption() -> None:
    codes = [10, 24, 20, 30] * 10  # events of weeks 5 to 15, and one who was lost after them
    log = Log.of(SPACE, [0, 1] * 20 + [0], [0.5, 0.5], outcome=[*codes, 41])
    early, late = times.time_effect(log, 1, 0), times.time_effect(log, 1, 0, until=20)
    assert times.CENSORED in early.assumes
    assert not early.survives_drift
    assert times.CENSORED not in late.assumes
    assert late.survives_drift


def test_what_cannot_be_asked_is_refused() -> None:
    log = leukaemia()
    with pytest.raises(InputError, match="until"):
        times.time_effect(log, 1, 0, until=36)
    with pytest.raises(InputError, match="measure"):
        times.time_effect(log, 1, 0, measure="odds ratio")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="another proposal"):
        times.time_effect(log, 1, "6-MP")
    with pytest.raises(UnsuitableError, match="needs a time"):
        times.time_effect(Log.of(Space(2), [0, 1], [0.5, 0.5]), 0, 1)
