"""Tables of counts that come with takeup, so that experiments on real trials run anywhere."""

import json
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from takeup.checks import IntArray, one_of
from takeup.datasets.codings import Coding, Doubt
from takeup.datasets.measures import DAYS, MEASURES, Outcome
from takeup.datasets.stroke import environment_of, evidence_of
from takeup.environment import Environment
from takeup.evidence import Evidence


def ist_counts(outcome: Outcome, coding: Coding = "paper") -> IntArray:
    """n[z, a, y] of the International Stroke Trial; what `ist(path, coding).counts(outcome)` gives, without the file.

    Args:
        outcome: "STS", "LTS", "LTR" or "S14", which have two levels; "STATE", which has four; or "DAYS", a time.
        coding: what the columns were taken to mean; see `ist`.
    """
    table = _table(coding)
    one_of("outcome", outcome, MEASURES)
    if outcome == "STATE":
        return np.array(table["states"], dtype=np.int64)
    patients = np.array(table["patients"], dtype=np.int64)
    if outcome == "DAYS":
        return _days(coding, patients.shape)
    successes = np.array(table["successes"][outcome], dtype=np.int64)
    return np.stack([patients - successes, successes], axis=-1)


def ist_evidence(outcome: Outcome, coding: Coding = "paper") -> Evidence:
    """The counts as evidence, with the names of arms and outcomes."""
    return evidence_of(ist_counts(outcome, coding), outcome, coding)


def ist_environment(outcome: Outcome, coding: Coding = "paper") -> Environment:
    """The patients as they are: what happened to those who were assigned an arm is what happens to whom it is proposed.

    The outcome depends on what was assigned as well as on what was implemented. A censored time is worth what was seen.
    """
    return environment_of(ist_counts(outcome, coding), outcome, coding)


def ist_doubts(coding: Coding = "paper") -> tuple[Doubt, ...]:
    """The patients whose record is not clear; what `ist(path, coding).doubts` gives, without the file."""
    return tuple(
        Doubt(tuple(row["columns"]), tuple(row["codes"]), row["patients"], row["taken_as"])
        for row in _table(coding)["doubts"]
    )


def _days(coding: Coding, arms: tuple[int, ...]) -> IntArray:
    """From the rows z, a, day, deaths, censored."""
    counts = np.zeros((*arms, DAYS.size), dtype=np.int64)
    for z, a, day, deaths, censored in _tables("international_stroke_trial_days.json")[coding]:
        counts[z, a, 2 * day : 2 * day + 2] = deaths, censored
    return counts


def _table(coding: Coding) -> dict[str, Any]:
    tables = _tables("international_stroke_trial.json")
    table: dict[str, Any] = tables[one_of("coding", coding, tables)]
    return table


@cache
def _tables(name: str) -> dict[str, Any]:
    text = resources.files("takeup.datasets").joinpath(name).read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text)["codings"]
    return tables
