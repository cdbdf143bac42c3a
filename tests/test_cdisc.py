"""Datasets of CDISC: six people, every case, by hand; as Dataset-JSON, as transport files, and read back."""

import csv
import json
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import polars as pl
import pyreadstat
import pytest
from typer.testing import CliRunner

from dataset_json import ORDER, SCHEMA, VALUES
from takeup import InputError, Log, Space
from takeup.cdisc import Dataset, Study, Variable, datasets_of, log_of_adam, write, xpt
from takeup.cdisc.arms import arm_codes
from takeup.cdisc.trials import study_of
from takeup.cli import app
from takeup.errors import MissingExtraError
from takeup.live import Trial
from takeup.outcomes import Count, Number, Time
from takeup.store import Store
from takeup.trial.commands import Ask, Decide

START = int(datetime(2026, 3, 1, 23, 30, tzinfo=UTC).timestamp()) * 1_000_000
SPEC: dict[str, Any] = {
    "name": "Six",
    "space": {
        "proposals": ["usual care", "new drug"],
        "implemented": ["usual care", "new drug", "surgery", "nothing"],
        "contexts": ["young", "old"],
        "outcomes": ["ill", "well"],
        "intended": ["usual care", "new drug"],
    },
    "policy": {"kind": "Uniform"},
}
PEOPLE = ["comp", "cross", "other", "none", "lost", "wait"]
"""Who complied, crossed over, had another treatment, had none, will never tell, and has not told yet."""
DM = ["SUBJID", "ARMCD", "ARM", "ACTARMCD", "ACTARM", "ARMNRS", "ACTARMUD"]


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    """What was proposed is taken from the trial, whose seed nobody knows: the rest follows from it."""
    store = Store("sqlite://", clock=lambda: START)
    with Trial.create(store, SPEC, trial="six") as made:
        made.start()
        for i, unit in enumerate(PEOPLE):
            made.submit(Decide(ask=Ask(unit=unit, context=i % 2), site="north" if i else None)).result()
        own = [made.design.space.proposals[z] for z in made.log().proposal]
        other = {"usual care": "new drug", "new drug": "usual care"}
        made.report(1, implemented=own[0], outcome="well")
        made.report(2, implemented=other[own[1]], outcome="ill")
        made.report(3, implemented="surgery", outcome="well")
        made.report(4, implemented="nothing")
        made.report(5, missing=["implemented"], outcome="ill")
        yield made


@pytest.fixture(scope="module")
def arms(trial: Trial) -> list[str]:
    return [trial.design.space.proposals[z] for z in trial.log().proposal]


def table(dataset: Dataset, *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(dataset.column(name) for name in names), strict=True))


