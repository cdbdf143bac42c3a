"""A gate at the suite's scale: it holds, and its control does not."""

from pathlib import Path

import pytest

from gates.gate import AbsentError, Gate, Run
from gates.known import known
from requirements import absent


def small(*parts: str, modules: tuple[str, ...] = ()) -> list[Gate]:
    """The gates of these parts, or of these modules of `gates`, of which the suite runs some."""
    found = [gate for gate in known().values() if gate.suite]
    names = {f"gates.{module}" for module in modules}
    return [gate for gate in found if gate.part in parts or gate.run.__module__ in names]


def hold(gate: Gate, folder: Path) -> None:
    """Run it as often as the suite does, and then its control."""
    for name in ("held", "control"):
        (folder / name).mkdir()
    try:
        found = gate.run(Run(folder / "held", gate.suite, seed=1))
        assert found.passed, found.figures
        control = gate.control(Run(folder / "control", gate.control_times, seed=1))
    except AbsentError as error:
        absent(str(error))
    assert not control.passed, f"the control of {gate.name} sees nothing: {control.figures}"


def named(gate: Gate) -> str:
    """For pytest's ids."""
    return gate.name


def each(*modules: str) -> pytest.MarkDecorator:
    """A parameter `gate` for all gates of these modules of `gates`."""
    return pytest.mark.parametrize("gate", small(modules=modules), ids=named)
