"""Exports: the same in every format, when what was reported, what spreadsheets make of texts, and who sees what."""

import csv
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from asgi import Reply
from shown_fields import fields, plain
from takeup.errors import InputError, MissingExtraError
from takeup.live import Trial, export_files
from takeup.live.export_columns import columns_of
from takeup.live.export_files import write
from takeup.log import read_log
from takeup.log.exported import probability_columns
from takeup.service.routes.log import MEDIA
from takeup.store import Store
from takeup.trial.formats import FORMATS

START = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
SPEC: dict[str, Any] = {
    "name": "Out",
    "space": {"proposals": ["=1+1", "new drug"], "outcomes": ["ill", "well"]},
    "policy": {"kind": "Uniform"},
    "rehearsal": True,
    "seed": 1,
    "window": 3600,
}
UNITS = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "'quoted", "plain"]


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    """Six decisions, a minute apart; reports in the hours after them."""
    minutes = [0]

    def clock() -> int:
        return int((START - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() + 60 * minutes[0]) * 1_000_000

    with Trial.create(Store("sqlite://", clock=clock), SPEC, trial="out") as made:
        made.start()
        for unit in UNITS:
            made.decide(unit)
            minutes[0] += 1
        for at, number, told in (
            (10, 1, {"implemented": 0}),
            (11, 1, {"implemented": 1, "reason": "misread"}),
            (12, 1, {"implemented": 1}),
            (13, 2, {"outcome": "ill", "implemented": 1}),
            (14, 2, {"outcome": "well", "reason": "mistyped"}),
            (15, 2, {"missing": ["implemented"], "reason": "nobody was there"}),
            (16, 2, {"implemented": 0, "reason": "somebody was"}),
            (20, 3, {"outcome": "well"}),
            (21, 4, {"implemented": 1}),
            (22, 4, {"missing": ["implemented"], "reason": "mistaken"}),
        ):
            minutes[0] = at
            made.report(number, **told)
        minutes[0] = 63  # the windows of the first three have closed
        made.tick()
        yield made


def rows(trial: Trial, folder: Path, kind: str) -> list[dict[str, Any]]:
    file = folder / f"t.{kind}"
    trial.export(file)
    if kind == "parquet":
        return pl.read_parquet(file).to_dicts()
    if kind == "csv":
        with file.open(newline="") as opened:
            return list(csv.DictReader(opened))
    text = file.read_text()
    found: list[dict[str, Any]] = json.loads(text if kind == "json" else f"[{','.join(text.splitlines())}]")
    return found


def test_when_and_how_often_by_hand(trial: Trial, tmp_path: Path) -> None:
    """The time of the report that brought what stands; a correction counts, saying the same again does not."""
    found = rows(trial, tmp_path, "parquet")

    def after(minutes: float | None) -> datetime | None:
        return None if minutes is None else START + timedelta(minutes=minutes)

    assert [row["decided_at"] for row in found] == [after(i) for i in range(6)]
    assert [row["implemented_at"] for row in found] == [*map(after, (11, 16, None, None, None, None))]
    assert [row["outcome_at"] for row in found] == [*map(after, (None, 14, 20, None, None, None))]
    assert [row["corrected"] for row in found] == [1, 3, 0, 1, 0, 0]
    assert [row["window_closes_at"] for row in found] == [after(60 + i) for i in range(6)]
    assert [row["outcome_status"] for row in found] == ["late", "counted", "counted", "late", "pending", "pending"]
    assert [row["outcome_by"] for row in found] == [None, 7, 7, None, None, None]
    assert pl.read_parquet_schema(tmp_path / "t.parquet")["decided_at"] == pl.Datetime("us", "UTC")


@pytest.mark.requirement("R-8.1")
def test_every_format_says_the_same(trial: Trial, tmp_path: Path) -> None:
    exact = rows(trial, tmp_path, "parquet")
    for row in exact:
        assert (row["p_1_1"], row["p_new_drug"]) == (0.5, 0.5)
    plain = [
        {name: v.isoformat(timespec="microseconds") if isinstance(v, datetime) else v for name, v in row.items()}
        for row in exact
    ]
    assert plain[0]["decided_at"] == "2026-03-01T23:30:00.000000+00:00"
    assert rows(trial, tmp_path, "jsonl") == rows(trial, tmp_path, "json") == plain
    texts = [{name: "" if value is None else str(value) for name, value in row.items()} for row in plain]
    for row in texts:
        row |= {name: f"'{value}" for name, value in row.items() if value[:1] in "=+-@'" and value}
    assert rows(trial, tmp_path, "csv") == texts
    logs = [read_log(tmp_path / f"t.{kind}") for kind in ("csv", "json", "jsonl", "parquet")]
    for log in logs:
        assert log.unit is not None
        assert log.unit.tolist() == UNITS
        assert log.implemented.tolist() == [1, 0, -1, -1, -1, -1]
    out = io.BytesIO()
    trial.export(out)
    assert out.getvalue() == (tmp_path / "t.csv").read_bytes()


def sheet(content: bytes, number: int) -> list[list[tuple[str, str]]]:
    """The cells of a sheet, each with its type ("n" of a number, "s" and "inlineStr" of a text) and what it holds."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        there = "xl/sharedStrings.xml" in file.namelist()
        shared = list(ElementTree.fromstring(file.read("xl/sharedStrings.xml"))) if there else []
        strings = ["".join(t.text or "" for t in item.iter(f"{space}t")) for item in shared]
        tree = ElementTree.fromstring(file.read(f"xl/worksheets/sheet{number}.xml"))
    assert not list(tree.iter(f"{space}f"))  # no formula anywhere
    found = []
    for row in tree.iter(f"{space}row"):
        cells = []
        for cell in row.iter(f"{space}c"):
            kind, text = (
                cell.get("t", "n"),
                "".join(part.text or "" for part in (*cell.iter(f"{space}v"), *cell.iter(f"{space}t"))),
            )
            cells.append((kind, strings[int(text)] if kind == "s" else text))
        found.append(cells)
    return found


@pytest.mark.requirement("R-8.2")
@pytest.mark.parametrize("blinded", [False, True])
def test_xlsx_has_texts_numbers_and_times_and_explains_itself(trial: Trial, tmp_path: Path, blinded: bool) -> None:
    """No cell is a formula; 2026-03-01 23:30 is day 46082.979.. of a spreadsheet's calendar."""
    trial.export(tmp_path / "t.xlsx", blinded=blinded)
    content = (tmp_path / "t.xlsx").read_bytes()
    names, *lines = sheet(content, 1)
    columns = columns_of(trial.design.space.proposals, blinded=blinded)
    assert [text for _, text in names] == [name for name in columns if name != "space"]
    assert [line[2][1] for line in lines] == UNITS
    assert {line[2][0] for line in lines} <= {"s", "inlineStr"}
    flat = [cell for line in lines for cell in line]
    assert ("n", "0.5") in flat or blinded
    day = (START.replace(tzinfo=None) - datetime(1899, 12, 30)) / timedelta(days=1)
    assert any(kind == "n" and abs(float(text) - day) < 1e-6 for kind, text in lines[0])
    said = sheet(content, 2)
    assert [line[0][1] for line in said[1 : len(names) + 1]] == [text for _, text in names]
    assert ("the probability that =1+1 had" in str(said)) != blinded
    assert ("=1+1" in str([*flat, *said])) != blinded


def test_what_cannot_be_written_is_refused_before_a_file_is_there(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("t.xls", "t.sas7bdat", "parquet", "t.csv.gz"):
        with pytest.raises(
            InputError, match=rf"file: got .*{name}, expected a name that ends in \.csv, \.parquet, \.js"
        ):
            trial.export(str(tmp_path / name))
        assert not (tmp_path / name).exists()
    with pytest.raises(InputError, match="one of csv, parquet, jsonl, json, xlsx"):
        trial.export(io.BytesIO(), "xls")  # type: ignore[arg-type]  # as a user may
    monkeypatch.setattr(export_files, "MOST_ROWS_OF_A_SHEET", 5)
    with pytest.raises(InputError, match="xlsx of 6 decisions, expected at most 5 in a sheet; take csv or parquet"):
        trial.export(tmp_path / "t.xlsx")
    assert not (tmp_path / "t.xlsx").exists()
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(MissingExtraError, match=r"takeup\[xlsx\]"):
        trial.export(io.BytesIO(), "xlsx")


def test_a_parquet_file_is_made_of_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are taken as they are written, in order; none are held that are not being written."""
    columns = columns_of(["a", "b"], blinded=True)
    taken: list[int] = []

    def source(many: int) -> Iterator[dict[str, Any]]:
        for i in range(many):
            taken.append(i)
            yield dict.fromkeys(columns) | {"decision": i, "unit": f"u{i}"}

    held: list[int] = []
    frame = pl.DataFrame

    def made(content: dict[str, list[Any]], **options: Any) -> pl.DataFrame:
        held.append(len(content["unit"]))
        return frame(content, **options)

    monkeypatch.setattr(export_files, "PART", 7)
    monkeypatch.setattr(pl, "DataFrame", made)
    for many in (0, 7, 25):
        held.clear()
        write(tmp_path / "t.parquet", source(many), columns, "parquet")
        assert pl.read_parquet(tmp_path / "t.parquet")["decision"].to_list() == list(range(many))
        assert max(held) <= 7


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["Usual care", "New drug"], ["p_usual_care", "p_new_drug"]),
        (["-", "Ärzte", "薬"], ["p_1", "p_arzte", "p_3"]),
        (["a b", "a-b", "薬"], ["p_1_a_b", "p_2_a_b", "p_3"]),
        (["2", "薬"], ["p_1_2", "p_2"]),
    ],
)
def test_names_of_probabilities_are_safe_stable_and_distinct(labels: list[str], names: list[str]) -> None:
    assert probability_columns(labels) == names


@pytest.mark.requirement("R-8.3")
def test_blinded_exports_have_the_same_fields_in_every_format(trial: Trial) -> None:
    """The gate of blinding looks at all of them, by the same reading."""
    found, open_ = dict[str, set[str]](), dict[str, set[str]]()
    for kind in FORMATS:
        for shown, blinded in ((found, True), (open_, False)):
            out = io.BytesIO()
            trial.export(out, kind, blinded=blinded)
            reply = Reply(200, {"content-type": MEDIA[kind]}, out.getvalue())
            shown[kind] = {name.removeprefix("[].") for name in fields(reply)}
            assert (b"plain" in plain(reply), b"=1+1" in plain(reply)) == (True, not blinded), kind
    assert {frozenset(each) for each in found.values()} == {frozenset(found["csv"])}
    assert {frozenset(each - {"space"}) for each in open_.values()} == {frozenset(open_["csv"] - {"space"})}
    assert {"unit", "outcome_status"} <= found["csv"]
    assert not {"outcome", "implemented", "ARM", "probability", "outcome_at"} & found["csv"]


@pytest.mark.requirement("R-8.3")
def test_the_blinded_get_neither_probabilities_nor_when_anything_was_reported(trial: Trial, tmp_path: Path) -> None:
    hidden = {"p_1_1", "p_new_drug", "implemented_at", "outcome_at", "corrected", "ARM", "ACTARM", "outcome", "reward"}
    for kind in ("csv", "json", "jsonl", "parquet"):
        whole = set(rows(trial, tmp_path, kind)[0])
        assert hidden <= whole
    for kind in FORMATS:
        trial.export(tmp_path / f"b.{kind}", blinded=True)
    with (tmp_path / "b.csv").open(newline="") as file:
        assert not hidden & set(next(csv.reader(file)))
    assert not hidden & set(pl.read_parquet_schema(tmp_path / "b.parquet"))
    for kind in ("csv", "json", "jsonl"):
        text = (tmp_path / f"b.{kind}").read_text()
        assert not [word for word in ("1+1", "new drug", "p_new", "well") if word in text]
