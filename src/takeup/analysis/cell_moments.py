"""Cells P(a, y given z) from scores: their means, and how sure every sum of them is."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from takeup.analysis.compliers import both_seen
from takeup.analysis.scores import scores
from takeup.analysis.targets import Target
from takeup.checks import FloatArray
from takeup.log import Log

BoolArray: TypeAlias = NDArray[np.bool_]


class CellMoments(NamedTuple):
    """What is known of P(a, y given z), with C for the cells.

    Attributes:
        mean: of their scores, (.., Kz, C).
        covariance: of these means, (.., Kz, C, C).
        each: Σ 1 / p over the square of how many count, (.., Kz): the variance of a mean of scores whose own is one.
    """

    mean: FloatArray
    covariance: FloatArray
    each: FloatArray


def cell_moments(log: Log) -> CellMoments:
    """The means of the scores of all cells, and how sure they are."""
    _, proposals, actions, outcomes = log.space.shape
    counted, members = counted_in(log), np.eye(actions * outcomes).reshape(-1, actions, outcomes)
    cells = np.empty((*log.batch, proposals, len(members), len(log)))
    for place, member in enumerate(members):
        cells[..., place, :] = np.swapaxes(scores(log, sum_of(member)).score, -1, -2)
    counted &= ~np.isnan(cells[..., 0, :]).any(axis=-2)
    cells *= np.where(counted, 1.0, 0.0)[..., np.newaxis, np.newaxis, :]
    n = np.maximum(counted.sum(axis=-1), 1)[..., np.newaxis]
    mean = np.nan_to_num(cells, copy=False).sum(axis=-1) / n[..., np.newaxis]
    square = mean[..., np.newaxis] * mean[..., np.newaxis, :]
    products = cells @ np.swapaxes(cells, -1, -2) - n[..., np.newaxis, np.newaxis] * square
    many = (n * np.maximum(n - 1.0, 1.0))[..., np.newaxis, np.newaxis]
    return CellMoments(mean, products / many, variance_of_one(log))


def mean_and_error(log: Log, of: Target) -> tuple[FloatArray, FloatArray]:
    """The mean of a target under each proposal and its standard error, (.., Kz)."""
    score = scores(log, of).score
    counted = (counted_in(log) & ~np.isnan(score).any(axis=-1))[..., np.newaxis]
    n = counted.sum(axis=-2)
    mean = np.where(counted, score, 0.0).sum(axis=-2) / n
    spread = (np.where(counted, score - mean[..., np.newaxis, :], 0.0) ** 2).sum(axis=-2)
    return mean, np.sqrt(spread / (n * np.maximum(n - 1.0, 1.0)))


def sum_of(member: FloatArray) -> Target:
    """Whether a decision is in one of these cells (a, y)."""
    return both_seen(Target("cells", lambda log: member[log.implemented, log.outcome]))


def counted_in(log: Log) -> BoolArray:
    """Decisions in which action and outcome are known and every proposal could have been made."""
    seen = (log.implemented >= 0) & (log.outcome >= 0)
    return np.asarray(seen & (log.probability > 0).all(axis=-1))


def offered_in(log: Log) -> BoolArray:
    """Which of these were offered each proposal, (.., n, Kz)."""
    return np.asarray(
        counted_in(log)[..., np.newaxis] & (log.proposal[..., np.newaxis] == np.arange(len(log.space.proposals)))
    )


def variance_of_one(log: Log) -> FloatArray:
    """Σ 1 / p over the square of how many count, (.., Kz): the variance of a mean of scores, of outcomes with one."""
    counted = counted_in(log)[..., np.newaxis]
    inverse = np.where(counted, 1 / np.where(counted, log.probability, 1.0), 0.0)
    return np.asarray(inverse.sum(axis=-2) / np.maximum(counted.sum(axis=-2), 1) ** 2)
