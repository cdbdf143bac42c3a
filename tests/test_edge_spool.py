"""The spool of an edge: whole blocks come back, whatever a crash left; lines say what was decided."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeup.client import Client
from takeup.client.edge_rows import EdgeDecision, EdgeReport, Lines
from takeup.client.edge_sender import Sender
from takeup.client.remembered import Remembered
from takeup.client.segments import Segments
from takeup.errors import InputError
from takeup.trial.ingested import Lapse


def blocks(*rows: str) -> list[bytes]:
    return [f'{{"unit":"{row}"}}\n'.encode() for row in rows]


def written(folder: Path, *rows: str, roll: bool = True) -> Path:
    """A spool with a block each, and the file that it wrote to."""
    spool = Segments(folder, "t", sync=False)
    for block in blocks(*rows):
        spool.append(block, 1)
    if roll:
        spool.close()
    else:
        os.close(spool._claim)  # as a process that is killed does
    (path,) = [each for each in folder.iterdir() if each.suffix in (".open", ".rows")]
    return path


def test_files_are_sent_in_the_order_in_which_they_were_written(tmp_path: Path) -> None:
    spool = Segments(tmp_path, "t", sync=True)
    assert spool.age == 0
    for row in ("a", "b", "c"):
        spool.append(blocks(row)[0], 1)
        spool.roll()
        spool.roll()
    assert b"".join(spool.body(path) for path in spool.closed()) == b"".join(blocks("a", "b", "c"))
    first, *rest = spool.closed()
    spool.sent(first)
    spool.sent(first)
    assert spool.refuse(rest[0]).suffix == ".refused"
    assert spool.closed() == rest[1:]
    spool.close()
    again = Segments(tmp_path, "t", sync=False)
    again.append(blocks("d")[0], 1)
    again.close()
    assert [again.body(path) for path in again.closed()] == blocks("c", "d")


def test_an_end_that_was_cut_off_is_dropped_wherever_it_is_cut(tmp_path: Path) -> None:
    """A crash leaves any part of the last block: the blocks before it come back whole, and no others."""
    whole = written(tmp_path / "whole", "a", "bb", "ccc", roll=False).read_bytes()
    ends, at = [0], 0
    for block in blocks("a", "bb", "ccc"):
        at = whole.index(block) + len(block)
        ends.append(at)
    assert ends[-1] == len(whole)
    for cut in range(len(whole) + 1):
        folder = tmp_path / str(cut)
        path = written(folder, "a", roll=False)
        path.write_bytes(whole[:cut])
        spool = Segments(folder, "t", sync=False)
        many = sum(end <= cut for end in ends) - 1
        assert b"".join(spool.body(each) for each in spool.closed()) == b"".join(blocks("a", "bb", "ccc")[:many])
        assert not list(folder.glob("*.open"))
        spool.close()


def test_a_byte_that_the_disk_changed_is_found(tmp_path: Path) -> None:
    path = written(tmp_path, "a", "b", "c")
    content = path.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        spool = Segments(tmp_path, "t", sync=False)
        body = spool.body(path)
        assert b"".join(blocks("a", "b", "c")).startswith(body)
        assert len(body) < 3 * len(blocks("a")[0])
        spool.close()
    path.write_bytes(content[:-2])
    spool = Segments(tmp_path, "t", sync=False)
    spool.sent(path)
    assert [each.suffix for each in tmp_path.glob("0*")] == [".damaged"]
    spool.close()


def test_a_folder_is_one_trials_and_one_processes(tmp_path: Path) -> None:
    spool = Segments(tmp_path, "t", sync=False)
    with pytest.raises(InputError, match="no other process is using"):
        Segments(tmp_path, "t", sync=False)
    spool.append(blocks("a")[0], 1)
    spool.close()
    with pytest.raises(InputError, match=r"for trial u; it has rows of trial t, .* give this one another folder"):
        Segments(tmp_path, "u", sync=False)
    (tmp_path / "spool.json").write_text('{"tri')  # cut off before anything was recorded
    Segments(tmp_path, "t", sync=False).close()
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(InputError, match="a folder that can be written to"):
        Segments(file, "t", sync=False)
    for nothing in (None, ""):
        with pytest.raises(InputError, match="a folder for what the service has not got yet"):
            Segments(nothing, "t", sync=False)  # type: ignore[arg-type]


def test_a_folder_that_has_nothing_of_a_trial_is_another_trials(tmp_path: Path) -> None:
    """A name that was mistyped once, or a trial whose rows have all been sent, does not keep the folder."""
    Segments(tmp_path, "mistypd", sync=False).close()
    spool = Segments(tmp_path, "t", sync=False)
    spool.append(blocks("a")[0], 1)
    spool.close()
    with pytest.raises(InputError, match="rows of trial t"):
        Segments(tmp_path, "mistypd", sync=False)
    spool.sent(spool.closed()[0])
    Segments(tmp_path, "u", sync=False).close()
    assert json.loads((tmp_path / "spool.json").read_text()) == {"trial": "u"}


def test_what_is_broken_off_to_end_is_no_problem(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever closes an edge sends what is left: the thread that it broke off has nothing to tell."""
    spool = Segments(tmp_path, "t", sync=False)
    spool.append(blocks("a")[0], 1)
    spool.roll()
    with Client("http://127.0.0.1:9", "key") as client:
        sender = Sender(client, "/trials/t", spool, threading.Event(), lambda *_: None)
        assert sender.send_all(60, stop=lambda: True)
    assert sender.problem is None
    assert not caplog.records
    assert len(spool.closed()) == 1
    spool.close()


