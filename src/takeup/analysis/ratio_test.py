"""Whether an effect among compliers agrees with a log: the test whose inversion keeps its level at trial sizes.

If taking does β for compliers, u = y - β took has one mean under both proposals. The difference of its two estimates is
held against its variance *if that is so*, which the log gives up to how u spreads: a score of proposal z has a variance
of σ²/p + (μ - m)² (1/p - 1), and two scores a covariance of -(μ - m)(μ' - m'). That needs no squares of scores, which
are few and large where a proposal was rare. A little skewness is allowed for (Johnson 1978).

β is an angle here, u = cos(θ) y - sin(θ) took, so that infinite effects are tested like others. Leading axes are trials
side by side; X stands for contexts, the axis of 2 after it for the two proposals, and that at the end for y and took.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from takeup.analysis.estimate import Ray
from takeup.checks import FloatArray

Weights: TypeAlias = Literal["uniform", "stabilised"]

BORROWED = 2.5
"""For how much room the spread of both proposals counts towards that of each: as ten people have at a rate of .5."""

MOST_SKEWNESS = 1.0
"""Beyond this a correction for skewness is no correction."""

NEAR = np.concatenate([np.geomspace(1e-9, 1e-2, 40), np.linspace(0.01, np.pi / 2, 200)[1:]])
"""How far from the estimate's angle a region is looked for, before its ends are."""

BoolArray: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class RatioSums:
    """Sums over a log; see above.

    Attributes:
        estimate: the mean under each proposal, (.., 2, 2).
        rate: that of each context as far as it is known, shrunk a little to that of all, (.., X, 2, 2).
        share: the part of the weight that each context has, (.., X).
        seen: how many were offered each proposal, (.., X, 2).
        squares: sums of products of what values miss their means by, (.., 2, 2, 2).
        inverse: Σ u² / p, (.., X, 2).
        cube: Σ u³ / p², (.., X, 2).
        error: Σ u² (1/p - 1) k k' with k = (1, -m), so that μ - m in any direction is a form in it, (.., X, 2, 3, 3).
        cross: Σ u² k k' with the k of one proposal and of the other, (.., X, 3, 3).
    """

    estimate: FloatArray
    rate: FloatArray
    share: FloatArray
    seen: FloatArray
    squares: FloatArray
    inverse: FloatArray
    cube: FloatArray
    error: FloatArray
    cross: FloatArray


def ratio_sums(
    value: FloatArray,
    offered: FloatArray,
    chance: FloatArray,
    guess: FloatArray,
    context: FloatArray,
    begun: FloatArray,
    *,
    weights: Weights = "uniform",
    plain: bool = False,
    like: RatioSums | None = None,
) -> RatioSums:
    """The sums of decisions in which both proposals were possible and everything is known.

    Args:
        value: outcome and took, both between 0 and 1, (.., n, 2); zero where a decision does not count.
        offered: 1 where each of the two was offered and the decision counts, (.., n, 2).
        chance: the probability of each, (.., n, 2); zero where a decision does not count.
        guess: what was expected of each, (.., n, 2, 2).
        context: 1 in the decision's context where it counts, (.., n, X).
        begun: 1 where halfway is expected before anything is known, else 0.
        weights: every decision the same, or each so that it adds the same variance.
        plain: whether probabilities never changed: guesses are plain means, and do not add to the error.
        like: sums of the same decisions with other weights, which need not be made again as far as these do not matter.
    """
    counts = chance.min(axis=-1) > 0
    p = np.where(counts[..., np.newaxis], chance, 1.0)
    w = counts / np.sqrt((1 / p).sum(axis=-1)) if weights == "stabilised" else counts.astype(np.float64)
    with np.errstate(invalid="ignore"):
        u = (w / w.sum(axis=-1, keepdims=True))[..., np.newaxis]
    score = guess + (offered / p)[..., np.newaxis] * (value[..., np.newaxis, :] - guess)
    inverse = u * u / p
    rest = inverse - u * u
    one = np.ones((*p.shape[:-1], 1))
    ones = [np.concatenate([one, -guess[..., z, :]], axis=-1) * (not plain) for z in range(2)]
    over = "...nx,...nz"
    return RatioSums(
        np.einsum("...nz,...nzv->...zv", np.broadcast_to(u, p.shape), score),
        **(_rates(value, offered, context, begun) if like is None else _rates_of(like)),
        share=np.einsum("...nx,...n->...x", context, u[..., 0]),
        inverse=np.einsum(f"{over}->...xz", context, inverse),
        cube=np.einsum(f"{over}->...xz", context, inverse * u / p),
        error=np.stack([_products(context * rest[..., z, np.newaxis], ones[z], ones[z]) for z in range(2)], axis=-3),
        cross=_products(context * u * u, *ones),
    )


