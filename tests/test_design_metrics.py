"""What trials come to: figures against arithmetic, against the exact recursion, and thresholds all at once."""

import json
from typing import Any

import numpy as np
import pytest

from plans import THREE, two
from takeup.design.exact import exact
from takeup.design.exact_metrics import exact_metrics
from takeup.design.figures import Figure
from takeup.design.operate import operate
from takeup.design.pictures import plus_minus, share
from takeup.design.plan import Plan
from takeup.design.results import Outcomes
from takeup.design.thresholds import leading
from takeup.errors import InputError, UnsuitableError
from takeup.policies.judging import EQUIVALENT, FUTILE, INFERIOR, MAXIMUM, SUPERIOR
from takeup.simulation.kernels.look_tables import NONE, LookOutput

CONTROLLED: dict[str, Any] = {
    **THREE,
    "stopping": {"superiority": 0.95, "control": "A", "replace": False},
    "scenarios": {"null": {"role": "null", "success": [0.3] * 3}, "better": {"success": [0.3, 0.4, 0.2]}},
}


def _kept(
    status: list[int], chosen: list[int], units: list[list[int]], successes: list[list[int]], reason: list[list[int]]
) -> LookOutput:
    rows = len(status)
    table = np.stack([np.array(units), np.array(successes)], axis=-1)
    why = np.array(reason, dtype=np.int8)
    empty = np.zeros((rows, 0))
    return LookOutput(
        np.array(status), np.zeros(rows, dtype=int), np.array(chosen), table, (why > 0).astype(int), why, empty, empty
    )


def test_figures_of_four_trials_by_hand() -> None:
    """B, which is better than the control A, is found; C is dropped as worse; one is futile; one finds C, which is not.

    B has 40 of 100, 20 of 100, 50 of 100 and 10 of 100 units: a third less a tenth is 30, so two trials are imbalanced.
    """
    kept = _kept(
        [SUPERIOR, MAXIMUM, FUTILE, SUPERIOR],
        [1, 0, 0, 2],
        [[30, 40, 30], [50, 20, 30], [30, 50, 20], [60, 10, 30]],
        [[9, 20, 6], [15, 10, 6], [9, 10, 8], [18, 1, 15]],
        [[0, 0, 0], [0, 0, INFERIOR], [0, FUTILE, FUTILE], [0, 0, 0]],
    )
    found = Outcomes(Plan.of(CONTROLLED), "better", 0, np.arange(4), kept)
    assert found.claimed.tolist() == [True, False, False, True]
    assert found.different.tolist() == [True, True, False, True]
    assert found.right.tolist() == [True, False, False, False]
    assert found.one_sided is not None
    assert found.one_sided.tolist() == [True, False, False, True]
    assert found.imbalanced.tolist() == [False, True, False, True]
    assert found.selected.tolist() == [1, 1, 0, 2]
    assert found.selection("control").tolist() == [1, 0, 0, 2]
    assert found.selection("none").tolist() == [1, NONE, NONE, 2]
    metrics = found.metrics("none")
    assert metrics["ideal_design"]["mean"] == 50  # of B and C, the best and the worst
    assert sum(figure["mean"] for figure in metrics["selected"].values()) == 0.5
    assert (metrics["power"]["mean"], metrics["claimed"]["mean"], metrics["type_one_error"]) == (0.25, 0.5, None)
    assert metrics["reasons_by_arm"]["futile"]["B"]["mean"] == 0.25
    bias = metrics["naive_estimates"]["by_arm"]["B"]["bias"]["mean"]
    assert bias == pytest.approx(np.mean([0.5 - 0.3, 0.5 - 0.3, 0.2 - 0.3, 0.1 - 0.3]) - 0.1)
    with pytest.raises(InputError, match="inconclusive"):
        Outcomes(Plan.of(THREE), "null", 0, np.arange(4), kept).selection("control")


def test_what_will_be_reported_is_as_good_as_the_recursion_says() -> None:
    """Coverage and rejection of Wald intervals, one-sided claims and sizes in 20,000 trials; false alarm rate 1e-4."""
    plan = two(
        looks={"at": [12, 30]},
        stopping={"superiority": 0.9},
        scenarios={"low": {"success": [0.3, 0.6]}, "null": {"role": "null", "success": [0.4, 0.4]}},
    )
    for name, each in operate(plan, replications=20_000, seed=3).items():
        truth, metrics = exact(plan, each.truth.values.tolist()), each.metrics()
        arm = metrics["naive_estimates"]["by_arm"]["1"]
        reject, cover = truth.wald()
        one = each.one_sided
        assert one is not None
        for found, right in (
            (arm["reject"], reject),
            (arm["coverage"], cover),
            ({"mean": one.mean(), "error": one.std() / np.sqrt(one.size)}, truth.probability("superior", 1)),
            (metrics["claimed"], truth.probability("superior")),
        ):
            assert abs(found["mean"] - right) < 4.5 * found["error"], (name, found, right)
        assert (metrics["type_one_error"] is None) == (name != "null")
        assert (metrics["power"] is None) == (name == "null")
        ends = metrics["ends_by_look"]
        assert sum(figure["mean"] for by_look in ends.values() for figure in by_look) == pytest.approx(1)


