"""All gates: whatever the modules of this folder have in `GATES`."""

import importlib
import pkgutil

import gates
from gates.gate import Gate

PARTS = ("load", "faults", "histories", "input", "secrets and rights", "attacks")
"""The headings of docs/gates.md, in order."""


def known() -> dict[str, Gate]:
    """Gates by name, part by part."""
    found: list[Gate] = []
    for module in sorted(each.name for each in pkgutil.iter_modules(gates.__path__)):
        if not module.startswith("_"):
            found += getattr(importlib.import_module(f"gates.{module}"), "GATES", ())
    found.sort(key=lambda gate: PARTS.index(gate.part))
    by_name = {gate.name: gate for gate in found}
    assert len(by_name) == len(found), "two gates have one name"
    return by_name
