"""Outcomes that are one of a few levels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError, LabelError
from takeup.outcomes.base import Outcome, Shown, Statistic

FEW = 100
"""Up to so many levels all that there is to add is kept, which grows with their square."""


@dataclass(frozen=True, slots=True)
class Levels(Outcome):
    """A few levels, each with a reward: failure and success, or a scale.

    Attributes:
        names: of the levels.
        utility: the reward of each; (0, 1) where left out and there are two.
    """

    kind: ClassVar[str] = "level"
    names: tuple[str, ...]
    utility: tuple[float, ...] = None  # type: ignore[assignment]  # replaced below, never None outside

    def __post_init__(self) -> None:
        object.__setattr__(self, "utility", _utility(self.utility, len(self.names)))

    @property
    def size(self) -> int:
        """Y, the number of levels."""
        return len(self.names)

    @property
    def cells(self) -> int:
        """One for each level."""
        return len(self.names)

    @property
    def sums(self) -> tuple[str, ...]:
        """Counts say it all."""
        return ()

    def code(self, given: object) -> int:
        """The index of a name; an index is returned as it is, if there is such a one."""
        names = self.names
        if isinstance(given, str) and given in names:
            return names.index(given)
        if isinstance(given, int | np.integer) and not isinstance(given, bool) and 0 <= given < len(names):
            return int(given)
        raise LabelError(
            "outcome", checks.shown(given), f"one of {', '.join(names)}, or an index from 0 to {len(names) - 1}"
        )

    def plain(self, code: int) -> str:
        """The name."""
        return self.names[code]

    @property
    def sentence(self) -> str:
        """The levels."""
        return f"one of {', '.join(self.names)}"

    @property
    def good(self) -> str | None:
        """The good one of two levels, worth 1 where the other is worth 0; None where there is no such."""
        return self.names[self.utility.index(1.0)] if sorted(self.utility) == [0.0, 1.0] else None

    @property
    def shown(self) -> Shown:
        """The share of the good one of two levels, or a mean of what they are worth."""
        if self.good is not None:
            return Shown(f"share whose outcome is {self.good}", share=True)
        return Shown("mean outcome" if self._named_by_worth else "mean worth of outcomes")

    @property
    def _named_by_worth(self) -> bool:
        """Whether levels are called what they are worth, as on a scale from 0 to 10."""
        try:
            return tuple(float(name) for name in self.names) == self.utility
        except ValueError:
            return False

    @property
    def worths(self) -> FloatArray:
        """The utility."""
        return np.array(self.utility)

    @property
    def examples(self) -> IntArray:
        """The levels."""
        return np.arange(self.size)

    def parts_of(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """The level's own cell."""
        return codes, np.zeros((*codes.shape, 0), dtype=np.int64)

    def amounts(self, codes: ArrayLike) -> IntArray:
        """One for the level, or for the slot of those that are UNSEEN, which is the last."""
        if self.size > FEW:
            return Outcome.amounts(self, codes)
        return np.asarray(_one_each(self.size + 1)[np.asarray(codes)])

    def earned(self, statistic: Statistic) -> FloatArray:
        """Σ_y n_y utility_y."""
        return np.asarray(statistic @ self.worths)

    def gained(self, statistic: Statistic) -> FloatArray:
        """Σ_y n_y utility_y, with the utilities rescaled to [0, 1]."""
        return np.asarray(statistic @ self.gains())


@cache
def _one_each(size: int) -> IntArray:
    return np.eye(size, dtype=np.int64)


def _utility(given: Sequence[float] | None, levels: int) -> tuple[float, ...]:
    if given is None:
        if levels != 2:
            raise InputError(
                "utility",
                "none",
                f"the reward of each of the {levels} outcome levels",
                "only two levels have a default, (0, 1)",
            )
        return (0.0, 1.0)
    utility = checks.real("utility", given)
    checks.shaped("utility", utility, (levels,), "outcome")
    if utility.ndim != 1 or utility.max() == utility.min():
        raise InputError(
            "utility",
            repr(given),
            "at least two different rewards",
            "else no proposal can be better",
        )
    return tuple(float(u) for u in utility)
