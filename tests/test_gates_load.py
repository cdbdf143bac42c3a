"""Gates of load, for a few seconds: what is refused or lost counts, how long it takes does not."""

from pathlib import Path

import pytest

import gated
from gates.gate import Gate


@gated.each("loads", "slow")
def test_it_holds(gate: Gate, tmp_path: Path) -> None:
    gated.hold(gate, tmp_path, control=False)


@pytest.mark.long
@gated.each("slow")
def test_its_control_does_not_hold(gate: Gate, tmp_path: Path) -> None:
    gated.fail(gate, tmp_path)
