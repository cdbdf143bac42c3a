"""Experiments of the papers with a few patients each: the figures mean nothing, their shape is the same."""

import pytest

from takeup.paper.related import compliance_aware, instruments, intents


def shorten_related(patched: pytest.MonkeyPatch) -> None:
    """Trials of tens of patients for the papers that the paper compares itself with."""
    for name, value in {"HORIZON": 20, "STEPS": (10, 20), "SHORT": 4, "SHORT_RUNS": 2}.items():
        patched.setattr(compliance_aware, name, value)
    for name, value in {"FIRST": 10, "SECOND": 20, "LONG": 30}.items():
        patched.setattr(instruments, name, value)
    patched.setattr(instruments, "_AGAIN", {20: instruments._AGAIN[10_000], 30: instruments._AGAIN[1_000_000]})
    patched.setattr(intents, "HORIZON", 10)
