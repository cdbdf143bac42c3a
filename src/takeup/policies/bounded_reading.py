"""The bounded reading: what outcomes say about proposals, if those who take and those who refuse differ by little.

Nobody can promise that who takes an action would have fared with it as who does not. What can be promised is a bound:
with any one action a, groups of people that differ in what they do when they are offered something differ by at most Δ
in their mean outcome of a. With a control that everybody who is offered it takes, this is said of what would become of
takers and refusers *without* the treatment, and of nothing else.

Proposals are compared by weighted sums of the means m[z, a] of the cells, that is of who was offered z and did a, with
weights that were chosen before the trial. With c[z, a] the share of those offered z who do a, and 0 for the control,

    estimate = Σ_a c[i, a] m[i, a] - c[j, a] m[j, a] + Σ_z Σ_a moved[z, a] (m[z, a] - m[0, a])      of v_i - v_j,
    bias    <= Σ_z Σ_a Δ |moved[z, a]| d[z, a],       d[z, a] = 1 - min(c[z, a], c[0, a]) / max(c[z, a], c[0, a]).

Nothing moved is intention to treat; no more is ever moved than reads compliance and outcomes apart. Who does a under
both z and the control is in both cells, and cannot differ from himself: d is the share of the larger group that is not
in the smaller. That it is no more takes that as many as can do the same under both (nobody does the opposite of what he
is told), which is certain where one of the shares is 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from takeup.checks import FloatArray, IntArray
from takeup.errors import UnsuitableError

FEWEST = 2
"""Weight is moved between cells that both have so many units; with fewer nobody knows how they vary."""


@dataclass(frozen=True, slots=True, eq=False)
class CellMeans:
    """What is known of the units of each cell; leading axes, where there are any, are trials side by side.

    Attributes:
        units: n[.., z, a], how many were offered z and did a, with their outcome known.
        mean: m[.., z, a], the mean of what their outcomes are worth, from any point on that is one for all cells;
            anything where there are none.
        variance: s2[.., z, a], its variance among them.
    """

    units: FloatArray
    mean: FloatArray
    variance: FloatArray

    @classmethod
    def of_counts(cls, counts: IntArray, reward: FloatArray) -> "CellMeans":
        """Of outcomes that are levels: n[.., z, a, y], and what each level is worth.

        For the variance one more unit is spread evenly over the levels, so that no cell is taken to be certain.
        """
        units = counts.sum(axis=-1).astype(np.float64)
        gain = reward - reward.min()  # a million that all levels have in common would cancel
        share = (counts + 1 / reward.size) / (units[..., np.newaxis] + 1)
        around = gain - (share @ gain)[..., np.newaxis]
        return cls(units, counts @ gain / np.maximum(units, 1), (share * around**2).sum(axis=-1))

    @classmethod
    def of_sums(cls, units: FloatArray, mean: FloatArray, squares: FloatArray, prior: FloatArray) -> "CellMeans":
        """Of numbers: how many there are, their mean, their sum of squares around it, and a variance to begin with.

        That counts as one unit and for the variance alone, so that no cell is taken to be certain: with n units the
        variance is (squares + prior) / n, n - 1 being the units that tell of it.
        """
        return cls(units, mean, (squares + prior) / np.maximum(units, 1))

    @property
    def offered(self) -> FloatArray:
        """N[.., z], how many were offered z."""
        return np.asarray(self.units.sum(axis=-1))

    @property
    def share(self) -> FloatArray:
        """c[.., z, a]."""
        return np.asarray(self.units / np.maximum(self.offered, 1)[..., np.newaxis])


def apart(share: FloatArray, control: int) -> FloatArray:
    """d[.., z, a]: how much of the larger of the groups that do a under z and under the control the smaller lacks."""
    same = share[..., [control], :]
    larger = np.maximum(share, same)
    return np.asarray(1 - np.minimum(share, same) / np.where(larger > 0, larger, 1.0)) * (larger > 0)


def most(units: FloatArray, offered: FloatArray, control: int) -> FloatArray:
    """How much weight may be moved to each cell, of the size (.., z, a): as much as lets two cells vary least together.

    That is (1 / N[z] + 1 / N[0]) / (1 / n[z, a] + 1 / n[0, a]), where outcomes vary alike in both. Where many more take
    the treatment than was planned there are few who refuse, and the planned weight would rest on them alone.
    """
    enough = (units >= FEWEST) & (units[..., [control], :] >= FEWEST)
    one, all_offered = 1 / np.maximum(units, 1), 1 / np.maximum(offered, 1)
    both = (all_offered + all_offered[..., [control]])[..., np.newaxis]
    return np.asarray(np.where(enough, both / (one + one[..., [control], :]), 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class BoundedReading:
    """A bounded reading as it was chosen before the trial.

    Attributes:
        bound: Δ[a], for each action by how much groups may differ with it, in units of the outcome.
        control: the proposal that weight is moved from and to.
        moved: moved[i, j, z, a], how much weight goes from the cell (control, a) to the cell (z, a) where i is compared
            with j; that of j with i is its negative. It is reduced where cells turn out to be small.
    """

    bound: FloatArray
    control: int
    moved: FloatArray

    def of(self, cells: CellMeans) -> "BoundedComparison":
        """What these data say of every two proposals.

        The shares are those that were seen. They carry chance of their own into an estimate, to first order that of the
        means of the cells around the mean of the proposal; the bound on the bias is taken at the shares as they are.
        """
        limit = most(cells.units, cells.offered, self.control)[..., np.newaxis, np.newaxis, :, :]
        moved = np.clip(self.moved, -limit, limit)
        mean = np.where(cells.units > 0, cells.mean, 0.0)
        share = cells.share
        value = (share * mean).sum(axis=-1)
        between = (share * (mean - value[..., np.newaxis]) ** 2).sum(axis=-1)
        offered = np.maximum(cells.offered, 1)

        weight = moved.copy()
        weight[..., self.control, :] -= moved.sum(axis=-2)
        estimate = np.einsum("...ijza,...za->...ij", weight, mean)
        estimate += value[..., :, np.newaxis] - value[..., np.newaxis, :]
        bias = np.einsum("...ijza,...za,a->...ij", np.abs(moved), apart(share, self.control), self.bound)

        same = np.eye(value.shape[-1])
        weight += (same[:, np.newaxis] - same)[..., np.newaxis] * share[..., np.newaxis, np.newaxis, :, :]
        variance = np.einsum("...ijza,...za->...ij", weight**2, cells.variance / np.maximum(cells.units, 1))
        shares = between / offered
        variance += shares[..., :, np.newaxis] + shares[..., np.newaxis, :]
        known = cells.offered >= FEWEST
        return BoundedComparison(
            estimate, bias, np.sqrt(variance), known[..., :, np.newaxis] & known[..., np.newaxis, :]
        )


@dataclass(frozen=True, slots=True, eq=False)
class BoundedComparison:
    """What a bounded reading says of every two proposals: a `Comparison` for rules that have a control.

    A probability is that of a normal variable around the estimate, less whatever the promised bias can explain, so
    every claim is made *against* the bias: `exceeds(i, j)` and `exceeds(j, i)` sum to less than one, and the most that
    P(V_i - V_j > m) may be is 1 - exceeds(j, i, -m), which is what inferiority and futility are judged by.

    Attributes:
        estimate: of v_i - v_j; shape (.., K, K), as that of all others.
        bias: the largest that the promise allows.
        error: the standard error of the estimate.
        known: whether both were offered to at least two units; nothing is claimed where they were not.
    """

    estimate: FloatArray
    bias: FloatArray
    error: FloatArray
    known: np.ndarray

    def probability(self, margin: float = 0.0) -> FloatArray:
        """The least that P(V_i - V_j > margin) may be, of all pairs: Φ((estimate - bias - margin) / error)."""
        left = self.estimate - self.bias - margin
        sure = np.where(left > 0, np.inf, -np.inf)
        distance = np.divide(left, self.error, out=sure, where=self.error > 0)
        return np.asarray(np.where(self.known, ndtr(distance), 0.0))

    def largest(self, which: Sequence[int]) -> FloatArray:
        """Refused: it compares two at a time."""
        raise UnsuitableError("a bounded reading compares with a control, and has no probability of being the best")

    def exceeds(self, one: int, other: int, margin: float = 0.0) -> float:
        """The least that P(V_one - V_other > margin) may be."""
        return float(self.probability(margin)[one, other])

    def within(self, which: Sequence[int], margin: float) -> float:
        """The least probability that two differ by less than the margin: at one of the ends of the bias."""
        one, other = which
        if not self.known[one, other]:
            return 0.0
        middle = self.estimate[one, other] + np.array([-1.0, 1.0]) * self.bias[one, other]
        scale = max(float(self.error[one, other]), np.finfo(np.float64).tiny)
        return float((ndtr((margin - middle) / scale) - ndtr((-margin - middle) / scale)).min())
