"""A mixture of linear regressions by mean-field variational inference: Urteaga & Wiggins (2018).

An outcome is y = v'w[k] + ε with the variance σ²[k], where k is drawn with the shares π. A priori π ~ Dir(α), and every
(w[k], σ²[k]) has the prior of `takeup.inference.linear`. With q(k) q(π) q(w, σ²) in place of the posterior,

    log r[i, k] = E[log π[k]] - E[log σ²[k]] / 2 - ((y[i] - v'm[k])² / s²[k] + v'B[k]^-1 v) / 2 + const,

and given the responsibilities r the others are Dir(α + Σ_i r[i, k]) and what rows of these weights make of the prior.
With these the evidence lower bound is what the weighted rows, the shares and the entropy of r come to,

    Σ_k log ∫ Π_i p(y[i] given w, σ²)^r[i, k] dp(w, σ²) + log B(α + Σ_i r[i]) - log B(α) - Σ r log r,

which no sweep lowers, and which is never above log p(y given v). It has many maxima, and the ascent begins at several
points that are functions of the rows: all of them in one component, and layers of what one regression leaves, as it is
and without its sign. Leading axes are mixtures side by side.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, softmax, xlogy

from takeup.checks import FloatArray, IntArray
from takeup.conjugates.dirichlet import dirichlet
from takeup.inference.cholesky import forth
from takeup.inference.linear import Regression, Sums
from takeup.randomness import Random

SWEEPS = 200
"""At most so many in an ascent."""
NEAR = 1e-5
"""An ascent ends where a sweep raises the bound by less."""


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """What is believed of the shares and of each component.

    Attributes:
        shares: the parameters of the Dirichlet distribution of π; shape (.., K).
        regression: of each component; leading axes (.., K).
    """

    shares: FloatArray
    regression: Regression

    def values(self, features: FloatArray, rng: Random, draws: int | None = None) -> FloatArray:
        """Draws of Σ_k π[k] v'w[k] at one v of each mixture, (.., p)."""
        share = dirichlet(self.shares, rng, () if draws is None else (draws,))
        return np.asarray((share * self.regression.values(features[..., np.newaxis, :], rng, draws)).sum(axis=-1))

    def centre(self, features: FloatArray) -> FloatArray:
        """The mean of that: Σ_k E[π[k]] v'm[k]."""
        share = self.shares / self.shares.sum(axis=-1, keepdims=True)
        return np.asarray((share * self.regression.centre(features[..., np.newaxis, :])).sum(axis=-1))


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """How an ascent ended.

    Attributes:
        bound: the evidence lower bound, with all its constants; shape (..).
        sweeps: how many there were; shape (..).
        converged: whether the last raised the bound by less than NEAR; shape (..).
        responsibilities: r; shape (.., K, n).
    """

    bound: FloatArray
    sweeps: IntArray
    converged: NDArray[np.bool_]
    responsibilities: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """Rows (v, y), each of which counts as its weight says: 1, or 0 where there is none.

    Attributes:
        features: v, of which the first is 1; shape (.., n, p).
        outcome: y; shape (.., n).
        weight: shape (.., n).
    """

    features: FloatArray
    outcome: FloatArray
    weight: FloatArray

    def sums(self, responsibility: FloatArray) -> Sums:
        """What rows add up to for each component, whose responsibilities are (.., K, n)."""
        table = np.concatenate([self.features, self.outcome[..., np.newaxis]], axis=-1)[..., np.newaxis, :, :]
        counted = responsibility * self.weight[..., np.newaxis, :]
        product = np.swapaxes(table * counted[..., np.newaxis], -1, -2) @ table
        return Sums(counted.sum(axis=-1), product[..., :-1, :-1], product[..., :-1, -1], product[..., -1, -1])

    def at(self, place: IntArray) -> "Weighted":
        """Some of those along the first axis."""
        return Weighted(*(each[place] for each in self.parts))

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """All three."""
        return self.features, self.outcome, self.weight


def fitted(rows: Weighted, prior: Regression, alpha: float, components: int) -> tuple[Mixture, Fit]:
    """The best of the ascents from every start; `prior` is that of one component, without leading axes."""
    batch = rows.outcome.shape[:-1]
    many = int(np.prod(batch))
    flat = Weighted(*(each.reshape(many, *each.shape[len(batch) :]) for each in rows.parts))
    first, *others = (ascended(flat, start, prior, alpha) for start in starts(flat, prior, components))
    best = reduce(_better, others, first)
    found = best.responsibilities.reshape(*batch, *best.responsibilities.shape[1:])
    fit = Fit(best.bound.reshape(batch), best.sweeps.reshape(batch), best.converged.reshape(batch), found)
    return updated(rows, found, prior, alpha)[0], fit


