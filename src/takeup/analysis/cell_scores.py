"""Means of cells from scores: of those who were offered z and did a, valid after adaptive allocation.

The mean of a cell is that of the outcome of its people over their share, m[z, a] = E[y 1{a} | z] / P(a | z), and scores
estimate both. To first order its error is a mean over decisions of the score of (y - m) 1{a} / P(a | z). Given the past
a score of anything with mean E and variance S, guessed as g, has the variance S / p + (E - g)^2 (1 / p - 1), and with
the score of another proposal the covariance -(E - g)(E' - g'). So the variance of every weighted sum, *if the means are
these*, follows from sums over the log: it needs no squares of scores, which are few and large where a proposal was
rare, and it is not small where somebody was given up after bad luck. With fixed randomisation means are plain means
within contexts, and the first term is all there is. How outcomes vary is not told apart by context: where contexts
differ, the variance is that of all people together.
"""

from dataclasses import dataclass, replace

import numpy as np

from takeup.analysis.scores import Scores, scores
from takeup.analysis.targets import Target, among, took
from takeup.checks import FloatArray, IntArray
from takeup.log import Log
from takeup.space import UNSEEN

ROUNDING = 1e-14
"""A mean square, as a part of the range's, that is none but for rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class CellScores:
    """Proposals, who does what when offered them and how they fare; leading axes are trials side by side.

    Attributes:
        rows: which proposals the axis z stands for; the first is the control.
        n: how many decisions are used, (..), and no fewer than 1: what was taken and what came of it is known, and all
            of these proposals could have been made.
        missing: of how many decisions that could be used something is not known, (..).
        impossible: in how many one of the proposals could not have been made, or never was in their context, (..).
        low: the least that an outcome is worth.
        high: the most.
        value: v[.., z], the mean of a proposal whatever was done.
        mean: m[.., z, a], that of a cell; 0 where it is empty.
        share: c[.., z, a], who does what.
        counts: how many are in each cell, (.., z, a).
        rate: the plain mean of each cell, as if one more had been like all who do a, (.., z, a).
        spread: the variance within cells as a part of (m - low)(high - m); 1 for two levels, 0 if all are alike.
        inverse: Σ 1 / p and Σ 1 / p^2 over the decisions used, (.., z, 2).
        heaviest: the largest 1 / p, (..).
        own: Σ u u' / p of what was guessed, u = (1, g[y], g[1{a}].., g[y 1{a}]..), (.., z, u, u).
        cross: Σ u u' of two proposals, (.., z, u, z, u).
        whole: the scores of the outcome, whatever was done, in the decisions that are used.
    """

    rows: tuple[int, ...]
    n: IntArray
    missing: IntArray
    impossible: IntArray
    low: float
    high: float
    value: FloatArray
    mean: FloatArray
    share: FloatArray
    counts: IntArray
    rate: FloatArray
    spread: FloatArray
    inverse: FloatArray
    heaviest: FloatArray
    own: FloatArray
    cross: FloatArray
    whole: Scores

    @property
    def offered(self) -> FloatArray:
        """How many units of a fixed allocation would tell as much of each proposal, (.., z)."""
        return np.asarray(self.n[..., np.newaxis] ** 2 / np.maximum(self.inverse[..., 0], 1.0))

    @property
    def units(self) -> FloatArray:
        """How many units of a fixed allocation would tell as much of each cell, (.., z, a)."""
        return np.asarray(self.share * self.offered[..., np.newaxis])

    def variance(self, mean: FloatArray) -> FloatArray:
        """Of outcomes within cells if their means are these, (.., z, a)."""
        return np.asarray(self.spread[..., np.newaxis, np.newaxis] * (mean - self.low) * (self.high - mean))

    def estimate(self, of_value: FloatArray, of_mean: FloatArray) -> FloatArray:
        """A weighted sum of the values of proposals, (z,), and the means of cells, (.., z, a)."""
        return np.asarray(self.value @ of_value + (self.mean * of_mean).sum(axis=(-2, -1)))

    def cumulants(self, of_value: FloatArray, of_mean: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The variance and the third cumulant of such a sum if the means of cells are these."""
        there = self.share > 0
        c = np.where(there, self.share, 1.0)
        alpha = of_value[:, np.newaxis]
        value = (self.share * mean).sum(axis=-1, keepdims=True)
        slope = np.where(there, alpha + of_mean / c, 0.0)
        within, centre = self.variance(mean), alpha * (mean - value)
        skew = within * self.spread[..., np.newaxis, np.newaxis] * (self.high + self.low - 2 * mean)
        second = (self.share * (slope**2 * within + centre**2)).sum(axis=-1)
        third = (self.share * (slope**3 * skew + 3 * slope**2 * within * centre + centre**3)).sum(axis=-1)
        each = np.broadcast_to(np.where(there, of_mean / c, 0.0), mean.shape)
        alphas = np.broadcast_to(alpha, value.shape)
        q = np.concatenate([alphas * value, -alphas, each * mean, -each], axis=-1)
        error = np.einsum("...zi,...zij,...zj->...", q, self.own, q)
        error -= np.einsum("...zi,...ziwj,...wj->...", q, self.cross, q)
        variance = ((second * self.inverse[..., 0]).sum(axis=-1) + error) / self.n**2
        return np.asarray(variance), np.asarray((third * self.inverse[..., 1]).sum(axis=-1) / self.n**3.0)


