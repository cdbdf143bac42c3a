"""`takeup design`: what it prints, what it writes, and what it refuses."""

import json
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from plans import THREE
from takeup import charts, folders, specfile
from takeup.charts import document
from takeup.cli import app
from takeup.design.bounded import reading_of, with_reading
from takeup.design.classical import classical
from takeup.design.comparing import Compared
from takeup.design.operate import operate
from takeup.design.plan import Plan
from takeup.design.results import plain
from takeup.design.sizing import SEARCHED, size, with_last
from takeup.design.study import Study, columns
from takeup.design.take_up import by_take_up
from takeup.errors import InputError, TakeupError
from takeup.live.trial_run import tried

CLASSICAL = ("fixed size", "Pocock", "O'Brien-Fleming")
PLAN: dict[str, Any] = {
    "name": "Two [arms]",
    "space": {"proposals": ["usual", "new"]},
    "policy": {"kind": "TS"},
    "looks": {"at": [15, 30]},
    "stopping": {"superiority": 0.9},
    "scenarios": {"null": {"role": "null", "success": [0.3, 0.3]}, "better": {"success": [0.25, 0.75]}},
}
PLAINLY = ("--engine", "reference")
"""Nothing is compiled for tens of trials, but by `make long`: kernels are what other files are about."""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(specfile.toml(PLAN))
    return file


def _design(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["design", *map(str, arguments)], env={"COLUMNS": "160"}, catch_exceptions=True)


def test_a_plan_that_was_written_is_the_plan() -> None:
    odd = {
        "text": 'a "quoted" \\ text\nof two lines \x7f \x01 äß',
        "a key": {"inner": {"deep": [1, 2.5e-20, True, [{"x": "y"}]]}, "empty": {}},
        "none": None,
        "plain": -3,
    }
    read = tomllib.loads(specfile.toml(odd))
    assert read == {key: value for key, value in odd.items() if key != "none"}
    assert tomllib.loads(specfile.toml(THREE)) == THREE


@pytest.mark.parametrize(
    ("engine", "policy", "trials"),
    [("reference", "Uniform", 100), pytest.param("auto", "TS", 400, marks=pytest.mark.long)],
)
def test_a_folder_has_the_plan_the_figures_and_every_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, policy: str, trials: int
) -> None:
    """Threshold and size are found first; the plan that is written is the one that was tried, and says so again."""
    monkeypatch.setattr(document, "png", lambda chart: b"drawn elsewhere, in seconds")
    pl = pytest.importorskip("polars")
    (tmp_path / "plan.toml").write_text(specfile.toml({**PLAN, "policy": {"kind": policy}}))
    out, run = tmp_path / "out", ("--replications", trials, "--engine", engine)
    result = _design(tmp_path / "plan.toml", "--calibrate", 0.1, "--power", 0.7, *run, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)["design"]
    assert told == json.loads((out / "design.json").read_text())["design"]
    written = Plan.load(out / "plan.toml")
    assert written.content["stopping"]["superiority"] == told["calibration"]["superiority"]
    assert written.content["stopping"]["error"]["target"] == 0.1
    assert written.looks.at[-1] == told["size"]["size"]["mean"]
    page = (out / "report.html").read_text()
    assert f"a power of {told['size']['target']:g}" in page
    assert "Power, or error where nothing is to be found, and size against take-up" in page
    names = {file.name for file in out.iterdir()}
    assert names > {"plan.toml", "design.json", "trials.parquet", "report.html"}
    assert any(name.endswith(".svg") for name in names)
    assert {each["take_up"] for each in told["take_up"]["better"]} > {0.5, 1.0}
    assert {plan for each in told["compared"] for plan in each["plans"]} == {"this plan", *CLASSICAL}
    kept = pl.read_parquet(out / "trials.parquet")
    assert kept.height == 2 * trials
    for scenario in told["scenarios"]:
        mine = kept.filter(pl.col("scenario") == scenario["scenario"])
        assert mine["size"].mean() == pytest.approx(scenario["metrics"]["size"]["mean"])
        assert mine["claimed"].mean() == pytest.approx(scenario["metrics"]["claimed"]["mean"])
        bias = scenario["metrics"]["naive_estimates"]["by_arm"]["new"]
        assert mine["difference of new"].mean() == pytest.approx(bias["bias"]["mean"] + bias["truth"])


