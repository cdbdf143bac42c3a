"""Gates of files and lines, a few times: torn logs, copies under load, full disks, cut lines, two services."""

from pathlib import Path

import pytest

import gated
from gates.gate import Gate
from gates.torn import resummed, victim
from takeup.randomness import stream


@gated.each("torn", "copies", "disks", "lines", "sharing")
def test_it_holds(gate: Gate, tmp_path: Path) -> None:
    gated.hold(gate, tmp_path, control=gate.name in ("torn-logs", "lines-cut"))


@pytest.mark.long
@gated.each("copies", "disks", "sharing")
def test_its_control_does_not_hold(gate: Gate, tmp_path: Path) -> None:
    gated.fail(gate, tmp_path)


def test_the_checksums_are_those_of_sqlite(tmp_path: Path) -> None:
    """Made anew, they are what they were: the control of torn logs changes what it says it changes."""
    log = victim(tmp_path, stream(1)).log
    assert resummed(log) == log
