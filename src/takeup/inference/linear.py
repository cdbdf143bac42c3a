"""Bayesian linear regression from sums: an outcome y = v'θ + ε with normal noise, and a normal prior of θ.

Of rows (v, y) only n, Σ v v', Σ v y and Σ y² matter. They add, and where v and y are whole numbers they do so to the
bit. With B the precision of the prior in units of the noise, so that θ ~ N(m, σ² B^-1),

    B' = B + Σ v v',    m' = m + B'^-1 Σ v e,    e = y - v'm,

where the noise σ² is known: Agrawal & Goyal (2013) have B = I, m = 0 and σ = v; LinUCB of Li et al. (2010) adds to the
mean at v the bound α sqrt(v' B'^-1 v). Where it is not, σ² ~ InverseGamma(ν / 2, ν s² / 2) and

    ν' = ν + n,    ν' s'² = ν s² + Σ e² - (Σ v e)' B'^-1 (Σ v e).

No matrix is inverted: all of it is by the Cholesky factor of B. Leading axes are regressions side by side.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, ndtr, stdtr

from takeup.checks import FloatArray, IntArray
from takeup.inference.cholesky import back, factored, forth, log_determinant
from takeup.randomness import Random

Sum = FloatArray | IntArray
"""Of whole numbers, or of others."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What rows (v, y) add up to.

    Attributes:
        count: n; shape (..).
        square: Σ v v'; shape (.., p, p).
        cross: Σ v y; shape (.., p).
        total: Σ y²; shape (..).
    """

    count: Sum
    square: Sum
    cross: Sum
    total: Sum

    @classmethod
    def of(cls, features: Sum, outcome: Sum, weight: Sum | None = None) -> "Sums":
        """The sums of rows, (.., n, p) and (.., n), each of which counts once, or as often as its weight says."""
        many = np.ones(outcome.shape, dtype=outcome.dtype) if weight is None else np.asarray(weight)
        weighted = features * many[..., np.newaxis]
        return cls(
            np.asarray(many.sum(axis=-1)),
            np.einsum("...ni,...nj->...ij", weighted, features),
            np.einsum("...ni,...n->...i", weighted, outcome),
            np.einsum("...n,...n,...n->...", many, outcome, outcome),
        )

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            np.asarray(self.count + other.count),
            np.asarray(self.square + other.square),
            np.asarray(self.cross + other.cross),
            np.asarray(self.total + other.total),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """What is believed of the coefficients: θ given σ² ~ N(m, σ² B^-1), and of the noise.

    Attributes:
        mean: m; shape (.., p).
        precision: B; shape (.., p, p).
        square: σ² where the noise is known, else s²; shape (..).
        freedom: ν, and infinity where the noise is known; shape (..).
        factor: the lower Cholesky factor of B.
    """

    mean: FloatArray
    precision: FloatArray
    square: FloatArray
    freedom: FloatArray
    factor: FloatArray

    @classmethod
    def of(cls, mean: FloatArray, precision: FloatArray, square: FloatArray, freedom: FloatArray) -> "Regression":
        """With the factor of its precision."""
        return cls(mean, precision, square, freedom, factored(precision))

    @classmethod
    def prior(cls, ridge: FloatArray, *, square: float = 1.0, freedom: float = np.inf) -> "Regression":
        """Coefficients around zero, each with the variance σ² / ridge; `ridge` has the shape (.., p)."""
        batch, size = ridge.shape[:-1], ridge.shape[-1]
        precision = ridge[..., np.newaxis] * np.eye(size)
        return cls(
            np.zeros(ridge.shape),
            precision,
            np.full(batch, square),
            np.full(batch, freedom),
            np.sqrt(ridge)[..., np.newaxis] * np.eye(size),
        )

    def plus(self, sums: Sums) -> "Regression":
        """What the rows make of it."""
        return self._after(sums)[0]

    def learnt(self, sums: Sums) -> "tuple[Regression, FloatArray]":
        """What the rows make of it, and the logarithm of p(y given v), at the cost of one of them."""
        after, left = self._after(sums)
        return after, self._log_evidence(sums, after, left)

    def log_evidence(self, sums: Sums) -> FloatArray:
        """The logarithm of p(y given v), the coefficients and what is not known of the noise integrated out."""
        return self.learnt(sums)[1]

    def _log_evidence(self, sums: Sums, after: "Regression", left: FloatArray) -> FloatArray:
        n = np.asarray(sums.count, dtype=np.float64)
        shift = (log_determinant(self.factor) - log_determinant(after.factor)) / 2
        known = -n / 2 * np.log(2 * np.pi * self.square) - left / (2 * self.square)
        if np.isinf(self.freedom).all():
            return np.asarray(shift + known)
        before, later = self.freedom / 2, after.freedom / 2
        scale = before * np.log(self.freedom * self.square) - later * np.log(after.freedom * after.square)
        learnt = gammaln(later) - gammaln(before) + scale - n / 2 * np.log(np.pi)
        return np.asarray(shift + np.where(np.isinf(self.freedom), known, learnt))

    def covariance(self) -> FloatArray:
        """Of the coefficients: σ² B^-1, and with ν of at most 2 there is none. Inverts, for whoever wants to see it."""
        root = forth(self.factor[..., np.newaxis, :, :], np.eye(self.mean.shape[-1]))
        noise = self.square
        if not np.isinf(self.freedom).all():
            more = np.maximum(self.freedom - 2, 0)
            with np.errstate(divide="ignore", invalid="ignore"):
                noise = np.where(np.isinf(self.freedom), noise, noise * (self.freedom / more))
        return np.asarray(np.einsum("...ik,...jk->...ij", root, root) * noise[..., np.newaxis, np.newaxis])

    def centre(self, features: Sum) -> FloatArray:
        """v'm; features have the shape (.., p)."""
        return np.asarray(np.einsum("...p,...p->...", features, self.mean))

    def width(self, features: Sum) -> FloatArray:
        """sqrt(v' B^-1 v): the spread of v'θ in units of the noise, by which LinUCB adds its bound."""
        return np.asarray(np.sqrt((forth(self.factor, features) ** 2).sum(axis=-1)))

    def scale(self, features: Sum) -> FloatArray:
        """The standard deviation of v'θ; where the noise is learnt, the scale of its Student's t."""
        return np.asarray(np.sqrt(self.square) * self.width(features))

    def coefficients(self, rng: Random, draws: int | None = None) -> FloatArray:
        """Draws of θ; (.., p), or (draws, .., p) where a number is given."""
        repeat = () if draws is None else (draws,)
        normal = rng.standard_normal((*repeat, *self.mean.shape))
        return np.asarray(self.mean + self.noise(rng, repeat)[..., np.newaxis] * back(self.factor, normal))

    def values(self, features: Sum, rng: Random, draws: int | None = None) -> FloatArray:
        """Draws of v'θ where each regression has one v, (.., p): as of coefficients, at the cost of one number each."""
        repeat = () if draws is None else (draws,)
        shape = np.broadcast_shapes(features.shape, self.mean.shape)[:-1]
        normal = rng.standard_normal((*repeat, *shape))
        return np.asarray(self.centre(features) + self.noise(rng, repeat) * self.width(features) * normal)

    def positive(self, features: Sum) -> FloatArray:
        """P(v'θ > 0): with v the difference of two proposals' features, which is better, exactly."""
        centre, scale = self.centre(features), self.scale(features)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(scale > 0, centre / scale, np.where(centre == 0, 0.0, np.inf * np.sign(centre)))
        known = np.isinf(self.freedom)
        return np.asarray(np.where(known, ndtr(ratio), stdtr(np.where(known, 1.0, self.freedom), ratio)))

    def noise(self, rng: Random, repeat: tuple[int, ...]) -> FloatArray:
        """σ, or draws of it."""
        if np.isinf(self.freedom).all():
            return np.sqrt(self.square)
        shape = (*repeat, *self.square.shape)
        known = np.isinf(self.freedom)
        half = np.where(known, 1.0, self.freedom) / 2
        gamma = rng.standard_gamma(half, size=shape)
        return np.asarray(np.sqrt(np.where(known, 1.0, half / gamma) * self.square))

    def _after(self, sums: Sums) -> tuple["Regression", FloatArray]:
        """The posterior, and what is left of Σ y² after it: Σ e² - (Σ v e)' B'^-1 (Σ v e)."""
        square = np.asarray(sums.square, dtype=np.float64)
        explained = np.einsum("...ij,...j->...i", square, self.mean)
        cross = sums.cross - explained
        around = np.einsum("...i,...i->...", self.mean, sums.cross + cross)
        precision = self.precision + square
        factor = factored(precision)
        half = forth(factor, cross)
        left = np.maximum(sums.total - around - (half**2).sum(axis=-1), 0.0)
        mean = self.mean + back(factor, half)
        freedom = self.freedom + sums.count
        known = np.isinf(freedom)
        with np.errstate(invalid="ignore"):
            learnt = (self.freedom * self.square + left) / freedom
        spread = np.where(known, self.square, learnt)
        return Regression(mean, precision, spread, np.broadcast_to(freedom, spread.shape), factor), np.asarray(left)