def starts(rows: Weighted, prior: Regression, components: int) -> list[FloatArray]:
    """Responsibilities to begin with, (.., K, n): functions of the rows, whatever else was fitted before."""
    shape = (*rows.outcome.shape[:-1], components, rows.outcome.shape[-1])
    together = np.zeros(shape)
    together[..., 0, :] = 1.0
    if components == 1:
        return [together]
    line = updated(rows, together, prior, 1.0)[0].regression.mean[..., 0, :]
    left = rows.outcome - np.einsum("...np,...p->...n", rows.features, line)
    return [together, *(_layers(each, rows.weight, components) for each in (left, abs(left)))]


def ascended(rows: Weighted, start: FloatArray, prior: Regression, alpha: float) -> Fit:
    """Sweeps from a start to where the next would raise the bound by less than NEAR; of mixtures along one axis."""
    many = len(start)
    responsibility = start.copy()
    bound, sweeps, converged = np.full(many, -np.inf), np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.bool_)
    left, here = np.arange(many), rows
    for _ in range(SWEEPS):
        mixture, found = updated(here, responsibility[left], prior, alpha)
        converged[left] = found - bound[left] < NEAR
        bound[left] = found
        on = ~converged[left]
        if not on.any():
            break
        responsibility[left[on]] = responsibilities(here, mixture)[on]
        left = left[on]
        sweeps[left] += 1
        here = rows.at(left) if not on.all() else here
    else:
        bound[left] = updated(here, responsibility[left], prior, alpha)[1]
    return Fit(bound, sweeps, converged, responsibility)


def updated(rows: Weighted, responsibility: FloatArray, prior: Regression, alpha: float) -> tuple[Mixture, FloatArray]:
    """Shares and regressions given the responsibilities, and the bound that they come to."""
    sums = rows.sums(responsibility)
    regression, log_evidence = prior.learnt(sums)
    shares = alpha + np.asarray(sums.count, dtype=np.float64)
    components = shares.shape[-1]
    by_shares = gammaln(shares).sum(axis=-1) - gammaln(shares.sum(axis=-1))
    by_shares = by_shares - components * gammaln(alpha) + gammaln(components * alpha)
    entropy = -(xlogy(responsibility, responsibility) * rows.weight[..., np.newaxis, :]).sum(axis=(-2, -1))
    return Mixture(shares, regression), np.asarray(log_evidence.sum(axis=-1) + by_shares + entropy)


def responsibilities(rows: Weighted, mixture: Mixture) -> FloatArray:
    """How probable each component is to have made each row, (.., K, n)."""
    regression = mixture.regression
    features = rows.features[..., np.newaxis, :, :]
    root = forth(regression.factor[..., np.newaxis, :, :], np.eye(features.shape[-1]))
    width = ((features @ root) ** 2).sum(axis=-1)
    away = rows.outcome[..., np.newaxis, :] - (features @ regression.mean[..., np.newaxis])[..., 0]
    half = regression.freedom / 2
    known = np.isinf(half)
    log_noise = np.log(regression.square) + np.where(known, 0.0, np.log(np.where(known, 1.0, half)) - digamma(half))
    log = digamma(mixture.shares) - log_noise / 2
    near = away**2 / regression.square[..., np.newaxis] + width
    return np.asarray(softmax(log[..., np.newaxis] - near / 2, axis=-2))


def _layers(left: FloatArray, weight: FloatArray, components: int) -> FloatArray:
    """As many layers of rows by what is left of them, each of as many rows as far as that can be; (.., K, n)."""
    place = np.argsort(np.argsort(np.where(weight > 0, left, np.inf), axis=-1, kind="stable"), axis=-1, kind="stable")
    many = np.maximum(weight.sum(axis=-1, keepdims=True), 1.0)
    layer = np.minimum((place * components / many).astype(np.int64), components - 1)
    return np.asarray(layer[..., np.newaxis, :] == np.arange(components)[:, np.newaxis], dtype=np.float64)


def _better(one: Fit, other: Fit) -> Fit:
    """Of each mixture the fit with the higher bound; the first where it makes no difference."""
    higher = other.bound > one.bound + 10 * NEAR
    return Fit(
        np.where(higher, other.bound, one.bound),
        np.where(higher, other.sweeps, one.sweeps),
        np.where(higher, other.converged, one.converged),
        np.where(higher[:, np.newaxis, np.newaxis], other.responsibilities, one.responsibilities),
    )
