"""The evidence of a trial by epoch: what a policy that forgets decides from.

Counts stay whole. A decision belongs to its epoch for ever, and whatever becomes known of it moves it there; the past
is weighted when it is read, by the policy.
"""

from dataclasses import dataclass, field

import numpy as np

from takeup.checks import IntArray
from takeup.epochs import Epochs

Cell = tuple[int, int, int, int]
Place = tuple[int, int, int]
"""A context, a proposal and an action."""
EpochPlace = tuple[int, int, int, int]
"""An epoch, and a place in it."""
EpochCell = tuple[int, int, int, int, int]
"""An epoch, and a cell of it."""


@dataclass(slots=True, eq=False)
class EpochCounts:
    """What the decisions of each epoch add up to, cell by cell.

    Attributes:
        empty: the policy's state before the first decision.
        amounts: by epoch and cell; of all epochs, or of those that have weight and those that were loaded.
        sums: what covariates add, by epoch and place, where the policy learns from them; likewise.
        changed: the cells that moved since the last `forget`.
        changed_sums: the places whose sums did.
        latest: the epochs that were read last, and what was found, as long as nothing changes.
    """

    empty: Epochs
    amounts: dict[int, dict[Cell, int]] = field(default_factory=dict)
    sums: dict[int, dict[Place, IntArray]] = field(default_factory=dict)
    changed: set[EpochCell] = field(default_factory=set)
    changed_sums: set[EpochPlace] = field(default_factory=set)
    latest: tuple[range, IntArray] | None = None

    def of(self, number: int) -> int:
        """The epoch of a decision, whose number is counted from 1; the first is epoch 0."""
        return (number - 1) // self.empty.length

    def due(self, epoch: int, decisions: int) -> int:
        """How many decisions an epoch has, where there are so many."""
        return min(self.empty.length, decisions - epoch * self.empty.length)

    def weighing(self, decisions: int) -> range:
        """The epochs that the decision after so many may look at one by one, the last of them the newest."""
        newest = self.of(max(decisions, 1))
        return range(max(newest - self.empty.kept + 1, 0), newest + 1)

    def add(self, number: int, cell: Cell, amount: int) -> None:
        """Add to a cell in the epoch of a decision."""
        epoch = self.of(number)
        amounts = self.amounts.setdefault(epoch, {})
        amounts[cell] = amounts.get(cell, 0) + amount
        self.changed.add((epoch, *cell))
        self.latest = None

    def add_sums(self, number: int, place: Place, amounts: IntArray) -> None:
        """Add to the sums of a place in the epoch of a decision, if its policy learns from them."""
        if self.empty.space.sums is None:
            return
        epoch = self.of(number)
        sums = self.sums.setdefault(epoch, {})
        sums[place] = sums[place] + amounts if place in sums else amounts
        self.changed_sums.add((epoch, *place))
        self.latest = None

    def seen_by(self, number: int, total: IntArray) -> IntArray:
        """n[e, x, z, a, y] as decision `number` finds it, the newest epoch first, where this is n[x, z, a, y].

        It depends on the number and on what is known, not on who else is being decided about. What is older than the
        epochs that are kept apart is in the last slot: the rest of the total, so that none of it has to be read.
        """
        weighing = self.weighing(number - 1)
        if self.latest is not None and self.latest[0] == weighing:
            return self.latest[1]
        table = np.zeros_like(self.empty.counts)
        for slot, epoch in enumerate(reversed(weighing)):
            for cell, amount in self.amounts.get(epoch, {}).items():
                table[slot, *cell] = amount
            for place, sums in self.sums.get(epoch, {}).items():
                table[slot, *place, -1 - sums.size : -1] = sums
        table[-1] = total - table[:-1].sum(axis=0)
        table.setflags(write=False)
        self.latest = weighing, table
        return table

    def forget(self, decisions: int) -> None:
        """Keep what every decision needs; all has been written down."""
        weighing = self.weighing(decisions)
        self.amounts = {epoch: cells for epoch, cells in self.amounts.items() if epoch in weighing}
        self.sums = {epoch: sums for epoch, sums in self.sums.items() if epoch in weighing}
        self.changed, self.changed_sums = set(), set()
