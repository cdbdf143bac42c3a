"""Gates of killed stores and failing power, a few times."""

from pathlib import Path

import gated
from gates.gate import Gate


@gated.each("kills")
def test_it_holds_and_its_control_does_not(gate: Gate, tmp_path: Path) -> None:
    gated.hold(gate, tmp_path)
