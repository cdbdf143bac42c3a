"""The planned analysis in trials of a plan: its figures are those of the logs that the trials leave."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from takeup import LabelError, Log, specfile
from takeup.analysis.planned import Planned
from takeup.analysis.readings import Readings
from takeup.charts import document
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


INF = np.inf
REGIONS = {
    "above": [(0.1, 0.2)],
    "around": [(-0.1, 0.1)],
    "below": [(-0.3, -0.1)],
    "withheld": [],
    "from": [(0.1, INF)],
    "up to": [(-INF, -0.1)],
    "rays around": [(-INF, 0.0), (0.3, INF)],
    "rays beside": [(-INF, -0.2), (0.1, INF)],
    "line": [(-INF, INF)],
}


def _analysed(planned: Planned, better: int = 1, p: float = np.nan) -> Analysed:
    """A trial with each region."""
    region = np.full((len(REGIONS), 2, 2), np.nan)
    for row, parts in enumerate(REGIONS.values()):
        region[row, : len(parts)] = np.array(parts).reshape(-1, 2)
    many = np.zeros(len(REGIONS))
    return Analysed("s", "new", "usual", planned, better, many, region, many + p, many - 0.25)


def test_it_concludes_where_a_region_leaves_out_no_effect_on_the_side_that_is_looked_for() -> None:
    """Two sides: wherever zero is outside, two rays included. One side: where all of the region is on the better."""

    def where(chosen: NDArray[np.bool_]) -> set[str]:
        return {name for name, each in zip(REGIONS, chosen, strict=True) if each}

    two = _analysed(Planned())
    assert where(two.concludes) == {"above", "below", "from", "up to", "rays beside"}
    assert where(two.shown) == set(REGIONS) - {"withheld"}
    assert where(_analysed(Planned(sided=1)).concludes) == {"above", "from"}
    assert where(_analysed(Planned(sided=1), better=-1).concludes) == {"below", "up to"}
    assert two.plain()["shown"]["mean"] == pytest.approx(8 / 9)
    assert two.plain()["coverage"]["mean"] == pytest.approx(5 / 8)
    ratio = Planned(measure="ratio", sided=1)
    assert not _analysed(ratio).concludes.any()
    assert where(_analysed(ratio, better=-1).concludes) == {"above", "around", "below", "up to"}


def test_it_concludes_by_its_test_where_one_is_planned() -> None:
    for level, p, concludes in ((0.9, 0.1, True), (0.95, 0.05, True), (0.95, 0.051, False), (0.9, np.nan, False)):
        assert _analysed(Planned(test="betting", level=level), p=p).concludes.all() == concludes


def test_truths_of_rates_and_times_are_those_of_the_scenario() -> None:
    """Rates of .5 and 1; exponential times with hazards of .02 and .01, of which .79 and .54 have ended after 78 days.

    The mean within 78 days is (1 - exp(-78 h)) / h; times are rounded to a tenth of a day.
    """
    times = {
        "name": "Times",
        "space": {"proposals": ["usual", "new"], "outcomes": {"kind": "time", "longest": 78, "step": 0.1}},
    }
    counts = {**times, "space": {"proposals": ["usual", "new"], "outcomes": {"kind": "count", "most": 20}}}
    rest = {"policy": {"kind": "Uniform"}, "looks": {"at": [20]}, "stopping": {}}
    rates = Plan.of({**counts, **rest, "scenarios": {"s": {"rate": [0.5, 1.0]}}})
    hazards = Plan.of({**times, **rest, "scenarios": {"s": {"hazard": [0.02, 0.01]}}})
    mean = [(1 - np.exp(-78 * h)) / h for h in (0.02, 0.01)]
    for plan, measure, truth, off in (
        (rates, "rate ratio", 2.0, 1e-3),
        (rates, "difference", 0.5, 1e-3),
        (hazards, "hazard ratio", 0.5, 1e-3),
        (hazards, "difference", mean[1] - mean[0], 0.05),
    ):
        log = Log.of(plan.design.space, [0] * 20, [0.5, 0.5])
        found = true_effect(plan.scenarios["s"].environment, Planned(measure=measure), 1, log)  # type: ignore[arg-type]  # names of measures
        assert found == pytest.approx(truth, abs=off)


ONE_SIDE = {
    "name": "One side",
    "space": {"proposals": ["usual", "new"], "outcomes": {"kind": "count", "most": 20}},
    "policy": {"kind": "Uniform"},
    "looks": {"at": [100]},
    "stopping": {},
    "scenarios": {
        "null": {"rate": [2.0, 2.0], "role": "null"},
        "fewer": {"rate": [3.0, 1.0]},
        "more": {"rate": [1.0, 3.0]},
    },
}
WAYS: list[dict[str, str]] = [{}, {"contrast": "rate ratio"}, {"test": "martingale score"}]


@pytest.mark.parametrize("way", WAYS)
def test_a_plan_for_one_side_concludes_where_the_proposal_is_better(way: dict[str, str]) -> None:
    """Fewer events are better. The effect is eight errors large: another seed gives another figure once in 10^9."""
    plan = Plan.of({**ONE_SIDE, "analysis": {"sided": 1, "confidence": 0.9, **way}})
    found = {each.scenario: each.concludes.mean() for each in analysed(plan, ["fewer", "more"], 2, seed=3)}
    assert found == {"fewer": 1.0, "more": 0.0}


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_the_error_of_a_plan_for_one_side_is_its_level(way: dict[str, str]) -> None:
    """1,000 trials at .1: between .07 and .13, but for three errors, once in 400 runs with another seed."""
    plan = Plan.of({**ONE_SIDE, "analysis": {"sided": 1, "confidence": 0.9, **way}})
    (null,) = analysed(plan, ["null"], 1_000, seed=5)
    assert 0.07 < null.concludes.mean() < 0.13


def test_every_trial_has_replays_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []

    def planned_test(self: Readings, one: int, design: object, replays: object, seed: int) -> None:
        seeds.append(seed)

    monkeypatch.setattr(Readings, "planned_test", planned_test)
    analysed(Plan.of(PLAN), ["null"], 5, seed=1)
    assert len(set(seeds)) == 5


def test_the_command_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "png", lambda chart: b"drawn elsewhere, in seconds")
    (tmp_path / "plan.toml").write_text(specfile.toml(PLAN))
    command = ["design", str(tmp_path / "plan.toml"), "--replications", "4", "--analyse", "2", "--engine", "reference"]
    told = CliRunner().invoke(app, [*command, "--json"])
    assert told.exit_code == 0, told.output
    rows = json.loads(told.stdout)["design"]["analysis"]
    assert [(each["scenario"], each["trials"]) for each in rows] == [("null", 2), ("better", 2)]
    shown = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert "The planned analysis in 2 trials of each scenario" in shown.stdout
    assert "What the planned analysis would report" in (tmp_path / "out" / "report.html").read_text()


def _log(n: int) -> Log:
    return Log.of(Plan.of(PLAN).design.space, [0] * n, [0.5, 0.5])
