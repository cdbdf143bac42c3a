"""What intervals need of a log: weighted means of scores, and their variance given any true means.

With weights u that add up to one the estimate of proposal z is Q(z) = Σ_t u_t Γ_t(z). Given the past the score Γ_t(z)
has the mean μ(z) and the variance σ²(z)/p_t(z) + (μ(z) - m_t(z))² (1/p_t(z) - 1), and scores of two proposals have the
covariance -(μ - m)(μ' - m'). So the variance of an estimate is a polynomial in the true means whose coefficients are
sums over the log: it needs no squares of scores, which are few and large where a proposal was rare. Where
probabilities never changed, estimates are plain means within contexts, and the first term is all there is.

A hypothesis about one mean, or two, says what they are. It does not say what they are in each of several contexts, or
for people whom a policy told apart by covariates, nor how other outcomes than those of two values vary around them:
there what was seen stands for it, which is too low where a proposal was given up after bad luck, just where it was
rare. So of such logs the variance is that of the squares of scores where that is larger, and limits are those of t.
Outcomes of more than two values may be skewed, and one that has missed its rare large values looks bad and certain:
all proposals are taken to be as skewed as the most skewed one, and to vary as much as the one that varies most, and
limits are moved as a mean over its own error is skewed (Hall 1983).

Means are on a scale from 0, the least that the target may be, to 1, the most. Leading axes are trials side by side;
X stands for contexts, J for what is compared: one proposal or two.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from takeup.analysis.groups import Groups
from takeup.analysis.scores import Scores
from takeup.analysis.weights import Weights, batches, decision_weights, per_batch
from takeup.checks import FloatArray

ROUNDING = 1e-13
"""As parts of the range, values that differ by less are the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Sums over a log; see above.

    Attributes:
        estimate: Q, (.., J).
        rate: each context's mean as far as it is known, shrunk a little to that of all, (.., X, J).
        share: the part of the weight that each context has, (.., X, J).
        seen: how many were offered each proposal and have a value, (.., J).
        spread: the variance as a part of the most that a mean allows, μ (1 - μ); 1 for targets of two values, (.., J).
        tail: the third central moment of values, of the most skewed and of the most varied of all proposals, (..); NaN
            for targets of two values, of which their means say it, and with fixed randomisation.
        inverse: Σ u² / p, (.., X, J).
        error: Σ u² (1/p - 1) times 1, m and m², (.., X, J, 3).
        cross: Σ u² times 1, m, m' and m m', (.., X, 4); empty where there is one proposal.
        cube: Σ u³ / p², (.., X, J).
        empirical: sums of products of what scores miss the estimates of their contexts by, (.., J, J): the variance by
            squares of scores, for the plain method, and where it is the least that the variance may be.
        mixed: where it is, as no hypothesis says how values vary: of people whose means may differ, or around means,
            (..).
        complete: whether each batch had all that is compared; true without batches, (..).
    """

    estimate: FloatArray
    rate: FloatArray
    share: FloatArray
    seen: FloatArray
    spread: FloatArray
    tail: FloatArray
    inverse: FloatArray
    error: FloatArray
    cross: FloatArray
    cube: FloatArray
    empirical: FloatArray
    complete: NDArray[np.bool_]
    mixed: NDArray[np.bool_]

    @property
    def mean(self) -> FloatArray:
        """The mean of each proposal over contexts as far as it is known, (.., J)."""
        return np.asarray((self.rate * self.share).sum(axis=-2))

    @property
    def effective(self) -> FloatArray:
        """How many evenly weighted values of each proposal would be as precise, (.., J): 1 / Σ u² / p."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / self.inverse.sum(axis=-2))

    @property
    def skewed(self) -> NDArray[np.bool_]:
        """Where values say how skewed they are, and not their mean, (..)."""
        return ~np.isnan(self.tail)

    def shift(self, skewness: FloatArray, level: float) -> FloatArray:
        """By how many errors skewness moves a limit, upwards where it is positive, (..).

        Of a mean by an error that is known, and of one by its own error, which is skewed the other way (Hall 1983).
        """
        square = self.quantile(level) ** 2
        return skewness * np.where(self.skewed, -(2.0 * square + 1.0), square - 1.0) / 6.0

    def quantile(self, level: float) -> FloatArray:
        """How many errors an interval of this level reaches to either side, (..): by t where the error is of squares.

        As many degrees of freedom as people who were offered what fewest were, effectively, less one.
        """
        upper = (1.0 + level) / 2.0
        freedom = np.maximum(np.nan_to_num(self.effective.min(axis=-1), posinf=0.0) - 1.0, 1.0)
        return np.where(self.mixed, stdtrit(freedom, upper), ndtri(upper))

    def cumulants(self, mean: FloatArray, along: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The variance and the third cumulant of Σ_z along(z) Q(z) if the means are these, (.., J)."""
        here = np.clip(self.rate + (mean - self.mean)[..., np.newaxis, :], 0.0, 1.0)
        most = here * (1.0 - here)
        spread = self.spread[..., np.newaxis, :]
        a, b, c = (self.error[..., i] for i in range(3))
        own = np.sum(spread * most * self.inverse + here * here * a - 2.0 * here * b + c, axis=-2)
        variance = np.sum(along**2 * own, axis=-1)
        if mean.shape[-1] == 2:
            one, m, n, mn = (self.cross[..., i] for i in range(4))
            both = np.sum(here[..., 0] * here[..., 1] * one - here[..., 1] * m - here[..., 0] * n + mn, axis=-1)
            variance = variance - 2.0 * along[..., 0] * along[..., 1] * both
        if self.mixed.any():
            squares = np.einsum("...i,...ij,...j->...", along, self.empirical, along)
            variance = np.where(self.mixed, np.maximum(variance, squares), variance)
        tail, known = (each[..., np.newaxis, np.newaxis] for each in (np.nan_to_num(self.tail), self.skewed))
        own = np.where(known, tail, spread**2 * most * (1.0 - 2.0 * here))
        return variance, np.sum(along**3 * np.sum(own * self.cube, axis=-2), axis=-1)


def moments(of: Scores, proposals: Sequence[int], how: Weights, context: int | None = None) -> Moments:
    """The sums for one proposal, or for two; of one context, or of all."""
    asked = (tuple(proposals), how, context)
    if asked not in of.sums:
        of.sums[asked] = _moments(of, proposals, how, context)
    found: Moments = of.sums[asked]
    return found


def _moments(of: Scores, proposals: Sequence[int], how: Weights, context: int | None) -> Moments:
    used = of.counted(tuple(proposals), context)
    if context is not None and how != "batch" and not of.log.batch:
        of, used = of.only(used), np.ones(int(used.sum()), dtype=np.bool_)
    log, low, high = of.log, of.target.low, of.target.high
    known = used & of.known
    unit = np.where(known, (of.value - low) / (high - low), 0.0)
    apart = context is None and how != "batch"
    inside = Groups.of(
        used, log.context if apart else np.zeros_like(log.context), len(log.space.contexts) if apart else 1
    )
    offered = np.stack([known & (log.proposal == z) for z in proposals], axis=-1)  # (.., n, J)
    seen = inside.sums(offered)  # (.., X, J)
    total = inside.sums(offered * unit[..., np.newaxis])
    begun = 1.0 if of.target.two_valued else 0.0
    overall = (unit.sum(axis=-1) + begun / 2) / np.maximum(known.sum(axis=-1) + begun, 1.0)
    rate = (total + overall[..., np.newaxis, np.newaxis]) / (seen + 1.0)
    if of.fitted is not None and how != "batch":
        return _adjusted(of, used, inside, unit, offered, proposals, how)
    spread = _spread(of, known, inside, unit, proposals)
    sums: dict[str, Any] = {"rate": rate, "seen": seen.sum(axis=-2), "spread": spread}
    if how == "batch":
        tail, mixed = np.full(log.batch, np.nan), np.zeros(log.batch, dtype=np.bool_)
        return Moments(**sums, **_by_batch(of, offered, unit), tail=tail, mixed=mixed)
    chance = of.chance[..., list(proposals)]
    u = _weighed(of, used, inside, decision_weights(chance, how))
    guess = (of.guess[..., list(proposals)] - low) / (high - low)
    score = (np.where(used[..., np.newaxis], of.score[..., list(proposals)], low) - low) / (high - low)
    found = _by_decision(inside, u, chance, guess, score, plain=of.plain)
    return Moments(**sums, **found, tail=_tail(of, inside, unit), mixed=_mixed(of, inside, u))


def _weighed(of: Scores, used: NDArray[np.bool_], inside: Groups, weight: FloatArray) -> FloatArray:
    """Weights that add up to one; within each context to its part of the decisions where means are plain, (.., n).

    After adaptive allocation they do not, as what a context adds up to depends on what came of it: with several
    contexts such intervals held .87 to .95 of truths.
    """
    groups = inside if of.plain else Groups.of(used, np.zeros_like(of.log.context), 1)
    return groups.to_shares(np.where(used, weight, 0.0))


def _mixed(of: Scores, inside: Groups, u: FloatArray) -> NDArray[np.bool_]:
    """Where a hypothesis does not say how much values vary, after adaptive allocation, (..)."""
    if of.log.fixed or not of.target.two_valued:
        return np.full(of.log.batch, not of.log.fixed)
    contexts = (inside.sums(u[..., np.newaxis] > 0)[..., 0] > 0).sum(axis=-1)
    return np.asarray((contexts > 1) | of.log.by_covariates | (of.log.features is not None))


def _adjusted(
    of: Scores,
    used: NDArray[np.bool_],
    inside: Groups,
    unit: FloatArray,
    offered: NDArray[np.bool_],
    proposals: Sequence[int],
    how: Weights,
) -> Moments:
    """The sums where guesses are by covariates: a person's mean is what the model of all says, and a shift of all.

    A context's rate is the mean of what the model says of everybody in it, with what values of those who were offered
    the proposal there miss it by. Of each person the mean differs from that by as much as the model says, and so what
    the guess misses is that of the guess less this difference. Values of two kinds vary around the model as shares do;
    of others the variance is that of the whole log, or that of these decisions where it is larger.
    """
    assert of.fitted is not None
    assert of.variance is not None
    low, range_, places = of.target.low, of.target.high - of.target.low, list(proposals)
    here = used[..., np.newaxis]
    model = np.where(here, (of.fitted[..., places] - low) / range_, 0.0)
    missed = np.where(offered, unit[..., np.newaxis] - model, 0.0)
    seen, many = inside.sums(offered), np.maximum(inside.sums(np.broadcast_to(here, model.shape)), 1.0)
    mean = inside.sums(model) / many
    rate = np.clip(mean + inside.sums(missed) / (seen + 1.0), 0.0, 1.0)
    differs = model - np.stack([inside.spread(mean[..., k]) for k in range(len(places))], axis=-1)
    chance = of.chance[..., places]
    u = _weighed(of, used, inside, decision_weights(chance, how))
    guess = (of.guess[..., places] - low) / range_ - differs
    score = (np.where(here, of.score[..., places], low) - low) / range_
    found = _by_decision(inside, u, chance, guess, score, plain=False)
    most = np.maximum(np.sum(found["inverse"] * rate * (1.0 - rate), axis=-2), 1e-300)
    if of.target.two_valued:
        weight = np.where(chance > 0, u[..., np.newaxis] ** 2 / np.where(chance > 0, chance, 1.0), 0.0)
        left = np.sum(weight * model * (1.0 - model), axis=-2)
    else:
        own = np.sum(missed**2, axis=-2) / np.maximum(offered.sum(axis=-2), 1.0)
        left = np.maximum(of.variance[..., places], own) * found["inverse"].sum(axis=-2)
    spread = np.clip(left / most, 0.0, 1.0)
    tail, mixed = _tail(of, inside, unit, model=of.fitted), _mixed(of, inside, u)
    return Moments(rate=rate, seen=seen.sum(axis=-2), spread=spread, tail=tail, **found, mixed=mixed)


def _by_decision(
    inside: Groups,
    u: FloatArray,
    chance: FloatArray,
    guess: FloatArray,
    score: FloatArray,
    *,
    plain: bool,
) -> dict[str, Any]:
    """The sums where every decision has its own weight."""
    each = u[..., np.newaxis]
    estimate = np.sum(each * score, axis=-2)
    square = each * each
    inverse = np.where(square > 0, square / np.where(chance > 0, chance, 1.0), 0.0)
    shape, j = (*estimate.shape[:-1], inside.many), chance.shape[-1]
    error, cross = np.zeros((*shape, j, 3)), np.zeros((*shape, 4 if j == 2 else 0))
    if not plain:
        rest = inverse - square
        error = np.stack([inside.sums(rest * k) for k in (1.0, guess, guess * guess)], axis=-1)
    if not plain and j == 2:
        m, n = guess[..., 0], guess[..., 1]
        cross = np.stack([inside.sums((u * u * k)[..., np.newaxis])[..., 0] for k in (1.0, m, n, m * n)], axis=-1)
    return {
        "estimate": estimate,
        "share": inside.sums(np.broadcast_to(each, chance.shape)),
        "inverse": inside.sums(inverse),
        "error": error,
        "cross": cross,
        "cube": inside.sums(inverse * inverse / np.where(each > 0, each, 1.0)),
        "empirical": _products(inside, each, score),
        "complete": np.ones(estimate.shape[:-1], dtype=bool),
    }


def _products(inside: Groups, each: FloatArray, score: FloatArray) -> FloatArray:
    """Sums of products of what weighted scores miss the estimates of their own contexts by, (.., J, J).

    As one decision in each of several contexts goes to find its mean, what is left is made up for.
    """
    share, many = inside.sums(each), inside.sums(each > 0)
    mean = inside.sums(each * score) / np.where(share > 0, share, 1.0)
    times = np.sqrt(many / np.maximum(many - 1.0, 1.0)) if inside.many > 1 else np.ones_like(many)

    def spread(of: FloatArray) -> FloatArray:
        return np.stack([inside.spread(of[..., k]) for k in range(of.shape[-1])], axis=-1)

    missed = each * (score - spread(mean)) * spread(times)
    return np.asarray(np.swapaxes(missed, -1, -2) @ missed)


def _by_batch(of: Scores, offered: NDArray[np.bool_], unit: FloatArray) -> dict[str, Any]:
    """The sums over batches in which everything that is compared was offered: each proposal's mean in each batch."""
    batch, j = batches(of.log), offered.shape[-1]
    many, trials = int(batch.max(initial=-1)) + 1, int(np.prod(of.log.batch))
    n, sums, squares = (
        np.stack([per_batch(batch, offered[..., k] * each, many) for k in range(j)], axis=-1)
        for each in (np.ones_like(unit), unit, unit**2)
    )
    full: NDArray[np.bool_] = np.all(n > 0, axis=-1, keepdims=True)
    filled = np.where(full, n, 1.0)
    w = np.where(full, 1.0 / np.sqrt((1.0 / filled).sum(axis=-1, keepdims=True)), 0.0)
    trial = np.zeros(many, dtype=np.int64)
    trial[batch.reshape(trials, -1)] = np.arange(trials)[:, np.newaxis]

    def over(each: FloatArray | NDArray[np.bool_]) -> FloatArray:
        found = np.stack([np.bincount(trial, each[:, k], trials) for k in range(each.shape[-1])], axis=-1)
        return np.asarray(found.reshape(*of.log.batch, 1, -1), dtype=np.float64)

    with np.errstate(invalid="ignore"):
        u = w / np.bincount(trial, w[:, 0], trials)[trial][:, np.newaxis]
    mean, weight = sums / filled, np.broadcast_to(u, n.shape)
    within = np.maximum(squares / filled - mean**2, 0.0) * weight**2 / np.maximum(filled - 1.0, 1.0)
    shape = (*of.log.batch, 1)
    return {
        "estimate": over(weight * mean).sum(axis=-2),
        "share": over(weight),
        "inverse": over(weight**2 / filled),
        "error": np.zeros((*shape, j, 3)),
        "cross": np.zeros((*shape, 4 if j == 2 else 0)),
        "cube": over(weight**3 / filled**2),
        "empirical": over(np.where(full, within, 0.0)).sum(axis=-2)[..., np.newaxis] * np.eye(j),
        "complete": over(~full).reshape(of.log.batch) == 0,
    }


def _apart(inside: Groups, own: NDArray[np.bool_], unit: FloatArray, mean: FloatArray) -> FloatArray:
    """The sum of squares of what values miss the means of their contexts by, (..); zero but for rounding is zero."""
    missed = np.where(own, unit - inside.spread(mean), 0.0)
    found = (missed * missed).sum(axis=-1)
    return np.where(found > ROUNDING**2 * np.maximum(own.sum(axis=-1), 1), found, 0.0)


def _tail(of: Scores, inside: Groups, unit: FloatArray, model: FloatArray | None = None) -> FloatArray:
    """The third central moment that values of any proposal are taken to have after adaptive allocation, (..).

    An arm that was starved of its rare large values does not look skewed: the skewness is that of whichever proposal
    has the most, and so is the standard deviation.
    """
    if of.log.fixed or of.target.two_valued:
        return np.full(of.log.batch, np.nan)
    skewness, variance = [], []
    for z in range(len(of.log.space.proposals)):
        own = of.known & (of.log.proposal == z) & (inside.place < inside.many)
        if model is None:
            seen = inside.sums(own[..., np.newaxis])[..., 0]
            mean = inside.spread(inside.sums((own * unit)[..., np.newaxis])[..., 0] / np.maximum(seen, 1.0))
        else:
            mean = (model[..., z] - of.target.low) / (of.target.high - of.target.low)
        missed, n = np.where(own, unit - mean, 0.0), own.sum(axis=-1)
        square = (missed**2).sum(axis=-1) / np.maximum(n - 1.0, 1.0)
        told = (n > 2) & (square > ROUNDING**2)
        third = (missed**3).sum(axis=-1) * n / np.maximum((n - 1.0) * (n - 2.0), 1.0)
        skewness.append(np.where(told, third / np.where(told, square, 1.0) ** 1.5, 0.0))
        variance.append(square)
    each = np.stack(skewness, axis=-1)
    most = np.take_along_axis(each, np.abs(each).argmax(axis=-1)[..., np.newaxis], axis=-1)[..., 0]
    return np.asarray(most * np.max(variance, axis=0) ** 1.5)


def _spread(
    of: Scores, known: NDArray[np.bool_], inside: Groups, unit: FloatArray, proposals: Sequence[int]
) -> FloatArray:
    """The variance within contexts and proposals as a part of μ (1 - μ), (.., J).

    Of each proposal its own or that of all together, whichever is larger: few values may look too much alike. Zero
    where all are alike, so that it cannot be told.
    """
    shape = (*unit.shape[:-1], len(proposals))
    if of.target.two_valued or np.all((unit == 0) | (unit == 1)):
        return np.ones(shape)
    every = range(len(of.log.space.proposals))
    offered = np.stack([known & (of.log.proposal == z) for z in every], axis=-1)
    seen = inside.sums(offered)
    mean = inside.sums(offered * unit[..., np.newaxis]) / np.maximum(seen, 1.0)
    squares = np.stack([_apart(inside, offered[..., z], unit, mean[..., z]) for z in every], axis=-1)
    most = np.sum(np.maximum(seen - 1.0, 0.0) * mean * (1.0 - mean), axis=-2)
    pooled = squares.sum(axis=-1, keepdims=True) / np.maximum(most.sum(axis=-1, keepdims=True), 1e-300)
    own = squares / np.maximum(most, 1e-300)
    found = np.clip(np.where(most > 0, np.maximum(own, pooled), pooled), 0.0, 1.0)
    return np.asarray(found[..., list(proposals)])
