"""A gate at the suite's scale: it holds, and its control does not."""

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from gates.gate import AbsentError, Found, Gate, Run
from gates.known import known
from requirements import absent

SLOW = ("soak",)
"""Gates of which others in the suite show most, and which take long even at its scale."""


def gate(name: str) -> Gate:
    """The gate of this name."""
    return known()[name]


def each(*modules: str) -> pytest.MarkDecorator:
    """A parameter `gate` for all gates of these modules of `gates` of which the suite runs some."""
    names = {f"gates.{module}" for module in modules}
    found = [one for one in known().values() if one.suite and one.run.__module__ in names]
    slow = {one.name: pytest.mark.long if one.name in SLOW else () for one in found}
    return pytest.mark.parametrize("gate", [pytest.param(one, marks=slow[one.name], id=one.name) for one in found])


def hold(gate: Gate, folder: Path, *, control: bool = True) -> None:
    """Run it as often as the suite does, and then its control."""
    found = _tried(gate.run, Run(folder / "held", gate.suite, seed=1, timed=False))
    assert found.passed, found.figures
    if control:
        fail(gate, folder)


def fail(gate: Gate, folder: Path) -> None:
    """Run the control, which must see the defect."""
    found = _tried(gate.control, Run(folder / "control", gate.control_times, seed=1, timed=False))
    assert not found.passed, f"the control of {gate.name} sees nothing: {found.figures}"


def _tried(go: Callable[[Run], Found], run: Run) -> Found:
    """What came of it; what it left open is collected here, so that the warning fails it and no later test."""
    run.folder.mkdir()
    try:
        return go(run)
    except AbsentError as error:
        absent(str(error))
    finally:
        gc.collect()