def test_six_people_by_the_rules_of_dm(trial: Trial, arms: list[str]) -> None:
    """SDTMIG 3.4, DM, assumption 4: ARMNRS where and only where ACTARM is null, ACTARMUD with UNPLANNED TREATMENT."""
    dm, ex, adsl, out = datasets_of(study_of(trial, untreated="nothing"))
    codes = {"usual care": "USUALCARE", "new drug": "NEWDRUG"}
    crossed = "new drug" if arms[1] == "usual care" else "usual care"
    unknown = "ASSIGNED, TREATMENT NOT KNOWN"
    rest = [
        (codes[arms[0]], arms[0], None, None),
        (codes[crossed], crossed, None, None),
        (None, None, "UNPLANNED TREATMENT", "surgery"),
        (None, None, "ASSIGNED, NOT TREATED", None),
        (None, None, unknown, None),
        (None, None, unknown, None),
    ]
    expected = [(who, codes[arm], arm, *more) for who, arm, more in zip(PEOPLE, arms, rest, strict=True)]
    assert table(dm, *DM) == expected
    assert table(adsl, *DM) == expected
    assert table(dm, "STUDYID", "DOMAIN", "USUBJID")[0] == ("six", "DM", "six-comp")
    assert set(dm.column("RFSTDTC")) == {"2026-03-01T23:30:00+00:00"}
    assert dm.column("SITEID") == [None, *["north"] * 5]
    assert [variable.name for variable in dm.variables[:4]] == ["STUDYID", "DOMAIN", "USUBJID", "SUBJID"]

    assert table(ex, "DOMAIN", "USUBJID", "EXSEQ", "EXTRT", "EXSTDTC") == [
        ("EX", "six-comp", 1, arms[0], None),
        ("EX", "six-cross", 1, crossed, None),
        ("EX", "six-other", 1, "surgery", None),
    ]

    number = {"usual care": 1, "new drug": 2, "surgery": 3, None: None}
    taken = [arms[0], crossed, "surgery", None, None, None]
    assert table(adsl, "TRT01P", "TRT01PN", "TRT01A", "TRT01AN") == [
        (p, number[p], a, number[a]) for p, a in zip(arms, taken, strict=True)
    ]
    assert adsl.column("ITTFL") == ["Y"] * 6
    assert adsl.column("PPROTFL") == ["Y", *["N"] * 5]
    assert adsl.column("RANDDT") == ["2026-03-01"] * 6
    assert adsl.column("STRATAR") == ["young", "old"] * 3
    assert table(adsl, "RANDSEQ", "RNDPR01", "RNDPR02") == [(i, 0.5, 0.5) for i in range(1, 7)]

    assert table(out, "USUBJID", "TRTP", "TRTA", "PARAMCD", "AVAL", "AVALC") == [
        ("six-comp", arms[0], taken[0], "OUTCOME", 1, "well"),
        ("six-cross", arms[1], taken[1], "OUTCOME", 0, "ill"),
        ("six-other", arms[2], taken[2], "OUTCOME", 1, "well"),
        ("six-lost", arms[4], None, "OUTCOME", 0, "ill"),
    ]
    assert [each.name for each in (dm, ex, adsl, out)] == ["DM", "EX", "ADSL", "ADOUT"]


def test_without_a_word_for_it_nothing_is_a_treatment_like_others(trial: Trial) -> None:
    """An action of no arm is UNPLANNED TREATMENT: takeup cannot know which label means that nobody did anything."""
    dm, ex, *_ = datasets_of(study_of(trial))
    assert table(dm, "ARMNRS", "ACTARMUD")[3] == ("UNPLANNED TREATMENT", "nothing")
    assert "nothing" in ex.column("EXTRT")
    with pytest.raises(InputError, match="untreated: got 'usual care', expected an action that is the treatment of no"):
        study_of(trial, untreated="usual care")


def test_dates_are_those_of_the_zone(trial: Trial) -> None:
    """Half past eleven at night in Greenwich is the next day in Berlin."""
    dm, _, adsl, _ = datasets_of(study_of(trial, zone="Europe/Berlin"))
    assert (dm.column("RFSTDTC")[0], adsl.column("RANDDT")[0]) == ("2026-03-02T00:30:00+01:00", "2026-03-02")
    for wrong in ("Mars", "../etc/passwd", ""):
        with pytest.raises(InputError, match="expected a time zone such as UTC"):
            study_of(trial, zone=wrong)


def test_which_arm_an_action_belongs_to() -> None:
    """Of two arms that both mean the same action it is the own one; of neither's own, it is no arm's."""
    space = Space(["letter", "call", "none"], ["came", "stayed"], intended=["came", "came", "stayed"])
    log = Log.of(space, [0, 1, 2, 0, 2], [1 / 3] * 3, implemented=[0, 0, 0, 1, 1])
    dm, _, adsl, _ = datasets_of(Study.of(log, "S"))
    assert dm.column("ACTARM") == ["letter", "call", None, "none", "none"]
    assert dm.column("ACTARMUD") == [None, None, "came", None, None]
    assert adsl.column("PPROTFL") == ["Y", "Y", "N", "N", "Y"]
    assert dm.column("SUBJID") == ["1", "2", "3", "4", "5"]
    apart = Space(["a", "b"], ["a", "c", "d"])
    assert apart.intended is None
    dm, _, adsl, _ = datasets_of(Study.of(Log.of(apart, [0, 1], [0.5, 0.5], implemented=[0, 1]), "S"))
    assert dm.column("ACTARM") == ["a", None]
    assert "PPROTFL" not in [variable.name for variable in adsl.variables]
    assert adsl.column("RANDDT") == [None, None]


