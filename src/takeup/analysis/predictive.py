"""What was to be expected of each proposal before a decision: the density of its outcome, from earlier ones alone."""

import numpy as np

from takeup.analysis.scores import once
from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Conjugate, Dirichlet, likelihood_for
from takeup.log import Log
from takeup.outcomes import Levels, Outcome
from takeup.space import UNSEEN

ROWS = 100_000
"""How many densities are worked out at once, which bounds the memory that it takes."""


@once
def log_predictive(log: Log) -> FloatArray:
    """Log density of each decision's outcome, had each proposal been made, (.., n, Kz); up to a term of y alone.

    From the outcomes of earlier decisions of the same context and proposal: of levels with one of each counted before
    the first (Beta(1, 1) where there are two), of numbers Student's t, of counts and times by a gamma distribution of
    their rate, as policies have it where nobody says otherwise. What is not known adds nothing, and has density one.
    """
    trials, n, proposals = int(np.prod(log.batch)), len(log), len(log.space.proposals)
    found = np.zeros((trials, n, proposals))
    block = _prior(log.space.outcome)
    x, z, y = (each.reshape(trials, n) for each in (log.context, log.proposal, log.outcome))
    step = max(1, ROWS // max(n, 1))
    for first in range(0, trials, step):
        part = slice(first, first + step)
        found[part] = _of_trials(x[part], z[part], y[part], log.space.outcome, block, proposals)
    return found.reshape(*log.batch, n, proposals)


def _of_trials(x: IntArray, z: IntArray, y: IntArray, outcome: Outcome, block: Conjugate, proposals: int) -> FloatArray:
    """The same for some trials: decisions sorted by context, so that sums are taken of all contexts at once."""
    order = np.argsort(x, axis=-1, kind="stable")
    x, z, y = (np.take_along_axis(each, order, axis=-1) for each in (x, z, y))
    begins = np.where(np.diff(x, axis=-1, prepend=-1) != 0, np.arange(x.shape[-1]), 0)
    begins = np.maximum.accumulate(begins, axis=-1)[..., np.newaxis]
    added = _added(outcome, y)
    found = np.empty((*x.shape, proposals))
    for k in range(proposals):
        mine = np.where((z == k)[..., np.newaxis], added, 0)
        before = np.cumsum(mine, axis=-2) - mine
        before -= np.take_along_axis(before, begins, axis=-2)
        flat, new = before.reshape(-1, before.shape[-1]), added.reshape(-1, added.shape[-1])
        density = np.empty(len(flat))
        for first in range(0, len(flat), ROWS):
            part = slice(first, first + ROWS)
            past, now = (_whole(outcome, each[part])[:, np.newaxis, np.newaxis] for each in (flat, new))
            density[part] = block.plus(past).log_evidence(now)[:, 0, 0]
        found[..., k] = density.reshape(x.shape)
    found[y == UNSEEN] = 0.0
    back = np.empty_like(found)
    np.put_along_axis(back, order[..., np.newaxis], found, axis=-2)
    return back


def _prior(outcome: Outcome) -> Conjugate:
    if isinstance(outcome, Levels):
        return Dirichlet(np.ones((1, 1, outcome.size)), outcome.worths)
    return likelihood_for(outcome).prior(outcome, (1, 1))


def _added(outcome: Outcome, y: IntArray) -> IntArray:
    """What outcomes add to the statistic, along a new last axis, with one cell for all bins: models need their sum."""
    if isinstance(outcome, Levels):
        return outcome.amounts(y)[..., :-1]
    seen = (y != UNSEEN)[..., np.newaxis]
    _, sums = outcome.parts_of(np.maximum(y, 0))
    return np.where(seen, np.concatenate([np.ones_like(seen, dtype=np.int64), sums], axis=-1), 0)


def _whole(outcome: Outcome, added: IntArray) -> IntArray:
    """The statistic with all its cells."""
    if isinstance(outcome, Levels):
        return added
    rest = np.zeros((len(added), outcome.cells - 1), dtype=np.int64)
    return np.concatenate([added[:, :1], rest, added[:, 1:]], axis=1)
