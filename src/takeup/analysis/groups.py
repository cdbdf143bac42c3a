"""Decisions by context: sums over those of each, in time that does not grow with how many contexts there are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Which context each decision that counts is of; leading axes are trials side by side.

    Attributes:
        place: the context of each decision, (.., n), and one more than the last for those that do not count.
        many: how many contexts there are.
    """

    place: IntArray
    many: int

    @classmethod
    def of(cls, used: NDArray[np.bool_], context: IntArray, many: int) -> "Groups":
        """Those that are used, by context."""
        return cls(np.where(used, context, many), many)

    def sums(self, each: FloatArray | NDArray[np.bool_]) -> FloatArray:
        """Sums of columns over the decisions of each context: (.., n, J) becomes (.., X, J)."""
        if self.many == 1 and not self.place.any():
            return np.asarray(np.ones((1, each.shape[-2])) @ each)
        batch, slots = self.place.shape[:-1], self.many + 1
        trials = int(np.prod(batch))
        cell = (self.place.reshape(trials, -1) + slots * np.arange(trials)[:, np.newaxis]).reshape(-1)
        columns = [
            np.bincount(cell, np.asarray(each[..., j], dtype=np.float64).reshape(-1), trials * slots)
            for j in range(each.shape[-1])
        ]
        found: FloatArray = np.stack(columns, axis=-1).astype(np.float64).reshape(*batch, slots, len(columns))
        return found[..., : self.many, :]

    def spread(self, each: FloatArray) -> FloatArray:
        """What each context has, (.., X), for each of its decisions, (.., n); zero for those that do not count."""
        padded = np.concatenate([each, np.zeros((*each.shape[:-1], 1))], axis=-1)
        return np.take_along_axis(padded, self.place, axis=-1)

    def to_shares(self, weight: FloatArray) -> FloatArray:
        """Weights that add up, within each context, to the part of the decisions that it has.

        A context in which no decision has any weight is left out.
        """
        sums = self.sums(np.stack([weight, np.ones_like(weight)], axis=-1))
        total, many = sums[..., 0], np.where(sums[..., 0] > 0, sums[..., 1], 0.0)
        times = many / np.where(total > 0, total, 1.0) / np.maximum(many.sum(axis=-1, keepdims=True), 1.0)
        return np.asarray(weight * self.spread(times))
