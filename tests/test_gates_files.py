"""Gates of files and lines, a few times: torn logs, copies under load, full disks, cut lines, two services."""

from contextlib import nullcontext
from pathlib import Path

import pytest

import gated
import servers
from gates.gate import Gate
from gates.torn import resummed, victim
from takeup.randomness import stream


@pytest.mark.requirement("R-3.5")
def test_lines_cut_around_commit_lose_nothing_and_do_nothing_twice(
    postgres: servers.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the COMMIT gets to PostgreSQL, and before its answer gets back; callers ask again under the same key.

    PostgreSQL is that of other tests: lines are cut before it, in another folder.
    """
    monkeypatch.setattr(servers, "postgresql", lambda: nullcontext(postgres))
    gated.hold(gated.gate("lines-cut"), tmp_path, control=False)


@pytest.mark.requirement("R-3.2")
def test_a_torn_log_is_the_beginning_that_is_not_torn(tmp_path: Path) -> None:
    gated.hold(gated.gate("torn-logs"), tmp_path, control=False)


@pytest.mark.long
@pytest.mark.requirement("R-3.4")
def test_a_disk_that_is_full_for_a_while_costs_nothing(tmp_path: Path) -> None:
    """In the suite that befalls the service of tests/test_gates_service.py, which is copied there too."""
    gated.hold(gated.gate("full-disk"), tmp_path, control=False)


@pytest.mark.long
def test_copies_that_are_made_under_load_are_whole(tmp_path: Path) -> None:
    gated.hold(gated.gate("backup"), tmp_path, control=False)


@pytest.mark.long
@gated.each("copies", "disks", "lines", "sharing", "torn")
def test_its_control_does_not_hold(gate: Gate, tmp_path: Path) -> None:
    gated.fail(gate, tmp_path)


def test_the_checksums_are_those_of_sqlite(tmp_path: Path) -> None:
    """Made anew, they are what they were: the control of torn logs changes what it says it changes."""
    log = victim(tmp_path, stream(1)).log
    assert resummed(log) == log
