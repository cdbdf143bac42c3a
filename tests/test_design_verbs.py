"""Thresholds that keep an error, sizes that have a power, and plans side by side."""

import re
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plans import THREE, two
from takeup.design.classical import classical
from takeup.design.comparing import compare
from takeup.design.exact import exact
from takeup.design.operate import calibrate, operate
from takeup.design.plan import Plan
from takeup.design.size_range import size_range
from takeup.design.sizing import size, with_last
from takeup.errors import InputError, MismatchError
from takeup.specfile import SpecError

sizing = import_module("takeup.design.sizing")
BOTH: dict[str, Any] = {"null": {"role": "null", "success": [0.3, 0.3]}, "better": {"success": [0.3, 0.6]}}
FAR: dict[str, Any] = {"null": {"role": "null", "success": [0.3, 0.3]}, "better": {"success": [0.25, 0.75]}}


def _even(**tables: Any) -> Plan:
    return two(policy={"kind": "Uniform"}, **tables)


def test_a_threshold_that_is_found_at_once_lets_through_what_it_may() -> None:
    """Of its own trials one error less than 5 %, to a trial; inferiority says the same of two proposals."""
    plan = two(looks={"at": [40, 80]}, stopping={"superiority": 0.9, "inferiority": 0.1}, scenarios=BOTH)
    found = calibrate(plan, 0.05, 4_000, 2, rates=[0.5])
    assert set(found.errors) == {"null", "null 0.5"}
    most = max(each.claimed.mean() for each in operate(found.plan, list(found.errors), 4_000, 2).values())
    aim = 0.05 - np.sqrt(0.05 * 0.95 / 4_000)
    assert aim - 2 / 4_000 < most <= aim
    assert abs(found.worst.mean - aim) < 6 * found.worst.error
    assert found.plan.content["stopping"]["inferiority"] == pytest.approx(1 - found.threshold)
    told = found.plan.content["stopping"]["error"]
    assert (told["target"], told["found"], told["trials"]) == (0.05, found.worst.mean, 4_000)
    assert found.errors[told["scenario"]] == found.worst
    assert (
        "error" not in with_last(found.plan, 100).content["stopping"]
    )  # other thresholds, and other sizes, err otherwise


def test_a_value_that_many_trials_share_is_not_let_through() -> None:
    """Six units on two arms see few different probabilities: 13/14 is that of one trial in forty."""
    stopping = {"superiority": 0.9, "control": "0", "replace": False}
    nulls = {"null": {"role": "null", "success": [0.5, 0.5]}}
    found = calibrate(_even(looks={"at": [6]}, stopping=stopping, scenarios=nulls), 0.05, 4_000)
    assert operate(found.plan, replications=4_000)["null"].claimed.mean() < 0.05
    assert found.worst.mean < 0.05 + 2 * found.worst.error
    assert found.threshold > 13 / 14


