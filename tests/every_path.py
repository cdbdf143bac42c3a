"""Every way in which a short adaptive trial can go, with its probability: means over them are exact."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from takeup import Log, Space
from takeup.checks import FloatArray

SPACE = Space(3, outcomes=3, utility=[0, 1, 4])
RATES = np.array(
    [[[0.5, 0.2, 0.3], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]], [[0.2, 0.2, 0.6], [0.6, 0.1, 0.3], [0.0, 0.5, 0.5]]]
)
"""Of the outcomes of each proposal, in even and in odd decisions."""


@dataclass(frozen=True)
class Paths:
    """All paths side by side, and the probability of each."""

    log: Log
    weight: FloatArray
    rates: FloatArray

    def mean(self, of: FloatArray) -> FloatArray:
        """Over the paths, which are the first axis."""
        return np.asarray(np.tensordot(self.weight, of, axes=1))

    @property
    def effects(self) -> FloatArray:
        """Of proposals 1 and 0, in each decision, in the utility's units."""
        return (self.rates[:, 1] - self.rates[:, 0]) @ SPACE.reward


def every_path(n: int, *, effect: bool) -> Paths:
    """By a policy that chases what was good, with probabilities down to .02; without effect all are like proposal 0."""
    rates = RATES[np.arange(n) % 2] if effect else np.repeat(RATES[np.arange(n) % 2, :1], 3, axis=1)
    steps = np.array(list(product(product(range(3), range(3)), repeat=n)))
    z, y = steps[..., 0], steps[..., 1]
    p, merit = np.empty((len(z), n, 3)), np.zeros((len(z), 3))
    for t in range(n):
        good = np.exp(merit - merit.max(axis=1, keepdims=True))
        p[:, t] = 0.94 * good / good.sum(axis=1, keepdims=True) + 0.02
        merit[np.arange(len(z)), z[:, t]] += 1.5 * SPACE.reward[y[:, t]] - 2.0
    chance = np.take_along_axis(p, z[..., np.newaxis], axis=-1)[..., 0] * rates[np.arange(n), z, y]
    return Paths(Log.of(SPACE, z, p, outcome=y), chance.prod(axis=1), rates)
