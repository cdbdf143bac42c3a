"""Gates of proofs and of what was broken into. The attacks' own tests are in the suite; here they are all named."""

from pathlib import Path

import pytest

import gated
from gates.attacks import ATTACKS, ROOT, held_by, rows
from gates.gate import Gate


@gated.each("proofs")
def test_it_holds(gate: Gate, tmp_path: Path) -> None:
    gated.hold(gate, tmp_path, control=False)


@pytest.mark.long
@gated.each("proofs")
def test_its_control_does_not_hold(gate: Gate, tmp_path: Path) -> None:
    gated.fail(gate, tmp_path)


def test_every_attack_that_is_told_of_has_tests() -> None:
    assert rows() == list(ATTACKS)


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_tests_of_an_attack_are_there(attack: str) -> None:
    for each in held_by(attack):
        file, _, name = each.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text()
