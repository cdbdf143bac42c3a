"""Distributions of counts over an exposure, and of times to an event: events come at a rate."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc

from takeup import checks
from takeup.checks import FloatArray
from takeup.families.base import Parametric, known, set_parameters
from takeup.outcomes import Count, Outcome, Time


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Poissons(Parametric):
    """Poisson counts; where exposures differ, all are equally probable.

    Attributes:
        rate: the events by unit of exposure.
        outcome: what is counted; a World fills it in.
    """

    of: ClassVar[type[Outcome]] = Count
    rate: FloatArray
    outcome: Count | None

    def __init__(self, rate: ArrayLike, outcome: Count | None = None) -> None:
        set_parameters(self, outcome, rate=checks.positive("rate", rate))

    def mean_worth(self) -> FloatArray:
        """The rate, or its negative."""
        return self.rate if known(self.outcome).better == "higher" else -self.rate

    def table(self) -> FloatArray:
        """Counts above the greatest count as that."""
        count = known(self.outcome)
        exposures = count.time.points[1:] if count.exposure else np.ones(1)
        mean = self.rate[..., np.newaxis, np.newaxis] * exposures
        below = gammaincc(np.arange(1.0, count.most + 1)[:, np.newaxis], mean)  # P(events < 1, 2, .., most)
        ends = np.zeros_like(mean), np.ones_like(mean)
        each = np.diff(np.concatenate([ends[0], below, ends[1]], axis=-2), axis=-2) / exposures.size
        return np.asarray(each.reshape(*self.shape, -1))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Exponentials(Parametric):
    """Exponential times; whoever has had no event by the longest watch is censored then.

    Attributes:
        mean: the mean time to the event.
        outcome: what comes then; a World fills it in.
    """

    of: ClassVar[type[Outcome]] = Time
    mean: FloatArray
    outcome: Time | None

    def __init__(self, mean: ArrayLike, outcome: Time | None = None) -> None:
        set_parameters(self, outcome, mean=checks.positive("mean", mean))

    def mean_worth(self) -> FloatArray:
        """The mean time within the longest watch L, mean (1 - exp(-L / mean)), or its negative."""
        time = known(self.outcome)
        within = -self.mean * np.expm1(-time.longest / self.mean)
        return np.asarray(within if time.better == "higher" else -within)

    def table(self) -> FloatArray:
        """An event in the step around each time, and nobody censored before the longest watch."""
        time = known(self.outcome)
        edges = np.append(time.grid.points[:-1] + time.step / 2, time.longest)
        after = np.exp(-np.concatenate([[0.0], edges]) / self.mean[..., np.newaxis])
        both = np.zeros((*self.shape, 2 * time.grid.size))
        both[..., ::2] = -np.diff(after, axis=-1)
        both[..., -1] = after[..., -1]
        return both
