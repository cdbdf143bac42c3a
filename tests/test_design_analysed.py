"""The planned analysis in trials of a plan: its figures are those of the logs that the trials leave."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from takeup import LabelError, Log, specfile
from takeup.analysis.planned import Planned
from takeup.cli import app
from takeup.design import Plan
from takeup.design.analysed import Analysed, analysed, over_units, true_effect

PLAN = {
    "name": "Planned",
    "space": {"proposals": ["usual", "new"], "outcomes": ["ill", "well"]},
    "policy": {"kind": "TS"},
    "limits": {"floor": 0.2},
    "looks": {"at": [60, 120]},
    "stopping": {"superiority": 0.999, "control": "usual", "replace": False},
    "scenarios": {
        "null": {"role": "null", "success": [0.3, 0.3]},
        "better": {"success": [0.3, 0.7], "take_up": {"from": 1.0, "to": 0.5}},
    },
}


def test_the_truth_is_over_those_who_came() -> None:
    """Take-up falls in ten steps: over all 120 it is .75 in the mean, over the first 12 it is 1."""
    plan = Plan.of(PLAN)
    environment = plan.scenarios["better"].environment
    np.testing.assert_allclose(over_units(environment, 120)[1, :, 1], [0.25 * 0.3, 0.75 * 0.7], atol=1e-12)
    np.testing.assert_allclose(over_units(environment, 12)[1, :, 1], [0.0, 0.7], atol=1e-12)
    log = _log(120)
    truths = {
        ("intention to treat", "difference"): 0.3,
        ("compliers", "difference"): 0.4,
        ("intention to treat", "ratio"): 2.0,
        ("intention to treat", "odds ratio"): (0.6 / 0.4) / (0.3 / 0.7),
    }
    for (reading, measure), truth in truths.items():
        planned = Planned(reading=reading, measure=measure)  # type: ignore[arg-type]  # names of both
        assert true_effect(environment, planned, 1, log) == pytest.approx(truth)
    assert np.isnan(true_effect(environment, Planned(reading="per protocol"), 1, log))


def test_a_planned_analysis_concludes_where_there_is_something_and_covers_the_truth() -> None:
    """20 trials of each scenario; five concluding falsely would come about once in 400 runs with another seed."""
    found = {each.scenario: each for each in analysed(Plan.of(PLAN), None, 20, seed=2)}
    null, better = found["null"].plain(), found["better"].plain()
    assert null["concludes"]["mean"] <= 4 / 20
    assert better["concludes"]["mean"] > 0.5
    assert better["coverage"]["mean"] >= 16 / 20
    assert better["truth"] == pytest.approx(0.3, abs=0.1)
    with pytest.raises(LabelError, match="'other'"):
        analysed(Plan.of(PLAN), ["other"], 2)


def test_how_often_it_concludes_is_by_the_test_where_one_is_planned() -> None:
    nan, at = np.full(4, np.nan), np.array([0.01, 0.05, 0.2, np.nan])
    low, high = np.array([0.1, -0.1, -0.3, np.nan]), np.array([0.2, 0.1, -0.1, np.nan])
    by_test = Analysed("s", "new", "usual", Planned(test="betting"), low, low, high, at, nan)
    np.testing.assert_array_equal(by_test.concludes, [True, True, False, False])
    two = Analysed("s", "new", "usual", Planned(), low, low, high, nan, nan)
    np.testing.assert_array_equal(two.concludes, [True, False, True, False])
    np.testing.assert_array_equal(two.shown, [True, True, True, False])
    one = Analysed("s", "new", "usual", Planned(sided=1), low, low, high, nan, nan)
    np.testing.assert_array_equal(one.concludes, [True, False, False, False])
    assert two.plain()["coverage"] is None


def test_the_command_runs_it(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(specfile.toml(PLAN))
    command = ["design", str(tmp_path / "plan.toml"), "--replications", "20", "--analyse", "3", "--engine", "reference"]
    told = CliRunner().invoke(app, [*command, "--json"])
    assert told.exit_code == 0, told.output
    rows = json.loads(told.stdout)["design"]["analysis"]
    assert [(each["scenario"], each["trials"]) for each in rows] == [("null", 3), ("better", 3)]
    shown = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert "The planned analysis in 3 trials of each scenario" in shown.stdout
    assert "What the planned analysis would report" in (tmp_path / "out" / "report.html").read_text()


def _log(n: int) -> Log:
    return Log.of(Plan.of(PLAN).design.space, [0] * n, [0.5, 0.5])