def _products(weight: FloatArray, one: FloatArray, other: FloatArray) -> FloatArray:
    """Sums of the products of two things over decisions, by each of some weights of these, (.., X, I, J)."""
    turned = np.swapaxes(one, -1, -2)
    return np.stack([turned @ (other * weight[..., x, np.newaxis]) for x in range(weight.shape[-1])], axis=-3)


def _rates_of(sums: RatioSums) -> dict[str, FloatArray]:
    return {"rate": sums.rate, "seen": sums.seen, "squares": sums.squares}


def accepted(sums: RatioSums, angle: FloatArray, level: float) -> BoolArray:
    """Whether the test does not reject tan(angle); the angle's shape is that of the leading axes, or goes with it."""
    return np.asarray(np.abs(distance(sums, angle, level)) <= ndtri((1.0 + level) / 2.0))


def distance(sums: RatioSums, angle: FloatArray, level: float) -> FloatArray:
    """How many errors both means of u are apart, less what skewness makes of the limit at this level."""
    along = np.stack([np.cos(angle), -np.sin(angle)], axis=-1)  # (.., 2)
    low, high = np.minimum(along, 0.0).sum(axis=-1), np.maximum(along, 0.0).sum(axis=-1)
    rate = np.einsum("...xzv,...v->...xz", sums.rate, along)
    mean = np.einsum("...xz,...x->...z", rate, sums.share)
    many = sums.seen.sum(axis=-2)
    common = ((many + 1.0) * mean).sum(axis=-1) / (many + 1.0).sum(axis=-1)  # most likely if it is one and the same
    least, most = low[..., np.newaxis, np.newaxis], high[..., np.newaxis, np.newaxis]
    here = np.clip(rate + (common[..., np.newaxis] - mean)[..., np.newaxis, :], least, most)
    spread = _spread(sums, along, rate, least, most)[..., np.newaxis, :]
    room = (here - least) * (most - here)
    turned = np.broadcast_to(along[..., np.newaxis, np.newaxis, :], (*here.shape, 2))
    form = np.concatenate([here[..., np.newaxis], turned], axis=-1)
    variance = (
        (spread * room * sums.inverse).sum(axis=(-1, -2))
        + np.einsum("...xzi,...xzij,...xzj->...", form, sums.error, form)
        + 2.0 * np.einsum("...xi,...xij,...xj->...", form[..., 0, :], sums.cross, form[..., 1, :])
    )
    third = (spread**2 * room * (least + most - 2.0 * here) * sums.cube).sum(axis=-2) @ np.array([1.0, -1.0])
    off = np.einsum("...v,...v->...", sums.estimate[..., 0, :] - sums.estimate[..., 1, :], along)
    with np.errstate(divide="ignore", invalid="ignore"):
        t, skewness = off / np.sqrt(variance), np.clip(third / variance**1.5, -MOST_SKEWNESS, MOST_SKEWNESS)
    z = ndtri((1.0 + level) / 2.0)
    return np.asarray(np.where(off == 0, 0.0, t - np.nan_to_num(skewness) * (z * z - 1.0) / 6.0))


