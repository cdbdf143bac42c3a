"""Anchors: signed, on the disk before anybody is answered, and mended after crashes and full disks."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeup.errors import InputError, StoreError
from takeup.live import Anchors, Trial, new_key, read_anchors, read_key
from takeup.store import Store, looking, reading
from takeup.trial import Decide, Report
from takeup.trial.commands import Ask
from takeup.trial.design import Design
from takeup.trial.steering import Amend

SPEC: dict[str, Any] = {"name": "t", "space": {"proposals": 2}, "policy": {"kind": "Uniform"}}
STRICT = {**SPEC, "anchored": True}


@pytest.fixture
def key(tmp_path: Path) -> bytes:
    return new_key(tmp_path / "key")


class Disk:
    """A disk that takes `room` more bytes of anchors."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.room: int | None = None
        self.syncs = 0
        self._write, self._sync = os.write, os.fsync
        patched.setattr("takeup.whole_lines.os.write", self.write)
        patched.setattr("takeup.whole_lines.os.fsync", self.sync)

    def write(self, file: int, data: bytes) -> int:
        """As much as there is room for, as a full disk does."""
        if self.room is None:
            return self._write(file, data)
        part, self.room = data[: self.room], max(0, self.room - len(data))
        return self._write(file, part)

    def sync(self, file: int) -> None:
        """Counted."""
        self.syncs += 1
        self._sync(file)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    with monkeypatch.context() as patched:
        yield Disk(patched)


def sequences(file: Path, key: bytes) -> list[int]:
    return [anchor.sequence for anchor in read_anchors(file, key)]


def test_anchors_are_signed_and_wait_where_they_may(tmp_path: Path, key: bytes) -> None:
    assert read_key(tmp_path / "key") == key
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="can be created"):
        new_key(tmp_path / "key")
    file = tmp_path / "anchors"
    with Trial.create(tmp_path / "t.db", SPEC, witness=Anchors(file, key, seconds=3_600)) as trial:
        trial.start()
        for unit in "abc":
            trial.decide(unit)
        assert sequences(file, key) == [1]
    assert sequences(file, key) == [1, 5]
    with pytest.raises(InputError, match="that this key has signed"):
        read_anchors(file, b"another key that is 32 bytes lon")
    lines = file.read_text()
    file.write_text(lines.replace('"sequence":5', '"sequence":4'))
    with pytest.raises(InputError, match="line 2"):
        read_anchors(file, key)


@pytest.mark.parametrize("torn", [b'{"at":17', b'{"at', b"\0\0\0\0"])
def test_a_line_that_a_crash_cut_off_is_cut_away(tmp_path: Path, key: bytes, torn: bytes) -> None:
    file = tmp_path / "anchors"
    with Trial.create(tmp_path / "t.db", SPEC, witness=Anchors(file, key)) as trial:
        trial.start()
    with file.open("ab") as opened:
        opened.write(torn)
    assert sequences(file, key) == [1, 2]
    witness = Anchors(file, key)
    with file.open("ab") as opened:
        opened.write(torn)  # of another process, which died while this one had the file open
    with Trial.open(tmp_path / "t.db", witness=witness) as trial:
        trial.decide("a")
    assert sequences(file, key) == [1, 2, 3]
    assert torn not in file.read_bytes().splitlines()


def test_an_anchor_that_was_appended_to_half_a_line_counts(tmp_path: Path, key: bytes) -> None:
    """As 0.1 did: nothing could read the file any more."""
    file = tmp_path / "anchors"
    with Trial.create(tmp_path / "t.db", SPEC, witness=Anchors(file, key)) as trial:
        trial.start()
    first, second = file.read_text().splitlines(keepends=True)
    file.write_text(first + second[:40] + second)
    assert sequences(file, key) == [1, 2]


def test_a_file_of_something_else_is_not_cut(tmp_path: Path, key: bytes) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("one line\nand another")
    with pytest.raises(InputError, match="ends with something else"):
        Anchors(file, key)
    assert file.read_text() == "one line\nand another"


def test_a_commit_is_synced_once_however_many_trials_it_moves(tmp_path: Path, key: bytes, disk: Disk) -> None:
    with Store(tmp_path / "t.db", witness=Anchors(tmp_path / "anchors", key)) as store:
        for name in "abc":
            Trial.create(store, SPEC, trial=name).start()
        before = disk.syncs
        replies = store.writer.run([(name, Decide(ask=Ask(unit="u"))) for name in "abc"])
        assert [error for _, error in replies] == [None] * 3
        assert disk.syncs == before + 1