@pytest.mark.requirement("R-6.3")
def test_a_threshold_that_other_trials_deny_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the search to say 0.7 for whatever reason: what is told keeps the error all the same, or nothing is told."""
    monkeypatch.setitem(calibrate.__globals__, "_at_once", lambda tops, target: 0.7)
    plan = _even(looks={"at": [6]}, stopping={"superiority": 0.9}, scenarios=BOTH)
    found = calibrate(plan, 0.1, 2_000)
    assert found.threshold > 0.9
    assert found.worst.mean < 0.1 + 2 * found.worst.error


@pytest.mark.long
@pytest.mark.parametrize(("kind", "trials"), [("TS", 100_000), ("Uniform", 100_000), ("TSRobust", 20_000)])
def test_a_calibrated_threshold_keeps_its_error_at_every_null(kind: str, trials: int) -> None:
    """5 % + 2 errors in so many fresh trials at every rate, where all comply, 70 % do, or takers fare better.

    Search and fresh run have an error each, and the search aims one below: three errors are 2.1 of both together, which
    one of 60 seeds exceeds for the worst null; this one is fixed.
    """
    ways: dict[str, dict[str, float]] = {"": {}, " refused": {"take_up": 0.7}}
    ways[" confounded"] = {"take_up": 0.7, "confounded": 0.1}
    nulls = {
        f"{rate}{name}": {"role": "null", "success": [rate, rate], **more}
        for rate in (0.1, 0.25, 0.5, 0.75)
        for name, more in ways.items()
    }
    plan = two(
        policy={"kind": kind},
        limits={"floor": 0.1},
        looks={"every": 100, "last": 400},
        stopping={"superiority": 0.9, "inferiority": 0.1},
        scenarios=nulls,
    )
    found = calibrate(plan, 0.05, trials, 4)
    for name, error in found.errors.items():
        assert error.mean < 0.05 + 2 * error.error, name
    assert found.worst.mean > 0.05 - 5 * found.worst.error


def test_a_plan_with_control_and_futility_keeps_its_error() -> None:
    """On two sides fewer claims are allowed on each. Search and fresh run differ by sqrt(2) errors."""
    stopping = {
        "superiority": 0.9,
        "inferiority": 0.1,
        "control": "A",
        "futility": {"probability": 0.9, "margin": 0.05},
    }
    tables = {"looks": {"at": [60, 120]}, "scenarios": {"null": {"role": "null", "success": [0.3] * 3}}}
    plan = Plan.of({**THREE, **tables, "stopping": stopping})
    one, both = (calibrate(plan, 0.1, 2_000, 3, two_sided=sides) for sides in (False, True))
    for found in (one, both):
        assert abs(found.worst.mean - 0.1) < 6 * found.worst.error
        assert len(found.tried) > 2
    assert both.threshold > one.threshold


def test_too_few_trials_say_nothing_of_a_small_error() -> None:
    with pytest.raises(InputError, match="replications: got 100"):
        calibrate(two(looks={"at": [40]}, scenarios=BOTH), 0.001, 100)


def test_a_size_has_its_power_by_the_recursion() -> None:
    """A quarter against three, even allocation, one look, 80 %: the size has it, and one less has not, by four errors.

    From one size to the next the exact power jumps by up to .04.
    """
    plan = _even(looks={"last": 500}, stopping={"superiority": 0.975}, scenarios=FAR)
    found = size(plan, 0.8, replications=8_000, seed=1)
    right = exact(found.plan, [0.25, 0.75]).probability("superior", 1)
    one_less = exact(with_last(plan, found.size - 1), [0.25, 0.75]).probability("superior", 1)
    assert one_less - 4 * found.found.power.error < 0.8 < right + 4 * found.found.power.error
    assert found.found.power.mean == pytest.approx(right, abs=4 * found.found.power.error)
    assert found.plan.looks.at.tolist() == [found.size]
    fewer = exact(with_last(plan, int(found.size - 6 * found.error)), [0.25, 0.75]).probability("superior", 1)
    assert fewer < 0.8
    assert found.plain()["size"] == {"mean": found.size, "error": found.error}


def test_a_size_with_an_error_that_is_kept_needs_no_good_threshold() -> None:
    """From a threshold of .5, which errs always, to one that errs in 5 % on two sides."""
    plan = _even(looks={"at": [10, 20]}, stopping={"superiority": 0.5}, scenarios=FAR)
    found = size(plan, 0.8, replications=2_000, seed=1, calibrate_to=0.05)
    assert found.calibration is not None
    assert found.calibration.plan is found.plan
    assert abs(exact(found.plan, [0.3, 0.3]).probability("superior") - 0.05) < 6 * found.calibration.worst.error
    assert abs(exact(found.plan, [0.25, 0.75]).probability("superior", 1) - 0.8) < 5 * found.found.power.error
    assert found.plan.looks.at[0] == pytest.approx(found.size / 2, abs=1)


def test_a_power_that_no_size_has_is_refused() -> None:
    plan = _even(
        looks={"first": 20, "every": 20, "last": 100},
        stopping={"superiority": 0.99},
        scenarios={"alike": {"success": [0.3, 0.3]}, "better": {"success": [0.3, 0.35]}},
    )
    with pytest.raises(SpecError, match=r"plan: scenarios\.alike: got values of proposing \[0\.3, 0\.3\]"):
        size(plan, 0.8)
    with pytest.raises(InputError, match=r"power: got 0\.8, expected one that some size up to 300 has; 300 has 0"):
        size(plan, 0.8, "better", 500, most=300)
    with pytest.raises(InputError, match="scenarios: got 'worse'"):
        size(plan, 0.8, "worse")
    lists = _even(looks={"every": 20, "last": 40}, stopping={"superiority": [0.99, 0.9]}, scenarios=BOTH)
    with pytest.raises(SpecError, match=r"stopping\.superiority: got one for each look"):
        size(lists, 0.8)
    with pytest.raises(InputError, match=r"replications: got 99, expected at least 100"):
        size(plan, 0.8, "better", 99)
    with pytest.raises(InputError, match=r"replications: got 1000, expected at least 1,584 for a power of 0\.99"):
        size(plan, 0.99, "better", 1_000)


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        ({"stopping": {"equivalence": {"probability": [0.9, 0.8], "margin": 0.1}}}, "stopping.equivalence.probability"),
        (
            {"stopping": {"control": "0", "futility": {"probability": [0.9, 0.8], "margin": 0.1}}},
            "stopping.futility.probability",
        ),
        ({"limits": {"soften": [0.5, 1.0]}}, "limits.soften"),
        ({"scenarios": {"better": {"success": [0.3, 0.6], "take_up": [0.9, 0.5]}}}, "scenarios.better.take_up"),
    ],
)
def test_what_is_given_for_each_look_is_refused_before_looks_move(tables: dict[str, Any], key: str) -> None:
    """Where they are a list it is stretched, never to a size at which two looks would become one."""
    plan = two(**{"looks": {"every": 20, "last": 40}, "scenarios": BOTH, **tables})
    with pytest.raises(SpecError, match=f"plan: {re.escape(key)}: got one for each look"):
        size(plan, 0.8)
    stretched = two(**{"looks": {"at": [20, 25]}, "scenarios": BOTH, **tables})
    low, _ = size_range(stretched, 100_000)
    assert with_last(stretched, low).looks.at.size == 2
    assert low == 6


class _Trials:
    """Trials that have the power that is asked for, but in some of a range of numbers less by so many errors."""

    def __init__(self, less: dict[int, float], power: float = 0.8) -> None:
        self.less, self.power, self.seen = less, power, list[range]()

    def operate(self, plan: Plan, names: list[str], trials: range, *_: object, **__: object) -> dict[str, Any]:
        self.seen.append(trials)
        error = np.sqrt(self.power * (1 - self.power) / len(trials))
        right = np.arange(len(trials)) < (self.power - self.less.get(trials.start, 0.0) * error) * len(trials)
        return {name: SimpleNamespace(right=right) for name in names}


def test_a_size_is_taken_at_one_error_below_its_power_and_every_size_is_tried_in_other_trials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Twice 1.5 errors less than .8 are not enough, and half an error less is; what is less is said."""
    trials = _Trials({2_000: 1.5, 3_000: 1.5, 4_000: 0.5})
    monkeypatch.setattr(sizing, "operate", trials.operate)
    found = size(_even(looks={"last": 100}, stopping={"superiority": 0.9}, scenarios=BOTH), 0.8, replications=1_000)
    assert trials.seen[-3:] == [range(2_000, 3_000), range(3_000, 4_000), range(4_000, 5_000)]
    assert found.target - found.found.power.error < found.found.power.mean < found.target
    assert "which is less" in found.below
    assert found.tried[-1].size < found.size


