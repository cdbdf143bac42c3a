"""What every kind of outcome says about itself, so that evidence, stores and policies need not know which it is.

An outcome is one whole number, its *code*: the index of a level, or of a point of a grid. To the evidence a decision
adds a few whole numbers, its *statistic*: one in a cell that counts it, and sums of what a model needs, such as k and
k^2 of a number. Statistics add, in any order, and what is added can be taken back, to the bit.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from takeup.checks import FloatArray, IntArray
from takeup.errors import UnsuitableError

UNSEEN = -1
"""The slot of what has not been seen: compliance never reported, outcome still pending. It is the last one."""

Better: TypeAlias = Literal["higher", "lower"]
"""Which end of a scale is the good one."""

Plain: TypeAlias = str | int | float | dict[str, float | bool]
"""An outcome as JSON has it."""

Statistic: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
"""Sums of what decisions add, along the last axis, without the slot of those that are pending."""

MOST_CODES = 2_000_001
"""How many different outcomes a space may have."""


@dataclass(frozen=True, slots=True)
class Shown:
    """How people are shown what a proposal is worth: as a mean in the outcome's own units, wherever it is one.

    Attributes:
        what: what it is called.
        unit: what it is measured in; may be empty.
        sign: -1 where the worth is the negative of the mean, as lower is better.
        digits: how many decimals it has.
        share: whether it is a share, which is told in per cent.
    """

    what: str = "expected reward"
    unit: str = ""
    sign: float = 1.0
    digits: int = 2
    share: bool = False

    @property
    def title(self) -> str:
        """What it is called, with the unit."""
        return f"{self.what}, {self.unit}" if self.unit else self.what

    @property
    def summed_digits(self) -> int:
        """How many decimals sums of it have, such as regret: one fewer, but at least one."""
        return max(1, self.digits - 1)


class Outcome(ABC):
    """A kind of outcome.

    Attributes:
        kind: what a spec calls it.
    """

    __slots__ = ()
    kind: ClassVar[str]

    @property
    @abstractmethod
    def size(self) -> int:
        """How many different outcomes there are; codes are from 0 on."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many parts of the statistic count decisions; each decision counts in one of them."""

    @property
    @abstractmethod
    def sums(self) -> tuple[str, ...]:
        """What the other parts of the statistic are sums of."""

    @property
    def width(self) -> int:
        """How many parts the statistic has."""
        return self.cells + len(self.sums)

    @abstractmethod
    def code(self, given: object) -> int:
        """The code of an outcome as people or programs give it; an InputError that names it where it is none."""

    @abstractmethod
    def plain(self, code: int) -> Plain:
        """The outcome of a code, as JSON has it."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What it is and which end is good, for people, without a full stop."""

    def flat(self, code: int) -> str | int | float:
        """The outcome of a code, for a column of a table."""
        plain = self.plain(code)
        return self.text(code) if isinstance(plain, dict) else plain

    def text(self, code: int) -> str:
        """The outcome of a code, for people."""
        return str(self.plain(code))

    @property
    @abstractmethod
    def worths(self) -> FloatArray:
        """What each outcome is worth, by its code."""

    @property
    def shown(self) -> Shown:
        """How people are shown what a proposal is worth."""
        return Shown()

    @property
    @abstractmethod
    def examples(self) -> IntArray:
        """The code of an outcome for each cell."""

    @abstractmethod
    def parts_of(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """The cell that counts each of these outcomes, and what each adds to the sums, along a new last axis."""

    def amounts(self, codes: ArrayLike) -> IntArray:
        """What decisions with these outcomes add, along a new last axis; its last slot counts those that are UNSEEN."""
        given = np.asarray(codes)
        seen = given >= 0
        cell, sums = self.parts_of(np.where(seen, given, 0))
        added = np.zeros((*given.shape, self.width + 1), dtype=np.int64)
        added[..., self.cells : -1] = np.where(seen[..., np.newaxis], sums, 0)
        np.put_along_axis(added, np.where(seen, cell, self.width)[..., np.newaxis], 1, axis=-1)
        return added

    def parts(self, code: int) -> tuple[tuple[int, int], ...]:
        """What one decision adds: pairs (slot, amount), none of them zero; UNSEEN is the slot of the pending."""
        return _parts(self, code)

    def seen(self, statistic: Statistic) -> Statistic:
        """How many outcomes are in a statistic."""
        return np.asarray(statistic[..., : self.cells].sum(axis=-1))

    @property
    def valued(self) -> bool:
        """Whether every decision whose outcome is seen has a worth of its own, which a censored time has not."""
        return True

    def earned(self, statistic: Statistic) -> FloatArray:
        """The worth of all outcomes in a statistic together, where each has one."""
        raise UnsuitableError(f"the worth of a {self.kind} is known through a model alone")

    @property
    def lowest(self) -> float:
        """The least that an outcome may be worth."""
        return float(self.worths.min())

    @property
    def highest(self) -> float:
        """The most that an outcome may be worth."""
        return float(self.worths.max())

    def gained(self, statistic: Statistic) -> FloatArray:
        """The worth of all outcomes together, each rescaled to [0, 1]: what bandits for bounded rewards need."""
        whole = self.earned(statistic) - self.lowest * self.seen(statistic)
        return np.asarray(whole / (self.highest - self.lowest))

    @property
    def gain_line(self) -> tuple[float, float] | None:
        """(offset, unit), where an outcome's gain is offset + unit k, of the whole number k that `score` gives."""
        return None

    def score(self, codes: IntArray) -> IntArray:
        """K of each of these outcomes: what it is worth, in whole steps; see `gain_line`."""
        raise UnsuitableError(f"the worth of a {self.kind} is no whole number of steps")

    def gains(self) -> FloatArray:
        """What each outcome is worth, rescaled to [0, 1], by its code."""
        return np.asarray((self.worths - self.lowest) / (self.highest - self.lowest))


@lru_cache(maxsize=4_096)
def _parts(outcome: Outcome, code: int) -> tuple[tuple[int, int], ...]:
    amounts = outcome.amounts(code)
    return tuple(
        (int(slot) if slot < outcome.width else UNSEEN, int(amounts[slot])) for slot in np.flatnonzero(amounts)
    )
