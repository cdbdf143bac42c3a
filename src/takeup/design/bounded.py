"""The bounded reading: what a promise about those who refuse is worth.

Compliance and outcomes apart are worth more than intention to treat where those who take an action would have fared
with it as those who do not; nobody can promise that. What can be promised is a bound: with any one action, two groups
of people that differ in what they do when they are offered something differ by at most Δ in their mean outcome. The two
readings are its ends, Δ = 0 and Δ large, and everything between is a weighted sum of the means of the cells (z, a) with
a bias that is known at its worst: bias-aware intervals, Armstrong & Kolesár (2018).

With c[z, a] the shares of the cells, intention to treat estimates v_1 - v_0 by Σ_a c[1, a] m[1, a] - c[0, a] m[0, a].
Nothing is known of the level of an action's outcomes, so that other weights may differ from these only by what sums to
zero over the proposals: w[1, a] = c[1, a] - λ_a and w[0, a] = -c[0, a] + λ_a. The bias is at most Σ_a |λ_a| Δ d_a,
where d_a is how much the groups that take a under the two proposals differ as groups: one less what they share of the
larger.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import ndtr

from takeup import checks
from takeup.checks import FloatArray
from takeup.design.sizes import Goal, Size, between
from takeup.errors import InputError

_NEVER = 1e12
"""What a reading costs whose bias may be as large as the effect."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Two proposals in which people do not all do what they are told.

    Attributes:
        share: c[z, a], how many take each action under each proposal; z = 1 is the one that is hoped for.
        mean: m[z, a], the mean outcome of those who do.
        sd: s[z, a], its standard deviation.
        overlap: how much of the people the two groups that take a have in common, as a share of all. As much as they
            can where left out: nobody does the opposite of what he is told.
    """

    share: FloatArray
    mean: FloatArray
    sd: FloatArray
    overlap: FloatArray

    @classmethod
    def of(cls, share: ArrayLike, mean: ArrayLike, sd: ArrayLike, overlap: ArrayLike | None = None) -> "Cells":
        """The same, checked."""
        c = checks.probabilities("share", share)
        if c.ndim != 2 or len(c) != 2:
            raise InputError("share", f"of shape {c.shape}", "two rows, the shares of every action under each proposal")
        m, s = (np.broadcast_to(checks.real(name, value), c.shape) for name, value in (("mean", mean), ("sd", sd)))
        if (s < 0).any():
            raise InputError("sd", s.tolist(), "numbers of at least 0")
        most = c.min(axis=0)
        common = most if overlap is None else checks.real("overlap", overlap)
        if common.shape != most.shape or (common > most + checks.TOLERANCE).any() or (common < 0).any():
            raise InputError("overlap", common.tolist(), f"shares of at most {most.tolist()}")
        return cls(c, m, s, common)

    @classmethod
    def rates(cls, control: float, treated: float, take_up: float) -> "Cells":
        """Two rates where nobody has the treatment who is not offered it."""
        control, treated = between("control", control), between("treated", treated)
        share = [[1.0, 0.0], [1 - take_up, take_up]]
        mean = np.array([[control, control], [control, treated]])
        return cls.of(share, mean, np.sqrt(mean * (1 - mean)))

    @property
    def effect(self) -> float:
        """v_1 - v_0."""
        value = (self.share * self.mean).sum(axis=1)
        return float(value[1] - value[0])

    @property
    def apart(self) -> FloatArray:
        """d_a: how far the groups that take a under the two proposals can be apart, of what any two groups can."""
        larger = self.share.max(axis=0)
        return np.asarray(np.where(larger > 0, 1 - self.overlap / np.where(larger > 0, larger, 1.0), 0.0))

    def weights(self, lam: FloatArray) -> FloatArray:
        """W[z, a] for λ_a."""
        return np.stack([lam - self.share[0], self.share[1] - lam])

    def variance(self, lam: FloatArray, share: float) -> float:
        """Of the estimate, times the number of units, of which this share is offered proposal 1."""
        units = self.share * np.array([[1 - share], [share]])
        spread = np.where(units > 0, self.weights(lam) ** 2 * self.sd**2 / np.where(units > 0, units, 1.0), 0.0)
        return float(spread.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A bounded reading that was chosen before the trial, and what it takes.

    Attributes:
        cells: what was expected.
        bound: Δ, what was promised.
        lam: λ_a, what was chosen for the least size.
        goal: error, power, sides and shares.
    """

    cells: Cells
    bound: float
    lam: FloatArray
    goal: Goal

    @property
    def bias(self) -> float:
        """The largest bias that the promise allows."""
        return float(self.bound * (np.abs(self.lam) @ self.cells.apart))

    @property
    def size(self) -> Size:
        """How many units both proposals need together."""
        need = self.goal.critical + self.goal.margin
        variance = self.cells.variance(self.lam, self.goal.share)
        return Size(variance * (need / (abs(self.cells.effect) - self.bias)) ** 2, self.goal.share)

    def error(self, difference: float, units: float | None = None) -> float:
        """The probability of a false alarm, one-sided, where groups differ by this much in truth.

        Args:
            difference: in what takers and refusers would become without the treatment, towards a false alarm.
            units: of both proposals; as many as `size` says where left out.
        """
        deviation = np.sqrt(self.cells.variance(self.lam, self.goal.share) / (units or self.size.units))
        excess = (difference - self.bound) * float(np.abs(self.lam) @ self.cells.apart)
        return float(ndtr(excess / deviation - self.goal.critical))


def bounded(cells: Cells, bound: float, *, goal: Goal = Goal()) -> Bounded:
    """The reading of the least size under a promise.

    Args:
        cells: what is expected.
        bound: Δ, by how much groups may differ.
        goal: error, power, sides and shares.
    """
    promised = float(checks.real("bound", bound))
    if promised < 0 or not np.isfinite(promised):
        raise InputError("bound", bound, "a number of at least 0")
    if cells.effect == 0:
        raise InputError("mean", cells.mean.tolist(), "means by which the two proposals differ in value")
    effect, free = abs(cells.effect), (cells.share > 0).all(axis=0)

    def cost(chosen: FloatArray) -> float:
        lam = np.zeros(free.size)
        lam[free] = chosen
        left = effect - promised * float(np.abs(lam) @ cells.apart)
        return _NEVER if left <= 0 else float(np.sqrt(cells.variance(lam, goal.share)) / left)

    best = np.zeros(int(free.sum()))
    if best.size:
        most = cells.share[:, free].sum(axis=0)
        starts = (best, most / 4, most / 2, 3 * most / 4)
        found = [minimize(cost, start, method="L-BFGS-B", bounds=[(0.0, top) for top in most]) for start in starts]
        best = min(found, key=lambda each: float(each.fun)).x
    lam = np.zeros(free.size)
    lam[free] = best
    return Bounded(cells, promised, lam, goal)