PROMISED: dict[str, Any] = {
    **PLAN,
    "policy": {"kind": "Uniform"},
    "stopping": {"control": "usual", "replace": False, "reading": {"bounded": 0.05}},
    "scenarios": {**PLAN["scenarios"], "better": {"success": [0.25, 0.75], "take_up": 0.7}},
}


def test_figures_of_a_bounded_reading_belong_to_the_weights_of_the_plan_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are chosen first, for the plan as it was; then thresholds are looked for, and trials are run with them."""
    monkeypatch.setattr(charts, "available", lambda: False)
    (tmp_path / "plan.toml").write_text(specfile.toml(PROMISED))
    out, trials = tmp_path / "out", 60
    options = ("--calibrate", 0.1, "--replications", trials, "--engine", "reference", "--out", out, "--json")
    result = _design(tmp_path / "plan.toml", *options)
    assert result.exit_code == 0, result.output
    told, written = json.loads(result.stdout)["design"], Plan.load(out / "plan.toml")
    chosen = reading_of(Plan.of(PROMISED))
    assert np.abs(chosen.moved).max() > 0.1
    np.testing.assert_array_equal(reading_of(written).moved, chosen.moved)
    assert with_reading(written) is written
    fresh = operate(written, ["null"], range(trials, 2 * trials), engine="reference")["null"]
    assert written.content["stopping"]["error"]["found"] == fresh.claimed.mean()
    again = operate(written, None, range(SEARCHED * trials, (SEARCHED + 1) * trials), engine="reference")
    assert plain(again) == told["scenarios"]
    tried(written.content)


def test_a_bounded_reading_keeps_its_weights_at_other_take_ups_and_has_those_of_its_size() -> None:
    plan = Plan.of(PROMISED).with_thresholds(0.9, None)
    curve = by_take_up(plan, (0.3, 1.0), 2, engine="reference")
    for found in curve.values():
        assert all(each.plan.reading == with_reading(plan).reading for each in found.values())
    assert all(each.reading == with_reading(plan).reading for each in classical(plan).values())
    sized = size(plan, 0.7, replications=100, engine="reference")
    assert sized.plan.reading == with_reading(with_last(plan, sized.size)).reading != with_reading(plan).reading


def test_a_report_lacks_no_more_than_what_could_not_be_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is no classical design, other take-ups are there all the same, and the other way round."""
    module = import_module("takeup.cli.design")

    def none(*_: object) -> None:
        raise InputError("alpha", 0, "more")

    study = Study(Plan.of(PLAN), 0)
    monkeypatch.setattr(module, "_curve", lambda *_: {"better": {}})
    monkeypatch.setattr(module, "_compared", none)
    found = module._beside(study, range(2), "auto")
    assert (found.compared, found.take_up) == (None, {"better": {}})
    assert "lacks classical designs: alpha: got 0, expected more" in capsys.readouterr().err
    monkeypatch.setattr(module, "_compared", lambda *_: Compared({}, 0))
    monkeypatch.setattr(module, "_curve", none)
    found = module._beside(study, range(2), "auto")
    assert found.compared is not None
    assert "lacks other take-ups" in capsys.readouterr().err


def test_what_goes_wrong_leaves_nothing_behind(tmp_path: Path) -> None:
    def half() -> None:
        with folders.filled(tmp_path / "out", "b") as folder:
            (folder / "a").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert list(tmp_path.iterdir()) == []


