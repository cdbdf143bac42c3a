"""Whether the data contradict what the policies assume."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from takeup.checks import FloatArray, IntArray
from takeup.evidence import Evidence

ALARM = float(np.log(20))
"""The check sounds above this logarithm of a Bayes factor: odds of twenty to one."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Whether outcomes depend on the proposal beyond the action that was implemented.

    Given the action, an ignorable compliance leaves no trace of the proposal in the outcome: p(y given x, z, a) is the
    same for all z. The Bayes factor compares one Dir(1) distribution for each (x, z, a) with one for each (x, a).

    Attributes:
        log_bayes_factor: for dependence; positive values speak against the assumption of TS-Obs and TS-Lat.
        contexts: the same in each context; they add up.
        alarm: whether the odds are above twenty to one.
    """

    log_bayes_factor: float
    contexts: tuple[float, ...]
    alarm: bool


def exclusion_of(evidence: Evidence) -> Exclusion:
    """The check on decisions of which both action and outcome are known."""
    counts = evidence.counts[..., :-1, :-1]
    apart = _log_marginal(counts).sum(axis=(1, 2))
    together = _log_marginal(counts.sum(axis=1)).sum(axis=1)
    contexts = apart - together
    total = float(contexts.sum())
    return Exclusion(total, tuple(contexts.tolist()), total > ALARM)


def _log_marginal(counts: IntArray) -> FloatArray:
    """Log of the Dirichlet-multinomial probability of a sequence with these counts over the last axis."""
    levels, n = counts.shape[-1], counts.sum(axis=-1)
    return np.asarray(gammaln(levels) - gammaln(levels + n) + gammaln(counts + 1.0).sum(axis=-1))
