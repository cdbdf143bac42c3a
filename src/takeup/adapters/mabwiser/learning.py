"""MABWiser's names of learning policies, and what each is in takeup."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from takeup import checks
from takeup.adapters.mabwiser.lines import Linear
from takeup.adapters.mabwiser.shares import Exponential, Popular
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.policies import TS, UCB1, EpsilonGreedy, Uniform
from takeup.policies.arms import Credit
from takeup.policies.base import Policy
from takeup.policies.registry import kinds

Binarizer = Callable[[Any, float], Any]
"""Whether a reward of a decision is a success: 0 or 1, or False or True."""


class Rule(ABC):
    """A learning policy by MABWiser's name."""

    binary: ClassVar[bool] = False
    """Whether rewards have to be 0 and 1."""

    @abstractmethod
    def policy(self, span: float) -> Policy[Any]:
        """What it is in takeup, for rewards that differ by so much at most."""


class _Names(type):
    """A namespace that has every policy of takeup too, by its name."""

    def __getattr__(cls, name: str) -> Any:
        known = kinds()
        if name in known:
            return known[name]
        raise AttributeError(f"LearningPolicy has no {name!r}")


class LearningPolicy(metaclass=_Names):
    """What decides. MABWiser's names, and every policy of takeup by its own: `LearningPolicy.TSObs()`."""

    @dataclass(frozen=True)
    class EpsilonGreedy(Rule):
        """The arm of the highest mean reward, and with probability `epsilon` any. It is `takeup.EpsilonGreedy`."""

        epsilon: float = 0.1

        def policy(self, span: float) -> Policy[Any]:
            """The policy for rewards that differ by so much at most."""
            return EpsilonGreedy(epsilon=self.epsilon)

    @dataclass(frozen=True)
    class UCB1(Rule):
        """The arm of the highest mean + alpha sqrt(2 log N / n). It is `takeup.UCB1`, for rewards as they are."""

        alpha: float = 1

        def policy(self, span: float) -> Policy[Any]:
            """The policy for rewards that differ by so much at most: takeup's own scales them to [0, 1]."""
            alpha = float(checks.real("alpha", self.alpha))
            if alpha <= 0:
                raise InputError("alpha", self.alpha, "a number above 0")
            return UCB1(exploration=2 * (alpha / span) ** 2)

    @dataclass(frozen=True)
    class ThompsonSampling(Rule):
        """The arm that is best in a draw from Beta distributions; rewards are 0 and 1. It is `takeup.TS`.

        `binarizer(decision, reward)` makes 0 or 1 of other rewards.
        """

        binarizer: Binarizer | None = None
        binary: ClassVar[bool] = True

        def policy(self, span: float) -> Policy[Any]:
            """The policy, whatever the rewards."""
            return TS()

    @dataclass(frozen=True)
    class Random(Rule):
        """Every arm alike. It is `takeup.Uniform`."""

        def policy(self, span: float) -> Policy[Any]:
            """The policy, whatever the rewards."""
            return Uniform()

    @dataclass(frozen=True)
    class Softmax(Rule):
        """Arms by a Dirichlet draw around shares in proportion to exp(mean reward / tau), as in MABWiser."""

        tau: float = 1

        def policy(self, span: float) -> Policy[Any]:
            """The policy, whatever the rewards."""
            tau = float(checks.real("tau", self.tau))
            if tau <= 0:
                raise InputError("tau", self.tau, "a number above 0")
            return Exponential(temperature=tau)

    @dataclass(frozen=True)
    class Popularity(Rule):
        """Arms by a Dirichlet draw around shares in proportion to mean rewards, none negative, as in MABWiser."""

        def policy(self, span: float) -> Policy[Any]:
            """The policy, whatever the rewards."""
            return Popular()

    @dataclass(frozen=True)
    class LinGreedy(Linear):
        """The arm of the highest mean v'm of a ridge regression, and with probability `epsilon` any."""

        epsilon: float = 0.1
        l2_lambda: float = 1.0
        scale: bool = False
        credit: Credit = field(default="chosen", kw_only=True)

        def __post_init__(self) -> None:
            super().__post_init__()
            if not 0 <= checks.real("epsilon", self.epsilon) <= 1:
                raise InputError("epsilon", self.epsilon, "a number between 0 and 1")

        def values(self, mean: FloatArray, width: FloatArray, rng: np.random.Generator) -> FloatArray:
            """The means."""
            return mean

        def explore(self, best: IntArray, arms: int, rng: np.random.Generator) -> IntArray:
            """Any arm with probability `epsilon`."""
            return np.where(rng.random(len(best)) < self.epsilon, rng.integers(arms, size=len(best)), best)

    @dataclass(frozen=True)
    class LinTS(Linear):
        """The arm that is best in a draw of coefficients around a ridge regression, with covariance alpha^2 B^-1."""

        alpha: float = 1.0
        l2_lambda: float = 1.0
        scale: bool = False
        credit: Credit = field(default="chosen", kw_only=True)
        least: ClassVar[str] = "above 0"

        def __post_init__(self) -> None:
            super().__post_init__()
            if checks.real("alpha", self.alpha) <= 0:
                raise InputError("alpha", self.alpha, "a number above 0")

        @property
        def spread(self) -> float:
            """What takes the place of the noise."""
            return self.alpha

        def values(self, mean: FloatArray, width: FloatArray, rng: np.random.Generator) -> FloatArray:
            """A draw of each: that of coefficients, at a context, is normal."""
            return mean + self.alpha * width * rng.standard_normal(mean.shape)

    @dataclass(frozen=True)
    class LinUCB(Linear):
        """The arm of the highest bound v'm + alpha sqrt(v' B^-1 v) of a ridge regression."""

        alpha: float = 1.0
        l2_lambda: float = 1.0
        scale: bool = False
        credit: Credit = field(default="chosen", kw_only=True)

        def __post_init__(self) -> None:
            super().__post_init__()
            if checks.real("alpha", self.alpha) < 0:
                raise InputError("alpha", self.alpha, "a number, 0 or more")

        def values(self, mean: FloatArray, width: FloatArray, rng: np.random.Generator) -> FloatArray:
            """The bounds."""
            return mean + self.alpha * width