def test_a_search_with_a_small_error_begins_with_as_many_trials_as_that_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 trials say nothing of an error of .005, and 800 do; nor are there more than were asked for."""
    asked = list[int]()

    def calibrated(plan: Plan, target: float, replications: int, *_: object, **__: object) -> Any:
        asked.append(replications)
        if replications < 4 * (1 - target) / target:
            raise InputError("replications", replications, "more")
        return SimpleNamespace(plan=plan, threshold=0.99)

    monkeypatch.setattr(sizing, "operate", _Trials({}).operate)
    monkeypatch.setattr(sizing, "calibrate", calibrated)
    plan = _even(looks={"last": 100}, stopping={"superiority": 0.9}, scenarios=BOTH)
    size(plan, 0.8, replications=5_000, calibrate_to=0.005)
    assert (asked[0], asked[-1]) == (800, 5_000)
    with pytest.raises(InputError, match="replications: got 600"):
        size(plan, 0.8, replications=600, calibrate_to=0.005)


def test_plans_that_are_alike_differ_by_less_than_by_chance() -> None:
    """The same plan has the same trials; a threshold that is a little higher shares most of them."""
    low = two(looks={"at": [20, 40]}, stopping={"superiority": 0.9}, scenarios=BOTH)
    high = low.with_thresholds(0.93, None)
    found = compare({"low": low, "again": low, "high": high}, replications=2_000, seed=5)
    for each in found.plain():
        assert each["difference"]["again"] == {"mean": 0, "error": 0}
        one, other, apart = each["plans"]["low"], each["plans"]["high"], each["difference"]["high"]
        assert apart["mean"] == pytest.approx(other["mean"] - one["mean"])
        assert apart["error"] < 0.8 * np.hypot(one["error"], other["error"])
    assert {(each["scenario"], each["metric"]) for each in found.plain()} == {
        ("null", "claimed"),
        ("null", "size"),
        ("null", "successes"),
        ("better", "right"),
        ("better", "size"),
        ("better", "successes"),
        ("better", "on_worse"),
    }


def test_plans_of_other_truths_are_not_compared() -> None:
    one = Plan.of({**THREE}, "one.toml")
    other = Plan.of({**THREE, "scenarios": {"null": THREE["scenarios"]["null"]}}, "other.toml")
    with pytest.raises(MismatchError, match=r"one\.toml and other\.toml have other scenarios: apart and none"):
        compare([one, other])
    moved = {**THREE["scenarios"], "apart": {"success": [0.75, 0.8, 0.71]}}
    with pytest.raises(MismatchError, match=r"scenario apart: .*0\.7\] .* in one\.toml, .*0\.71\] .* in moved\.toml"):
        compare([one, Plan.of({**THREE, "scenarios": moved}, "moved.toml")])
    with pytest.raises(InputError, match="plans: got one"):
        compare([one])


def test_classical_designs_of_two_arms_keep_the_error_of_both_sides() -> None:
    """5 % at a rate of a half, in 8,000 trials of 400 units; false alarm rate 1e-3, and .003 for whole numbers."""
    plan = two(looks={"every": 100, "last": 400}, stopping={"superiority": 0.9}, scenarios=BOTH | _null(0.5))
    designs = classical(plan)
    assert designs["fixed size"].looks.at.tolist() == [400]
    assert designs["fixed size"].content["stopping"]["superiority"] == 0.975
    for name, design in designs.items():
        found = operate(design, ["half"], 8_000, 6)["half"].claimed
        assert abs(found.mean() - 0.05) < 3.3 * found.std() / np.sqrt(8_000) + 0.003, name
    strict = designs["O'Brien-Fleming"].content["stopping"]["superiority"]
    assert strict[0] > 0.99995
    assert strict == sorted(strict, reverse=True)


def test_a_classical_design_of_one_look_has_the_mean_of_a_take_up_by_look() -> None:
    """A quarter of the units at .9 and the others at .5 are .6 of all; where looks stay, so does the take-up."""
    changes = {"better": {"success": [0.3, 0.6], "take_up": [0.9, 0.5]}}
    designs = classical(_even(looks={"at": [50, 200]}, stopping={"superiority": 0.9}, scenarios=changes))
    assert designs["fixed size"].content["scenarios"]["better"]["take_up"] == pytest.approx(0.6)
    for design in designs.values():
        np.testing.assert_allclose(design.scenarios["better"].values, [0.3, 0.48])
    assert designs["Pocock"].content["scenarios"] == changes


def test_a_classical_design_has_no_policy_to_read() -> None:
    stopping = {"superiority": 0.9, "reading": "policy", "control": "0"}
    for design in classical(two(looks={"at": [50, 200]}, stopping=stopping, scenarios=BOTH)).values():
        assert design.reading == "intention to treat"
        assert design.rules.control == 0


def _null(rate: float) -> dict[str, Any]:
    return {"half": {"role": "null", "success": [rate, rate]}}
