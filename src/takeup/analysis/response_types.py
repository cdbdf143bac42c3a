"""What cells P(a, y given z) say about taking an action: bounds by a linear program over response types.

A response type says what somebody takes under each proposal; there are Ka^Kz of them. Each has a distribution of the
outcome under each action. Where proposals work through actions alone, the cell (a, y) of proposal z holds those whose
type takes a under z and whose outcome under a is y. All that agrees with the cells is a polytope, and the least and the
most of a mean over it are the sharp bounds (Balke & Pearl 1997). How outcomes under different actions go together does
not matter to means, so that Ka^Kz Ka Y unknowns do for Ka^Kz Y^Ka.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

from takeup.checks import FloatArray
from takeup.errors import TakeupError

MOST_UNKNOWNS = 20_000
"""Larger programs take seconds; natural bounds do beyond."""

TOLERANCE = 1e-8
"""What counts as no probability at all, to a solver."""

SLACKS = (TOLERANCE, 10 * TOLERANCE, 100 * TOLERANCE)
"""By how much cells may be missed where nothing agrees with them to the last digit; a solver is no better than that."""

Ends: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class ResponseTypes:
    """All response types of a space.

    Attributes:
        shape: (Kz, Ka, Y).
        cells: which unknowns (type, a, y) make up each cell (z, a, y).
        whole: equations: outcomes under each action belong to the same people, who are everybody.
        right: what these come to.
    """

    shape: tuple[int, int, int]
    cells: csr_array
    whole: csr_array
    right: FloatArray

    def bounds(self, objective: FloatArray, sums: FloatArray, low: FloatArray, high: FloatArray) -> Ends | None:
        """The least and the most of a mean where sums of cells are between limits; None where nothing agrees.

        Args:
            objective: what outcome y under action a counts, (Ka, Y).
            sums: which cells (a, y) are added up, (G, Ka Y), for every proposal.
            low: the limits from below, (Kz, G).
            high: those from above.
        """
        proposals = self.shape[0]
        added = csr_array(np.kron(np.eye(proposals), sums)) @ self.cells
        limits = np.concatenate([high.ravel(), -low.ravel()])
        types = self.cells.shape[1] // objective.size
        cost = np.tile(objective.ravel(), types)
        ends = []
        for sign in (1.0, -1.0):
            found = _solved(sign * cost, vstack([added, -added]), limits, self.whole, self.right)
            if found is None:
                return None
            ends.append(sign * found[0])
        return ends[0], ends[1]

    def nearest(self, cells: FloatArray) -> tuple[FloatArray, float]:
        """The nearest cells, (Kz, Ka, Y), that any types have, and how much probability has to move to them."""
        many, unknowns = self.cells.shape
        moved = csr_array(np.eye(many))
        left = vstack(
            [hstack([self.cells, moved, -moved]), hstack([self.whole, csr_array((len(self.right), 2 * many))])]
        )
        cost = np.concatenate([np.zeros(unknowns), np.ones(2 * many)])
        found = _solved(cost, None, None, left, np.concatenate([cells.ravel(), self.right]))
        if found is None:
            raise TakeupError("no response types at all; this is a defect of takeup")
        return np.asarray(self.cells @ found[1][:unknowns]).reshape(self.shape), found[0] / 2


@lru_cache(maxsize=16)
def response_types(proposals: int, actions: int, outcomes: int) -> ResponseTypes:
    """The types of a space with so many of each."""
    takes = np.array(list(product(range(actions), repeat=proposals)))
    each = actions * outcomes
    unknown = np.arange(len(takes) * each).reshape(len(takes), actions, outcomes)
    cell = np.arange(proposals * each).reshape(proposals, actions, outcomes)
    rows, columns = [], []
    for z in range(proposals):
        columns.append(np.take_along_axis(unknown, takes[:, z, np.newaxis, np.newaxis], axis=1).ravel())
        rows.append(cell[z, takes[:, z]].ravel())
    place = (np.concatenate(rows), np.concatenate(columns))
    cells = csr_array((np.ones(len(place[0])), place), shape=(cell.size, unknown.size))
    unlike = np.kron(np.hstack([-np.ones((actions - 1, 1)), np.eye(actions - 1)]), np.ones((1, outcomes)))
    first = np.kron(np.eye(1, actions), np.ones((1, outcomes)))
    same, all_ = kron(eye_array(len(takes)), unlike), np.tile(first, len(takes))
    whole = csr_array(vstack([csr_array(same), csr_array(all_)]))
    return ResponseTypes((proposals, actions, outcomes), cells, whole, np.append(np.zeros(same.shape[0]), 1.0))


def sharp_bounds(cells: FloatArray, objective: FloatArray) -> tuple[float, float, float]:
    """The sharp bounds of a mean from cells P(a, y given z), (Kz, Ka, Y); `objective` is what (a, y) counts, (Ka, Y).

    Returns:
        The least, the most, and how much probability had to move for any types to agree with the cells.
    """
    types = response_types(*cells.shape)
    near, moved = types.nearest(cells)
    exact = (near if moved > TOLERANCE else cells).reshape(cells.shape[0], -1)
    for slack in (0.0, *SLACKS):  # whether cells agree with any types is a matter of rounding at the edge
        found = types.bounds(objective, np.eye(exact.shape[1]), exact - slack, exact + slack)
        if found is not None:
            return *found, moved if moved > TOLERANCE else 0.0
    raise TakeupError("response types that agree with cells were lost; this is a defect of takeup")


def _solved(cost: FloatArray, above: Any, limits: Any, left: Any, right: FloatArray) -> tuple[float, FloatArray] | None:
    """The least cost and where it is; None where nothing keeps to the limits."""
    found = linprog(cost, A_ub=above, b_ub=limits, A_eq=left, b_eq=right, bounds=(0, None), method="highs")
    if found.status == 2:
        return None
    if found.status != 0:
        raise TakeupError(f"a linear program of {len(cost)} unknowns was not solved: {found.message}")
    return float(cost @ np.asarray(found.x)), np.asarray(found.x)
