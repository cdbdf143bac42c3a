"""Numbers by intention to treat: in their own units, whichever end is the good one."""

from typing import Literal

import numpy as np
import pytest
from scipy import stats

import adaptive_kinds
from takeup import Log
from takeup.analysis import targets
from takeup.analysis.effects import effect, value
from takeup.analysis.mean_intervals import intervals
from takeup.analysis.moments import moments
from takeup.analysis.scores import scores


def test_an_effect_on_blood_pressure_is_below_zero_where_it_falls() -> None:
    """150 and 154 against 140 and 146 mmHg: about -9, though lower is better."""
    codes = [adaptive_kinds.PRESSURE.outcome.code(each) for each in (150, 140, 154, 146)] * 10
    log = Log.of(adaptive_kinds.PRESSURE, [0, 1] * 20, [0.5, 0.5], outcome=codes)
    found = effect(log, "new", "usual")
    assert found.value == pytest.approx(-9, abs=1)
    assert found.high < 0
    assert value(log, "usual").value == pytest.approx(152, abs=1)


@pytest.mark.parametrize("trials", [300, pytest.param(3_000, marks=pytest.mark.long)])
def test_differences_of_numbers_after_adaptive_allocation_cover(trials: int) -> None:
    """At least 93 % less 4 errors."""
    log = adaptive_kinds.trials(adaptive_kinds.pressures(140, 132), 200, trials, 4, 0.1)
    found = intervals(scores(log, targets.outcome(log.space)), (0, 1), "difference")
    assert found.covers(-8.0).mean() > 0.93 - 4 * np.sqrt(0.93 * 0.07 / trials)


@pytest.mark.parametrize(("usual", "new", "law"), [(0.5, 0.1, "some"), (0.1, 0.5, "some"), (1.0, 0.5, "all")])
def test_an_arm_that_has_missed_its_rare_large_values_is_not_called_better_or_worse(
    usual: float, new: float, law: Literal["some", "all"]
) -> None:
    """Spending of the same mean, floor .05, 400 people: of 600 trials at most 5 %, and an error of two, say either.

    As if each arm were no more skewed than it looks, 7 to 19 % did on one side.
    """
    log = adaptive_kinds.trials(adaptive_kinds.spending(usual, new, law), 400, 600, 3, 0.05)
    for weights in ("uniform", "stabilised"):
        found = intervals(scores(log, targets.outcome(log.space)), (0, 1), "difference", weights=weights)
        assert found.shown.mean() > 0.95
        assert max((found.low > 0).mean(), (found.high < 0).mean()) < 0.06


def test_skewness_moves_limits_of_values_as_of_means_over_their_own_error() -> None:
    """With the skewness and the spread of whichever proposal has most of either; by hand, with one error squared."""
    log = adaptive_kinds.alone(adaptive_kinds.trials(adaptive_kinds.spending(0.3, 0.6), 120, 1, 2, 0.1), 0)
    known = moments(scores(log, targets.outcome(log.space)), (0, 1), "uniform")
    values = [targets.outcome(log.space).values(log)[log.proposal == z] / 500 for z in (0, 1)]
    skewness = max((float(stats.skew(each, bias=False)) for each in values), key=abs)
    assert known.tail == pytest.approx(skewness * max(float(each.std(ddof=1)) for each in values) ** 3)
    along, means = np.array([-1.0, 1.0]), known.mean
    variance, third = known.cumulants(means, along)
    assert third == pytest.approx(float(known.tail * (known.cube.sum(axis=0) * along**3).sum()))
    z = float(stats.t.ppf(0.975, known.effective.min() - 1))
    assert known.shift(third / variance**1.5, 0.95) == pytest.approx(-third / variance**1.5 * (2 * z * z + 1) / 6)