def cell_scores(log: Log, of: Target, rows: tuple[int, ...]) -> CellScores:
    """The cells of some proposals, the control first, in what the target makes of outcomes."""
    possible = (log.probability[..., list(rows)] > 0).all(axis=-1)
    seen = (log.implemented != UNSEEN) & ~np.isnan(of.values(log))
    known = possible & seen
    log = replace(
        log, outcome=np.where(known, log.outcome, UNSEEN), implemented=np.where(known, log.implemented, UNSEEN)
    )
    whole = scores(log, of)
    told = ~np.isnan(whole.score[..., list(rows)])
    ever = told.any(axis=-2, keepdims=True)
    known &= (told | ~ever).all(axis=-1)
    chance = whole.chance[..., list(rows)]
    n = np.maximum(known.sum(axis=-1), 1)
    actions = len(log.space.implemented)
    above = np.where(known, whole.value - of.low, 0.0)
    counts = _cells(log, rows, known.astype(np.float64))
    rate, spread = _rates(log, rows, of, above, counts)
    ever &= (counts.sum(axis=-1) > 0)[..., np.newaxis, :]
    guess = np.zeros((*log.batch, len(rows), 2 + 2 * actions, len(log)))
    guess[..., 0, :] = known[..., np.newaxis, :]

    def scored(target: Target, place: int) -> FloatArray:
        """The mean of the scores, (.., z); what was guessed is kept."""
        found = whole if target is of else scores(log, target)
        means = []
        for row, z in enumerate(rows):
            used = known & ever[..., row]
            guess[..., row, place, :] = np.where(used, found.guess[..., z], 0.0)
            means.append(found.score[..., z].sum(axis=-1, where=used) / n)
        return np.stack(means, axis=-1)

    value = scored(of, 1)
    share, mean = np.zeros((2, *counts.shape))
    for a in range(actions):
        c = scored(took(log.space, a), 2 + a)
        got = scored(among(of, log.space, a), 2 + actions + a)
        there = (counts[..., a] > 0) & (c > 0)
        mean[..., a] = np.where(there, got / np.where(there, c, 1.0), 0.0)
        share[..., a] = np.where(there, np.minimum(c, 1.0), 0.0)
    inverse = np.where(known[..., np.newaxis], 1 / np.where(chance > 0, chance, 1.0), 0.0)
    flat, shape = guess.reshape(*log.batch, -1, len(log)), guess.shape[-3:-1]
    cross = (flat @ np.swapaxes(flat, -1, -2)).reshape(*log.batch, *shape, *shape)
    error = 0.0 if whole.plain else 1.0
    own = [
        (guess[..., row, :, :] * inverse[..., np.newaxis, :, row]) @ np.swapaxes(guess[..., row, :, :], -1, -2)
        for row in range(len(rows))
    ]
    return CellScores(
        rows,
        n,
        np.asarray((possible & ~seen).sum(axis=-1)),
        np.asarray((~possible | (whole.plain & seen & ~known)).sum(axis=-1)),
        of.low,
        of.high,
        value,
        mean,
        share,
        counts.astype(np.int64),
        rate,
        spread,
        np.stack([inverse.sum(axis=-2), (inverse**2).sum(axis=-2)], axis=-1),
        inverse.max(axis=(-2, -1), initial=0.0),
        error * np.stack(own, axis=-3),
        error * cross,
        whole,
    )


def _rates(
    log: Log, rows: tuple[int, ...], of: Target, above: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The plain mean of each cell, as if one more had been like all who do a; and how outcomes vary around them.

    By how far outcomes are above the least that they may be.
    """
    total, squares = _cells(log, rows, above), _cells(log, rows, above**2)
    width, begun = of.high - of.low, 1.0 if of.two_valued else 0.0
    alike = (total.sum(axis=-2) + begun * width / 2) / np.maximum(counts.sum(axis=-2) + begun, 1.0)
    rate = (total + alike[..., np.newaxis, :]) / (counts + 1.0)
    mean = total / np.maximum(counts, 1.0)
    within = (squares - counts * mean**2).sum(axis=(-2, -1))
    if np.all((above == 0) | (above == width)):
        return of.low + rate, np.ones(within.shape)
    within = np.where(within > ROUNDING * width**2 * counts.sum(axis=(-2, -1)), within, 0.0)
    most = (np.maximum(counts - 1.0, 0.0) * rate * (width - rate)).sum(axis=(-2, -1))
    return of.low + rate, np.clip(within / np.maximum(most, np.finfo(np.float64).tiny), 0.0, 1.0)


def _cells(log: Log, rows: tuple[int, ...], value: FloatArray) -> FloatArray:
    """The sums of something over the decisions of each cell, (.., z, a)."""
    actions = range(len(log.space.implemented))
    sums = [
        [np.where((log.proposal == z) & (log.implemented == a), value, 0.0).sum(axis=-1) for a in actions] for z in rows
    ]
    return np.stack([np.stack(row, axis=-1) for row in sums], axis=-2)