def region(difference: FloatArray, accepts: Callable[[FloatArray], BoolArray]) -> tuple[Ray, ...]:
    """All effects that a test of a single trial accepts: an interval, two rays, the whole line or none.

    It goes from the estimate, which is accepted, to either side. What is rejected is the longest run of angles that
    are; should others be in between, they count as accepted.

    Args:
        difference: by how much outcome and took differ, (2,).
        accepts: the test, of many angles.
    """

    def kept(turn: FloatArray) -> BoolArray:
        return accepts(centre + turn)

    y, took = difference
    centre = float(np.arctan2(y, took) if took > 0 or (took == 0 and y > 0) else np.arctan2(-y, -took))
    turns = np.concatenate([NEAR, np.pi - NEAR[::-1]])
    ends = np.flatnonzero(np.diff(np.concatenate([[True], kept(turns), [True]])))
    if not ends.size:
        return ((-np.inf, np.inf),)
    starts, stops = ends[::2], ends[1::2] - 1
    longest = int(np.argmax(turns[stops] - turns[starts]))
    start, stop = int(starts[longest]), int(stops[longest])
    up = _edge(kept, turns[start - 1] if start else 0.0, turns[start])
    down = _edge(kept, turns[stop + 1] if stop + 1 < turns.size else np.pi, turns[stop]) - np.pi
    if up - down < NEAR[0] and abs(centre) > np.pi / 2 - NEAR[0]:
        return ()  # an infinite effect alone
    low, high = float(np.tan(centre + down)), float(np.tan(centre + up))
    if -np.pi / 2 < centre + down and centre + up < np.pi / 2:
        return ((low, high),)
    return (-np.inf, high), (low, np.inf)


def _edge(kept: Callable[[FloatArray], BoolArray], inside: float, outside: float) -> float:
    """Where what is kept ends, between a turn that is and one that is not."""
    for _ in range(50):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if kept(np.array(middle)) else (inside, middle)
    return inside


def _rates(value: FloatArray, offered: FloatArray, context: FloatArray, begun: FloatArray) -> dict[str, FloatArray]:
    """What is known of the means, how many that rests on, and how values spread around their own."""
    seen = np.swapaxes(context, -1, -2) @ offered
    total = _products(context, offered, value)
    products = _products(offered, value, value)
    all_ = seen.sum(axis=(-1, -2))[..., np.newaxis]
    overall = (total.sum(axis=(-2, -3)) + begun / 2) / np.maximum(all_ + begun, 1.0)
    rate = (total + overall[..., np.newaxis, np.newaxis, :]) / (seen + 1.0)[..., np.newaxis]
    mean = total / np.maximum(seen, 1.0)[..., np.newaxis]
    explained = np.einsum("...xz,...xzv,...xzw->...zvw", seen, mean, mean)
    return {"rate": rate, "seen": seen, "squares": products - explained}


def _spread(sums: RatioSums, along: FloatArray, rate: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The variance of u under each proposal as a part of the most that its mean allows, (.., 2).

    What is borrowed from both is counted by room and not by people: where hardly anything happens values look alike,
    however many there are.
    """
    squares = np.maximum(np.einsum("...v,...zvw,...w->...z", along, sums.squares, along), 0.0)
    many = np.maximum(sums.seen, 1.0)
    room = np.maximum(((rate - low) * (high - rate) * many).sum(axis=-2) / many.sum(axis=-2), 1e-300)
    free = np.maximum(sums.seen - 1.0, 0.0).sum(axis=-2)
    pooled = squares.sum(axis=-1, keepdims=True) / np.maximum((free * room).sum(axis=-1, keepdims=True), 1e-300)
    borrowed = BORROWED * (high - low)[..., 0] ** 2
    return np.asarray(np.clip((squares + borrowed * pooled) / (free * room + borrowed), 0.0, 1.0))
