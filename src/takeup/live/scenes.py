"""What is measured in a sandbox: who gets well, blood pressure, the number of relapses, or days to a relapse."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from takeup.checks import FloatArray
from takeup.families import Exponentials, Normals, Poissons
from takeup.outcomes import Count, Number, Time
from takeup.space import Space

ARMS = ("usual care", "new drug")
PRESSURE, RELAPSES, DAYS = Number(80, 220, 1, "mmHg", better="lower"), Count(30, unit="relapses"), Time(90, "days")
SPREAD = 15.0
"""The standard deviation of a blood pressure, in mmHg."""


@dataclass(frozen=True, slots=True)
class Slider:
    """A number that says what people are like.

    Attributes:
        label: what it says.
        low: the least that it may be.
        high: the most.
        step: how far apart its values are.
        unit: what it is measured in.
        start: what it is at first.
    """

    label: str
    low: int = 0
    high: int = 100
    step: int = 5
    unit: str = "%"
    start: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """One thing that may be measured.

    Attributes:
        title: what it is.
        space: the space of the trial.
        sliders: how people fare under usual care and with the new drug, and how much worse who goes their own way.
        distribution: the distribution of the outcome by action, (Ka, Y), from how people fare under each.
        others: how those fare who go their own way, from how the others do and what the slider says.
        cost: what regret counts, in words.
        lost: what regret is, in a sentence without a full stop.
        fared: what the mean is called, in the table of truth and belief.
    """

    title: str
    space: Space
    sliders: Mapping[str, Slider]
    distribution: Callable[[FloatArray], FloatArray]
    others: Callable[[FloatArray, int], FloatArray]
    cost: str
    lost: str
    fared: str

    def distributions(self, usual: int, new: int, unlike: int) -> tuple[FloatArray, FloatArray]:
        """Of those who do as they are told, and of those who go their own way."""
        fare = np.array([usual, new], dtype=np.float64)
        return self.distribution(fare), self.distribution(self.others(fare, unlike))


def _well(percent: FloatArray) -> FloatArray:
    return np.stack([1 - percent / 100, percent / 100], axis=-1)


def _pressure(mean: FloatArray) -> FloatArray:
    return np.asarray(Normals(mean, SPREAD, PRESSURE).table()[0])


def _relapses(mean: FloatArray) -> FloatArray:
    return np.asarray(Poissons(mean, RELAPSES).table()[0])


def _days(mean: FloatArray) -> FloatArray:
    return np.asarray(Exponentials(mean, DAYS).table()[0])


SCENES: Mapping[str, Scene] = {
    "well": Scene(
        "getting well",
        Space(ARMS, outcomes=["not well", "well"]),
        {
            "fare_usual": Slider("Get well under usual care", start=40),
            "fare_new": Slider("Get well with the new drug", start=60),
            "unlike": Slider("Fewer get well among those who go their own way"),
        },
        _well,
        lambda percent, less: percent * (1 - less / 100),
        "recoveries",
        "how many more would have got well had everybody been offered what is best",
        "well",
    ),
    "pressure": Scene(
        "blood pressure",
        Space(ARMS, outcomes=PRESSURE),
        {
            "fare_usual": Slider("Mean under usual care", 110, 170, 1, "mmHg", 145),
            "fare_new": Slider("Mean with the new drug", 110, 170, 1, "mmHg", 135),
            "unlike": Slider("Higher by, among those who go their own way", 0, 30, 1, "mmHg"),
        },
        _pressure,
        lambda mean, more: mean + more,
        "mmHg in all",
        "by how much lower the pressures would have been, all people added up, had everybody been offered what is best",
        "mean",
    ),
    "relapses": Scene(
        "number of relapses",
        Space(ARMS, outcomes=RELAPSES),
        {
            "fare_usual": Slider("Mean under usual care", 1, 10, 1, "relapses", 4),
            "fare_new": Slider("Mean with the new drug", 1, 10, 1, "relapses", 2),
            "unlike": Slider("More by, among those who go their own way", 0, 6, 1, "relapses"),
        },
        _relapses,
        lambda mean, more: mean + more,
        "relapses",
        "how many fewer relapses there would have been had everybody been offered what is best",
        "mean",
    ),
    "days": Scene(
        "days to a relapse",
        Space(ARMS, outcomes=DAYS),
        {
            "fare_usual": Slider("Mean time under usual care", 5, 180, 5, "days", 40),
            "fare_new": Slider("Mean time with the new drug", 5, 180, 5, "days", 80),
            "unlike": Slider("Sooner by, among those who go their own way", 0, 60, 5, "days"),
        },
        _days,
        lambda mean, sooner: np.maximum(mean - sooner, 5.0),
        "days",
        "how many more days without a relapse there would have been had everybody been offered what is best",
        "mean within 90 days",
    ),
}
"""By the name that a form gives them."""

FOLLOWING: Mapping[str, Slider] = {
    "follow_usual": Slider("Offered usual care, keep to it", start=90),
    "follow_new": Slider("Offered the new drug, take it", start=60),
}
"""How many comply, whatever is measured."""
