"""The program behind the lower bound where some actions never occur under an optimal proposal.

Let U be those unsupported actions. A confusing world raises μ' on U as it likes and changes one row z so that its value
reaches v*. Given μ', the cheapest change of the row is KLinf(π_z, v*) under μ', so the constraints on the rates c are

    c_z KLinf(π_z, v*; μ') + Σ_{a in U} m_a kl(μ_a, μ'_a)  >=  1,    m_a = Σ_y c_y π_ya,

for every z and every μ' >= μ on U: infinitely many, each linear in c. Actions of U that no inferior proposal reaches
are worth 1 in the worst case, at no price.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from takeup.checks import FloatArray, IntArray
from takeup.theory.divergence import coins
from takeup.theory.reach import reach

Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

_MET = 1 - 1e-8
"""What the left side of a constraint must be, the linear solver being exact to 1e-9 or so."""

_SEARCHES = (1, 2, 4, 7)
"""How often a curve is searched, round by round: first all of it, then each time the tenth around the best point."""

_POINTS = 201
"""How many points of a curve are looked at first."""

_EDGE = 1e-12
"""How close μ' comes to 1, relative to 1 - μ."""

_ROUNDS = 500


@dataclass(frozen=True, slots=True, eq=False)
class Confusions:
    """The constraints, by row z and μ' on the unsupported actions.

    Attributes:
        pi: the inferior rows; shape (Z, Ka).
        mu: μ, with 1 for unsupported actions that nothing reaches.
        open: the other unsupported actions, whose μ' is to be chosen.
        target: v*, below 1.
    """

    pi: FloatArray
    mu: FloatArray
    open: IntArray
    target: float

    def constraints(self, row: int, raised: FloatArray) -> FloatArray:
        """The coefficients of c for μ' on the open actions; shape (.., Z), infinite where the row cannot reach v*."""
        mu = np.broadcast_to(self.mu, (*raised.shape[:-1], self.mu.size)).copy()
        mu[..., self.open] = raised
        coefficients = coins(self.mu[self.open], raised) @ self.pi[:, self.open].T
        coefficients[..., row] += reach(self.pi[row], mu, np.array(self.target))
        return coefficients

    def curve(self, rates: FloatArray, row: int, number: int, along: FloatArray) -> FloatArray:
        """Points μ' on one of U curves, which together pass through every minimum of the left side of row z.

        By the dual of KLinf the left side is the maximum over λ of a sum over actions,

            Σ_a [m_a kl(μ_a, μ'_a) + c_z π_za ln(1 - λ (μ'_a - v*))].

        At a minimum each term has slope 0: with ρ = c_z π_za / m_a,

            (μ' - μ) / (μ' (1 - μ')) = ρ λ / (1 - λ (μ' - v*)),

        which gives λ for a given μ'_a, and two roots μ'_a for a given λ: the smaller where the term curves upwards, the
        larger where it does not. The maximum over λ adds one direction of upward curvature, so at most one action takes
        the larger root. A curve lets one action run freely, reads λ from it, and gives the others their smaller root.

        Args:
            rates: c.
            row: z.
            number: which of the open actions runs.
            along: its μ' goes from μ to 1 as this goes from 0 to 1; shape (N,).

        Returns:
            Shape (N, U).
        """
        mu, v = self.mu[self.open], self.target
        seen = rates @ self.pi[:, self.open]
        ratio = np.where(seen > 0, rates[row] * self.pi[row, self.open] / np.where(seen > 0, seen, 1.0), 1.0)
        free = 1 - (1 - mu[number]) * (1 - along) ** 3
        slope = (free - mu[number]) / (free * (1 - free))
        below = ratio[number] + slope * (free - v)
        scale = np.where(below > 0, slope / np.where(below > 0, below, 1.0), 0.0)[:, np.newaxis]
        nu = 1 + scale * v
        linear, square = nu + scale * (mu - ratio), scale * (1 - ratio)
        inside = linear**2 - 4 * square * mu * nu
        exists = (inside >= 0) & (linear > 0) & (seen > 0)
        root = 2 * mu * nu / np.where(exists, linear + np.sqrt(np.maximum(inside, 0.0)), 1.0)
        points = np.clip(np.where(exists, root, 1.0), mu, 1 - _EDGE * (1 - mu))
        points[:, number] = free
        return points

    def worst(self, rates: FloatArray, row: int, searches: int) -> FloatArray:
        """The constraint of row z that these rates meet least, on each curve; shape (U or 1, Z)."""
        if not self.open.size:
            return self.constraints(row, np.zeros((1, 0)))
        curves = np.arange(self.open.size)
        along = np.tile(np.linspace(0, 1 - np.cbrt(_EDGE), _POINTS), (curves.size, 1))
        for _ in range(searches):
            points = np.stack([self.curve(rates, row, i, part) for i, part in enumerate(along)])
            found = self.constraints(row, points)
            best = left_side(found, rates).argmin(axis=1)
            worst: FloatArray = found[curves, best]
            ends = along[curves, np.maximum(best - 1, 0)], along[curves, np.minimum(best + 1, along.shape[1] - 1)]
            along = np.linspace(*ends, 21, axis=1)
        return worst


def cheapest(pi: FloatArray, mu: FloatArray, unsupported: Mask, target: float, gaps: FloatArray) -> FloatArray:
    """The rates c of least regret c·Δ that meet every constraint.

    Solves the linear program over finitely many constraints, searches for those that its solution fails, adds them, and
    solves again until none fails. Every constraint is one of the real program, so one that the search overlooks could
    only make C too small.

    Args:
        pi: the inferior rows; shape (Z, Ka).
        mu: μ; shape (Ka,).
        unsupported: which actions are in U.
        target: v*, below 1.
        gaps: Δ of the inferior rows.
    """
    nowhere = unsupported & ~(pi > 0).any(axis=0)
    confusions = Confusions(pi, np.where(nowhere, 1.0, mu), np.flatnonzero(unsupported & ~nowhere), target)
    rows = range(len(pi))
    rates = 1 / coins(pi @ mu, np.array(target))  # enough: seeing less than all there is to see
    known = np.zeros((0, len(pi)))
    for number in range(_ROUNDS):
        searches = _SEARCHES[min(number, len(_SEARCHES) - 1)]
        found = np.concatenate([confusions.worst(rates, row, searches) for row in rows])
        if searches == _SEARCHES[-1] and (left_side(found, rates) > _MET).all():
            return rates
        known = np.concatenate([known, found])
        rates = _solve(known, gaps)
    raise ArithmeticError(f"the lower bound did not converge in {_ROUNDS} rounds")


def left_side(constraints: FloatArray, rates: FloatArray) -> FloatArray:
    """Σ_z c_z KL_z; infinite where a coefficient is, whatever the rate."""
    finite = np.asarray(np.isfinite(constraints).all(axis=-1))
    return np.where(finite, np.where(finite[..., np.newaxis], constraints, 0.0) @ rates, np.inf)


def _solve(constraints: FloatArray, gaps: FloatArray) -> FloatArray:
    finite = constraints[np.isfinite(constraints).all(axis=-1)]
    found = linprog(
        gaps,
        A_ub=-finite,
        b_ub=-np.ones(len(finite)),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.x is None:
        raise ArithmeticError(f"the linear program of the lower bound was not solved: {found.message}")
    return found.x
