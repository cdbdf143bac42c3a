"""The command line: help with examples, clear errors, exit code 2, JSON for machines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from takeup import __version__, errors
from takeup.cli import app, main
from takeup.live import Trial
from takeup.paper import contextual
from takeup.store import Store

runner = CliRunner()


def test_help_has_examples() -> None:
    shown = runner.invoke(app, ["demo", "--help"]).output
    assert "takeup demo --replications 500" in shown


def test_version() -> None:
    assert runner.invoke(app, ["--version"]).output.strip() == f"takeup {__version__}"


def test_bad_input_exits_with_2() -> None:
    result = runner.invoke(app, ["demo", "--replications", "0"])
    assert result.exit_code == 2
    assert "--replications" in result.output


def test_our_own_errors_exit_with_2_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise errors.InputError("horizon", 0, "a whole number of at least 1")

    monkeypatch.setattr(contextual, "table", fail)
    monkeypatch.setattr(sys, "argv", ["takeup", "demo"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2


def test_demo_prints_the_table_a_live_trial_and_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(contextual, "HORIZON", 20)
    shown = runner.invoke(app, ["demo", "--replications", "5", "--folder", str(tmp_path)])
    assert shown.exit_code == 0
    assert "2,000 simulated patients" in shown.output
    assert "The audit passed: 4,002 events were read, and 2,000 of 2,000 decisions" in shown.output
    assert f"takeup serve --database {tmp_path}/demo.db" in shown.output
    with Trial.open(tmp_path / "demo.db") as trial:
        assert trial.progress().compliance_seen == 2_000
    assert isinstance(runner.invoke(app, ["demo", "--folder", str(tmp_path)]).exception, errors.InputError)
    assert "TS-Lat-40" in shown.output
    assert "of 60 figures agree" in shown.output
    first, again = (runner.invoke(app, ["demo", "--replications", "5", "--json", "--seed", "3"]) for _ in range(2))
    figures = json.loads(first.stdout)["table2"]
    assert len(figures["cells"]) == 60
    assert set(figures["cells"][0]) == {
        "environment",
        "policy",
        "statistic",
        "published",
        "measured",
        "mcse",
        "agrees",
    }
    assert first.stdout == again.stdout


def test_the_installed_command_runs() -> None:
    done = subprocess.run([sys.executable, "-m", "takeup", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"takeup {__version__}"


def test_a_folder_that_is_not_there_is_told_before_the_work(tmp_path: Path) -> None:
    spec = tmp_path / "trial.toml"
    world = "[environments.one]\ncompliance = [[1, 0], [0, 1]]\nsuccess = [0.2, 0.8]\n"
    spec.write_text(f'horizon = 5\nreplications = 2\n{world}[[policies]]\nkind = "TS"\n')
    result = CliRunner().invoke(app, ["simulate", str(spec), "--out", str(tmp_path / "no" / "x.parquet")])
    assert isinstance(result.exception, errors.InputError)
    assert "a folder that is there" in str(result.exception)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    """A key for a trial that is to come, and an audit of nothing: both may be meant, and may be a slip."""
    file = tmp_path / "t.db"
    Store(file).close()
    arguments = ["keys", "create", "site", "--scope", "decide", "--trial", "stroke", "--database", str(file)]
    made = CliRunner().invoke(app, arguments)
    assert made.exit_code == 0
    assert "there is no trial stroke yet; there is none at all" in made.stderr
    assert made.stdout.startswith("takeup_")
    assert "there is nothing to audit" in CliRunner().invoke(app, ["audit", str(file)]).stdout


def test_a_key_is_not_made_in_a_database_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "misspelt.db"
    result = CliRunner().invoke(app, ["keys", "create", "site", "--scope", "decide", "--database", str(file)])
    assert result.exit_code != 0
    assert "there is no database" in str(result.exception)
    assert not file.exists()
