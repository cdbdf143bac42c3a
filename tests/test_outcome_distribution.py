"""Quantiles and survival from counts in bins, against the same from every single outcome."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeup.outcomes import Count, Number, Time
from takeup.outcomes.distribution import quantiles, survival

LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def naive_survival(times: list[tuple[int, bool]]) -> dict[int, float]:
    """Kaplan and Meier (1958), person by person: the share without the event after each time with one."""
    share, found = 1.0, {}
    for at in sorted({time for time, censored in times if not censored}):
        at_risk = sum(time >= at for time, _ in times)
        events = sum(time == at and not censored for time, censored in times)
        share *= 1 - events / at_risk
        found[at] = share
    return found


def cells(outcome: Number | Count | Time, values: list[object]) -> np.ndarray:
    """How many are in each cell."""
    codes = [outcome.code(value) for value in values]
    return np.asarray(outcome.amounts(codes).sum(axis=0)[: outcome.cells])


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=60))
def test_survival_is_that_of_every_person_where_each_time_has_a_bin(people: list[tuple[int, bool]]) -> None:
    time = Time(30, "days")
    counts = cells(time, [{"time": at, "censored": censored} for at, censored in people])
    found = {step.time: step.share for step in survival(time, counts)}
    assert found == pytest.approx(naive_survival(people))


def test_survival_by_hand() -> None:
    """Five people: events at 2 and 4, censored at 3, 6 and 6. After 2: 4/5. After 4: 4/5 times 2/3 = 8/15."""
    time = Time(10)
    steps = survival(time, cells(time, [2, "3+", 4, "6+", "6+"]))
    assert [(step.time, step.at_risk, step.events) for step in steps] == [(2, 5, 1), (4, 3, 1)]
    assert [step.share for step in steps] == pytest.approx([4 / 5, 8 / 15])
    assert survival(time, cells(time, ["6+"])) == ()


@given(st.lists(st.integers(60, 220), min_size=1, max_size=80))
def test_quantiles_are_those_of_every_outcome_to_within_a_bin(values: list[int]) -> None:
    number = Number(60, 220)
    width = float(np.max(number.binned.last - number.binned.first)) + number.step
    found = quantiles(number, cells(number, list(values)), LEVELS)
    below = np.quantile(values, LEVELS, method="lower"), np.quantile(values, LEVELS, method="higher")
    assert (found >= below[0] - width).all()
    assert (found <= below[1] + width).all()
    assert (np.diff(found) >= 0).all()


def test_quantiles_of_nothing_are_not_numbers() -> None:
    number = Number(60, 220)
    assert np.isnan(quantiles(number, np.zeros(number.cells, dtype=np.int64), LEVELS)).all()
    count = Count(10)
    assert quantiles(count, cells(count, [3, 3, 3]), (0.5,))[0] == pytest.approx(3)
