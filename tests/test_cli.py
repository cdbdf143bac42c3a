"""The command line: help with examples, clear errors, exit code 2, JSON for machines."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from takeup import __version__, errors
from takeup.cli import app, command, main
from takeup.cli.progress import watched
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
    monkeypatch.setattr(sys, "argv", ["takeup", "demo", "--json"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2


PROGRAM = f"""#!{sys.executable}
import runpy
command = runpy.run_path({command.__file__!r})["command"]
print(command("serve", "--database", "my trials.db"))
"""
"""It takes that module alone: to import all of takeup takes a second each time."""


@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ("takeup", "takeup"),
        ("bin/takeup", "bin/takeup"),
        ("./bin/takeup", "./bin/takeup"),
        (f"{sys.executable} other.py", f"{sys.executable} -m takeup"),
    ],
)
def test_commands_are_printed_as_they_can_be_typed(tmp_path: Path, typed: str, printed: str) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("bin/takeup", "other.py"):
        (tmp_path / name).write_text(PROGRAM)
        (tmp_path / name).chmod(0o755)
    there = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}" if typed == "takeup" else "/usr/bin:/bin"}
    shown = subprocess.run(
        typed, shell=True, cwd=tmp_path, env=there, capture_output=True, text=True, check=True
    ).stdout
    assert shown == f"{printed} serve --database 'my trials.db'\n"


def test_where_there_is_no_terminal_stages_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with watched("starting", 10) as (progress, stage):
        stage("simulating")
        progress(5)
        stage("drawing")
    assert capsys.readouterr().err == "simulating ..\ndrawing ..\n"


def served(printed: str) -> bool:
    """Whether a command serves pages, on a port that is free."""
    typed = f"exec {printed.strip()} --port 0"
    with subprocess.Popen(typed, shell=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as started:
        try:
            assert started.stdout is not None
            serving, advice = "", started.stdout.readline()
            while advice and "in a browser" not in advice:
                serving, advice = advice, started.stdout.readline()
            with urlopen(serving.split()[-1]) as page:
                return b"<html" in page.read()
        finally:
            started.terminate()


def test_demo_runs_a_live_trial_prints_the_table_and_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(contextual, "HORIZON", 20)
    monkeypatch.setattr(import_module("takeup.cli.demo"), "PATIENTS", 400)
    shown = runner.invoke(app, ["demo", "--replications", "5", "--folder", str(tmp_path / "a folder")])
    assert shown.exit_code == 0
    told = [
        "takeup runs experiments",
        "400 simulated patients",
        "What would each policy cost?",
        "of 60 figures agree",
    ]
    assert [shown.stdout.index(each) for each in told] == sorted(shown.stdout.index(each) for each in told)
    assert "compiling (once) and simulating TS-Lat-40 .." in shown.stderr
    assert "The audit passed: 802 events were read, and 400 of 400 decisions" in shown.output
    assert served(shown.stdout.splitlines()[-1])
    with Trial.open(tmp_path / "a folder" / "demo.db") as trial:
        assert trial.progress().compliance_seen == 400
    assert isinstance(runner.invoke(app, ["demo", "--folder", str(tmp_path / "a folder")]).exception, errors.InputError)
    assert "TS-Lat-40" in shown.output
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
    arguments = ["keys", "create", "app", "--scope", "lease", "--database", str(file)]
    assert "get none without --scope read-unblinded too" in CliRunner().invoke(app, arguments).stderr
    assert "lease" not in CliRunner().invoke(app, [*arguments, "--scope", "read-unblinded"]).stderr
    assert "there is nothing to audit" in CliRunner().invoke(app, ["audit", str(file)]).stdout


def test_a_key_is_not_made_in_a_database_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "misspelt.db"
    result = CliRunner().invoke(app, ["keys", "create", "site", "--scope", "decide", "--database", str(file)])
    assert result.exit_code != 0
    assert "there is no database" in str(result.exception)
    assert not file.exists()