def test_a_file_that_could_not_be_renamed_is_closed_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise OSError(5, "Input/output error")

    spool = Segments(tmp_path, "t", sync=False)
    spool.append(blocks("a")[0], 1)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", failing)
        for call in (spool.roll, spool.roll, lambda: spool.append(blocks("b")[0], 1)):
            with pytest.raises(OSError, match="Input/output"):
                call()
        assert spool.writing
        assert (spool.rows, spool.closed()) == (1, [])
        assert spool.age > 0
    spool.append(blocks("b")[0], 1)
    assert [spool.body(path) for path in spool.closed()] == blocks("a")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", failing)
        spool.close()
    again = Segments(tmp_path, "t", sync=False)
    assert [again.body(path) for path in again.closed()] == blocks("a", "b")
    again.close()


def lines(*rows: Any) -> list[dict[str, Any]]:
    made, count = Lines().of(rows)
    found = [json.loads(line) for line in made.splitlines()]
    assert len(found) == count
    return found


def test_lines_say_what_was_decided_and_reported() -> None:
    ann = EdgeDecision("Änn \"\\ '", None, "old", "drug", 7, 12)
    visit = EdgeDecision("bob", "first", "old", "rest", 7, 13)
    report = EdgeReport(ann.unit, None, ',"outcome":1', ann)
    drawn = {"unit": ann.unit, "context": "old", "proposal": "drug", "lease": 7, "drawn": 12}
    assert lines(ann, visit, report) == [
        {**drawn, "outcome": 1},
        {"unit": "bob", "occasion": "first", "context": "old", "proposal": "rest", "lease": 7, "drawn": 13},
    ]
    named = {"unit": ann.unit, "outcome": 1}
    assert lines(report, ann, report, report, report._replace(decision=None)) == [
        {**drawn, "outcome": 1},
        {**drawn, "outcome": 1},
        {**drawn, "outcome": 1},
        named,
    ]
    assert lines(ann, report._replace(decision=ann._replace(lease=8))) == [drawn, {**drawn, "lease": 8, "outcome": 1}]
    other = EdgeReport("bob", "second", ',"outcome":1', None)
    assert lines(visit, other)[1] == {"unit": "bob", "occasion": "second", "outcome": 1}
    assert lines() == []


def test_lines_say_which_lease_it_was() -> None:
    """A lease's number is given out again where a database was restored; the hash tells the two apart."""
    before, after = (EdgeDecision("u", None, "old", "rest", 7, 5, hashed) for hashed in ("0" * 16, "f" * 16))
    unknown = before._replace(lease_hash=None)
    said = lines(before, after, unknown, EdgeReport("u", None, ',"outcome":1', before))
    assert [each.get("lease_hash") for each in said] == ["0" * 16, "f" * 16, None]
    assert said[0]["outcome"] == 1


def test_many_ends_of_lines_are_made_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("takeup.client.edge_rows.MOST_TAILS", 2)
    rows = [EdgeDecision(f"u{i}", None, "old", f"z{i % 3}", i % 5, i) for i in range(30)]
    assert [(each["proposal"], each["lease"]) for each in lines(*rows)] == [(row.proposal, row.lease) for row in rows]


def test_the_latest_are_remembered() -> None:
    known = Remembered(10)
    made = [EdgeDecision(f"u{i}", None if i % 2 else "first", "old", "rest", 1, i, "0" * 16) for i in range(23)]
    batches = [Lines().of([*some, EdgeReport("u1", None, ',"outcome":1', None)])[0] for some in (made[:12], made[12:])]
    known.read([batches[1], batches[0]])
    assert 5 <= len(known) <= 10
    assert {*known.latest.values(), *known.earlier.values()} == set(made[-len(known) :])
    known.turn()
    assert known.earlier


def test_no_more_of_a_spool_is_read_than_can_be_remembered() -> None:
    def batches() -> Iterator[bytes]:
        for first in (20, 10, 0):
            assert first, "all that can be remembered was in the two latest"
            yield Lines().of([EdgeDecision(f"u{first + i}", None, "old", "rest", 1, i) for i in range(10)])[0]

    known = Remembered(14)
    known.read(batches())
    assert all(known.of(f"u{i}", None) for i in range(23, 30))


@pytest.mark.parametrize("reports", [0, 1, 3])
def test_the_latest_half_is_remembered_however_often_it_was_reported(reports: int) -> None:
    """Each report that comes later repeats its decision."""
    made = [EdgeDecision(f"u{i}", None, "old", "rest", 1, i) for i in range(300)]
    batches = []
    for first in range(0, 300, 10):
        some = made[first : first + 10]
        batches.append(Lines().of(some)[0])
        batches += [Lines().of([EdgeReport(each.unit, None, ',"outcome":1', each) for each in some])[0]] * reports
    known = Remembered(100)
    known.read(reversed(batches))
    assert all(known.of(each.unit, None) == each for each in made[-known.half :])


def test_what_a_lease_gave_too_late_is_forgotten() -> None:
    known = Remembered(10)
    made = [EdgeDecision(f"u{i}", None, "old", "rest", 1 + i % 2, i, "0" * 16) for i in range(8)]
    known.read([Lines().of(made)[0]])
    known.forget(Lapse(2, "f" * 16, 0))  # of another database
    assert len(known) == 8
    known.forget(Lapse(2, "0" * 16, 3))
    assert [made.drawn for made in (*known.earlier.values(), *known.latest.values())] == [0, 1, 2, 4, 6]
    assert known.of("u3", None) is None
    assert known.of("u4", None) == made[4]
