"""Helpful and harmful noncompliance: theorems 1 and 2 of Stirn & Jebara (2019), as they hold.

Noncompliance is harmful where the bound of Thompson sampling rises, Δ(T, μ, Π) > 0, and helpful where it falls. The
sign does not depend on T.
"""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.theory.bounds import TIE, bound_change, inside, thompson_constant

Effect: TypeAlias = Literal["harmful", "neutral", "helpful"]
"""What noncompliance does to a bound on regret."""

ROUNDING = 1e-9
"""A smaller relative change of the bound counts as none."""


_ONE_LOG = float(np.exp(1))
"""A horizon with ln T = 1."""


class BothEffects(NamedTuple):
    """Two compliance matrices for the same rates of success."""

    helpful: FloatArray
    harmful: FloatArray


def effect(success: ArrayLike, compliance: ArrayLike) -> Effect:
    """What this noncompliance does to the bound of a policy that ignores it."""
    change = float(bound_change(_ONE_LOG, success, compliance))
    if abs(change) <= ROUNDING * max(float(thompson_constant(success)), 1.0):
        return "neutral"
    return "harmful" if change > 0 else "helpful"


def two_arm_effect(success: ArrayLike, compliance: ArrayLike) -> Effect:
    """Theorem 1, completed: the effect with two arms, read off Π without computing a bound.

    Neutral where μ is constant or Π a permutation; helpful where the two rows are equal, because then both proposals
    are optimal; harmful everywhere else. The theorem as printed leaves out the second case.
    """
    mu, pi = inside("success", success), checks.probabilities("compliance", compliance)
    checks.shaped("success", mu, (2,), "implemented")
    checks.shaped("compliance", pi, (2, 2), "proposal, implemented")
    if mu[0] == mu[1] or (np.isin(pi, (0.0, 1.0)).all() and pi[0, 0] != pi[1, 0]):
        return "neutral"
    return "helpful" if abs((pi[0, 0] - pi[1, 0]) * (mu[0] - mu[1])) <= TIE else "harmful"


def both_effects(success: ArrayLike) -> BothEffects:
    """Theorem 2, completed: a helpful and a harmful Π for any μ that is not constant.

    Helpful is `all_to_best`, where no proposal is inferior. Harmful is `ignored` with a share of a half. Both work for
    K = 2 as well.
    """
    mu = inside("success", success)
    if mu.ndim != 1 or np.ptp(mu) <= TIE:
        raise InputError(
            "success", success, "rates that are not all equal", "a constant μ has one bound, 0, under any Π"
        )
    return BothEffects(all_to_best(mu), ignored(mu.size))


def all_to_best(success: ArrayLike) -> FloatArray:
    """Whatever is proposed, the best action happens: every value is max μ, and there is nothing to regret."""
    mu = inside("success", success)
    return np.tile(np.eye(mu.size)[mu.argmax()], (mu.size, 1))


def ignored(arms: int, share: float = 0.5, instead: ArrayLike | None = None) -> FloatArray:
    """(1 - ε) I + ε 1 w': a share ε of all decisions ignores the proposal and draws from w.

    Harmful for every μ that is not constant, every w and every 0 < ε < 1. Values become (1 - ε) μ_i + ε w·μ. So every
    gap shrinks by 1 - ε, and by joint convexity kl shrinks at least as much: every f rises.

    Args:
        arms: K.
        share: ε, strictly between 0 and 1.
        instead: w, a distribution over the K actions; uniform where left out.
    """
    arms = checks.whole("arms", arms, least=1)
    if not 0 < share < 1:
        raise InputError("share", share, "a number strictly between 0 and 1")
    w = checks.probabilities("instead", np.full(arms, 1 / arms) if instead is None else instead)
    checks.shaped("instead", w, (arms,), "implemented")
    return (1 - share) * np.eye(arms) + share * w


def best_against_worst(success: ArrayLike) -> FloatArray:
    """The first proposal gives the best action, all others the worst: the paper's example of a harmful Π.

    It is helpful where one action is best and another lies strictly between best and worst, neutral where one is best
    and the others are equal, and may be harmful only where several are best.
    """
    mu = inside("success", success)
    pi = np.tile(np.eye(mu.size)[mu.argmin()], (mu.size, 1))
    pi[0] = np.eye(mu.size)[mu.argmax()]
    return pi


def halfway_to_worst(success: ArrayLike) -> FloatArray:
    """Proposals of the best actions are followed; of the others, half end in the worst action.

    Helpful wherever some action lies strictly between best and worst, without a tie: Π can be inverted, and values that
    differ stay different.
    """
    mu = inside("success", success)
    pi = np.eye(mu.size)
    inferior = mu < mu.max()
    pi[inferior] = (pi[inferior] + np.eye(mu.size)[mu.argmin()]) / 2
    return pi
