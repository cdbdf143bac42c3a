"""Gates of killed stores and failing power, a few times; their controls are for `make long`."""

from pathlib import Path

import pytest

import gated
from gates.gate import Gate


@pytest.mark.requirement("R-3.1")
def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    gated.hold(gated.gate("store-killed"), tmp_path, control=False)


@pytest.mark.requirement("R-3.2")
def test_a_power_failure_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    gated.hold(gated.gate("power"), tmp_path, control=False)


@pytest.mark.long
@gated.each("kills")
def test_its_control_does_not_hold(gate: Gate, tmp_path: Path) -> None:
    """It ends with the first loss, after one or two kills or failures."""
    gated.fail(gate, tmp_path)
