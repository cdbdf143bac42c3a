"""A plan as a person writes it: what it means, what is refused and how, and the command."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import plans
from plans import THREE, two
from takeup.cli import app
from takeup.design.operate import operate
from takeup.design.plan import Plan
from takeup.design.preview import plan_of
from takeup.design.promises import promised
from takeup.design.sizing import with_last
from takeup.errors import InputError
from takeup.specfile import SpecError


def test_the_command_prints_tables_and_figures_for_machines(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(THREE))
    shown = CliRunner().invoke(app, ["design", str(file), "--replications", "60"]).output
    assert "Three arms: 60 trials" in " ".join(shown.split())
    told = CliRunner().invoke(app, ["design", str(file), "--replications", "60", "--calibrate", "0.2", "--json"])
    found = json.loads(told.stdout)["design"]
    assert [each["scenario"] for each in found["scenarios"]] == ["null", "apart"]
    assert found["plan"]["stopping"]["superiority"] == found["calibration"]["superiority"] != 0.9814318
    assert set(found["scenarios"][0]["metrics"]["superior"]) == {"mean", "error"}
    file.write_text(json.dumps({**THREE, "limits": {"rule": "[bold]"}}))
    refused = subprocess.run(
        [sys.executable, "-m", "takeup", "design", str(file)], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "plan.json: limits.rule: got '[bold]'" in refused.stderr


BAD: list[tuple[dict[str, Any], str]] = [
    ({"looks": {"at": [300, 200]}}, r"looks\.at: got \[300, 200\]"),
    ({"looks": {"lag": 3}}, r"looks\.last"),
    ({"looks": {"at": [10], "last": 20}}, r"looks\.at"),
    ({"stopping": {"futility": {"probability": 0.9, "margin": 0.1}}}, r"stopping\.futility"),
    ({"stopping": {"superiority": [0.9, 0.8]}}, r"stopping\.superiority: got 2 numbers"),
    ({"stopping": {"superiority": 0.4, "inferiority": 0.5}}, r"stopping\.superiority"),
    ({"stopping": {"control": "D"}}, r"stopping\.control: got 'D'"),
    ({"stopping": {"inferiority": 0.4}}, r"stopping\.inferiority: got 0\.4"),
    ({"stopping": {"maximum": 10}}, r"stopping\.maximum"),
    ({"stopping": {"reading": "compliers"}}, r"stopping\.reading"),
    ({"stopping": {"equivalence": {"probability": 0.9, "margin": 5}}}, r"stopping\.equivalence\.margin: got 5"),
    ({"looks": {"first": 3_000, "last": 2_000}}, r"looks\.first: got 3000"),
    ({"looks": {"every": 1, "last": 90_000}}, r"looks\.every"),
    ({"looks": {"last": 10**9}}, r"looks\.last"),
    (
        {"scenarios": {"a": {"compliance": [[1, 0, 0]] * 3, "success": [0.1] * 3, "take_up": 0.5}}},
        r"scenarios\.a\.keys",
    ),
    ({"scenarios": {"a": {"success": [0.1] * 3, "context": [1.0]}}}, r"scenarios\.a\.context"),
    ({"stopping": {"inferiority": 0.01}, "limits": {"ceiling": 0.4}}, r"limits\.ceiling"),
    ({"limits": {"floor": 0.4}}, "limits"),
    ({"scenarios": {"null": {"role": "null", "success": [0.2, 0.2, 0.3]}}}, r"scenarios\.null\.role.*C 0\.3"),
    ({"scenarios": {"a": {"success": [0.2, 0.3]}}}, r"scenarios\.a\.success"),
    ({"scenarios": {"a": {"success": [0.2, 0.3, 1.4]}}}, r"scenarios\.a\.success"),
    (
        {"scenarios": {"a": {"success": [0.2, 0.2, 0.2], "confounded": 0.9, "take_up": 0.5}}},
        r"scenarios\.a\.confounded",
    ),
    ({"scenarios": {}}, r"scenarios is missing.*\[scenarios\.null\]"),
    ({"looks": {"every": 100}}, r"looks\.last is missing"),
    ({"stopping": {"superiority": 0.3, "inferiority": 0.32}}, r"stopping\.superiority: got 0\.3.*0\.32.* at look 1"),
    *(
        ({"looks": {"last": 100, name: 10**400}}, rf"looks\.{name}: .* 100000")
        for name in ("last", "every", "first", "lag")
    ),
    ({"looks": {"at": [10, 10**30]}}, r"looks\.at\.1: .* 100000"),
    ({"looks": {"first": 50, "last": 100_000, "every": 100}}, r"looks\.every: got 100, .* at most 1000 looks"),
]

UNTRIED: list[tuple[dict[str, Any], str]] = [
    ({"policy": {"kind": "TSLat"}}, r"policy\.kind: got TSLat"),
    ({"policy": {"kind": "TS", "alpha": 0.1}}, r"policy\.alpha: got 0\.1"),
    ({"looks": {"last": 100, "update": "patient"}, "policy": {"kind": "TSCheck"}}, r"looks\.update: got patient"),
]


@pytest.mark.parametrize(("tables", "named"), UNTRIED)
def test_what_has_no_kernel_is_said(tables: dict[str, Any], named: str) -> None:
    with pytest.raises(SpecError, match=f"plan: {named}.*so far"):
        operate(Plan.of({**THREE, **tables}), replications=5, engine="cpu")


@pytest.mark.parametrize("numbers", [range(0, 20, 2), range(-1, 3), range(5, 5)])
def test_trials_are_numbered_one_after_the_other(numbers: range) -> None:
    with pytest.raises(InputError, match="replications"):
        operate(Plan.of(THREE), replications=numbers)


@pytest.mark.parametrize(("tables", "named"), BAD)
def test_a_plan_that_cannot_be_is_refused_by_file_key_and_value(tables: dict[str, Any], named: str) -> None:
    with pytest.raises(SpecError, match=f"trial.toml: {named}"):
        Plan.of({**THREE, **tables}, "trial.toml")


def test_take_up_shrinks_what_a_proposal_is_worth() -> None:
    """.25 and .35: at 60 % take-up proposing is worth .25 and .31, confounded or not."""
    tables = {
        "plain": {"success": [0.25, 0.35], "take_up": 0.6},
        "confounded": {"success": [0.25, 0.35], "take_up": 0.6, "confounded": 0.05},
        "both": {"success": [0.25, 0.35], "take_up": 0.9, "two_sided": 0.1},
    }
    plan = two(scenarios=tables)
    np.testing.assert_allclose(plan.scenarios["plain"].values, [0.25, 0.31])
    np.testing.assert_allclose(plan.scenarios["confounded"].values, [0.25, 0.31])
    np.testing.assert_allclose(plan.scenarios["both"].values, [0.26, 0.34])


def test_what_changes_a_plan_says_nothing_of_its_error() -> None:
    """Sizes, promises, scenarios and the preview of New trial begin with a plan that was calibrated."""
    control = {**THREE["stopping"], "control": "A"}
    plan = Plan.of(plans.told({**THREE, "stopping": control}))
    slow, _ = plan_of(plan.content, [[0.5, 0.5]] * 3, 300, 10.0, slow=True)
    other = plan.changed(scenarios={"a": {"success": [0.1] * 3}})
    for each in (with_last(plan, 1_000), promised(plan, 0.1), other, slow):
        assert "error" not in each.content["stopping"]
        assert each.content["stopping"]["control"] == "A"
