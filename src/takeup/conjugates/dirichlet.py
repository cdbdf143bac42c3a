"""Outcomes with levels, or in bins: a Dirichlet distribution over them."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from takeup import checks
from takeup.checks import FloatArray
from takeup.conjugates.base import Conjugate
from takeup.conjugates.quadrature import LEAST_SHAPE, MOST_EXACT, Variables, betas
from takeup.evidence import Index, at_context
from takeup.families import Categories
from takeup.outcomes.base import Statistic
from takeup.randomness import Random


@dataclass(frozen=True, slots=True, eq=False)
class Dirichlet(Conjugate):
    """Dir(α) over the levels, for each action.

    Attributes:
        alpha: α[x, a, y]; shape (.., X, K, Y).
        utility: what each level is worth.
    """

    alpha: FloatArray
    utility: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", checks.positive("outcome", self.alpha))

    @property
    def shape(self) -> tuple[int, ...]:
        """(.., X, K)."""
        return self.alpha.shape[:-1]

    def at(self, context: Index) -> "Dirichlet":
        """The rows of one context."""
        return Dirichlet(at_context(self.alpha, context, trailing=3), self.utility)

    def apart(self, groups: int) -> "Dirichlet":
        """The same rows for each of several groups."""
        return Dirichlet(np.repeat(self.alpha[..., np.newaxis, :, :], groups, axis=-3), self.utility)

    def plus(self, statistic: Statistic) -> "Dirichlet":
        """α' = α + n; of a statistic that has sums as well, the counts."""
        return Dirichlet(self.alpha + statistic[..., : self.utility.size], self.utility)

    def sample(self, rng: Random, repeat: tuple[int, ...] = ()) -> Categories:
        """A distribution over the levels for each action."""
        return Categories(dirichlet(self.alpha, rng, repeat), self.utility)

    def mean(self) -> Categories:
        """α / Σ α."""
        return Categories(normalised(self.alpha), self.utility)

    def sample_rewards(self, rng: Random, repeat: tuple[int, ...] = ()) -> FloatArray:
        """Σ_y μ_y utility_y in draws of μ."""
        return np.asarray(dirichlet(self.alpha, rng, repeat) @ self.utility)

    def log_evidence(self, statistic: Statistic) -> FloatArray:
        """Log B(α + n) / B(α)."""
        return np.asarray(_log_beta(self.plus(statistic).alpha) - _log_beta(self.alpha))

    def variables(self) -> Variables | None:
        """Of betas, with two levels and no parameter below 0.1."""
        alpha = self.alpha[..., 0, :, :]
        if alpha.shape[-1] != 2 or len(alpha) > MOST_EXACT or alpha.min() < LEAST_SHAPE:
            return None
        good = int(np.argmax(self.utility))
        low, high = float(self.utility[1 - good]), float(self.utility[good])
        return betas(alpha[:, [good, 1 - good]], low=low, high=high)

    def matched(self) -> Variables | None:
        """Betas between the least and the greatest utility with the means and the variances of what levels are worth.

        With A = Σ α the mean is m = Σ α u / A and the variance Σ α (u - m)^2 / (A (A + 1)). With two levels they are
        the variables themselves; with more, probabilities were off by up to 0.03 with 20 outcomes an action, 0.01 with
        100 and 0.004 with 500. The kernels of looks have the same (`takeup.simulation.kernels.look_levels`).
        """
        alpha, low, high = self.alpha[..., 0, :, :], float(self.utility.min()), float(self.utility.max())
        if low == high or len(alpha) > MOST_EXACT or alpha.min() < LEAST_SHAPE:
            return None
        gain, total = (self.utility - low) / (high - low), alpha.sum(axis=-1)
        mean, rest = alpha @ gain / total, alpha @ (1 - gain) / total
        variance = (alpha * (gain - mean[:, np.newaxis]) ** 2).sum(axis=-1) / total / (total + 1)
        worth = mean * rest / variance - 1
        return betas(np.stack([mean * worth, rest * worth], axis=1), low=low, high=high)


def dirichlet(parameters: FloatArray, rng: Random, repeat: tuple[int, ...] = ()) -> FloatArray:
    """Dirichlet draws along the last axis, as normalised gammas.

    Shapes far below one would underflow to rows of zeros; they are drawn on the log scale with the boost
    log G(s) = log G(s + 1) + log(U) / s.
    """
    shape = (*repeat, *parameters.shape)
    if parameters.min() >= 0.1:
        return normalised(rng.standard_gamma(parameters, size=shape))
    logs = np.log(rng.standard_gamma(parameters + 1, size=shape)) - rng.standard_exponential(shape) / parameters
    return normalised(np.exp(logs - logs.max(axis=-1, keepdims=True)))


def normalised(array: FloatArray) -> FloatArray:
    """Rows that sum to one."""
    rows: FloatArray = array / array.sum(axis=-1, keepdims=True)
    return rows


def _log_beta(alpha: FloatArray) -> FloatArray:
    return np.asarray(gammaln(alpha).sum(axis=-1) - gammaln(alpha.sum(axis=-1)))
