"""How much each decision counts: the same, less where a proposal was rare, or by batches.

Weights are known before outcomes are, so that a weighted sum of scores less their means stays a
martingale.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.log import Log
from takeup.log.table import TOLERANCE

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
    """The batch of each decision, (.., n): numbers from 0, the same while a context's probabilities stay the same.

    Batches are numbered over all trials side by side, so that no two of them share one.
    """
    flat = log.probability.reshape(-1, len(log), log.probability.shape[-1])
    context, found = log.context.reshape(flat.shape[:2]), np.empty(flat.shape[:2], dtype=np.int64)
    first = 0
    for x in range(len(log.space.contexts)):
        here = context == x
        rows, times = np.nonzero(here)
        if not rows.size:
            continue
        p = flat[rows, times]
        new = np.ones(rows.size, dtype=bool)
        new[1:] = (np.abs(np.diff(p, axis=0)).max(axis=1) > TOLERANCE) | (np.diff(rows) > 0)
        found[rows, times] = first + np.cumsum(new) - 1
        first += int(new.sum())
    return found.reshape(log.proposal.shape)


def per_batch(batch: IntArray, each: FloatArray | NDArray[np.bool_], many: int) -> FloatArray:
    """Sums within batches, (many,)."""
    sums = np.bincount(batch.reshape(-1), np.asarray(each, dtype=np.float64).reshape(-1), many)
    return np.asarray(sums, dtype=np.float64)
