"""A test of "proposals make no difference" by the martingale score.

    S = Σ_t (1{z_t = one} - p_t) (y_t - m_t)        V = Σ_t p_t (1 - p_t) (y_t - m_t)^2

over decisions for one of two proposals, p_t being the probability of `one` given that it is one of the two and m_t what
was expected before the draw: the mean of earlier outcomes of the two in the same context, as if two more had been in
the middle. Where y does not depend on the proposal every term is zero on average, and V is the sum of their variances,
known without a model; S / √V is close to normal where V grows steadily. Stabilised, each term is divided by
√(p_t (1 - p_t)): V is then Σ (y_t - m_t)^2, which no longer depends on how the trial went.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from takeup.analysis import targets
from takeup.analysis.prefix import pair_of, single
from takeup.analysis.scores import before
from takeup.analysis.tested import Alternative, Tested, directed
from takeup.checks import FloatArray
from takeup.log import Log
from takeup.space import UNSEEN, Label

FLOOR = 0.1
"""The least probability of either proposal with which the error of .05 stays below .07; see docs/effect-tests.md."""

STABLE_FLOOR = 0.05
"""The least floor that was measured of the stabilised score; its error was below .05 there."""


def martingale_score(
    log: Log, one: Label, other: Label, *, stabilised: bool = False, alternative: Alternative = "two-sided"
) -> Tested:
    """Whether it matters which of two proposals is made, at one look, from the probabilities in the log.

    Where either was less probable than `FLOOR` in an adaptive trial its error may be above its level, and it says so.
    Stabilised it keeps its level with less, `STABLE_FLOOR`, and has less power.
    """
    single(log)
    i, j = pair_of(log.space, one, other)
    score = float(standard_score(log, one, other, stabilised=stabilised))
    both = alternative == "two-sided"
    limit = STABLE_FLOOR if stabilised else FLOOR
    p = log.probability[_counts(log, i, j)][:, [i, j]]
    share = p.min(axis=-1) / p.sum(axis=-1)
    least = float(share.min(initial=0.5, where=share > 0))
    adaptive = least < limit and not log.fixed
    assumes = [
        "there are many decisions, and the probabilities of both proposals stay away from zero",
        "the probabilities in the log are those that proposals were drawn with",
    ]
    if adaptive:
        assumes.insert(
            0, f"one had a probability of {least:.2g}: with less than {limit:g} this test may reject too often"
        )
    if np.any(log.outcome == UNSEEN):
        assumes.append("whether an outcome is missing has nothing to do with the proposal")
    refused = "" if np.isfinite(score) else "the outcomes of both proposals are as expected, or there are none"
    return Tested(
        test="martingale score",
        contrast=f"{log.space.proposals[i]} - {log.space.proposals[j]}",
        statistic=f"standardised score {score:.4g}{', stabilised' if stabilised else ''}",
        p=float((2 if both else 1) * ndtr(-directed(score, alternative))),
        two_sided=both,
        null="for nobody does it matter to the outcome which of the two is proposed",
        assumes=tuple(assumes),
        survives_adaptation=not adaptive and not log.estimated,
        survives_drift=True,
        refused=refused,
    )


def standard_score(log: Log, one: Label, other: Label, *, stabilised: bool = False) -> FloatArray:
    """S / √V of each trial, of the shape of the leading axes; NaN where V is zero."""
    score, variance = score_sums(log, one, other, stabilised=stabilised)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(variance > 0, score / np.sqrt(variance), np.nan))


def score_sums(log: Log, one: Label, other: Label, *, stabilised: bool = False) -> tuple[FloatArray, FloatArray]:
    """S and V of each trial."""
    i, j = pair_of(log.space, one, other)
    of, counts = targets.outcome(log.space), _counts(log, i, j)
    value = np.where(counts, of.values(log), 0.0)
    apart = np.where(counts, value - _expected(log, value, counts, of.middle), 0.0)
    pair = log.probability[..., [i, j]]
    p = pair / np.where(counts, pair.sum(axis=-1), 1.0)[..., np.newaxis]
    if stabilised:
        spread = p[..., 0] * p[..., 1]
        apart = np.where(spread > 0, apart / np.sqrt(np.where(spread > 0, spread, 1.0)), 0.0)
    score = (((log.proposal == i) - p[..., 0]) * apart).sum(axis=-1)
    return np.asarray(score), np.asarray((p[..., 0] * p[..., 1] * apart**2).sum(axis=-1))


def _expected(log: Log, value: FloatArray, counts: NDArray[np.bool_], middle: float) -> FloatArray:
    """What was expected of each decision, from earlier ones of its context."""
    expected = np.full(value.shape, middle)
    for x in range(len(log.space.contexts)):
        here = log.context == x
        mean = (before(value * here) + 2 * middle) / (before(counts & here) + 2)
        expected = np.where(here, mean, expected)
    return expected


def _counts(log: Log, i: int, j: int) -> NDArray[np.bool_]:
    return np.asarray(((log.proposal == i) | (log.proposal == j)) & (log.outcome != UNSEEN))
