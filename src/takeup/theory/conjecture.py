"""How probable harmful noncompliance is under a uniform prior: a conjecture of Stirn & Jebara (2019), section 6."""

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from takeup import checks
from takeup.theory.bounds import change

_CHUNK = 200_000
"""About the most numbers that are drawn at a time."""

_TAIL = 0.025


class Probability(NamedTuple):
    """A probability from independent draws.

    Attributes:
        estimate: the share of draws.
        error: its standard error, sqrt(p (1 - p) / n).
        low: the lower end of the exact (Clopper-Pearson) 95 % interval, which says something where the share is 0 or 1.
        high: its upper end.
        draws: n.
    """

    estimate: float
    error: float
    low: float
    high: float
    draws: int


def probability_harmful(arms: int, draws: int, rng: np.random.Generator) -> Probability:
    """The probability that Δ(T, μ, Π) > 0, the rows of Π and μ drawn uniformly and independently.

    Harmful is a rise of Σ_i f, the bound's factor of ln T, from μ to Π·μ. T does not matter, and ties have probability
    zero: all that is not harmful is helpful. With two arms it is 1, by theorem 1.

    Args:
        arms: K, the number of proposals and of actions.
        draws: how many pairs of Π and μ.
        rng: where they come from.
    """
    arms, draws = checks.whole("arms", arms, least=2), checks.whole("draws", draws, least=1)
    chunk = max(1, _CHUNK // arms**2)
    harmful = 0
    for start in range(0, draws, chunk):
        count = min(chunk, draws - start)
        pi = rng.standard_exponential((count, arms, arms))
        pi /= pi.sum(axis=-1, keepdims=True)
        harmful += int(np.count_nonzero(change(rng.random((count, arms)), pi) > 0))
    return proportion(harmful, draws)


def proportion(hits: int, draws: int) -> Probability:
    """The estimate from a number of hits among a number of draws."""
    share = hits / draws
    return Probability(
        estimate=share,
        error=float(np.sqrt(share * (1 - share) / draws)),
        low=float(betaincinv(hits, draws - hits + 1, _TAIL)) if hits else 0.0,
        high=float(betaincinv(hits + 1, draws - hits, 1 - _TAIL)) if hits < draws else 1.0,
        draws=draws,
    )