def test_trials_without_polars_are_lines(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("takeup.design.study.find_spec", lambda name: None)
    monkeypatch.setattr(charts, "available", lambda: False)
    outcomes = operate(Plan.load(plan), replications=20, engine="reference")
    names = Study(Plan.load(plan), 0, outcomes).write(tmp_path / "out")
    assert names == ["design.json", "plan.toml", "trials.csv"]
    lines = (tmp_path / "out" / "trials.csv").read_text().splitlines()
    assert len(lines) == 41
    assert lines[0].split(",") == list(columns(outcomes["null"]))


def test_tables_say_error_and_power(plan: Path) -> None:
    shown = " ".join(_design(plan, "--replications", 50, *PLAINLY).output.split())
    assert "Two [arms]: 50 trials of each scenario, seed 0" in shown
    assert "error" in shown
    exactly = _design("--exact", plan, "--json")
    figures = json.loads(exactly.stdout)["design"]["scenarios"]
    assert figures[0]["metrics"]["type_one_error"]["any"]["error"] == 0
    assert figures[0]["replications"] is None
    ends = ("superior", "equivalent", "futile", "maximum")
    assert sum(figures[1]["metrics"][end]["mean"] for end in ends) == pytest.approx(1)
    assert sum(figure["mean"] for figure in figures[1]["metrics"]["stopped_by_look"]) == pytest.approx(1)
    assert "exact figures" in _design(plan, "--exact").output


def test_plans_side_by_side(plan: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(specfile.toml({**PLAN, "policy": {"kind": "Uniform"}}))
    told = _design("compare", plan, other, "--replications", 60, *PLAINLY, "--classical", 0.05, "--json")
    figures = json.loads(told.stdout)["compared"]["figures"]
    assert list(figures[0]["plans"]) == [str(plan), str(other), *CLASSICAL]
    shown = " ".join(_design("compare", plan, other, "--replications", 60, *PLAINLY).output.split())
    assert "60 trials of each plan" in shown
    assert f"What others have more than {plan}".replace(" ", "") in shown.replace(" ", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare"], "Missing argument"),
        ([], "Missing argument"),
        (["plan.toml", "--rate", "0.2"], "--calibrate"),
        (["compare", "plan.toml"], "at least two"),
        (["compare", "plan.toml", "plan.toml"], "each file once"),
        (["plan.toml", "--out", "plan.toml"], "a folder"),
    ],
)
def test_what_cannot_be_done_is_said(
    plan: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plan.parent)
    result = _design(*arguments)
    assert result.exit_code != 0
    told = str(result.exception) if isinstance(result.exception, TakeupError) else result.output
    assert said in told


def test_narrow_tables_show_every_figure_in_full(plan: Path) -> None:
    arguments = ["design", "compare", str(plan), "--classical", "0.05", "--replications", "60", *PLAINLY]
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"}).output
    assert "±" in shown
    assert "…" not in shown


@pytest.mark.parametrize(
    ("tables", "arguments", "said"),
    [
        ({"looks": {"at": [15, 30], "lag": 5}}, ["--exact"], "looks.lag: got 5"),
        ({"stopping": {"control": "usual"}}, ["--exact"], "stopping.control: got 'usual'"),
        ({"policy": {"kind": "TSObs"}}, ["--exact"], "policy.kind: got TSObs"),
        ({"scenarios": {"a": {"success": [0.3, 0.6]}}}, ["--calibrate", "0.05"], "scenarios: got a, expected"),
        ({"scenarios": {"a": PLAN["scenarios"]["null"]}}, ["--power", "0.8"], "scenarios: got a, expected"),
    ],
)
def test_what_a_plan_lacks_is_said_with_file_and_key(
    tmp_path: Path, tables: dict[str, Any], arguments: list[str], said: str
) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps({**PLAN, **tables}))
    assert f"other.json: {said}" in str(_design(file, *arguments).exception)


def test_exact_figures_say_why_not(tmp_path: Path) -> None:
    file = tmp_path / "three.json"
    file.write_text(json.dumps(THREE))
    said = str(_design(file, "--exact").exception)
    assert "three.json: space.proposals: got 3, expected two proposals and two outcomes" in said


def test_ctrl_c_before_anything_is_finished_is_no_error(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("takeup.cli.design"), "operate", stopped)
    result = _design(plan)
    assert result.exit_code == 130
    assert "stopped before any trial was finished" in result.output


def test_ctrl_c_says_what_was_tried(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, stage: Any, **__: object) -> None:
        stage("a threshold of 0.9 errs in 0.1 of 5 trials")
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("takeup.cli.design"), "calibrate", stopped)
    result = _design(plan, "--calibrate", "0.05")
    assert result.exit_code == 130
    assert "  a threshold of 0.9 errs in 0.1 of 5 trials" in result.output
