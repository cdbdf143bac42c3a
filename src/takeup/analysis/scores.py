"""Scores: for each decision and each proposal an unbiased guess at what would have come of offering it.

The score of decision t and proposal z is

    Γ_t(z) = m_t(z) + 1{z_t = z} (v_t - m_t(z)) / p_t(z)

with v_t the target's value, p_t the probabilities that were logged and m_t(z) any guess made from earlier decisions
alone. Whatever the policy did before, and whether or not m_t is any good, E[Γ_t(z) given the past] is the mean of the
target under proposal z for decision t: augmented inverse probability weighting (AIPW), after adaptive allocation as
after any other. Decisions whose target is not known are left out (complete cases).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from takeup.analysis.targets import Target
from takeup.checks import FloatArray, IntArray
from takeup.log import Log


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of every decision, for every proposal; leading axes are trials side by side.

    Attributes:
        log: what they are from.
        target: what they are of.
        value: v, (.., n); NaN where it is not known.
        guess: m, what was expected of each proposal from what came before, (.., n, Kz).
        score: Γ, (.., n, Kz); NaN where the value is not known.
    """

    log: Log
    target: Target
    value: FloatArray
    guess: FloatArray
    score: FloatArray

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which decisions have a value."""
        return ~np.isnan(self.value)


def scores(log: Log, of: Target, start: float | FloatArray | None = None) -> Scores:
    """The scores of a log, of one target.

    Args:
        log: the decisions.
        of: what is asked about each.
        start: what is expected before anything is known, one for each trial, (.., 1); the middle of the target's range
            where left out, which is far off where the range is wide.
    """
    value = of.values(log)
    first = of.middle if start is None else start
    guess = guesses(log.context, log.proposal, value, len(log.space.contexts), len(log.space.proposals), first)
    offered = log.proposal[..., np.newaxis] == np.arange(len(log.space.proposals))
    with np.errstate(divide="ignore", invalid="ignore"):
        weighted = np.where(offered, (value[..., np.newaxis] - guess) / log.probability, 0.0)
    missing = np.isnan(value)[..., np.newaxis]
    return Scores(log, of, value, guess, np.where(missing, np.nan, guess + weighted))


def mean_scores(log: Log, of: Target) -> Scores:
    """The scores that means are taken of: those of `scores`, or plain ones where probabilities never changed.

    With fixed randomisation a guess may rest on the whole trial, as nothing was decided by it. The guess is then the
    mean of all who were offered the proposal, and their share takes the place of p: the mean of the scores is the plain
    mean, and the order of the decisions does not matter.
    """
    if not log.constant:
        return scores(log, of)
    value = of.values(log)
    known = ~np.isnan(value)
    offered = log.proposal[..., np.newaxis] == np.arange(len(log.space.proposals))
    counted = offered & known[..., np.newaxis]
    many = counted.sum(axis=-2, keepdims=True)
    filled = np.where(known, value, 0.0)[..., np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(counted, filled, 0.0).sum(axis=-2, keepdims=True) / many
        weighted = np.where(offered, (filled - mean) * (known.sum(axis=-1)[..., np.newaxis, np.newaxis] / many), 0.0)
    guess = np.broadcast_to(mean, offered.shape)
    return Scores(log, of, value, guess, np.where(known[..., np.newaxis], guess + weighted, np.nan))


def guesses(
    context: IntArray,
    proposal: IntArray,
    value: FloatArray,
    contexts: int,
    proposals: int,
    start: float | FloatArray,
) -> FloatArray:
    """What was expected of each proposal in the decision's own context before it was made, (.., n, Kz).

    The mean of earlier values of the same context and proposal, as if one more of them had been the mean of all earlier
    values, which begins as if one had been `start`.
    """
    seen = ~np.isnan(value)
    filled = np.where(seen, value, 0.0)
    overall = (before(filled) + start) / (before(seen) + 1.0)
    expected = np.empty((*value.shape, proposals))
    for x in range(contexts):
        here = context == x
        for z in range(proposals):
            own = here & (proposal == z)
            mean = (before(filled * own) + overall) / (before(seen & own) + 1.0)
            expected[..., z] = np.where(here, mean, expected[..., z]) if x else mean
    return expected


def before(each: NDArray[np.float64] | NDArray[np.bool_]) -> FloatArray:
    """The sum of all before, along the last axis."""
    total = np.cumsum(each, axis=-1, dtype=np.float64)
    total[..., 1:], total[..., :1] = total[..., :-1].copy(), 0.0
    return total
