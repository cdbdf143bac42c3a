"""What is asked about each decision: a function of what was implemented and what came of it, with a range known before.

The mean of a target over everybody, had all been offered one proposal, is what `takeup.analysis.scores` estimates: of
the outcome itself by intention to treat, of "took it" the take-up, of cells (a, y) what bounds rest on.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from takeup.checks import FloatArray
from takeup.errors import UnsuitableError
from takeup.log import Log
from takeup.space import UNSEEN, Space


@dataclass(frozen=True, slots=True)
class Target:
    """A function of (a, y).

    Attributes:
        name: what it is called.
        values: of each decision, (.., n); NaN where what it needs was not seen.
        low: the least that it may be.
        high: the most.
    """

    name: str
    values: Callable[[Log], FloatArray]
    low: float = 0.0
    high: float = 1.0

    @property
    def middle(self) -> float:
        """Halfway: what is expected before anything is known."""
        return (self.low + self.high) / 2


def outcome(space: Space) -> Target:
    """What came of it, in the outcome's own units: for levels what each is worth."""
    if not space.outcome.valued:
        raise UnsuitableError(f"a {space.outcome.kind} that may be censored has no value of its own")
    shown = space.outcome.shown
    values = shown.sign * space.reward
    return Target(shown.what, lambda log: _known(values[log.outcome], log.outcome), values.min(), values.max())


def level(space: Space, y: int) -> Target:
    """Whether this level came of it."""
    name = space.outcomes[y]
    return Target(name, lambda log: _known(log.outcome == y, log.outcome))


def took(space: Space, a: int) -> Target:
    """Whether this was implemented."""
    return Target(f"took {space.implemented[a]}", lambda log: _known(log.implemented == a, log.implemented))


def outcome_of_takers(space: Space, a: int) -> Target:
    """What came of those of whom this was implemented, and zero of the others."""
    return among(outcome(space), space, a)


def among(of: Target, space: Space, a: int) -> Target:
    """Any target of those of whom this was implemented, and zero of the others."""
    taken = took(space, a)
    return Target(
        f"{of.name} of those who took {space.implemented[a]}",
        lambda log: np.asarray(of.values(log) * taken.values(log)),
        min(of.low, 0.0),
        max(of.high, 0.0),
    )


def _known(values: FloatArray | np.ndarray[tuple[int, ...], np.dtype[np.bool_]], code: object) -> FloatArray:
    return np.where(np.asarray(code) == UNSEEN, np.nan, values)
