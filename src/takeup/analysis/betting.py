"""A test of "proposals make no difference" by betting, for any policy and at any time.

Before each decision one unit of capital is spread over the proposals in proportion to the odds that the past suggests;
after it the capital is multiplied by

    f_z(y) / Σ_k p_k f_k(y)

with f_k(y) the density that outcomes of proposal k were expected to have, from earlier decisions alone, and p_k the
probabilities that were logged. Where y does not depend on the proposal, z has the probabilities p whatever y is, and
the factor is one on average: capital of 1 / α is ever reached with a probability of at most α (Ville), whatever the
policy, the drift and the number of looks. Nothing is assumed of f: a poor one wins less.
"""

import numpy as np
from scipy.special import logsumexp

from takeup.analysis.predictive import log_predictive
from takeup.analysis.prefix import NOT_LOGGED, closed_prefix, pair_of, single
from takeup.analysis.tested import Tested
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.log import Log
from takeup.space import Label


def betting(log: Log, one: Label | None = None, other: Label | None = None, *, finished: bool = False) -> Tested:
    """Whether what is proposed matters, at any time: of all proposals, or of two of them.

    Args:
        log: a single trial.
        one: a proposal; all are tested together where left out.
        other: what it is compared with; only decisions for one of the two count then.
        finished: whether nothing is pending any more; outcomes that are not known are then left out as missing.
    """
    single(log)
    capital = log_capital(log, one, other, finished=finished)
    most, last = (float(capital.max(initial=0.0)), float(capital[-1])) if len(log) else (0.0, 0.0)
    n = int(closed_prefix(log, finished=finished).sum())
    assumes = ["the probabilities in the log are those that proposals were drawn with"]
    if finished:
        assumes.insert(0, "whether an outcome is missing has nothing to do with the proposal")
    names = "all proposals" if one is None else " against ".join(_names(log, one, other))
    return Tested(
        test="betting",
        contrast=names,
        statistic=f"capital after {n} decisions, {_number(most)} at its best",
        p=np.nan if log.estimated else float(np.exp(-most)),
        e=None if log.estimated else _number(last),
        two_sided=True,
        null="for nobody does it matter to the outcome what is proposed",
        assumes=tuple(assumes),
        survives_adaptation=True,
        survives_drift=True,
        any_time=True,
        refused=NOT_LOGGED if log.estimated else "",
    )


def log_capital(
    log: Log, one: Label | None = None, other: Label | None = None, *, finished: bool = False
) -> FloatArray:
    """Log of the capital after each decision, (.., n); it stays where it is once the closed prefix has ended.

    Capital of 1 / α at any time rejects at the level α.
    """
    counts, f = closed_prefix(log, finished=finished), log_predictive(log)
    p = log.probability
    if one is not None or other is not None:
        chosen = list(pair_of(log.space, *_both(one, other)))
        counts = counts & np.isin(log.proposal, chosen)
        p = np.where(np.isin(np.arange(p.shape[-1]), chosen), p, 0.0)
        p = p / np.where(counts, p.sum(axis=-1), 1.0)[..., np.newaxis]
    own = np.take_along_axis(f, log.proposal[..., np.newaxis], axis=-1)[..., 0]
    factor = own - logsumexp(f, b=p, axis=-1)
    return np.cumsum(np.where(counts, factor, 0.0), axis=-1)


def _number(log_capital: float) -> float:
    """A capital with four digits beyond which nobody looks, and no more than a number can be."""
    return float(f"{np.exp(min(log_capital, 700.0)):.4g}")


def _both(one: Label | None, other: Label | None) -> tuple[Label, Label]:
    if one is None or other is None:
        raise InputError("one, other", f"{one!r} and {other!r}", "two proposals, or neither for a test of all together")
    return one, other


def _names(log: Log, one: Label, other: Label | None) -> tuple[str, str]:
    i, j = pair_of(log.space, *_both(one, other))
    return log.space.proposals[i], log.space.proposals[j]
