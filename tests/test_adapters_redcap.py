"""REDCap's files and its API by PyCap: choices become labels, missing codes UNSEEN, and proposals codes again."""

import csv
from pathlib import Path
from typing import Any

import pytest
from redcap.project import Project

from redcap_server import TOKEN, redcap_server
from takeup import UNSEEN, InputError, Number, Space
from takeup.adapters.redcap import Dictionary, read, records_of, reports_of, send, write_csv
from takeup.errors import ConflictError, UnreachableError
from takeup.live import Trial

HEADINGS = {
    "field_name": "Variable / Field Name",
    "form_name": "Form Name",
    "field_type": "Field Type",
    "field_label": "Field Label",
    "select_choices_or_calculations": "Choices, Calculations, OR Slider Labels",
    "text_validation_type_or_show_slider_number": "Text Validation Type OR Show Slider Number",
    "text_validation_min": "Text Validation Min",
    "text_validation_max": "Text Validation Max",
}
FIELDS = [
    ("record_id", "text", "", "", "", ""),
    ("sex", "radio", "1, Woman | 2, Man", "", "", ""),
    ("arm", "dropdown", "1, Drug | 2, Placebo", "", "", ""),
    ("took", "radio", "1, Drug | 2, Placebo | 3, Neither, or something else", "", "", ""),
    ("well", "yesno", "", "", "", ""),
    ("grade", "radio", "a, Good | b, Fair | c, Bad", "", "", ""),
    ("pressure", "text", "", "integer", "60", "220"),
    ("side", "checkbox", "1, Headache | 2, Nausea", "", "", ""),
]
METADATA = [
    {
        "field_name": name,
        "form_name": "visit",
        "field_type": kind,
        "field_label": f"{name}?",
        "select_choices_or_calculations": choices,
        "text_validation_type_or_show_slider_number": validation,
        "text_validation_min": low,
        "text_validation_max": high,
    }
    for name, kind, choices, validation, low, high in FIELDS
]
NAMES = ["record_id", "sex", "arm", "took", "well", "grade", "pressure", "side___1", "side___2"]
VALUES = [
    ["7", "1", "1", "1", "1", "a", "120", "0", "1"],
    ["3", "2", "2", "2", "0", "c", "150", "1", "0"],
    ["5", "2", "1", "3", "-99", "b", "", "0", "0"],
    ["9", "1", "1", "", "", "", "140", "0", "0"],
    ["4", "1", "", "", "", "", "", "0", "0"],
]
RECORDS = [dict(zip(NAMES, row, strict=True)) for row in VALUES]
COLUMNS: dict[str, Any] = {"assigned": "arm", "outcome": "well", "taken": "took", "missing": ["-99"]}


def written(path: Path, rows: list[dict[str, str]], separator: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_files_become_a_log(tmp_path: Path, separator: str) -> None:
    headed = [{HEADINGS[name]: value for name, value in row.items()} for row in METADATA]
    log = read(
        written(tmp_path / "dictionary.csv", headed, separator),
        written(tmp_path / "records.csv", RECORDS, separator),
        **COLUMNS,
        context="sex",
        probability={"Drug": 0.5, "Placebo": 0.5},
    )
    assert log.space.proposals == ("Drug", "Placebo")
    assert log.space.implemented == ("Drug", "Placebo", "Neither, or something else")
    assert log.space.intended == (0, 1)
    assert log.space.contexts == ("Woman", "Man")
    assert (log.space.outcomes, log.space.utility) == (("No", "Yes"), (0.0, 1.0))
    assert log.unit is not None
    assert log.unit.tolist() == ["7", "3", "5", "9"]
    assert log.context.tolist() == [0, 1, 1, 0]
    assert log.proposal.tolist() == [0, 1, 0, 0]
    assert log.implemented.tolist() == [0, 1, 2, UNSEEN]
    assert log.outcome.tolist() == [1, 0, UNSEEN, UNSEEN]
    assert not log.estimated
    assert "1 of 5 records have no arm and are left out." in log.inferred


def test_labels_are_as_good_as_codes() -> None:
    fields = Dictionary.of(METADATA).fields
    labelled = [
        {
            name: fields[name].label_of(row[name]) if name in ("arm", "took", "sex") and row[name] else row[name]
            for name in row
        }
        for row in RECORDS
    ]
    one, other = (read(METADATA, rows, **COLUMNS, context="sex") for rows in (RECORDS, labelled))
    assert (one.proposal == other.proposal).all()
    assert (one.implemented == other.implemented).all()
    assert one.estimated


def test_every_kind_of_outcome() -> None:
    def space(outcome: str, **options: Any) -> Space:
        return read(METADATA, RECORDS, **COLUMNS | {"outcome": outcome}, **options).space

    assert space("grade", levels=["Bad", "Fair", "Good"]).utility == (0.0, 1.0, 2.0)
    assert space("pressure").outcome == Number(60, 220, 1)
    assert space("side___2").outcomes == ("Unchecked", "Checked")
    with pytest.raises(InputError, match="levels is missing; expected Good, Fair, Bad, from worst to best"):
        space("grade")
    with pytest.raises(InputError, match="from worst to best"):
        space("grade", levels=["Bad", "Good"])
    with pytest.raises(InputError, match="one box of it: side___1, side___2"):
        space("side")


def test_several_contexts_are_crossed() -> None:
    log = read(METADATA, RECORDS, **COLUMNS, context=["sex", "side___2"])
    assert log.space.contexts == (
        "sex Man, side___2 Unchecked",
        "sex Woman, side___2 Checked",
        "sex Woman, side___2 Unchecked",
    )
    assert log.context.tolist() == [1, 0, 0, 2]


def test_one_number_is_the_probability_of_all_proposals() -> None:
    log = read(METADATA, RECORDS, **COLUMNS, probability=0.5)
    assert log.probability.tolist() == [[0.5, 0.5]] * len(log)
    assert not log.estimated


def test_events_are_put_together() -> None:
    """Who was assigned at the first visit and is well at the last one, each in a row of its own."""
    first = {"record_id": "1", "redcap_event_name": "start", "arm": "1", "well": "0", "took": ""}
    last = {"record_id": "1", "redcap_event_name": "month_3", "arm": "", "well": "1", "took": "2"}
    other = {**first, "record_id": "2", "arm": "2"}
    log = read(METADATA, [first, last, other], **COLUMNS, events={"well": "month_3"})
    assert (log.outcome.tolist(), log.implemented.tolist()) == ([1, UNSEEN], [1, UNSEEN])
    with pytest.raises(InputError, match="record 1, field well: got 0 and 1, expected one value; events="):
        read(METADATA, [first, last, other], **COLUMNS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"arm": "3"},
            r"record 7, field arm: got '3', expected one of 1 \(Drug\), 2 \(Placebo\); or a code of missing",
        ),
        ({"pressure": "low"}, "pressure"),
        ({"record_id": " "}, "the record's id"),
    ],
)
def test_wrong_values_are_named(change: dict[str, str], said: str) -> None:
    rows = [{**RECORDS[0], **change}, *RECORDS[1:]]
    with pytest.raises(InputError, match=said):
        read(METADATA, rows, **COLUMNS | {"outcome": "pressure"})


