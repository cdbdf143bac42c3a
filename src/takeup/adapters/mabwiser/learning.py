"""MABWiser's names of learning policies, and what each is in takeup."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from takeup import checks
from takeup.adapters.mabwiser.shares import Exponential, Popular
from takeup.errors import InputError, UnsuitableError
from takeup.policies import TS, UCB1, EpsilonGreedy, Uniform
from takeup.policies.base import Policy
from takeup.policies.registry import kinds

Binarizer = Callable[[Any, float], Any]
"""Whether a reward of a decision is a success: 0 or 1, or False or True."""

_LINEAR = "takeup has no linear models yet; its contexts are groups, such as age bands, each with a bandit of its own"
ABSENT = {
    "LinGreedy": _LINEAR,
    "LinTS": _LINEAR,
    "LinUCB": _LINEAR,
}
"""The learning policies of MABWiser that takeup has none for, and what there is instead."""


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
        if name in ABSENT:
            raise UnsuitableError(f"{name}: {ABSENT[name]}")
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
