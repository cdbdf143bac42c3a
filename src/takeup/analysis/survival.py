"""Times that may be censored, weighted: Kaplan-Meier curves and proportional hazards after adaptive allocation.

A person counts 1 / p of what they were offered, so that the people at risk under a proposal stand for all who came.
Their risk sets are then those of a trial in which everybody was offered it, whatever the policy did.
"""

from dataclasses import dataclass

import numpy as np

from takeup.checks import FloatArray, IntArray

ALMOST_ALL = 1 - 1e-9
"""A share of those at risk that is all of them, but for rounding."""
ROUNDS = 30
FARTHEST = 30.0
"""A log hazard ratio beyond which there is none: all events are of one side."""


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """Times in their order, (.., n), with what belongs to each; leading axes are trials side by side.

    Attributes:
        time: how long each was watched, rising.
        event: 1 where it ended in the event, else 0.
        place: where each stood in the log.
        first: of those watched as long, the place of the first in this order.
        last: of the last.
    """

    time: FloatArray
    event: FloatArray
    place: IntArray
    first: IntArray
    last: IntArray

    @classmethod
    def of(cls, time: FloatArray, event: FloatArray) -> "Watched":
        """Times and events in the order of the log."""
        place = np.argsort(time, axis=-1, kind="stable")
        ordered = np.take_along_axis(time, place, axis=-1)
        own = np.broadcast_to(np.arange(time.shape[-1]), time.shape)
        later = np.ones(time.shape, dtype=bool)
        later[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
        first = np.maximum.accumulate(np.where(later, own, 0), axis=-1)
        ends = np.ones(time.shape, dtype=bool)
        ends[..., :-1] = later[..., 1:]
        last = np.minimum.accumulate(np.where(ends, own, time.shape[-1])[..., ::-1], axis=-1)[..., ::-1]
        return cls(ordered, np.take_along_axis(event, place, axis=-1), place, first, last)

    def ordered(self, each: FloatArray) -> FloatArray:
        """What belongs to decisions, in the order of their times."""
        return np.take_along_axis(each, self.place, axis=-1)

    def back(self, each: FloatArray) -> FloatArray:
        """What is in the order of times, in that of the log."""
        found = np.empty(each.shape)
        np.put_along_axis(found, self.place, each, axis=-1)
        return found

    def at_risk(self, weight: FloatArray) -> FloatArray:
        """The weight of all who were watched as long or longer."""
        return np.take_along_axis(_from_the_end(weight), self.first, axis=-1)

    def happened(self, weight: FloatArray) -> FloatArray:
        """The weight of all events at the time, told once: with the first who was watched so long, else zero."""
        after = np.concatenate([_from_the_end(weight * self.event), np.zeros((*weight.shape[:-1], 1))], axis=-1)
        there = self.first == np.arange(weight.shape[-1])
        return np.where(there, after[..., :-1] - np.take_along_axis(after, self.last + 1, axis=-1), 0.0)

    def until_now(self, each: FloatArray) -> FloatArray:
        """The sum over all who were watched no longer."""
        return np.take_along_axis(np.cumsum(each, axis=-1), self.last, axis=-1)


def restricted_mean(watched: Watched, weight: FloatArray, until: float) -> tuple[FloatArray, FloatArray]:
    """The mean time that passes before the event within `until`, and the influence of each decision.

    The area below the weighted Kaplan-Meier curve. With Λ its hazard, R(u) the weight at risk, A(u) the area beyond u,

        ψ_i = - w_i ∫ A(u) / (R(u) (1 - ΔΛ(u))) (dN_i(u) - Y_i(u) dΛ(u)),

    whose squares add up to Greenwood's variance where all weights are one.

    Args:
        watched: the times.
        weight: of each decision, in the order of the log, (.., n).
        until: where the area ends.

    Returns:
        The mean, (..), NaN where nobody was watched so long while the curve is above zero; and ψ, (.., n).
    """
    w, risk, hazard = _hazard(watched, weight)
    time = np.minimum(watched.time, until)
    curve = np.cumprod(1 - hazard, axis=-1)
    before = np.concatenate([np.ones((*w.shape[:-1], 1)), curve], axis=-1)
    steps = np.diff(time, axis=-1, prepend=0.0, append=until)
    area = np.cumsum(before * steps, axis=-1)
    whole = area[..., -1]
    beyond = np.maximum(whole[..., np.newaxis] - area[..., :-1], 0.0)
    then = np.take_along_axis(hazard, watched.first, axis=-1)
    counts = (risk > 0) & (then < 1) & (watched.time < until)
    with np.errstate(divide="ignore", invalid="ignore"):
        pull = np.where(counts, beyond / (risk * (1 - then)), 0.0)
    moved = w * (watched.until_now(pull * hazard) - watched.event * pull)
    reached = np.where(w > 0, watched.time, 0.0).max(axis=-1) >= until
    return np.where(reached | (curve[..., -1] <= 0), whole, np.nan), watched.back(moved)


def survival(watched: Watched, weight: FloatArray) -> FloatArray:
    """The weighted Kaplan-Meier curve after each time, in their order, (.., n)."""
    return np.asarray(np.cumprod(1 - _hazard(watched, weight)[2], axis=-1), dtype=np.float64)


def hazard_ratio(watched: Watched, one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The log hazard ratio of those with weights `one` to those with weights `other`, and each decision's influence.

    Cox's (1972) partial likelihood with weighted risk sets and Breslow's ties; influences as Lin & Wei (1989) have
    them, so that their squares add up to the robust variance. NaN where all events are of one side.
    """
    first, second = watched.ordered(one), watched.ordered(other)
    risks = watched.at_risk(first), watched.at_risk(second)
    happened = watched.happened(first + second)
    ours = (first * watched.event).sum(axis=-1)
    usable = (ours > 0) & ((second * watched.event).sum(axis=-1) > 0)
    found = np.zeros(ours.shape)
    for _ in range(ROUNDS):
        share = _share(risks, found)
        slope = (happened * share * (1 - share)).sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.clip((ours - (happened * share).sum(axis=-1)) / slope, -1.0, 1.0)
        step = np.where(usable & np.isfinite(step), step, 0.0)
        found = found + step
        if np.abs(step).max(initial=0.0) < 1e-12:
            break
    share, ratio = _share(risks, found), np.exp(found)[..., np.newaxis]
    all_at_risk = risks[0] * ratio + risks[1]
    slope = (happened * share * (1 - share)).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        base = np.where(all_at_risk > 0, happened / all_at_risk, 0.0)
        passed, passed_share = watched.until_now(base), watched.until_now(base * share)
        ours_moved = first * (watched.event * (1 - share) - ratio * (passed - passed_share))
        others_moved = second * (-watched.event * share + passed_share)
        moved = (ours_moved + others_moved) / slope[..., np.newaxis]
    usable &= (slope > 0) & (np.abs(found) < FARTHEST)
    return np.where(usable, found, np.nan), watched.back(np.where(usable[..., np.newaxis], moved, 0.0))


def _hazard(watched: Watched, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weights in the order of times, the weight at risk, and the share of it that has the event then, told once."""
    w = watched.ordered(weight)
    risk = watched.at_risk(w)
    with np.errstate(divide="ignore", invalid="ignore"):
        hazard = np.where(risk > 0, watched.happened(w) / risk, 0.0)
    return w, risk, np.where(hazard > ALMOST_ALL, 1.0, np.maximum(hazard, 0.0))


def _share(risks: tuple[FloatArray, FloatArray], log_ratio: FloatArray) -> FloatArray:
    """The share of the hazard that is on the first side, at each time."""
    ours = risks[0] * np.exp(log_ratio)[..., np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(ours + risks[1] > 0, ours / (ours + risks[1]), 0.0)


def _from_the_end(each: FloatArray) -> FloatArray:
    return np.cumsum(each[..., ::-1], axis=-1)[..., ::-1]
