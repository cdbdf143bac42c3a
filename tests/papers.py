"""Experiments of the papers with a few patients each: the figures mean nothing, their shape is the same."""

from dataclasses import replace
from typing import Any

import pytest

from takeup.paper import drift, robust, robust_stroke, stroke_outcomes
from takeup.paper.related import compliance_aware, instrument_examples, instruments, intents
from takeup.paper.runner import Runner


def shorten_related(patched: pytest.MonkeyPatch) -> None:
    """Trials of tens of patients for the papers that the paper compares itself with."""
    for name, value in {"HORIZON": 8, "STEPS": (4, 8), "SHORT": 4, "SHORT_RUNS": 2}.items():
        patched.setattr(compliance_aware, name, value)
    for name, value in {"FIRST": 10, "SECOND": 20, "LONG": 30}.items():
        patched.setattr(instruments, name, value)
    patched.setattr(instrument_examples, "STEP", 0.1)
    patched.setattr(instruments, "_AGAIN", {20: instruments._AGAIN[10_000], 30: instruments._AGAIN[1_000_000]})
    patched.setattr(intents, "HORIZON", 10)


def by_the_reference(run: Runner, **_: Any) -> Runner:
    """Nothing is compiled for trials of ten decisions: `drift` takes an engine of its own."""
    return replace(run, engine="reference", scheduler=None)


def shorten_beyond(patched: pytest.MonkeyPatch) -> None:
    """The same for what lies beyond the paper; that of its environments is `contextual.HORIZON`."""
    for name, value in {"HORIZON": 10, "CHANGE": 5, "replace": by_the_reference}.items():
        patched.setattr(drift, name, value)
    for name, value in {"HORIZON": 5, "WORLDS": 3, "TUNING_WORLDS": 2, "BOOTSTRAPS": 20, "LEAST": 20}.items():
        patched.setattr(robust, name, value)
    patched.setattr(robust, "SHARED", (0.3,))
    patched.setattr(robust, "SHARPNESS", (1.0,))
    patched.setattr(robust_stroke, "HORIZON", 5)
    patched.setattr(stroke_outcomes, "HORIZON", 3)