@pytest.mark.parametrize("choices", ["", "Drug", "1, Drug | 1, Placebo", "1, Drug | 2, Drug"])
def test_choices_that_are_none(choices: str) -> None:
    with pytest.raises(InputError, match="field 'arm'"):
        Dictionary.of([METADATA[0], {**METADATA[2], "select_choices_or_calculations": choices}])


def test_other_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one of the fields record_id"):
        read(METADATA, RECORDS, **COLUMNS | {"assigned": "group"})
    with pytest.raises(InputError, match="a field with choices"):
        read(METADATA, RECORDS, **COLUMNS | {"assigned": "pressure"})
    with pytest.raises(InputError, match="a column 'well'"):
        read(METADATA, [{"record_id": "1", "arm": "1", "took": "1"}], **COLUMNS)
    with pytest.raises(InputError, match="can be read"):
        Dictionary.of(tmp_path / "none.csv")
    (tmp_path / "bad.csv").write_text("record_id,arm\n1,1,1\n")
    with pytest.raises(InputError, match="row 1"):
        read(METADATA, tmp_path / "bad.csv", **COLUMNS)


def test_there_and_back_by_its_api(tmp_path: Path) -> None:
    """Records by PyCap; a trial proposes to who has no arm yet; and the arm is in REDCap, everything else untouched."""
    with redcap_server(METADATA, RECORDS) as server:
        project = Project(server.url, TOKEN, timeout=10)
        log = read(project.metadata, project.export_records(), **COLUMNS)
        spec = {"name": "Drug", "space": log.space.described(), "policy": {"kind": "TSObs"}}
        with Trial.create(tmp_path / "trial.db", spec) as trial:
            trial.start()
            decision = trial.decide("4")
        records = records_of([decision], project.metadata, assigned="arm")
        assert send(project, records) == ["4"]
        assert send(project, records) == ["4"]
        code = {"Drug": "1", "Placebo": "2"}[decision.proposal]
        assert server.records["4"] == {**RECORDS[4], "arm": code}
        assert list(server.records.values())[:4] == RECORDS[:4]
        assert len(read(project.metadata, project.export_records(), **COLUMNS)) == 5
        with pytest.raises(ConflictError, match=r"refused 1 records.*not found"):
            send(project, [{"record_id": "4", "group": "1"}])
        server.keeps = 0
        with pytest.raises(ConflictError, match="took 0 of 1 records; not there: 4"):
            send(project, records)
    with pytest.raises(UnreachableError, match="did not answer"):
        send(project, records)
    assert send(project, []) == []


def test_reports_bring_a_trial_up_to_date(tmp_path: Path) -> None:
    log = read(METADATA, RECORDS, **COLUMNS)
    assert list(reports_of(log)) == [
        {"unit": "7", "implemented": "Drug", "outcome": "Yes"},
        {"unit": "3", "implemented": "Placebo", "outcome": "No"},
        {"unit": "5", "implemented": "Neither, or something else"},
    ]
    spec = {"name": "Drug", "space": log.space.described(), "policy": {"kind": "TS"}}
    with Trial.create(tmp_path / "trial.db", spec) as trial:
        trial.start()
        trial.decide_many(["7", "3", "5"])
        for each in reports_of(log):
            trial.report(**each)
        assert trial.log().outcome.tolist() == [1, 0, UNSEEN]


def test_proposals_as_a_file(tmp_path: Path) -> None:
    class Somebody:
        unit, proposal = "12", "Placebo"

    write_csv(records_of([Somebody()], METADATA, assigned="arm", event="start_arm_1"), tmp_path / "import.csv")
    assert (tmp_path / "import.csv").read_text() == "record_id,redcap_event_name,arm\n12,start_arm_1,2\n"
    with pytest.raises(InputError, match="at least one record"):
        write_csv([], tmp_path / "none.csv")
    with pytest.raises(InputError, match="a field with choices"):
        records_of([], METADATA, assigned="pressure")
    with pytest.raises(InputError, match="one of No, Yes"):
        records_of([Somebody()], METADATA, assigned="well")
