"""Epochs: evidence by when it was decided, so that what is old can count less."""

from dataclasses import dataclass, replace

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.evidence import Event, Evidence, Weighted
from takeup.space import Space


@dataclass(frozen=True, slots=True, eq=False)
class Epochs:
    """The table of counts with an axis for time: n[e, x, z, a, y], of shape (.., E, X, Kz, Ka + 1, Y + 1).

    Decision i, counted from 0, belongs to the epoch i // length. The newest epoch comes first, and the last slot holds
    all that are older than those before it, so the size does not grow with history. Counts stay whole: a late report
    moves a decision within its own epoch, and the past is weighted only when it is read, by `weighted`.

    Attributes:
        space: the finite sets that the axes stand for.
        counts: the table.
        length: how many decisions an epoch has.
        decided: how many decisions there have been.
    """

    space: Space
    counts: IntArray
    length: int
    decided: int = 0

    @classmethod
    def empty(cls, space: Space, epochs: int, length: int, batch: tuple[int, ...] = ()) -> "Epochs":
        """Nothing seen yet; `batch` is the shape of the leading axes."""
        checks.whole("epochs", epochs, least=1)
        checks.whole("length", length, least=1)
        return cls(space, Evidence.empty(space, (*batch, epochs)).counts, length)

    @property
    def newest(self) -> int:
        """The epoch of the last decision."""
        return max(self.decided - 1, 0) // self.length

    @property
    def kept(self) -> int:
        """How many epochs are kept apart, the newest included."""
        slots: int = self.counts.shape[-5]
        return slots - 1

    def record(self, event: Event) -> "Epochs":
        """With one more decision (one in each replication): the one that it says it is, else the next."""
        number = self.decided if event.number is None else checks.whole("number", event.number, least=0)
        later = replace(self, decided=max(self.decided, number + 1))
        later = replace(later, counts=_shifted(self.counts, later.newest - self.newest))
        slot = later._slot(number)
        return later._with(slot, later._evidence(slot).record(event))

    def move(self, before: Event, after: Event) -> "Epochs":
        """With a decision that was known as `before` now known as `after`, in the epoch that it was made in.

        Raises:
            InputError: the events do not say which decision it is.
            MismatchError: no decision of that epoch is in the cell of `before`.
        """
        if before.number is None or before.number >= self.decided:
            allowed = f"the number of a decision, below {self.decided}: it says whose epoch to report to"
            raise InputError("number", before.number, allowed)
        slot = self._slot(before.number)
        return self._with(slot, self._evidence(slot).move(before, after))

    def total(self) -> Evidence:
        """The evidence of all epochs together, none of it down-weighted."""
        return Evidence(self.space, self.counts.sum(axis=-5))

    def weighted(self, weights: FloatArray) -> Weighted:
        """The evidence in which a decision of slot e counts weights[e].

        Slots are added one after the other, the newest first, so that every machine gets the same bits.
        """
        left = np.zeros((*self.counts.shape[:-5], *self.space.table))
        for slot, weight in enumerate(weights):
            if weight:
                left += weight * self.counts[..., slot, :, :, :, :]
        return Weighted(self.space, left)

    def _slot(self, number: int) -> int:
        slots: int = self.counts.shape[-5]
        return min(self.newest - number // self.length, slots - 1)

    def _evidence(self, slot: int) -> Evidence:
        return Evidence(self.space, self.counts[..., slot, :, :, :, :])

    def _with(self, slot: int, evidence: Evidence) -> "Epochs":
        counts = self.counts.copy()
        counts[..., slot, :, :, :, :] = evidence.counts
        return replace(self, counts=counts)


def _shifted(counts: IntArray, epochs: int) -> IntArray:
    """The counts `epochs` epochs later; what leaves the table is added to its last slot."""
    slots = counts.shape[-5]
    if epochs == 0:
        return counts
    shifted = np.zeros_like(counts)
    stay = max(slots - epochs, 0)
    shifted[..., slots - stay :, :, :, :, :] = counts[..., :stay, :, :, :, :]
    shifted[..., -1, :, :, :, :] += counts[..., stay:, :, :, :, :].sum(axis=-5)
    return shifted