@pytest.mark.parametrize(
    ("labels", "codes"),
    [
        (["usual care", "Ärzte 2"], ["USUALCARE", "ARZTE2"]),
        (["a-b", "ab"], ["ARM1", "ARM2"]),
        (["薬", "b"], ["ARM1", "ARM2"]),
        (["x" * 30 + "1", "y" * 30], ["X" * 20, "Y" * 20]),
    ],
)
def test_codes_of_arms(labels: list[str], codes: list[str]) -> None:
    assert arm_codes(labels) == codes


def test_units_with_several_decisions_need_an_occasion() -> None:
    with Trial.create("sqlite://", SPEC | {"decisions": "many"}, trial="many") as trial:
        trial.start()
        with pytest.raises(InputError, match="decided nothing"):
            study_of(trial)
        for day in ("day 1", "day 2"):
            trial.decide("ann", 0, occasion=day)
        trial.decide("bob", 0, occasion="day 1")
        with pytest.raises(
            InputError, match=r"2 decisions of 'ann' \(day 1, day 2\), expected one a subject.*occasion"
        ):
            study_of(trial)
        study = study_of(trial, occasion="day 1")
        assert study.subject == ("ann", "bob")
        np.testing.assert_array_equal(study.log.proposal, trial.log().proposal[[0, 2]])
        with pytest.raises(InputError, match="occasion: got 'day 9', expected one of day 1, day 2"):
            study_of(trial, occasion="day 9")


@pytest.mark.requirement("R-8.4")
def test_dataset_json_is_what_the_standard_says(trial: Trial, tmp_path: Path) -> None:
    names = write(study_of(trial, untreated="nothing"), tmp_path / "out")
    assert names == ["adout.json", "adsl.json", "dm.json", "ex.json", "variables.csv", "variables.json"]
    listed = json.loads((tmp_path / "out" / "variables.json").read_text())
    with (tmp_path / "out" / "variables.csv").open(newline="") as file:
        assert [row["variable"] for row in csv.DictReader(file)] == [each["variable"] for each in listed]
    for name in names[:4]:
        content = json.loads((tmp_path / "out" / name).read_text())
        jsonschema_rs.Draft202012Validator(SCHEMA).validate(content)
        assert [key for key in ORDER if key in content] == list(content)
        assert content["records"] == len(content["rows"])
        for row in content["rows"]:
            assert len(row) == len(content["columns"])
            for column, value in zip(content["columns"], row, strict=True):
                assert value is None or type(value) in VALUES[column["dataType"]], (column, value)
                assert column["dataType"] != "string" or len(value or "") <= column["length"]
        own = [each for each in listed if each["dataset"] == content["name"]]
        assert [(each["variable"], each["label"]) for each in own] == [
            (c["name"], c["label"]) for c in content["columns"]
        ]
        assert all(len(c["name"]) <= 8 and len(c["label"]) <= 40 for c in content["columns"])
    adsl = json.loads((tmp_path / "out" / "adsl.json").read_text())
    (day,) = [column for column in adsl["columns"] if column["name"] == "RANDDT"]
    assert (day["dataType"], day["targetDataType"], day["displayFormat"]) == ("date", "integer", "DATE9.")
    broken = {**adsl, "datasetJSONVersion": "1.0"}
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.Draft202012Validator(SCHEMA).validate(broken)


@pytest.mark.requirement("R-8.4")
def test_transport_files_go_there_and_back(trial: Trial, tmp_path: Path) -> None:
    study = study_of(trial, untreated="nothing")
    write(study, tmp_path, transport=True)
    for dataset in datasets_of(study):
        frame, about = pyreadstat.read_xport(str(tmp_path / f"{dataset.name.lower()}.xpt"), output_format="polars")
        assert (about.table_name, about.file_label) == (dataset.name, dataset.label)
        assert about.column_names_to_labels == {each.name: each.label for each in dataset.variables}
        for variable in dataset.variables:
            values = dataset.column(variable.name)
            expected: list[Any] = values if variable.numeric else [value or "" for value in values]
            if variable.kind == "date":
                expected = [date.fromisoformat(str(value)) for value in values]
                assert str(about.original_variable_types[variable.name]).startswith("DATE9")
            assert frame[variable.name].to_list() == expected, variable.name
    raw = (tmp_path / "adsl.xpt").read_bytes()
    assert raw.startswith(b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!")  # version 5; 8 says LIBV8


def test_what_a_transport_file_cannot_hold_is_named_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def study(*labels: str) -> Study:
        return Study.of(Log.of(Space(list(labels)), [0, 1], [0.5, 0.5]), "S")

    for wrong, words in (("Ärzte", "ASCII"), ("x" * 201, "at most 200")):
        with pytest.raises(InputError, match=f"DM.ARM: got .*{words}.*write Dataset-JSON alone"):
            write(study("a", wrong), tmp_path / "no", transport=True)
    assert not (tmp_path / "no").exists()
    assert "dm.json" in write(study("a", "Ärzte"), tmp_path / "yes")
    for name, label in (("TOOLONGNAME", "x"), ("lower", "x"), ("OK", "x" * 41)):
        with pytest.raises(InputError, match="at most"):
            xpt.check(Dataset("DM", "x", (Variable(name, label, "string", ""),), ()))
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingExtraError, match=r"takeup\[cdisc\]"):
        write(study("a", "b"), tmp_path / "no", transport=True)
    assert not (tmp_path / "no").exists()


