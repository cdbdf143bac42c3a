"""A figure, and by how much each decision moved it: what intervals of rates, times and policies rest on.

To the first order, estimate - truth = Σ_t ψ_t, where ψ_t is decision t's influence. Given the past each ψ_t has mean
zero, as probabilities are those that were logged; so Σ_t ψ_t² estimates the variance after adaptive allocation as after
any other, and where people differ over the trial it is too large rather than too small.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from takeup.checks import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """An estimate with the influence of every decision; leading axes are trials side by side.

    Attributes:
        value: the estimate, (..).
        influence: ψ, (.., n), zero for decisions that are left out; more than n where some are added for the error.
        proposal: z, likewise.
        sizes: how many decisions of each proposal its part is worth, (.., Kz); infinite where it has no part.
    """

    value: FloatArray
    influence: FloatArray
    proposal: IntArray
    sizes: FloatArray

    @classmethod
    def of(
        cls, value: FloatArray, influence: FloatArray, weight: FloatArray, proposal: IntArray, proposals: int
    ) -> "Figure":
        """A figure of weighted decisions.

        The influence of each is what leaving it out would do: ψ_t / (1 - w_t / Σ w), the sum being over its proposal:
        the jackknife, as a decision that counts for many hides its own deviation.

        Args:
            value: the estimate, (..).
            influence: ψ, to the first order, (.., n).
            weight: w, (.., n).
            proposal: z, (.., n).
            proposals: how many there are, Kz.
        """
        share, sizes = np.zeros(weight.shape), np.full((*weight.shape[:-1], proposals), np.inf)
        for z in range(proposals):
            own = np.where(proposal == z, weight, 0.0)
            total = own.sum(axis=-1, keepdims=True)
            share += own / np.where(total > 0, total, 1.0)
            sizes[..., z] = np.where(total[..., 0] > 0, effective_size(own), np.inf)
        left = np.where(share < 1, 1 - share, np.nan)
        return cls(value, influence / left, proposal, sizes)

    @property
    def variance(self) -> FloatArray:
        """Σ_t ψ_t²."""
        return np.asarray(np.einsum("...t,...t->...", self.influence, self.influence))

    @property
    def error(self) -> FloatArray:
        """The standard error."""
        return np.sqrt(self.variance)

    @property
    def freedom(self) -> FloatArray:
        """From how many decisions the variance is as good as known: Satterthwaite (1946), over proposals."""
        bottom = np.zeros(self.value.shape)
        for z in range(self.sizes.shape[-1]):
            own = np.einsum("...t,...t,...t->...", self.influence, self.influence, self.proposal == z)
            bottom += own**2 / np.maximum(self.sizes[..., z] - 1, 0.5)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(bottom > 0, self.variance**2 / bottom, np.nan)

    def log(self) -> "Figure":
        """Its logarithm; NaN where it is not above zero."""
        positive = np.where(self.value > 0, self.value, np.nan)
        return replace(self, value=np.log(positive), influence=self.influence / positive[..., np.newaxis])

    def minus(self, other: "Figure") -> "Figure":
        """The difference of two figures of the same decisions."""
        return replace(
            self,
            value=self.value - other.value,
            influence=self.influence - other.influence,
            sizes=np.minimum(self.sizes, other.sizes),
        )

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """The ends of the interval, by Student's t; NaN where there is nothing to tell a variance from.

        Where influences are skewed, the end on that side is moved out by γ (1 + 2 t²) / 6 errors, γ being
        Σ ψ³ / (Σ ψ²)^(3/2) (Johnson 1978): few large ones make an estimate miss with an error that looks small. The
        other end, which might be moved in as far, stays.
        """
        t, error = special.stdtrit(self.freedom, (1 + level) / 2), self.error
        cubes = np.einsum("...t,...t,...t->...", self.influence, self.influence, self.influence)
        with np.errstate(divide="ignore", invalid="ignore"):
            skew = cubes / error**2 * (1 + 2 * t**2) / 6
        return self.value - t * error + np.minimum(skew, 0.0), self.value + t * error + np.maximum(skew, 0.0)


def difference_of_positives(one: Figure, other: Figure, level: float) -> tuple[FloatArray, FloatArray]:
    """The ends of the interval of the difference of two figures above zero, from each one's interval on the log scale.

    Zou & Donner (2008): as asymmetric as they are, which a plain interval of a skewed figure is not.
    """
    with np.errstate(over="ignore"):  # of few decisions an end may be beyond all numbers
        (low, high), (lower, higher) = ([np.exp(end) for end in each.log().interval(level)] for each in (one, other))
    value = one.value - other.value
    down, up = np.hypot(one.value - low, higher - other.value), np.hypot(high - one.value, other.value - lower)
    return value - down, value + up


def effective_size(weights: FloatArray) -> FloatArray:
    """How many equal weights are worth as much as these, along the last axis (Kish 1965): (Σ w)² / Σ w²."""
    squares = np.einsum("...t,...t->...", weights, weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(squares > 0, weights.sum(axis=-1) ** 2 / squares, 0.0)
