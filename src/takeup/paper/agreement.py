"""When a measured figure agrees with a published one. The rule is fixed here, before any run."""

from dataclasses import dataclass

import numpy as np

from takeup.checks import FloatArray
from takeup.randomness import stream

STANDARD_ERRORS = 4.0
"""How many standard errors of both sides together a difference may have: under normal errors a false alarm once in
16,000 comparisons."""

BOOTSTRAPS = 2000

REPLICATIONS = 100
"""How many runs a figure of the paper rests on: what its regret bound analysis states, and what the noise of its table
2 looks like."""


@dataclass(frozen=True, slots=True)
class Published:
    """The distribution of a final regret, as printed."""

    median: float
    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A measured figure beside a published one.

    Attributes:
        statistic: "median" or "mean".
        published: the paper's figure.
        measured: ours.
        error: the standard error of the difference, both sides together.
    """

    statistic: str
    published: float
    measured: float
    error: float

    @property
    def agrees(self) -> bool:
        """Whether the difference is within four standard errors."""
        return abs(self.measured - self.published) <= STANDARD_ERRORS * self.error


def compare(regret: FloatArray, published: Published, seed: int = 0) -> list[Comparison]:
    """Median and mean of the measured regrets beside the published ones.

    The paper's side is taken as 100 runs. The error of its mean is its printed sd over ten; that of its median comes
    from bootstrap samples of 100 out of our runs. The errors of our side come from our runs.
    """
    rng = stream(seed, "bootstrap")
    ours, theirs = (
        float(np.median(rng.choice(regret, (BOOTSTRAPS, size)), axis=1).std()) for size in (regret.size, REPLICATIONS)
    )
    mean_error = np.hypot(regret.std(ddof=1) / np.sqrt(regret.size), published.sd / np.sqrt(REPLICATIONS))
    return [
        Comparison("median", published.median, float(np.median(regret)), float(np.hypot(ours, theirs))),
        Comparison("mean", published.mean, float(regret.mean()), float(mean_error)),
    ]
