"""Gates of load, for a few seconds: what is refused or lost counts, how long it takes does not.

All of it is for `make long`. In the suite tests/test_service_process.py asks a service from many sides at once and at a
pace, and keeps more silent connections than it has room for; tests/test_service_crowding.py says who has to go then.
"""

from pathlib import Path

import pytest

import gated
from gates.gate import Gate


@pytest.mark.long
@gated.each("loads", "slow")
def test_it_holds(gate: Gate, tmp_path: Path) -> None:
    gated.hold(gate, tmp_path, control=False)


@pytest.mark.long
@gated.each("slow")
def test_its_control_does_not_hold(gate: Gate, tmp_path: Path) -> None:
    gated.fail(gate, tmp_path)
