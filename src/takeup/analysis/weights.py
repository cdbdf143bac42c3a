"""How much each decision counts: the same, less where a proposal was rare, or by batches.

Weights are known before outcomes are, so that a weighted sum of scores less their means stays a
martingale.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.log import Log
from takeup.log.arrays import TOLERANCE

Weights: TypeAlias = Literal["uniform", "stabilised", "batch"]
"""uniform: every decision the same. stabilised: so that each adds the same variance (Hadad et al. 2021). batch: means
within batches of the same probabilities (Zhang, Janson & Murphy 2020), each by its precision's root."""


def decision_weights(probability: FloatArray, how: Weights) -> FloatArray:
    """The weight of each decision, (.., n), from the probabilities of what is compared, (.., n, J).

    A score of proposal z has a variance of about σ²/p(z), and a difference one of σ² Σ 1/p(z): stabilised weights are
    1 over the root of Σ 1/p(z), which is the root of p where one proposal is looked at and the root of p (1 - p) where
    there are two. Where a proposal had no chance at all the weight is zero.
    """
    if how == "uniform":
        return np.ones(probability.shape[:-1])
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / np.sqrt((1.0 / probability).sum(axis=-1)))


def batches(log: Log) -> IntArray:
    """The batch of each decision, (.., n): numbers from 0, the same while probabilities had to stay the same.

    Probabilities may happen to stay the same from one batch to the next, at a floor above all, and whether they do
    depends on outcomes. So batches do not end where probabilities change but at all multiples of the greatest number
    that divides all the times at which they do. Batches are numbered over all trials side by side, so that no two of
    them share one. Meant for spaces of one context: with several, nobody can tell when a batch ended.
    """
    flat = log.probability.reshape(-1, *log.probability.shape[-2:])
    time = np.arange(len(log))
    changes = np.abs(np.diff(flat, axis=-2)).max(axis=-1, initial=0.0) > TOLERANCE
    size = np.gcd.reduce(np.where(changes, time[1:], 0), axis=-1, initial=0)
    own = time // np.where(size > 0, size, max(len(log), 1))[:, np.newaxis]
    many = own.max(axis=-1, initial=-1) + 1
    return np.asarray((own + (np.cumsum(many) - many)[:, np.newaxis]).reshape(log.proposal.shape))


def per_batch(batch: IntArray, each: FloatArray | NDArray[np.bool_], many: int) -> FloatArray:
    """Sums within batches, (many,)."""
    sums = np.bincount(batch.reshape(-1), np.asarray(each, dtype=np.float64).reshape(-1), many)
    return np.asarray(sums, dtype=np.float64)