@pytest.mark.requirement("R-8.4")
@pytest.mark.parametrize("ending", ["json", "xpt"])
def test_a_study_is_read_back(trial: Trial, tmp_path: Path, ending: str) -> None:
    write(study_of(trial, untreated="nothing"), tmp_path, transport=True)
    log = trial.log()
    found = log_of_adam(
        tmp_path / f"adsl.{ending}", tmp_path / f"adout.{ending}", untreated="nothing", space=trial.design.space
    )
    for name in ("context", "proposal", "probability", "implemented", "outcome"):
        np.testing.assert_array_equal(getattr(found, name), getattr(log, name), name)
    assert found.unit is not None
    assert found.unit.tolist() == [f"six-{unit}" for unit in PEOPLE]
    assert (found.estimated, found.inferred) == (False, ())


@pytest.mark.parametrize(
    ("outcome", "codes"),
    [(Time(90), [6, 181]), (Number(-2, 2, 0.5), [0, 7]), (Count(9, exposure="days", longest=30), [5, 99])],
)
def test_outcomes_of_every_kind_are_read_back(tmp_path: Path, outcome: Any, codes: list[int]) -> None:
    space = Space(["a", "b"], outcomes=outcome)
    write(Study.of(Log.of(space, [0, 1, 1], [0.4, 0.6], outcome=[*codes, -1]), "S"), tmp_path)
    name = "adtte" if isinstance(outcome, Time) else "adout"
    found = log_of_adam(tmp_path / "adsl.json", tmp_path / f"{name}.json", space=space)
    assert found.outcome.tolist() == [*codes, -1]
    assert found.probability.tolist() == [[0.4, 0.6]] * 3