@pytest.mark.parametrize(
    "stopping",
    [
        {"superiority": 0.9},
        {"superiority": 0.9, "equivalence": {"probability": 0.6, "margin": 0.1}},
        pytest.param(
            {"superiority": 0.9, "control": "A", "replace": False, "futility": {"probability": 0.8, "margin": 0.05}},
            marks=pytest.mark.long,
        ),
    ],
)
def test_one_run_answers_every_threshold(stopping: dict[str, Any]) -> None:
    """Trial by trial, the look, the size and the claim are those of a run with that threshold."""
    tables = {"looks": {"first": 60, "every": 40, "last": 220, "lag": 15}, "stopping": stopping}
    plan = Plan.of({**THREE, **tables})
    every = leading(plan, ["null", "apart"], range(300), 4)
    for threshold in (0.7, 0.9, 0.97):
        for name, found in operate(plan.with_thresholds(threshold, None), None, 300, 4).items():
            np.testing.assert_array_equal(every[name].claimed(threshold), found.claimed)
            np.testing.assert_array_equal(every[name].right(threshold), found.right)
            np.testing.assert_array_equal(every[name].size(threshold), found.size)
            claimed = found.claimed
            np.testing.assert_array_equal(every[name].look(threshold)[claimed], found.kept.look[claimed])


def test_a_control_that_is_replaced_was_claimed_against_whatever_comes_later() -> None:
    tables = {"looks": {"at": [60, 120, 180]}, "stopping": {"superiority": 0.9, "control": "A"}}
    plan = Plan.of({**THREE, **tables})
    for name, every in leading(plan, ["null", "apart"], range(300), 4).items():
        np.testing.assert_array_equal(
            every.claimed(0.8), operate(plan.with_thresholds(0.8, None), [name], 300, 4)[name].claimed
        )
        with pytest.raises(UnsuitableError, match="replace = false"):
            every.size(0.8)


def test_thresholds_that_change_the_path_are_not_answered_at_once() -> None:
    with pytest.raises(UnsuitableError, match="inferior"):
        leading(Plan.of(THREE), ["null"], range(10), 0)


def test_exact_figures_are_those_of_a_trial_of_two_by_hand() -> None:
    """After two outcomes nothing is superior, and the better mean is taken, 0 if alike.

    Even allocation, rates 0 and 1: both on 0 (1/4) has means 1/4 and 1/2, so that 1 is taken; so it is with one unit
    each, and with both on 1. With rates .5 and .6 the recursion says what 4,000 trials say, within four errors.
    """
    plan = two(policy={"kind": "Uniform"}, looks={"at": [2]}, scenarios={"far": {"success": [0.0, 1.0]}})
    found = exact_metrics(plan, "far")
    assert [found["selected"][label]["mean"] for label in ("0", "1")] == pytest.approx([0, 1])
    assert found["ideal_design"]["mean"] == pytest.approx(100)
    assert found["ends_by_look"]["maximum"][0]["mean"] == found["stopped_by_look"][0]["mean"] == pytest.approx(1)
    rules = {"superiority": 0.9, "inferiority": 0.1}
    tried = two(
        policy={"kind": "Uniform"}, looks={"at": [8, 16]}, stopping=rules, scenarios={"any": {"success": [0.5, 0.6]}}
    )
    exactly, seen = exact_metrics(tried, "any"), operate(tried, None, 4_000, 3)["any"].metrics()
    for name in ("selected", "dropped_by_arm", "superior_by_arm"):
        for label, figure in seen[name].items():
            assert abs(exactly[name][label]["mean"] - figure["mean"]) < 4 * figure["error"], (name, label)


def test_one_trial_has_no_error_and_json_has_no_other_word_for_it() -> None:
    kept = _kept([SUPERIOR], [1], [[2, 2, 2]], [[0, 2, 1]], [[0, 0, 0]])
    metrics = Outcomes(Plan.of(CONTROLLED), "better", 0, np.arange(1), kept).metrics()
    assert metrics["claimed"] == {"mean": 1, "error": None}
    assert "NaN" not in json.dumps(metrics)
    assert plus_minus(metrics["claimed"], ".2f", ".2f") == share(Figure(1.0, np.nan), 2) == "1.00"


def test_equivalent_proposals_are_no_claim() -> None:
    kept = _kept([EQUIVALENT], [NONE], [[10, 10, 10]], [[3, 4, 5]], [[0, 0, 0]])
    found = Outcomes(Plan.of(THREE), "null", 0, np.arange(1), kept)
    assert not found.different.any()
    assert found.one_sided is None
