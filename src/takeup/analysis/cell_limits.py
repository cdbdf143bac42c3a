"""P(a, y given z) from scores: shares of cells, and limits that hold for all of them at once."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from takeup.analysis.compliers import both_seen
from takeup.analysis.scores import once, scores
from takeup.analysis.targets import Target
from takeup.checks import FloatArray
from takeup.log import Log

BoolArray: TypeAlias = NDArray[np.bool_]


def cell_shares(log: Log, cells: "CellMoments | None" = None) -> FloatArray:
    """P(a, y given z), (.., Kz, Ka, Y), from scores; a row is moved to probabilities where they left these.

    They are plain shares of complete cases where the probabilities of proposals never changed.
    """
    _, proposals, actions, outcomes = log.space.shape
    found = np.maximum((cells or cell_moments(log)).mean, 0.0)
    total = found.sum(axis=-1, keepdims=True)
    found = np.where(total > 0, found / np.where(total > 0, total, 1.0), 1 / found.shape[-1])
    return found.reshape(*log.batch, proposals, actions, outcomes)


def share_limits(
    log: Log, sums: FloatArray, level: float, cells: "CellMoments | None" = None
) -> tuple[FloatArray, FloatArray]:
    """Limits that hold for all these sums of cells at once, (.., Kz, G) each; `sums` says which cells, (G, Ka, Y).

    With fixed probabilities they are exact (Clopper & Pearson 1934). After adaptive allocation they are the wider of
    two that rest on a normal limit: by the spread of the scores, and by what it is if the share is true (Wilson 1927),
    which counts where few or none were seen.
    """
    doubt = (1 - level) / (2 * len(sums) * len(log.space.proposals))
    if log.constant:
        found = [_exact_limits(log, each, doubt) for each in sums]
    else:
        cells = cells or cell_moments(log)
        found = [_limits(cells, each.reshape(-1), doubt) for each in sums]
    return np.stack([low for low, _ in found], axis=-1), np.stack([high for _, high in found], axis=-1)


def limited_sums(actions: int, outcomes: int) -> FloatArray:
    """The sums of cells that get limits, (G, Ka, Y): each cell, action and outcome, none being another's rest."""
    cells = np.eye(actions * outcomes).reshape(-1, actions, outcomes)
    taken = np.repeat(np.eye(actions)[:, :, np.newaxis], outcomes, axis=2)
    came = np.repeat(np.eye(outcomes)[:, np.newaxis], actions, axis=1)
    return np.concatenate([cells, taken[: 1 if actions == 2 else None], came[: 1 if outcomes == 2 else None]])


def _exact_limits(log: Log, member: FloatArray, doubt: float) -> tuple[FloatArray, FloatArray]:
    offered = offered_each(log)
    many = offered.sum(axis=-2)
    hits = (offered & (_sum_of(member).values(log)[..., np.newaxis] == 1)).sum(axis=-2)
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), many - hits + 1, doubt), 0.0)
    high = np.where(hits < many, betaincinv(hits + 1, np.maximum(many - hits, 1), 1 - doubt), 1.0)
    return low, high


def _limits(cells: "CellMoments", member: FloatArray, doubt: float) -> tuple[FloatArray, FloatArray]:
    mean, error = cells.mean @ member, np.sqrt(np.maximum(cells.covariance @ member @ member, 0.0))
    c = -ndtri(doubt)
    share, spread = np.clip(mean, 0.0, 1.0), c * c * cells.each
    centre = (share + spread / 2) / (1 + spread)
    half = np.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
    low, high = np.minimum(mean - c * error, centre - half), np.maximum(mean + c * error, centre + half)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _sum_of(member: FloatArray) -> Target:
    """Whether a decision is in one of these cells (a, y)."""
    return both_seen(Target("cells", lambda log: member[log.implemented, log.outcome]))


def known(log: Log) -> BoolArray:
    """Decisions in which action and outcome are known and every proposal could have been made."""
    seen = (log.implemented >= 0) & (log.outcome >= 0)
    return np.asarray(seen & (log.probability > 0).all(axis=-1))


def offered_each(log: Log) -> BoolArray:
    """Which of these were offered each proposal, (.., n, Kz)."""
    return np.asarray(
        known(log)[..., np.newaxis] & (log.proposal[..., np.newaxis] == np.arange(len(log.space.proposals)))
    )


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


@once
def cell_moments(log: Log) -> CellMoments:
    """The means of the scores of all cells, and how sure they are."""
    _, proposals, actions, outcomes = log.space.shape
    counted, members = known(log), np.eye(actions * outcomes).reshape(-1, actions, outcomes)
    cells = np.empty((*log.batch, proposals, len(members), len(log)))
    for place, member in enumerate(members):
        cells[..., place, :] = np.swapaxes(scores(log, _sum_of(member)).score, -1, -2)
    counted &= ~np.isnan(cells[..., 0, :]).any(axis=-2)
    cells *= np.where(counted, 1.0, 0.0)[..., np.newaxis, np.newaxis, :]
    n = np.maximum(counted.sum(axis=-1)[..., np.newaxis], 1)
    mean = np.nan_to_num(cells, copy=False).sum(axis=-1) / n[..., np.newaxis]
    square = mean[..., np.newaxis] * mean[..., np.newaxis, :]
    products = cells @ np.swapaxes(cells, -1, -2) - n[..., np.newaxis, np.newaxis] * square
    many = (n * np.maximum(n - 1.0, 1.0))[..., np.newaxis, np.newaxis]
    return CellMoments(mean, products / many, _each(log, counted))


def effective(log: Log) -> FloatArray:
    """How many people evenly weighted scores of each proposal are worth, (.., Kz): n² / Σ 1 / p."""
    each = _each(log, known(log))
    return np.where(each > 0, 1 / np.where(each > 0, each, 1.0), 0.0)


def _each(log: Log, counted: BoolArray) -> FloatArray:
    """Σ 1 / p over the square of how many count, (.., Kz): the variance of a mean of scores, of outcomes with one."""
    used = counted[..., np.newaxis]
    inverse = np.where(used, 1 / np.where(log.probability > 0, log.probability, 1.0), 0.0)
    return np.asarray(inverse.sum(axis=-2) / np.maximum(used.sum(axis=-2), 1) ** 2)


def means(log: Log, of: Target) -> tuple[FloatArray, FloatArray]:
    """The mean of a target under each proposal and its standard error, (.., Kz)."""
    score = scores(log, of).score
    counted = (known(log) & ~np.isnan(score).any(axis=-1))[..., np.newaxis]
    n = np.maximum(counted.sum(axis=-2), 1)
    mean = np.where(counted, score, 0.0).sum(axis=-2) / n
    spread = (np.where(counted, score - mean[..., np.newaxis, :], 0.0) ** 2).sum(axis=-2)
    return mean, np.sqrt(spread / (n * np.maximum(n - 1.0, 1.0)))
