"""Backups as docs/service.md has them: taken while a trial goes on, restored, audited, and gone on from."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from takeup.live import Anchors, Trial, audit_database, new_key, read_anchors
from takeup.store import library, looking

SPEC: dict[str, Any] = {
    "name": "Kept",
    "space": {"proposals": ["rest", "drug"], "contexts": ["young", "old"]},
    "policy": {"kind": "TSObs"},
}

needs_sharing = pytest.mark.skipif(
    not library().shared, reason="this SQLite has the WAL-reset bug: nobody else may open the file meanwhile"
)


def lived(trial: Trial, units: range) -> None:
    for i in units:
        decision = trial.decide(f"unit {i}", i % 2, key=f"k{i}")
        trial.report(decision, implemented=i % 2, outcome=i % 3 % 2)


def by_sqlite(database: Path, copy: Path) -> None:
    """What `sqlite3 trials.db ".backup copy.db"` does, in a process of its own as that is.

    Two SQLites in one process would not respect each other's locks.
    """
    code = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]), pages=1)"
    subprocess.run([sys.executable, "-c", code, str(database), str(copy)], check=True)


def by_snapshot(database: Path, copy: Path) -> None:
    """The file together with its -wal, while nothing writes: what a snapshot of the file system has."""
    for ending in ("", "-wal"):
        copy.with_name(copy.name + ending).write_bytes(database.with_name(database.name + ending).read_bytes())


@needs_sharing
@pytest.mark.requirement("R-10.1", "R-10.2", "R-2.4")
@pytest.mark.parametrize("backup", [by_sqlite, by_snapshot])
def test_a_backup_passes_its_audit_and_the_trial_goes_on(tmp_path: Path, backup: Callable[[Path, Path], None]) -> None:
    key, copy = new_key(tmp_path / "key"), tmp_path / "copy.db"
    with Trial.create(tmp_path / "t.db", SPEC, witness=Anchors(tmp_path / "anchors", key)) as trial:
        trial.start()
        lived(trial, range(30))
        if backup is by_sqlite:
            writing = threading.Thread(target=lived, args=(trial, range(30, 60)))
            writing.start()
            backup(tmp_path / "t.db", copy)
            writing.join()
        else:
            backup(tmp_path / "t.db", copy)
            lived(trial, range(30, 60))
        lived(trial, range(60, 65))
        signed = read_anchors(tmp_path / "anchors", key)
    with looking(copy) as connection:
        alone, anchored = audit_database(connection), audit_database(connection, signed)
    assert alone.passed
    assert alone.audits[0].rederived == alone.audits[0].decisions >= 30
    assert "which is anchored" in str(anchored.audits[0].difference)
    with Trial.open(copy) as again:
        before = again.progress().decisions
        assert again.decide("unit 3", 1, key="k3").number == 4
        lived(again, range(100, 110))
        assert again.progress().decisions == before + 10
        assert again.audit().passed
