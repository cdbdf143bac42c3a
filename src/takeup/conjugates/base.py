"""What a conjugate block can do, whatever the outcome is."""

from abc import ABC, abstractmethod
from typing import Self

from takeup.checks import FloatArray
from takeup.conjugates.quadrature import Variables
from takeup.evidence import Index
from takeup.families import Family
from takeup.outcomes.base import Statistic
from takeup.randomness import Random


class Conjugate(ABC):
    """Independent beliefs about the outcomes of each action in each context; leading axes are beliefs side by side.

    What it holds has the axes (.., X, K), and more behind them where the outcome has levels.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """(.., X, K)."""

    @abstractmethod
    def at(self, context: Index) -> Self:
        """The block of one context, which may be another one in each replication; its axis keeps length one."""

    @abstractmethod
    def apart(self, groups: int) -> Self:
        """The same block for each of several groups: the axes (.., X, K) become (.., X, groups, K)."""

    @abstractmethod
    def plus(self, statistic: Statistic) -> Self:
        """What these outcomes make of it; the axes are (.., X, K, W)."""

    @abstractmethod
    def sample(self, rng: Random, repeat: tuple[int, ...] = ()) -> Family:
        """A draw of the distribution of the outcome; `repeat` is the shape of new first axes."""

    @abstractmethod
    def mean(self) -> Family:
        """The distribution of the outcome at the means of what is believed."""

    @abstractmethod
    def sample_rewards(self, rng: Random, repeat: tuple[int, ...] = ()) -> FloatArray:
        """Draws of what an outcome is worth on average; shape (.., X, K)."""

    @abstractmethod
    def log_evidence(self, statistic: Statistic) -> FloatArray:
        """Log p(outcomes), where this is the prior, up to what depends on the outcomes alone; shape (.., X, K)."""

    def variables(self) -> Variables | None:
        """What the actions of a single context are worth, for quadrature; None where there is none."""
        return None

    def largest(self) -> FloatArray | None:
        """The probability that each action of a single context is worth the most; None where there is no quadrature."""
        found = self.variables()
        return None if found is None else found.largest()
