"""Multinomial logit with a normal prior: p(a given v) in proportion to exp(v'w[a]).

Every class a has coefficients w[a] of its own, with one symmetric normal prior, so that no class is set apart. Only the
differences δ[a] = w[a] - w[0] matter; where a difference of two classes has the prior variance τ² (by feature), the
differences together have the precision (2 / τ²) (I - 11' / K).

There is no statistic to add up: what is learnt from is the multiset of rows (v, a). It is brought into a canonical
order first (`Table.of`), so that the same rows give the same bits in whatever order they came. The mode is found by
damped Newton steps from zero, which the prior makes unique and finite even where classes are separated or empty; around
it is taken the normal distribution of Laplace. Leading axes are regressions side by side.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from takeup.checks import FloatArray, IntArray
from takeup.inference.cholesky import back, factored, forth, log_determinant
from takeup.randomness import Random

STEPS = 100
"""At most so many Newton steps."""
CLOSE = 1e-18
"""The mode is found where it is less than 1e-9 standard deviations of the posterior away."""
HALVINGS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A multiset of rows: how often each class came up where the features were these.

    Attributes:
        features: v; shape (.., m, p).
        counts: n[v, a]; shape (.., m, K). Zeros where there is no row.
    """

    features: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, features: FloatArray | IntArray, choice: IntArray, classes: int) -> "Table":
        """Of the rows (n, p) and (n,), those with the same features together, in the order of their features."""
        found, place = np.unique(features, axis=0, return_inverse=True)
        counts = np.bincount(place.ravel() * classes + choice, minlength=len(found) * classes)
        return cls(found.astype(np.float64), counts.reshape(len(found), classes).astype(np.float64))

    @classmethod
    def beside(cls, tables: "list[Table]") -> "Table":
        """Several side by side, the shorter ones filled up with rows that count for nothing."""
        most = max(each.features.shape[0] for each in tables)
        return cls(
            np.stack([_filled(each.features, most) for each in tables]),
            np.stack([_filled(each.counts, most) for each in tables]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """How the search for the mode ended.

    Attributes:
        converged: whether another step would have made no difference; shape (..).
        steps: how many there were; shape (..).
    """

    converged: NDArray[np.bool_]
    steps: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Logit:
    """A normal distribution of the coefficients around their mode.

    Attributes:
        mode: δ[a] for a = 1, .., K - 1; shape (.., K - 1, p).
        factor: the lower Cholesky factor of the precision of δ as one vector; shape (.., (K - 1) p, (K - 1) p).
        log_posterior: log p(rows, δ) at the mode; shape (..).
    """

    mode: FloatArray
    factor: FloatArray
    log_posterior: FloatArray

    def log_evidence(self) -> FloatArray:
        """The logarithm of p(rows), by Laplace."""
        size = self.factor.shape[-1]
        return np.asarray(self.log_posterior + (size * np.log(2 * np.pi) - log_determinant(self.factor)) / 2)

    def covariance(self) -> FloatArray:
        """Of δ as one vector. Inverts, for those who want to see it."""
        root = forth(self.factor[..., np.newaxis, :, :], np.eye(self.factor.shape[-1]))
        return np.asarray(np.einsum("...ik,...jk->...ij", root, root))

    def coefficients(self, rng: Random, draws: int | None = None) -> FloatArray:
        """Draws of δ; (.., K - 1, p), or (draws, .., K - 1, p) where a number is given."""
        repeat = () if draws is None else (draws,)
        batch, size = self.mode.shape[:-2], self.factor.shape[-1]
        away = back(self.factor, rng.standard_normal((*repeat, *batch, size)))
        return np.asarray(self.mode + away.reshape(*repeat, *self.mode.shape))

    def shares(self, features: FloatArray, rng: Random, draws: int) -> FloatArray:
        """Draws of p(a given v) at features (.., p), an axis for them first: as of `coefficients`, at less cost.

        The scores v'δ[a] of one unit are normal, so that a few numbers are drawn in place of all coefficients.
        """
        mean, root = self.scores(features)
        away = rng.standard_normal((draws, *mean.shape))
        return _softened(mean + np.einsum("...ab,...b->...a", root, away))

    def scores(self, features: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean of v'δ[a], (.., K - 1), and the lower Cholesky factor of how they vary, (.., K - 1, K - 1)."""
        classes, size = self.mode.shape[-2], self.factor.shape[-1]
        beside = np.einsum("ab,...p->...abp", np.eye(classes), features).reshape(*features.shape[:-1], classes, size)
        half = forth(self.factor[..., np.newaxis, :, :], beside)
        return (
            np.einsum("...kp,...p->...k", self.mode, features),
            factored(np.einsum("...ai,...bi->...ab", half, half)),
        )


def probabilities(coefficients: FloatArray, features: FloatArray | IntArray) -> FloatArray:
    """p(a given v), (.., K), of coefficients (.., K - 1, p) at features (.., p)."""
    return _softened(np.einsum("...kp,...p->...k", coefficients, features))


def _softened(others: FloatArray) -> FloatArray:
    """Probabilities of scores, of which that of the first class is zero."""
    return np.asarray(softmax(np.concatenate([np.zeros((*others.shape[:-1], 1)), others], axis=-1), axis=-1))


def prior_precision(spread: FloatArray, classes: int) -> FloatArray:
    """Of δ as one vector, where a difference of two classes has the standard deviations `spread`, (p,)."""
    among = np.eye(classes - 1) - 1 / classes
    size = (classes - 1) * spread.size
    return np.asarray(np.einsum("ab,pq->apbq", among, np.diag(2 / spread**2)).reshape(size, size))


def fitted(table: Table, precision: FloatArray) -> tuple[Logit, Fit]:
    """The mode of the posterior and the normal distribution around it; `precision` is the prior's, of δ around zero."""
    rows = _Rows(table)
    batch = rows.many.shape[:-1]
    mode = np.zeros((*batch, rows.counts.shape[-2], rows.features.shape[-1]))
    here = rows.at(mode, precision)
    done, steps = np.zeros(batch, dtype=np.bool_), np.zeros(batch, dtype=np.int64)
    for _ in range(STEPS):
        slope, curve = rows.derivatives(mode, here, precision)
        factor = factored(curve)
        half = forth(factor, slope)
        gain = (half**2).sum(axis=-1)
        done = done | (gain <= CLOSE)
        if done.all():
            break
        away = back(factor, half).reshape(mode.shape)
        mode, here = _climbed(rows, mode, here, away, np.where(done, 0.0, gain), precision)
        steps = steps + ~done
    else:
        factor = factored(rows.derivatives(mode, here, precision)[1])
    constant = (log_determinant(factored(precision)) - precision.shape[-1] * np.log(2 * np.pi)) / 2
    return Logit(mode, factor, np.asarray(here.height + constant)), Fit(done, steps)


class _Place(NamedTuple):
    """Where a search is: p(a given v) of each row, (.., K - 1, m), without the first class, and the log posterior."""

    probability: FloatArray
    height: FloatArray


class _Rows:
    """A table as the search reads it: classes before rows, so that sums over either are fast."""

    def __init__(self, table: Table) -> None:
        self.features = table.features
        self.flipped = np.ascontiguousarray(np.swapaxes(table.features, -1, -2))
        counts = np.moveaxis(table.counts, -1, -2)
        self.many = np.ascontiguousarray(counts.sum(axis=-2))
        self.first, self.counts = (np.ascontiguousarray(each) for each in (counts[..., 0, :], counts[..., 1:, :]))

    def at(self, mode: FloatArray, precision: FloatArray) -> _Place:
        """The log posterior at some coefficients, without the constant of the prior."""
        scores = mode @ self.flipped
        top = np.maximum(scores.max(axis=-2), 0.0)
        below = scores - top[..., np.newaxis, :]
        raised = np.exp(below)
        total = raised.sum(axis=-2) + np.exp(-top)
        log = np.log(total)
        fits = (self.counts * (below - log[..., np.newaxis, :])).sum(axis=(-2, -1)) - (self.first * (top + log)).sum(
            axis=-1
        )
        flat = _flat(mode)
        height = fits - np.einsum("...i,ij,...j->...", flat, precision, flat) / 2
        return _Place(raised / total[..., np.newaxis, :], np.asarray(height))

    def derivatives(self, mode: FloatArray, here: _Place, precision: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The slope of the log posterior and minus its curvature, of δ as one vector."""
        p, many = here.probability, self.many[..., np.newaxis, :]
        flat = _flat(mode)
        slope = _flat((self.counts - many * p) @ self.features) - np.einsum("ij,...j->...i", precision, flat)
        classes, width, size = mode.shape[-2], mode.shape[-1], flat.shape[-1]
        curve = np.empty((*mode.shape[:-2], classes, width, classes, width))
        for a in range(classes):
            for b in range(a + 1):
                weight = self.many * p[..., a, :] * ((a == b) - p[..., b, :])
                part = (self.flipped * weight[..., np.newaxis, :]) @ self.features
                curve[..., a, :, b, :] = curve[..., b, :, a, :] = part
        return slope, np.asarray(curve.reshape(*mode.shape[:-2], size, size) + precision)


def _climbed(
    rows: _Rows, mode: FloatArray, here: _Place, away: FloatArray, gain: FloatArray, precision: FloatArray
) -> tuple[FloatArray, _Place]:
    """A step as long as it leads up, halved where it leads too far; where nothing is to gain, none."""
    length = np.where(gain > 0, 1.0, 0.0)
    rounding = 1e-14 * (1 + abs(here.height)) + 1e-15 * rows.many.sum(axis=-1)
    for _ in range(HALVINGS):
        tried = mode + length[..., np.newaxis, np.newaxis] * away
        there = rows.at(tried, precision)
        short = there.height < here.height + 1e-4 * length * gain - rounding
        if not short.any():
            break
        length = np.where(short, length / 2, length)
    return tried, there


def _flat(mode: FloatArray) -> FloatArray:
    return mode.reshape(*mode.shape[:-2], mode.shape[-2] * mode.shape[-1])


def _filled(rows: FloatArray, most: int) -> FloatArray:
    return np.concatenate([rows, np.zeros((most - rows.shape[0], rows.shape[1]))])
