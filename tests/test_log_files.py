"""Logs from files of somebody else: what programs and spreadsheets write, and what is said of what cannot be read."""

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from takeup import UNSEEN, InputError, Number
from takeup.log import read_log

PLAIN = "arm,got,well\nnew,new,1\nusual,NA,0\nnew,,NaN\nusual,usual,1\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("past.csv", "arm,got,well\nnew,new,1\nusual,NA,0\nnew,,NaN\nusual,usual,1\n"),
        ("past.tsv", "arm\tgot\twell\nnew\tnew\t1\nusual\t\t0\nnew\t\t\nusual\tusual\t1\n"),
        ("past.csv", '\ufeff"arm";"got";"well"\n"new";"new";"1"\n"usual";"";"0"\n"new";NA;""\n"usual";"usual";"1"\n'),
        (
            "past.jsonl",
            "".join(
                f'{{"arm": {a}, "got": {g}, "well": {y}}}\n'
                for a, g, y in (
                    ('"new"', '"new"', 1),
                    ('"usual"', "null", 0),
                    ('"new"', '""', "null"),
                    ('"usual"', '"usual"', 1),
                )
            ),
        ),
    ],
)
def test_anybodys_file_is_read_by_the_names_of_its_columns(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    log = read_log(tmp_path / name, assigned="arm", taken="got", outcome="well")
    assert log.space.proposals == ("usual", "new")
    assert [log.proposal.tolist(), log.implemented.tolist(), log.outcome.tolist()] == [
        [1, 0, 1, 0],
        [1, UNSEEN, UNSEEN, 0],
        [1, 0, UNSEEN, 1],
    ]
    with pytest.raises(InputError, match="assigned is missing; expected one of the columns arm, got, well"):
        read_log(tmp_path / name)


GERMAN = "Gruppe;erhalten;Blutdruck;Ort\r\nneu;neu;121,5;München\r\nüblich;;1.118,25;Köln\r\nneu;üblich;119;Köln\r\n"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (GERMAN.encode("utf-8-sig"), None),
        (GERMAN.encode("utf-16"), None),
        (GERMAN.encode("cp1252"), "cp1252"),
    ],
)
def test_what_a_german_spreadsheet_saves_is_read(tmp_path: Path, data: bytes, encoding: str | None) -> None:
    file = tmp_path / "Studie.csv"
    file.write_bytes(data)
    columns = {"assigned": "Gruppe", "taken": "erhalten", "outcome": "Blutdruck", "context": "Ort"}
    log = read_log(file, **columns, encoding=encoding)  # type: ignore[arg-type]  # names of columns
    assert log.space.contexts == ("Köln", "München")
    assert log.space.outcome == Number(119, 1118.25, 0.01)
    assert log.space.outcome.worths[log.outcome].tolist() == pytest.approx([121.5, 1118.25, 119])
    assert log.inferred[-1] == "A comma is a decimal point in Blutdruck."


def test_an_index_without_a_name_and_unneeded_columns_of_one_name_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "pandas.csv.gz"
    file.write_bytes(gzip.compress(b",arm,note,note,y\n0,a,x,x,1\n1,b,x,x,0\n"))
    log = read_log(file, assigned="arm", outcome="y")
    assert log.outcome.tolist() == [1, 0]
    with pytest.raises(InputError, match="outcome: got 'note', expected the name of one column; 2 are called so"):
        read_log(file, assigned="arm", outcome="note")


@pytest.mark.parametrize(
    ("name", "data", "options", "says"),
    [
        ("text.csv", "arm,y\na,1\nMünchen,1\n".encode("latin-1"), {}, "line 3 that are no utf-8.* encoding=cp1252"),
        ("text.csv", b"arm,y\na,1\n", {"encoding": "utf-9"}, "encoding: got 'utf-9'"),
        ("empty.csv", b"", {}, "which is empty"),
        ("blank.csv", b"\n\n", {}, "which is empty"),
        ("head.csv", b"arm,y\n", {}, "frame: got no rows, expected a row for each decision"),
        ("near.csv", b"Arm,y\na,1\nb,0\n", {}, "assigned: got 'arm', .* columns Arm, y; did you mean Arm"),
        ("twice.csv", b"arm,y,y\na,1,1\nb,0,0\n", {}, "outcome: got 'y', expected the name of one column"),
        ("comma.csv", b'arm,y\na,"1,5"\nb,0\n', {}, "row 1, column 'y': got '1,5', expected a number; write 1.5"),
        (
            "word.csv",
            b"arm;y\na;1,5\nb;2,5\nb;k.A.\n",
            {},
            "row 3, column 'y': got 'k.A.', expected a number",
        ),
        ("sheet.csv", b"PK\x03\x04..", {}, "a spreadsheet or an archive.* save the sheet as CSV"),
        ("past.xlsx", b"PK\x03\x04..", {}, r"ends in \.csv.* save the sheet as CSV"),
        ("past.dta", b"..", {}, r"ends in \.csv"),
        ("cut.csv.gz", gzip.compress(b"arm,y\n" * 100, mtime=0)[:-9], {}, "a file that can be read"),
        ("no.parquet", b"PAR0", {}, "a parquet file that can be read"),
        ("no.jsonl", b"arm: y", {}, "a jsonl file that can be read"),
    ],
)
def test_files_that_cannot_be_read_say_why(
    tmp_path: Path, name: str, data: bytes, options: dict[str, Any], says: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=says):
        read_log(tmp_path / name, assigned="arm", outcome="y", **options)


def test_one_number_is_the_share_of_all_proposals_in_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "past.csv").write_text("arm,well\nnew,1\nusual,0\nnew,0\n")
    log = read_log(tmp_path / "past.csv", assigned="arm", outcome="well", probability=0.5)
    assert log.probability.tolist() == [[0.5, 0.5]] * 3


def test_what_is_no_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "past.csv").write_text(PLAIN)
    (tmp_path / "all.csv").mkdir()
    for name, says in (
        ("pst.csv", "pst.csv', expected a file that exists; did you mean past.csv"),
        ("nowhere/past.csv", "a file that exists"),
        ("all.csv", "the folder .* expected one file"),
        ("*.csv", "expected one file; put the tables together first"),
    ):
        with pytest.raises(InputError, match=says):
            read_log(tmp_path / name, assigned="arm", outcome="well")


def test_a_parquet_file_of_numbers_with_gaps_is_read(tmp_path: Path) -> None:
    frame = pl.DataFrame({"arm": [0, 1, 1, 0], "got": [0.0, None, 1.0, 0.0], "y": [1, 0, None, 1]})
    frame.write_parquet(tmp_path / "past.parquet")
    log = read_log(tmp_path / "past.parquet", assigned="arm", taken="got", outcome="y")
    assert (log.implemented.tolist(), log.outcome.tolist()) == ([0, UNSEEN, 1, 0], [1, 0, UNSEEN, 1])


def test_a_row_with_too_many_fields_is_named(tmp_path: Path) -> None:
    file = tmp_path / "past.csv"
    file.write_text("arm,well\nusual,0\nnew,1\nnew,1,5\nusual,1\n")
    with pytest.raises(InputError, match="path: row 3: got 3 fields, expected 2, as the first line names"):
        read_log(file, assigned="arm", outcome="well")
