"""Numbers by intention to treat: in their own units, whichever end is the good one."""

import numpy as np
import pytest

import adaptive_kinds
from takeup import Log
from takeup.analysis import targets
from takeup.analysis.effects import effect, value
from takeup.analysis.mean_intervals import intervals
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
