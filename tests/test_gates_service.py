"""Gates of a service whose processes die or stand still, a few times. Their controls are for `make long`."""

from pathlib import Path

import pytest

import gated
from gates.gate import Gate


@pytest.mark.requirement("R-3.1", "R-3.3")
@gated.each("processes", "clocks", "histories")
def test_what_clients_saw_can_be_whatever_befalls_a_service(gate: Gate, tmp_path: Path) -> None:
    gated.hold(gate, tmp_path, control=False)


@pytest.mark.long
@gated.each("processes", "clocks", "histories")
def test_its_control_does_not_hold(gate: Gate, tmp_path: Path) -> None:
    gated.fail(gate, tmp_path)