def test_a_full_disk_of_anchors_shows_and_what_waits_is_written_later(
    tmp_path: Path, key: bytes, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "anchors"
    witness = Anchors(file, key)
    with Store(tmp_path / "t.db", witness=witness) as store:
        one, two = (Trial.create(store, SPEC, trial=name) for name in ("one", "two"))
        assert witness.problem is None
        disk.room = 100
        one.start()
        two.start()
        assert file.read_bytes().endswith(b"\n")
        assert [anchor.sequence for anchor in read_anchors(file, key)] == [1, 1]
        assert "cannot be written" in str(witness.problem)
        disk.room = None
        assert witness.problem is None
        assert [(anchor.trial, anchor.sequence) for anchor in read_anchors(file, key)][2:] == [("one", 2), ("two", 2)]
        disk.room = 0
        one.decide("a")
    assert "are lost: those of one" in caplog.text


def test_a_plan_may_say_that_nothing_is_acknowledged_unanchored(tmp_path: Path, key: bytes, disk: Disk) -> None:
    file = tmp_path / "anchors"
    witness = Anchors(file, key, seconds=3_600)
    with Trial.create(tmp_path / "t.db", STRICT, witness=witness) as trial:
        trial.start()
        trial.decide("a", key="a")
        assert sequences(file, key) == [1, 2, 3]  # without the pause of other trials
        disk.room = 10
        for _ in range(2):  # asked again, nothing is appended, and it is not anchored either
            with pytest.raises(StoreError, match=r"not anchored.*ask again under the same idempotency key"):
                trial.decide("b", key="b")
        with pytest.raises(StoreError, match="not anchored"):
            trial.report(1, outcome=1, key="r")
        disk.room = None
        decision = trial.decide("b", key="b")
        assert (decision.number, trial.progress().decisions) == (2, 2)
        assert sequences(file, key) == [1, 2, 3, 5]
        assert trial.audit(read_anchors(file, key), at_rest=True).passed


def test_what_was_not_anchored_before_a_crash_is_anchored_when_asked_again(
    tmp_path: Path, key: bytes, disk: Disk
) -> None:
    with Trial.create(tmp_path / "t.db", STRICT, witness=Anchors(tmp_path / "anchors", key)) as trial:
        trial.start()
        disk.room = 0
        with pytest.raises(StoreError, match="not anchored"):
            trial.decide("a", key="a")
    disk.room = None
    with Trial.open(tmp_path / "t.db", witness=Anchors(tmp_path / "anchors", key)) as trial:
        assert trial.decide("a", key="a").number == 1
    assert sequences(tmp_path / "anchors", key) == [1, 2, 3]


def test_a_store_without_anchors_refuses_a_trial_that_is_to_be_anchored(tmp_path: Path, key: bytes) -> None:
    with pytest.raises(InputError, match="got true, expected false, as nothing anchors here; give --anchors"):
        Trial.create(tmp_path / "t.db", STRICT)
    with Trial.create(tmp_path / "t.db", SPEC, trial="plain") as trial:
        with pytest.raises(InputError, match="nothing anchors here"):
            trial.submit(Amend(design=Design.of(STRICT))).result()
        trial.start()
    with Trial.create(tmp_path / "t.db", STRICT, trial="strict", witness=Anchors(tmp_path / "anchors", key)) as trial:
        trial.start()
        trial.decide("a")
    with Trial.open(tmp_path / "t.db", "strict") as trial:
        for ask in (lambda: trial.decide("b"), lambda: trial.submit(Report(decision=1, outcome=1)).result()):
            with pytest.raises(StoreError, match="nothing anchors here"):
                ask()


def test_a_spec_that_does_not_ask_for_it_keeps_its_text() -> None:
    assert "anchored" not in Design.of(SPEC).text
    assert Design.of({**SPEC, "anchored": False}).text == Design.of(SPEC).text
    assert json.loads(Design.of(STRICT).text)["anchored"] is True
    assert Design.of_text(Design.of(STRICT).text).spec.anchored


def test_anchors_that_others_may_read_are_warned_of(
    tmp_path: Path, key: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    old = os.umask(0)
    try:
        Anchors(tmp_path / "anchors", key).close()
    finally:
        os.umask(old)
    assert (tmp_path / "anchors").stat().st_mode & 0o777 == 0o600
    (tmp_path / "anchors").chmod(0o644)
    with caplog.at_level(logging.WARNING, "takeup"):
        Anchors(tmp_path / "anchors", key).close()
    assert "has mode 0644" in caplog.text


def test_two_processes_append_to_one_file(tmp_path: Path, key: bytes) -> None:
    """Each has its own handle and its own lock; no line is torn or lost."""
    one, two = (Anchors(tmp_path / "anchors", key) for _ in range(2))
    with Store(tmp_path / "a.db", witness=one) as first, Store(tmp_path / "b.db", witness=two) as second:
        for store in (first, second):
            Trial.create(store, SPEC).start()
        for i in range(5):
            Trial(first, "t").decide(f"{i}")
            Trial(second, "t").decide(f"{i}")
    assert len(sequences(tmp_path / "anchors", key)) == 2 * 7
    with looking(tmp_path / "a.db") as connection:
        assert reading.identifiers(connection) == ["t"]


@pytest.mark.parametrize("replaced", [False, True])
def test_anchors_that_were_moved_away_hold_nothing(tmp_path: Path, key: bytes, *, replaced: bool) -> None:
    file, elsewhere = tmp_path / "anchors", tmp_path / "elsewhere"
    witness = Anchors(file, key)
    with Trial.create(tmp_path / "t.db", STRICT, witness=witness) as trial:
        trial.start()
        trial.decide("a", key="a")
        file.rename(elsewhere)
        if replaced:
            file.touch()
        assert "the anchors' file was replaced or deleted" in str(witness.problem)
        for unit in "ab":  # the first had its anchor, which is gone with the file
            with pytest.raises(StoreError, match="not anchored"):
                trial.decide(unit, key=unit)
        assert sequences(elsewhere, key) == [1, 2, 3]
        elsewhere.rename(file)
        assert witness.problem is None
        assert trial.decide("b", key="b").number == 2
        assert sequences(file, key) == [1, 2, 3, 4]


def test_a_trial_that_is_to_be_anchored_has_anchors(tmp_path: Path, key: bytes) -> None:
    with Trial.create(tmp_path / "t.db", STRICT, witness=Anchors(tmp_path / "anchors", key)) as trial:
        trial.start()
        assert str(trial.audit([]).difference).startswith("the anchors: expected some of this trial")
        assert trial.audit().passed
        assert trial.audit(read_anchors(tmp_path / "anchors", key)).passed
    with Trial.create(tmp_path / "plain.db", SPEC) as trial:
        trial.start()
        assert trial.audit([]).passed
