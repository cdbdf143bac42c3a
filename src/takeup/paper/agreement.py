"""When a measured figure agrees with a published one. The rule is fixed here, before any run."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from takeup.checks import FloatArray
from takeup.randomness import stream

STANDARD_ERRORS = 4.0
"""The largest difference that counts as agreement, in standard errors of both sides together. Under normal errors one
comparison in 16,000 is a false alarm."""

BOOTSTRAPS = 2000

LARGEST_RESAMPLE = 2000
"""The most runs that a bootstrap sample draws. For larger samples the error is scaled down by the square root of their
size."""

REPLICATIONS = 100
"""The runs behind each figure of the paper: stated in its regret bound analysis, and in keeping with the noise of its
table 2."""


class Mean(NamedTuple):
    """A mean and its Monte Carlo error."""

    value: float
    error: float

    @classmethod
    def of(cls, runs: FloatArray) -> "Mean":
        """Over runs."""
        return cls(float(runs.mean()), float(runs.std(ddof=1) / np.sqrt(runs.size)))

    def __str__(self) -> str:
        """Both."""
        return f"{self.value:.1f} ± {self.error:.1f}"


class PublishedRegret(NamedTuple):
    """The distribution of a final regret, as printed."""

    median: float
    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A measured figure beside a published one.

    Attributes:
        statistic: "median", "mean" or "sd".
        published: the paper's figure.
        measured: ours.
        mcse: the Monte Carlo error of our side alone.
        error: the standard error of the difference, both sides together.
    """

    statistic: str
    published: float
    measured: float
    mcse: float
    error: float

    @property
    def distance(self) -> float:
        """How far ours is above the paper's, in standard errors."""
        difference = self.measured - self.published
        return (
            difference / self.error if self.error > 0 else float(np.copysign(np.inf, difference) if difference else 0)
        )

    @property
    def agrees(self) -> bool:
        """Whether the difference is within four standard errors."""
        return abs(self.measured - self.published) <= STANDARD_ERRORS * self.error


def compare(regret: FloatArray, published: PublishedRegret, seed: int = 0) -> list[Comparison]:
    """Median, mean and sd of the measured regrets beside the published ones.

    The paper's side is taken as 100 runs. The error of its mean is its printed sd over ten; those of its median and sd
    come from bootstrap samples of 100 out of our runs. The errors of our side come from our runs: of the mean in closed
    form, of the median and the sd by bootstrap.
    """
    rng = stream(seed, "bootstrap")
    sd = float(regret.std(ddof=1))
    our_median, our_sd = _errors(regret, regret.size, rng)
    their_median, their_sd = _errors(regret, REPLICATIONS, rng)
    figures = (
        ("median", published.median, float(np.median(regret)), our_median, their_median),
        ("mean", published.mean, float(regret.mean()), sd / regret.size**0.5, published.sd / REPLICATIONS**0.5),
        ("sd", published.sd, sd, our_sd, their_sd),
    )
    return [
        Comparison(statistic, printed, measured, mine, float(np.hypot(mine, its)))
        for statistic, printed, measured, mine, its in figures
    ]


def _errors(regret: FloatArray, size: int, rng: np.random.Generator) -> tuple[float, float]:
    """The standard errors of the median and of the sd of `size` runs, by bootstrap."""
    drawn = min(size, LARGEST_RESAMPLE)
    samples = rng.choice(regret, (BOOTSTRAPS, drawn))
    scale = (drawn / size) ** 0.5
    median, sd = np.median(samples, axis=1).std(), samples.std(axis=1, ddof=1).std()
    return float(median) * scale, float(sd) * scale
