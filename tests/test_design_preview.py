"""What New trial shows of a spec's rules, before anybody is asked."""

from typing import Any

import numpy as np
import pytest

from takeup.design.operate import operate
from takeup.design.preview import Preview, plan_of, rounded_up
from takeup.design.results import Figure
from takeup.errors import InputError
from takeup.live.scenarios import scenarios
from takeup.space import Space
from takeup.trial import TrialSpec

OLD: dict[str, Any] = {
    "name": "Old",
    "space": {"proposals": ["usual", "new"]},
    "policy": {"kind": "TS"},
    "stopping": {"probability_best": 0.95},
}
RATES = [[0.6, 0.4], [0.5, 0.5]]


def silent(_: float) -> None:
    """Nobody listens."""


def test_a_spec_without_looks_is_looked_at_all_the_time() -> None:
    """Advice is given from twenty outcomes on; 10 a day with a window of five days are 50 who have no outcome yet."""
    whole = {**OLD, "burn_in": 10, "window": "5 days", "stopping": {"probability_best": 0.97, "maximum": 700}}
    plan, words = plan_of(TrialSpec.model_validate(whole).model_dump(mode="json"), RATES, 300, 10.0)
    assert (plan.looks.at[0], plan.looks.at[1], plan.looks.at[-1], plan.looks.lag) == (20, 27, 700, 50)
    assert plan.rules.superiority is not None
    assert set(plan.rules.superiority) == {0.97}
    nulls = [name for name, each in plan.scenarios.items() if each.role == "null"]
    assert nulls == ["equal arms, nearly all comply", "equal arms, half comply, confounded"]
    assert all(words[name].startswith("All actions are like the first") for name in nulls)
    for each in scenarios(Space(2), RATES):
        np.testing.assert_allclose(plan.scenarios[each.name].environment.response, each.environment.response)
    late, _ = plan_of({**OLD, "burn_in": 90}, RATES, 300, 10.0)
    assert late.looks.at[0] == 90


def test_the_figures_are_those_of_the_plan_that_is_told() -> None:
    """However little time there is; and who warns has seen it."""
    found = Preview(spec=OLD, rates=RATES, seconds=0.0, fewest=50, seed=2).run(silent)
    assert found["trials"] == 50
    plan, _ = plan_of(OLD, RATES, 300, 10.0)
    assert found["plan"] == plan.content
    outcomes = operate(plan, None, 50, 2)
    for each in found["scenarios"]:
        assert each["claimed"] == Figure.of(outcomes[each["name"]].claimed).plain()
        assert (each["right"] is None) == each["null"]
    assert found["error"] == max(
        (each["claimed"] for each in found["scenarios"] if each["null"]), key=lambda figure: figure["mean"]
    )
    assert found["error"]["mean"] > 0.1
    assert found["large"]


def test_what_a_newcomer_found() -> None:
    """P(best) above .95, looked at every 20 from 100 to 2,000: 53 % of even trials with equal arms name a winner.

    Two nulls of 800 trials, within four of their errors: fixed seed, false alarm 1e-4.
    """
    looks = {"first": 100, "every": 20, "last": 2_000}
    spec = {**OLD, "policy": {"kind": "Uniform"}, "stopping": {"superiority": 0.95}, "looks": looks}
    plan, _ = plan_of(spec, [[0.5, 0.5]] * 2, 300, 10.0)
    found = operate(plan, [name for name, each in plan.scenarios.items() if each.role == "null"], 800, 1)
    for each in found.values():
        error = Figure.of(each.claimed)
        assert abs(error.mean - 0.53) < 4 * error.error


def test_calibrate_finds_a_threshold_that_errs_less() -> None:
    """500 trials have an error of .01 at .05: within four of them, and the threshold is far above .95."""
    given: dict[str, Any] = {"spec": OLD, "rates": RATES, "people": 100, "seconds": 0.0, "fewest": 50, "target": 0.05}
    preview = Preview(**given, searched=500, seed=3)
    found = preview.run(silent)["calibration"]
    assert found["trials"] == 500
    assert found["threshold"] > 0.98
    assert found["error"]["mean"] < 0.05 + 4 * 0.01
    hasty = Preview(**given).run(silent)["calibration"]
    assert "takes its time" in hasty["problem"]


@pytest.mark.parametrize(
    ("found", "told"), [(0.98765432, 0.98766), (0.9, 0.9), (0.999991, 0.999991), (0.9999995, 0.9999995)]
)
def test_a_threshold_is_rounded_up_and_stays_below_one(found: float, told: float) -> None:
    assert rounded_up(found) == told < 1


def test_too_few_trials_tell_nothing() -> None:
    """What is slow is looked at less often, with fewer draws; and where there is no time for it, nothing is shown."""
    with pytest.raises(InputError, match="policy: got one of which fewer than 50 trials fit in 0 s"):
        Preview(spec=OLD, rates=RATES, people=30, seconds=0.0).run(silent)
    slow, _ = plan_of(OLD, RATES, 300, 10.0, slow=True)
    assert (slow.looks.at.size, slow.design.spec.draws) == (20, 200)
    read, _ = plan_of({**OLD, "stopping": {"probability_best": 0.9, "reading": "policy"}}, RATES, 300, 10.0, slow=True)
    assert read.design.spec.draws == 1_000


def test_the_scenarios_of_a_plan_are_tried_with_equal_arms_besides() -> None:
    """A null of its own takes the place of ours; looks and rules are its own."""
    own = {**OLD, "stopping": {"superiority": 0.9}, "looks": {"at": [30, 60]}}
    better, null = {"success": [0.4, 0.6]}, {"role": "null", "success": [0.4, 0.4]}
    plan, _ = plan_of({**own, "scenarios": {"better": better}}, RATES, 300, 10.0)
    assert list(plan.scenarios) == ["equal arms, nearly all comply", "equal arms, half comply, confounded", "better"]
    assert plan.looks.at.tolist() == [30, 60]
    whole, words = plan_of({**own, "scenarios": {"better": better, "none": null}}, RATES, 300, 10.0)
    assert list(whole.scenarios) == ["better", "none"]
    assert words == {}


def test_no_threshold_no_error() -> None:
    """No trial is made where nothing is ever called better; with looks there is more to see."""
    found = Preview(spec={**OLD, "stopping": {}}, rates=RATES, seconds=0.0).run(silent)
    assert found == {"threshold": None, "scenarios": [], "calibration": None}
    spec = {**OLD, "stopping": {"equivalence": {"probability": 0.9, "margin": 0.3}}, "looks": {"at": [30, 60]}}
    looked = Preview(spec=spec, rates=RATES, seconds=0.0, fewest=50).run(silent)
    assert looked["threshold"] is None
    assert looked["error"] is None
    assert not looked["large"]
    assert all(each["claimed"]["mean"] == 0 for each in looked["scenarios"])
