"""`takeup analyse`: from somebody's file, or a trial, to an answer in one command."""

import csv
import json
import re
import shlex
import sqlite3
from dataclasses import replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from takeup import Log, specfile, store, stream
from takeup.analysis.analyse import analyse
from takeup.analysis.results import log_digest
from takeup.analysis.taken import compared_with
from takeup.analysis.units_check import one_each
from takeup.charts import document
from takeup.cli import app
from takeup.cli.analyse import analyse as command
from takeup.errors import InputError, TakeupError
from takeup.live import Trial
from takeup.log import read_log
from takeup.trial.design import Design

ROWS = 800
SPEC: dict[str, Any] = {
    "name": "Clinic",
    "burn_in": 20,
    "space": {"proposals": ["usual care", "new drug"], "outcomes": ["relapsed", "well"]},
    "policy": {"kind": "TS"},
    "limits": {"floor": 0.2},
    "analysis": {"test": "re-randomisation", "confidence": 0.9},
    "rehearsal": True,
    "seed": 7,
}


def _analyse(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["analyse", *map(str, arguments)], env={"COLUMNS": "160"}, catch_exceptions=True)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """800 patients, three arms, two sites; a third refuse and are sicker; of some it is not known what they took."""
    rng, file = stream(4, "somebody's trial"), tmp_path_factory.mktemp("past") / "past.csv"
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["patient", "site", "arm", "received", "result"])
        for number in range(1, ROWS + 1):
            site, arm = ("north", "south")[rng.integers(2)], ("usual", "drug", "drug and visits")[rng.integers(3)]
            refuses = rng.random() < 0.35
            received = "usual" if refuses else arm
            well = rng.random() < (0.2 if refuses else 0.5) + 0.2 * (received != "usual")
            known, followed = rng.random() < 0.9, rng.random() < 0.95
            result = ("ill", "well")[int(well)] if followed else ""
            writer.writerow([number, site, arm, received if known else "", result])
    return file


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small trial in a database, its export and its plan."""
    folder = tmp_path_factory.mktemp("trials")
    with Trial.create(folder / "trials.db", SPEC) as trial:
        trial.start()
        for number in range(30):
            trial.report(trial.decide(f"patient {number}"), implemented=number % 2, outcome=number % 3 % 2)
        trial.export(folder / "log.parquet")
    (folder / "plan.toml").write_text(specfile.toml({name: value for name, value in SPEC.items() if name != "seed"}))
    return folder


def columns(*more: object) -> list[object]:
    named = {"assigned": "arm", "taken": "received", "outcome": "result", "context": "site"}
    options = [part for name, column in named.items() for part in (f"--{name}", column)]
    return [*options, "--outcome-level", "ill", "--outcome-level", "well", "--control", "usual", *more]


def test_a_file_of_somebody_else_becomes_a_report_in_one_command(
    past: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "png", lambda chart: b"drawn elsewhere, in seconds")
    out = tmp_path / "found"
    out.mkdir()
    for name in ("report.html", "tipping-7.svg", "mine-tipping-7.svg", "notes.png"):
        (out / name).write_text("of an earlier run, or somebody's own")
    result = _analyse(past, *columns("--out", out, "--json"))
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)["analysis"]
    assert told == json.loads((out / "analysis.json").read_text())["analysis"]
    assert {"primary", "estimates", "tests", "bounds", "flow", "checks"} <= set(told)
    assert {each["contrast"] for each in told["primary"]["estimates"]} == {"drug - usual", "drug and visits - usual"}
    wanted = {
        "reading",
        "contrast",
        "value",
        "low",
        "high",
        "level",
        "assumes",
        "survives_adaptation",
        "survives_drift",
    }
    assert all(wanted <= set(each) for each in told["estimates"])
    assert not told["primary"]["planned"]
    assert not any(each["survives_adaptation"] for each in told["estimates"])  # nobody wrote probabilities down
    page = (out / "report.html").read_text()
    for part in (*told["primary"]["answers"], "Who did what", "Checks", "Sensitivity to drift", told["log"]["digest"]):
        assert part in page
    assert "Probabilities were not given" in page  # what was taken to be so
    names = {file.name for file in out.iterdir()}
    assert {"tipping-1.svg", "forest.svg", "mine-tipping-7.svg", "notes.png"} <= names
    assert "tipping-7.svg" not in names  # of an analysis that is no longer the one in the report
    every = {words for kind in ("estimates", "tests") for each in told[kind] for words in each["assumes"]}
    assert all(page.count(escape(words[1:])) == 1 for words in every), every  # once, and letters elsewhere
    checks = page[page.index('<h2 id="checks">') : page.index('<h2 id="drift">')]
    assert checks.index("<table>") < checks.index('<p class="quiet">')
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "")


def test_it_prints_the_answer_first_and_then_what_was_taken_to_be_so(past: Path) -> None:
    result = _analyse(past, *columns())
    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    assert first.startswith(
        "By intention to treat, which leads by convention: Offering drug rather than usual is better"
    )
    assert "It rests on 749 of 800: of 51 what it needs is not known." in first
    assert "not planned" not in first
    for words in ("complier effect", "as treated", "sample ratio", "by convention", "one decision each"):
        assert words in result.stdout
    before, _, table = result.stdout.partition("drug against usual")
    assert "Compared with usual, the control by its name (--control names another); well is better than ill" in before
    for words in (
        "Proposals, usual first",
        "Contexts: north, south.",
        "ill counts as 0",
        "Probabilities were not given",
    ):
        assert words in before
        assert words not in table


def test_a_live_trial_is_led_by_its_plan_and_gives_the_same_figures_again(tmp_path: Path) -> None:
    database, rng = tmp_path / "clinic.db", stream(3, "people")
    with Trial.create(database, SPEC) as trial:
        trial.start()
        for number in range(60):
            decision = trial.decide(f"patient {number}")
            taken = decision.proposal if rng.random() < 0.8 else "usual care"
            well = rng.random() < (0.8 if taken == "new drug" else 0.3)
            trial.report(decision, implemented=taken, outcome="well" if well else "relapsed")
        trial.stop()
    results = [_analyse(database, "--replays", 200, "--seed", 5, "--json") for _ in range(2)]
    assert results[0].exit_code == 0, results[0].output
    assert results[0].stdout == results[1].stdout
    told = json.loads(results[0].stdout)["analysis"]
    assert (told["trial"], told["primary"]["planned"], told["primary"]["level"]) == ("Clinic", True, 0.9)
    assert [each["test"] for each in told["primary"]["tests"]] == ["re-randomisation"]
    assert told["primary"]["tests"][0]["replays"] == 200
    assert {each["kind"] for each in told["estimates"]} == {"planned", "explored", "naive"}
    changed = json.loads(_analyse(database, "--level", 0.99, "--replays", 50, "--json").stdout)["analysis"]
    assert not changed["primary"]["planned"]
    export = tmp_path / "log.parquet"
    with Trial.open(database) as trial:
        trial.export(export)
        digest = log_digest(trial.log())
    plan = tmp_path / "plan.toml"
    plan.write_text(specfile.toml({name: value for name, value in SPEC.items() if name != "seed"}))
    again = json.loads(_analyse(export, "--plan", plan, "--replays", 200, "--seed", 5, "--json").stdout)["analysis"]
    assert again["log"]["digest"] == digest == told["log"]["digest"]
    assert again["primary"]["estimates"] == told["primary"]["estimates"]


def test_a_trial_that_runs_is_not_said_to_have_ended(tmp_path: Path) -> None:
    """From its log, its database and its export: five outcomes of 40 are pending, and one is declared missing."""
    database, export, plan = (tmp_path / name for name in ("clinic.db", "running.csv", "plan.toml"))
    with Trial.create(database, SPEC) as trial:
        trial.start()
        for number in range(40):
            decision = trial.decide(f"patient {number}")
            given = {"missing": ["outcome"]} if number == 34 else {"outcome": number % 2} if number < 35 else {}
            trial.report(decision, implemented=decision.proposal, **given)
        trial.export(export)
        found = analyse(trial.log(), plan=trial.design, replays=20)
    plan.write_text(specfile.toml({name: value for name, value in SPEC.items() if name != "seed"}))
    told = [_analyse(database, "--replays", 20, "--json"), _analyse(export, "--plan", plan, "--replays", 20, "--json")]
    live, file = (json.loads(each.stdout)["analysis"] for each in told)
    for each in (found.plain(), live, file):
        arms = each["flow"]["arms"]
        assert (sum(arm["awaited"] for arm in arms), sum(arm["lost"] for arm in arms)) == (5, 1)
        assert [check["sentence"] for check in each["checks"]][-1].startswith("More is to come")
        assert each["estimates"] == live["estimates"]
    alone = json.loads(_analyse(export, "--json").stdout)["analysis"]
    assert alone["primary"]["estimates"][0]["any_time"]
    assert "expected nothing while the trial runs" in str(_analyse(export, "--weights", "batch").exception)


def test_a_database_of_an_older_version_is_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    with Trial.create(file, SPEC) as trial:
        trial.start()
    with sqlite3.connect(file) as opened:
        opened.execute("UPDATE alembic_version SET version_num = (SELECT '0001')")
    opened.close()
    before = file.read_bytes()
    result = _analyse(file)
    assert "`takeup serve` or `Trial.open` brings an older one up to date" in str(result.exception)
    assert file.read_bytes() == before


def test_no_report_says_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "drawn", lambda figure, folder: "drawn elsewhere, in seconds")
    with Trial.create(tmp_path / "clinic.db", SPEC) as trial:
        trial.start()
        for number in range(30):
            trial.report(trial.decide(f"patient {number}"), implemented=number % 2, outcome=number % 3 % 2)
    opened = store.looking
    monkeypatch.setattr(store, "looking", lambda _: opened(tmp_path / "clinic.db"))
    for url in ("postgresql://me:hunter2@host/trials", "postgresql://host/t.csv?user=me&password=hunter2"):
        told = _analyse(url, "--trial", "clinic", "--replays", 5, "--out", tmp_path / "found", "--json")
        assert told.exit_code == 0, told.output
        assert "hunter2" not in told.output
        written = {file.name: file.read_text() for file in (tmp_path / "found").iterdir()}
        assert [name for name, content in written.items() if "hunter2" in content] == []
        assert "***" in written["report.html"]  # the command by which it can be repeated


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no.csv", "--assigned", "a", "--outcome", "y"], "TRIAL: got 'no.csv', expected a file that exists"),
        (["no.db"], "a database, or a file that ends in .csv"),
        (["no.xlsx"], "save the sheet as CSV"),
        (["."], "TRIAL: got the folder '.', expected a database, or a file that ends in .csv"),
        ([__file__], "expected a database, or a file that ends in .csv"),
        ([], "--assigned is missing; expected one of the columns patient, site, arm, received, result"),
        (["--assigned", "arms", "--outcome", "result"], "--assigned: got 'arms', .* did you mean arm?"),
        (
            ["--assigned", "arm", "--outcome", "site"],
            "--outcome: .* give --outcome-level, from worst to best, or --plan",
        ),
        (["--assigned", "arm", "--taken", "arm", "--outcome", "result"], "--taken: .* is named for --assigned"),
        (
            [*columns(), "--control", "usal"],
            "--control: got 'usal', expected one of usual, drug, .* did you mean usual?",
        ),
        ([*columns(), "--probability", "=x"], "LABEL=COLUMN"),
        (
            [*columns(), "--probability", "0.4"],
            "--probability: got 0.4, expected 0.3333, the share of each of 3",
        ),
        ([*columns(), "--better", "down"], "--better: got 'down', expected one of higher, lower"),
        ([*columns(), "--better", "lower"], "--better: got 'lower', .* --outcome-level says another order"),
        ([*columns(), "--promise", "2"], "--promise: got 2, expected a difference from 0 to 1, the range of outcomes"),
        ([*columns(), "--weights", "all"], "--weights: got 'all', expected one of uniform, stabilised, batch"),
        ([*columns(), "--weights", "batch"], "--weights: got 'batch', .* batches of several contexts mix"),
        ([*columns(), "--missing", "some"], "--missing: got 'some', expected one of complete, weighted"),
        ([*columns(), "--trial", "stroke"], "--trial: got 'stroke', expected nothing for a file"),
        ([*columns(), "--encoding", "utf-16"], "TRIAL: got bytes in line .* as in --encoding cp1252"),
    ],
)
def test_bad_input_is_named_in_the_words_of_the_command_line(past: Path, arguments: list[str], words: str) -> None:
    given = arguments if arguments and not arguments[0].startswith("--") else [past, *arguments]
    result = _analyse(*given)
    assert isinstance(result.exception, TakeupError)
    for part in words.split(".* "):
        assert part in str(result.exception)


def test_which_outcomes_are_good_can_be_said_and_is_said(past: Path, tmp_path: Path) -> None:
    file = tmp_path / "deaths.csv"
    two = [line for line in past.read_text().splitlines() if ",drug and visits," not in line]  # arms
    file.write_text("\n".join(two).replace(",ill", ",1").replace(",well", ",0"))
    named = ("--assigned", "arm", "--outcome", "result", "--unit", "patient", "--json")
    told = {better: _analyse(file, *named, "--better", better) for better in ("higher", "lower")}
    found = {better: json.loads(each.stdout)["analysis"] for better, each in told.items()}
    values = [[each["value"] for each in one["primary"]["estimates"]] for one in found.values()]
    assert values[0] == pytest.approx([-value for value in values[1]])
    assert found["lower"]["taken_to_be_so"]["worst_to_best"] == ["1", "0"]
    assert "0 is better than 1 (--better says otherwise)" in told["lower"].stderr
    assert "Compared with usual" in found["higher"]["taken_to_be_so"]["sentences"][0]
    assert [each["alarm"] for each in found["lower"]["checks"] if each["check"] == "one decision each"] == [False]


def test_options_are_named_where_they_may_be_given_alone() -> None:
    """A plan says which outcomes are good, and `--better` is refused beside it."""
    frame = {"arm": ["usual", "new"] * 20, "well": [0, 1, 1, 0] * 10}
    design = Design.of(
        {"name": "t", "space": {"proposals": ["usual", "new"], "outcomes": ["0", "1"]}, "policy": {"kind": "Uniform"}},
        new=False,
    )
    for space, hint in ((None, " (--better says otherwise)"), (design.space, "")):
        log = Log.from_frame(frame, assigned="arm", outcome="well", space=space)
        assert log.inferred
        assert compared_with(analyse(log)).endswith(f"1 is better than 0{hint}.")


def test_people_who_are_in_it_twice_are_counted(past: Path, tmp_path: Path) -> None:
    file = tmp_path / "twice.csv"
    lines = past.read_text().splitlines()
    file.write_text("\n".join([*lines, *lines[1:4], lines[1]]))
    named = {"assigned": "arm", "outcome": "result"}
    check = one_each(read_log(file, **named, unit="patient"))  # type: ignore[arg-type]  # names of columns
    assert check.alarm
    assert check.sentence.startswith("3 people were decided for more than once, 7 times in all")
    assert check.detail == "Most often 1, 3 times."
    assert one_each(read_log(past, **named, unit="patient")).alarm is False  # type: ignore[arg-type]  # likewise
    assert one_each(read_log(past, **named)).alarm is None  # type: ignore[arg-type]  # likewise


def test_columns_are_refused_where_the_log_has_its_own_and_nothing_is_left_when_stopped(
    trials: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for source in (trials / "trials.db", trials / "log.parquet"):
        result = _analyse(source, "--taken", "ACTARM")
        assert "--taken: got" in str(result.exception)
        assert "its own columns" in str(result.exception)

    def stopped(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("takeup.analysis.results.Analysis.report", stopped)
    result = _analyse(trials / "log.parquet", "--out", tmp_path / "found")
    assert result.exit_code == 130
    assert list(tmp_path.iterdir()) == []


def test_a_plan_that_is_not_the_trials_own_is_said_to_be_another(trials: Path, tmp_path: Path) -> None:
    other = {name: value for name, value in SPEC.items() if name != "seed"} | {"analysis": {"confidence": 0.8}}
    (tmp_path / "other.toml").write_text(specfile.toml(other))
    result = _analyse(trials / "trials.db", "--plan", tmp_path / "other.toml", "--control", "new drug", "--replays", 5)
    assert result.exit_code == 0, result.output
    for words in ("planned with confidence = 0.9, and what was given says 0.8", "The plan compares with usual care"):
        assert words in result.stdout
    assert "Compared with new drug, which was asked for (--control names another)" in result.stdout


def test_examples_of_the_help_work_as_they_stand(trials: Path, past: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("takeup.analysis.results.Analysis.write", lambda *_: ["written elsewhere, in seconds"])
    found = analyse(read_log(trials / "log.parquet"), name="Clinic")
    module = import_module("takeup.analysis.analyse")
    monkeypatch.setattr(module, "analyse", lambda log, **_: replace(found, log=log))
    monkeypatch.chdir(trials)
    (trials / "past.csv").write_text("\n".join(past.read_text().splitlines()[:101]))
    (epilog,) = [each.epilog for each in app.registered_commands if each.callback is command]
    examples = re.findall(r"\[bold\]takeup analyse (.*?)\[/\]", epilog or "")
    assert len(examples) == 4
    for example in examples:
        result = _analyse(*shlex.split(example.partition(" > ")[0]))
        assert result.exit_code == 0, result.output
        if "--json" in example:
            json.loads(result.stdout)


def test_a_plan_of_other_proposals_is_refused() -> None:
    design = Design.of(SPEC)
    log = Log.of(Design.of({**SPEC, "space": {"proposals": ["a", "b"]}}).space, [0, 1], [0.5, 0.5], outcome=[0, 1])
    with pytest.raises(InputError, match="plan: got proposals usual care, new drug, expected those of the log, a, b"):
        analyse(log, plan=design)