def test_somebody_elses_adam_is_read_and_what_is_inferred_is_said() -> None:
    """Three of five were assigned; the second came first; shares stand in for probabilities that nobody wrote down."""
    adsl = pl.DataFrame(
        {
            "USUBJID": ["1", "2", "3", "4", "5"],
            "TRT01P": ["Placebo", "Active", "", "Active", None],
            "TRT01A": ["Placebo", "", "", "Placebo", None],
            "ARMNRS": ["", "ASSIGNED, NOT TREATED", "SCREEN FAILURE", "", "NOT ASSIGNED"],
            "RANDDT": [date(2026, 1, 3), date(2026, 1, 1), None, date(2026, 1, 3), None],
            "RESP": ["Y", "N", None, "Y", None],
        }
    )
    log = log_of_adam(adsl, outcome="RESP")
    assert log.space.proposals == ("Placebo", "Active")
    assert log.space.implemented == ("Placebo", "Active", "not treated")
    assert log.proposal.tolist() == [1, 0, 1]
    assert log.implemented.tolist() == [2, 0, 0]
    assert log.outcome.tolist() == [0, 1, 1]
    assert log.estimated
    np.testing.assert_allclose(log.probability, [[1 / 3, 2 / 3]] * 3)
    assert log.inferred[:2] == (
        "Within a day the order is that of the rows.",
        "2 subjects without TRT01P were never assigned, and are left out.",
    )
    adtte = {"USUBJID": ["1", "2", "1"], "PARAMCD": ["OS", "OS", "PFS"], "AVAL": [90.0, 12.0, 3.0], "CNSR": [1, 0, 0]}
    timed = log_of_adam(adsl, adtte, parameter="OS")
    assert [None if y < 0 else timed.space.outcome.flat(y) for y in timed.outcome.tolist()] == ["12", "90+", None]
    for arguments, words in (
        ({"outcomes": adtte}, "parameter is missing; expected one of OS, PFS"),
        ({"outcomes": adtte, "parameter": "DFS"}, "got 'DFS', expected one of OS, PFS"),
        ({"outcomes": {**adtte, "PARAMCD": ["OS"] * 3}}, "several rows of '1'"),
        ({}, "outcomes is missing"),
        ({"outcome": "AGE"}, "AGE"),
        ({"outcomes": "adtte.csv"}, "a Dataset-JSON file"),
    ):
        with pytest.raises(InputError, match=words):
            log_of_adam(adsl, **arguments)
    with pytest.raises(InputError, match="one row a subject"):
        log_of_adam(adsl.with_columns(USUBJID=pl.lit("1")), outcome="RESP")


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (0.5, [0.5, 0.5]),
        ("P", [0.4, 0.6]),
        (["PA", "PB"], [0.4, 0.6]),
        ({"a": 0.4, "b": 0.6}, [0.4, 0.6]),
        ({"a": "PA", "b": "PB"}, [0.4, 0.6]),
    ],
)
def test_probabilities_are_given_in_every_way_that_a_frame_takes(probability: Any, said: list[float]) -> None:
    adsl = {"USUBJID": ["1", "2"], "TRT01P": ["a", "b"], "TRT01A": ["a", "a"], "RESP": ["Y", "N"]}
    shares = {"P": [0.4, 0.6], "PA": [0.4, 0.4], "PB": [0.6, 0.6]}
    log = log_of_adam({**adsl, **shares}, outcome="RESP", probability=probability)
    assert log.probability.tolist() == [said, said]
    assert not log.estimated


def test_the_command_writes_files_and_folders(tmp_path: Path) -> None:
    database = str(tmp_path / "t.db")
    with Trial.create(database, SPEC, trial="six") as trial:
        trial.start()
        trial.report(trial.decide("ann", 0), implemented="surgery", outcome="well")

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["export", database, *arguments])

    for name in ("t.csv", "t.parquet", "t.jsonl", "t.json", "t.xlsx"):
        assert run(str(tmp_path / name)).exit_code == 0
        assert (tmp_path / name).stat().st_size > 0
    assert run(str(tmp_path / "b.txt"), "--blinded", "--trial", "six", "--format", "csv").exit_code == 0
    assert "surgery" not in (tmp_path / "b.txt").read_text()
    done = run("--cdisc", str(tmp_path / "out"), "--xpt", "--study", "ABC-1", "--untreated", "nothing")
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "out" / "dm.json").read_text())["rows"][0][:4] == ["ABC-1", "DM", "ABC-1-ann", "ann"]
    assert (tmp_path / "out" / "adsl.xpt").exists()
    for arguments, words in (
        ((), "FILE and --cdisc"),
        (("t.csv", "--cdisc", "x"), "FILE and --cdisc"),
        (("t.csv", "--xpt"), "--xpt"),
        (("--cdisc", str(tmp_path / "x"), "--format", "csv"), "--format"),
        (("t.sas7bdat",), "a name that ends in"),
        (("--cdisc", str(tmp_path / "x"), "--blinded"), "tell arms and outcomes"),
        (("t.csv", "--trial", "ghost"), "there is no trial 'ghost' in this database; there is six"),
    ):
        refused = run(*arguments)
        assert words in str(refused.exception), (arguments, refused.output)
    with Trial.create(database, SPEC | {"rehearsal": True}, trial="dry") as trial:
        trial.start()
        trial.decide("ann", 0)
    assert "say which trial: this database holds dry, six" in str(run(str(tmp_path / "t.csv")).exception)
    assert run("--trial", "dry", "--cdisc", str(tmp_path / "dry"), "--xpt").exit_code == 0
    label = json.loads((tmp_path / "dry" / "adsl.json").read_text())["label"]
    assert label == "REHEARSAL Subject-Level Analysis Dataset"
    assert len(label) == xpt.LONGEST_LABEL
