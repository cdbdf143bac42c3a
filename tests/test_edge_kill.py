"""What an edge acknowledged with a sync is in the log once, whatever dies; `make torture` does the same 200 times."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KILLS = Path(__file__).with_name("edge_kills.py")


def killed(folder: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, str(KILLS), str(folder / "kills"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.requirement("R-12.2")
def test_killed_edges_and_a_killed_writer_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    result = killed(tmp_path, "--kills", "3", "--victim", "edge", "--victim", "power", "--victim", "writer")
    assert result["kills"] == {"edge": 1, "power": 1, "writer": 1}
    assert result["acknowledged"] >= 3
    assert result["lost"] == []


@pytest.mark.requirement("R-12.2")
def test_the_same_check_finds_what_an_edge_without_a_sync_loses(tmp_path: Path) -> None:
    """Its writer never wakes, so that nothing it acknowledged is on the disk when it is killed."""
    result = killed(tmp_path, "--kills", "1", "--victim", "edge", "--unsynced", "--idle")
    assert result["acknowledged"] == result["many"] > 0
