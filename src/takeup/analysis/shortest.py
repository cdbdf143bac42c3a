"""Weights of the shortest interval whose bias is bounded: a small convex program with an exact solution.

A sum of the means of cells (z, a) stays an estimate of the same thing, up to a bias that is bounded, while weight is
moved between cells of one action: an amount x[z, a] from the cell of the control, the first row, to that of z. What it
gains in error it may lose in bias; which x are best is said here, for plans and after trials alike. See docs/theory.md:
bias-aware intervals, Armstrong & Kolesár (2018).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from takeup import checks
from takeup.checks import FloatArray

STEPS = 60
"""How often the shortest interval is improved at most; a handful of times is enough to be exact."""


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Between which cells weight may be moved, and what that does to error and bias.

    Attributes:
        shape: of the cells.
        places: (z, a) of each move.
        matrix: the error of the sum is |matrix (1, x)|, x being what is moved.
        cost: what a unit of each move adds to the bias at its worst.
    """

    shape: tuple[int, ...]
    places: NDArray[np.int64]
    matrix: FloatArray
    cost: FloatArray

    @classmethod
    def of(
        cls, base: FloatArray, error: FloatArray, cost: FloatArray, free: NDArray[np.bool_], rest: float = 0.0
    ) -> "Moves":
        """Moves that start from the weights `base`.

        Args:
            base: the weights of the means, (z, a), the control first.
            error: the standard error of each mean, independent of all others.
            cost: what moving a unit to a cell adds to the bias.
            free: which cells have anybody in them.
            rest: the standard error of what else is in the sum.
        """
        allowed = free & free[0]
        allowed[0] = False
        places = np.argwhere(allowed)
        matrix = np.zeros((base.size + 1, 1 + len(places)))
        matrix[:-1, 0], matrix[-1, 0] = (base * error).ravel(), rest
        actions = base.shape[1]
        for column, (z, a) in enumerate(places, start=1):
            matrix[z * actions + a, column], matrix[a, column] = error[z, a], -error[0, a]
        return cls(base.shape, places, matrix, cost[tuple(places.T)])

    def least_ratio(self, effect: float) -> FloatArray:
        """The x[z, a] for which error / (effect - bias) is least.

        With u = (t, t x+, t x-) and t = 1 / (effect - bias), |A u| is what is to be least under b·u = 1 and u >= 0,
        where A is linear in the weights and b in the bias. The u >= 0 for which |A u|^2 + k^2 (b·u - 1)^2 is least is a
        multiple of that, for any k: so one problem of least squares without negative numbers has the answer, exactly.
        """
        moved, many = np.zeros(self.shape), len(self.places)
        level = float(np.linalg.norm(self.matrix[:, 0])) / effect  # of the same size as the rest
        if not many or level == 0:
            return moved
        signed = np.hstack([self.matrix, -self.matrix[:, 1:]])
        row = level * np.concatenate([[effect], -self.cost, -self.cost])
        u, _ = nnls(np.vstack([signed, row]), np.append(np.zeros(len(signed)), level))
        moved[tuple(self.places.T)] = (u[1 : 1 + many] - u[1 + many :]) / u[0]
        return moved

    def shortest(self) -> FloatArray:
        """The x[z, a] for which bias + error is least.

        It is what `least_ratio` has for an effect of that very length. For a longer effect the length of what that has
        is nearer to the least, and never below it: Dinkelbach (1967), who also says that this ends fast.
        """
        moved = np.zeros(self.shape)
        length = self.length(moved)
        for _ in range(STEPS if length > 0 else 0):
            before, moved = length, self.least_ratio(length)
            length = self.length(moved)
            if length == 0 or length >= before * (1 - checks.TOLERANCE):
                break
        return moved

    def length(self, moved: FloatArray) -> float:
        """Bias and error together."""
        x = moved[tuple(self.places.T)]
        return float(np.abs(x) @ self.cost + np.linalg.norm(self.matrix[:, 0] + self.matrix[:, 1:] @ x))

    def enough(self) -> float:
        """From how many times this cost on nothing is moved: the slope of the error, over that of the bias.

        Moves that cost nothing are left out: they are worth while at any promise.
        """
        size = float(np.linalg.norm(self.matrix[:, 0]))
        slope = np.abs(self.matrix[:, 0] @ self.matrix[:, 1:]) / (size or 1.0)
        costly = self.cost > 0
        return float((slope[costly] / self.cost[costly]).max(initial=0.0))
