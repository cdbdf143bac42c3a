"""What an edge acknowledged with a sync is in the log once, whatever dies; `make gates` does the same 200 times."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = Path(__file__).with_name("edge_kills.py")


@pytest.mark.requirement("R-12.2")
def test_killed_edges_and_a_killed_writer_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """And the same check finds all that is lost by an edge without a sync, whose writer never wakes."""
    victims = [option for victim in ("edge", "power", "writer") for option in ("--victim", victim)]
    command = [sys.executable, str(KILLS), str(tmp_path / "kills"), "--kills", "3", *victims, "--control"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["kills"] == {"edge": 1, "power": 1, "writer": 1}
    assert result["acknowledged"] >= 3
    assert result["lost"] == []
    acknowledged, missed = result["control"]
    assert acknowledged == missed > 0
