"""The least regret per ln T with observed noncompliance: the bound of Graves & Lai (1997) for this model.

After proposing z one sees a and r. A policy whose regret is o(T^x) for every x > 0 in every world (Π, μ) has, in each,

    liminf R(T) / ln T  >=  C  =  min over rates c >= 0 of Σ_z c_z Δ_z
    such that  Σ_z c_z KL_z(λ) >= 1  for every confusing world λ = (Π', μ'),
    KL_z(λ) = KL(π_z, π'_z) + Σ_a π_za kl(μ_a, μ'_a).

λ is confusing if it looks the same as the truth under the optimal proposals and has another optimal one. The former
fixes μ' on the supported actions, those that occur under an optimal proposal: their rewards are learnt for free.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.theory.bounds import TIE
from takeup.theory.reach import reach


@dataclass(frozen=True, slots=True, eq=False)
class LowerBound:
    """The least regret per ln T, and how to have it.

    Attributes:
        constant: C, regret per ln T.
        rates: c_z, how often each inferior proposal must be made per ln T; nan for optimal proposals, which are free.
        gaps: Δ_z = v* - v_z.
        supported: whether each action occurs under an optimal proposal.
    """

    constant: float
    rates: FloatArray
    gaps: FloatArray
    supported: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def lower_bound(compliance: ArrayLike, success: ArrayLike) -> LowerBound:
    """The constant C of Graves & Lai for observed noncompliance, Bernoulli outcomes and one context.

    Where every action is supported, a confusing world differs in one row π_z alone and C is Σ_z Δ_z / KLinf(π_z, v*), a
    closed form but for a root. Else a confusing world may also raise μ of unsupported actions, which couples the rows
    that reach them; C is then the value of a semi-infinite linear program, solved to about 1e-6. That takes
    scipy.optimize and, with a handful of actions, about a second.

    C is never above `thompson_constant` of the values: what one sees of compliance cannot harm.

    Args:
        compliance: π[z, a]; shape (Kz, Ka).
        success: μ[a], between 0 and 1; shape (Ka,).
    """
    mu, pi = checks.rates("success", success), checks.probabilities("compliance", compliance)
    if pi.ndim != 2 or mu.ndim != 1:
        raise InputError("compliance", f"shape {pi.shape}", "a matrix over proposal and implemented, in one context")
    checks.shaped("success", mu, pi.shape[1:], "implemented")
    values = pi @ mu
    target = values.max()
    gaps = target - values
    inferior = gaps > TIE
    supported = (pi[~inferior] > 0).any(axis=0)
    rates = np.where(inferior, 0.0, np.nan)
    if inferior.any() and target < 1:
        if supported.all():
            rates[inferior] = 1 / reach(pi[inferior], mu, target)
        else:
            from takeup.theory.program import cheapest

            rates[inferior] = cheapest(pi[inferior], mu, ~supported, target, gaps[inferior])
    return LowerBound(float(rates[inferior] @ gaps[inferior]), rates, np.where(inferior, gaps, 0.0), supported)
