"""Outcomes without levels: counted in bins, and worth something by their code."""

from abc import abstractmethod
from functools import lru_cache

from takeup.checks import FloatArray
from takeup.outcomes.base import Outcome
from takeup.outcomes.grid import Bins


class Binned(Outcome):
    """An outcome whose statistic counts bins.

    What takes a while to compute is computed once; how, the kinds say in `_bins` and `_worths`.
    """

    __slots__ = ()

    @property
    def cells(self) -> int:
        """One for each bin."""
        return self.binned.size

    @property
    def binned(self) -> Bins:
        """The bins."""
        return _binned(self)

    @property
    def worths(self) -> FloatArray:
        """What each outcome is worth, by its code."""
        return _valued(self)

    @abstractmethod
    def _bins(self) -> Bins:
        """The bins."""

    @abstractmethod
    def _worths(self) -> FloatArray:
        """What each outcome is worth, by its code."""


@lru_cache(maxsize=256)
def _binned(outcome: Binned) -> Bins:
    return outcome._bins()


@lru_cache(maxsize=3)  # they may be large, and specs may come from afar
def _valued(outcome: Binned) -> FloatArray:
    worths = outcome._worths()
    worths.setflags(write=False)
    return worths
