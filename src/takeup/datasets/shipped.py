"""Tables of counts that come with takeup, so that experiments on real trials run anywhere."""

import json
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from takeup.checks import IntArray, one_of
from takeup.datasets.codings import Coding, Doubt
from takeup.datasets.stroke import MEASURES, Outcome, evidence_of
from takeup.evidence import Evidence


def ist_counts(outcome: Outcome, coding: Coding = "paper") -> IntArray:
    """n[z, a, y] of the International Stroke Trial; what `ist(path, coding).counts(outcome)` gives, without the file.

    Args:
        outcome: "STS", "LTS", "LTR" or "S14".
        coding: what the columns were taken to mean; see `ist`.
    """
    table = _table(coding)
    successes = np.array(table["successes"][one_of("outcome", outcome, MEASURES)], dtype=np.int64)
    return np.stack([np.array(table["patients"], dtype=np.int64) - successes, successes], axis=-1)


def ist_evidence(outcome: Outcome, coding: Coding = "paper") -> Evidence:
    """The counts as evidence, with the names of arms and outcomes."""
    return evidence_of(ist_counts(outcome, coding), outcome, coding)


def ist_doubts(coding: Coding = "paper") -> tuple[Doubt, ...]:
    """The patients whose record is not clear; what `ist(path, coding).doubts` gives, without the file."""
    return tuple(
        Doubt(tuple(row["columns"]), tuple(row["codes"]), row["patients"], row["taken_as"])
        for row in _table(coding)["doubts"]
    )


def _table(coding: Coding) -> dict[str, Any]:
    table: dict[str, Any] = _tables()[one_of("coding", coding, _tables())]
    return table


@cache
def _tables() -> dict[str, Any]:
    text = resources.files("takeup.datasets").joinpath("international_stroke_trial.json").read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text)["codings"]
    return tables
