"""How long the patients of the International Stroke Trial lived, and what an exponential model makes of it.

Exponential times have one risk of death for all days. With d deaths in t days of watching the rate is λ = d / t, and
the mean time within L days is (1 - exp(-λ L)) / λ. Kaplan and Meier's estimate assumes no such thing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.datasets import DAYS, ist_counts
from takeup.datasets.codings import ARMS
from takeup.outcomes.distribution import SurvivalStep, kaplan_meier, restricted_mean

PERIODS = ((0, 7), (8, 14), (15, 30), (31, 90), (91, 183))
"""First and last day of the periods whose risks are shown."""


@dataclass(frozen=True, slots=True)
class ArmSurvival:
    """The patients of one arm.

    Attributes:
        arm: the arm.
        patients: how many.
        deaths: how many of them died within the watch.
        steps: the survival curve, by day.
        mean_days: the mean time within the watch, by that curve.
        exponential_days: the same by an exponential model.
    """

    arm: str
    patients: int
    deaths: int
    steps: tuple[SurvivalStep, ...]
    mean_days: float
    exponential_days: float

    @property
    def short(self) -> str:
        """The arm in fewer words, for a legend."""
        aspirin, heparin = self.arm.split(", ")
        if aspirin == "no aspirin":
            return "neither" if heparin == "no heparin" else heparin
        return "aspirin" if heparin == "no heparin" else f"both, {heparin.removesuffix(' heparin')}"

    def alive(self, day: int) -> float:
        """The share who lived through this day."""
        return next((step.share for step in reversed(self.steps) if step.time <= day), 1.0)


@dataclass(frozen=True, slots=True)
class Period:
    """The risk of death in a period: deaths by 1,000 patients and day."""

    first: int
    last: int
    deaths: int
    risk: float


def days_seen() -> IntArray:
    """n[z, a, day, died or last seen alive], in the paper's coding."""
    counts = ist_counts("DAYS")
    return counts.reshape(*counts.shape[:2], -1, 2)


def survival_of(days: IntArray) -> tuple[ArmSurvival, ...]:
    """A row an arm, from n[arm, day, died or last seen alive]."""
    at, longest = np.arange(days.shape[1], dtype=np.float64), DAYS.longest
    found = []
    for arm, (deaths, censored) in zip(ARMS["paper"], np.moveaxis(days, 2, 1), strict=True):
        steps = kaplan_meier(at, deaths, censored)
        rate = deaths.sum() / (at @ (deaths + censored))
        exponential = float(-np.expm1(-rate * longest) / rate)
        mean = restricted_mean(steps, longest)
        patients = int(deaths.sum() + censored.sum())
        found.append(ArmSurvival(arm, patients, int(deaths.sum()), steps, mean, exponential))
    return tuple(found)


def periods() -> tuple[Period, ...]:
    """The risk of death by period, all patients together."""
    days = days_seen().sum(axis=(0, 1))
    at_risk = days.sum() - np.concatenate([[0], days.sum(axis=1).cumsum()[:-1]])
    return tuple(
        Period(first, last, int(days[first : last + 1, 0].sum()), _risk(days[:, 0], at_risk, first, last))
        for first, last in PERIODS
    )


def _risk(deaths: IntArray, at_risk: IntArray, first: int, last: int) -> float:
    here = slice(first, last + 1)
    return float(1_000 * deaths[here].sum() / at_risk[here].sum())


def records(arms: tuple[ArmSurvival, ...]) -> list[dict[str, Any]]:
    """The survival curves for `takeup.charts.survival_curves`, day by day for a fortnight and then every fifth."""
    return [
        {
            "time": day,
            "label": arm.short,
            "share": arm.alive(day),
            "say": f"{arm.arm}: {arm.alive(day):.1%} on day {day}",
        }
        for arm in arms
        for day in (*range(15), *range(18, 184, 5))
    ]


def mean_days() -> FloatArray:
    """The mean time within the watch of each proposal."""
    return np.array([each.mean_days for each in survival_of(days_seen().sum(axis=1))])
