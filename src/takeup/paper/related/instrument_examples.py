"""The two examples of Kallus (2018), with rewards as there, and with the noise on bins.

There the noise is continuous: uniform, or normal. Here a reward is a number in steps of a thousandth, as a trial would
report it, and the law of what is reported is exact: of whom the noise decides what they do, each point of the grid has
the share that lies on their side of the cut. On 20 equiprobable bins, which is how these examples had to be told while
outcomes were levels, each bin is at its conditional mean, so that all means are exact, and the cut at 1.2816, the 90 %
point, falls between two bins.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from takeup.checks import FloatArray
from takeup.environment import Environment
from takeup.outcomes import Number
from takeup.space import Space

BINS = 20
STEP = 0.001
FARTHEST = 7.0
"""Of normal noise; what is beyond counts as this far, a chance of 3e-12."""

MEANS = np.array([0.9, 1.0, 1.0, 1.0, 2.0])
"""Of example 2."""

_OTHER = np.array([1, 2, 2, 2]) / 7
_CUT = 0.1
"""The chance of noise beyond the cut, on either side."""


class Noise(NamedTuple):
    """What is added to the mean of an action, the same whatever is done.

    Attributes:
        points: the values that it may have, in order.
        edges: the chance that it is at a point before each one, and at last 1.
        step: how far points are apart where rewards are numbers; None where they are levels.
    """

    points: FloatArray
    edges: FloatArray
    step: float | None

    def between(self, low: float, high: float) -> FloatArray:
        """The chance of each point, given that the noise is between its quantiles of these levels."""
        return np.diff(np.clip(self.edges, low, high)) / (high - low)


def normal_bins(bins: int = BINS) -> Noise:
    """A standard normal variable on equiprobable bins, each at its conditional mean."""
    cuts = ndtri(np.arange(1, bins) / bins)
    density = np.concatenate([[0.0], np.exp(-(cuts**2) / 2) / np.sqrt(2 * np.pi), [0.0]])
    return Noise((density[:-1] - density[1:]) * bins, np.arange(bins + 1) / bins, None)


def uniform_bins(bins: int = BINS) -> Noise:
    """A uniform variable on [-1, 1] on equiprobable bins, each at its conditional mean."""
    return Noise((2 * np.arange(bins) + 1) / bins - 1, np.arange(bins + 1) / bins, None)


def normal_noise() -> Noise:
    """A standard normal variable, rounded to the grid."""
    points = _grid(FARTHEST)
    return Noise(points, np.concatenate([[0.0], ndtr(points[:-1] + STEP / 2), [1.0]]), STEP)


def uniform_noise() -> Noise:
    """A uniform variable on [-1, 1], rounded to the grid."""
    points = _grid(1.0)
    return Noise(points, np.concatenate([[0.0], (points[:-1] + STEP / 2 + 1) / 2, [1.0]]), STEP)


def _grid(farthest: float) -> FloatArray:
    steps = round(farthest / STEP)
    return np.asarray(np.arange(-steps, steps + 1) * STEP, dtype=np.float64)


class Kin(NamedTuple):
    """Units that respond alike: how many there are, what they do, their mean rewards, and the noise of each point."""

    share: float
    response: Sequence[int]
    mean: FloatArray
    noise: FloatArray


def build(noise: Noise, kin: Sequence[Kin]) -> Environment:
    """An environment of types, each of which has the noise of its own units around its means."""
    rewards = np.round([each.mean[:, np.newaxis] + noise.points for each in kin], 10)  # class, action, point
    actions = rewards.shape[1]
    if noise.step is None:
        utility = np.unique(rewards)
        space = Space(actions, outcomes=utility.size, utility=list(utility))
        codes = np.searchsorted(utility, rewards)
    else:
        number = Number(rewards.min(), rewards.max(), noise.step)
        space = Space(actions, outcomes=number)
        codes = np.rint((rewards - number.low) / number.step).astype(np.int64)
    outcome = np.zeros((*rewards.shape[:2], space.outcome.size))
    np.put_along_axis(outcome, codes, np.stack([each.noise for each in kin])[:, np.newaxis], axis=-1)
    return Environment.from_types(space, [each.share for each in kin], [list(each.response) for each in kin], outcome)


def first_example(noise: Noise | None = None) -> Environment:
    """Three arms; 5/8 comply with means (5, 3, 4), 3/8 take (1, 1, 2) with means (0, 4, 2); noise on [-1, 1]."""
    noise = uniform_noise() if noise is None else noise
    any_noise = noise.between(0, 1)
    compliers = Kin(5 / 8, (0, 1, 2), np.array([5.0, 3.0, 4.0]), any_noise)
    return build(noise, [compliers, Kin(3 / 8, (0, 0, 1), np.array([0.0, 4.0, 2.0]), any_noise)])


def second_example(noise: Noise | None = None) -> Environment:
    """Five arms with means (0.9, 1, 1, 1, 2) and normal noise, which decides who complies."""
    noise = normal_noise() if noise is None else noise
    between, inner = noise.between(_CUT, 1 - _CUT), 1 - 2 * _CUT
    kin = [
        Kin(_CUT, (0,) * 5, MEANS, noise.between(1 - _CUT, 1)),
        Kin(_CUT, (4,) * 5, MEANS, noise.between(0, _CUT)),
        Kin(inner / 8, (0, 1, 2, 3, 4), MEANS, between),
    ]
    for other, share in enumerate(_OTHER):
        kin.append(Kin(inner * 3 / 8 * share, (0, 1, 2, 3, other), MEANS, between))
        kin.append(Kin(inner / 2 * share, (4, 4, 4, 4, other), MEANS, between))
    return build(noise, kin)
