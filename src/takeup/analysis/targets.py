"""What is asked about each decision: a function of what was implemented and what came of it, with a range known before.

The mean of a target over everybody, had all been offered one proposal, is what `takeup.analysis.scores` estimates: of
the outcome itself by intention to treat, of "took it" the take-up, of cells (a, y) what bounds rest on.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from takeup.checks import FloatArray, IntArray
from takeup.errors import UnsuitableError
from takeup.log import Log
from takeup.outcomes import Count, Time
from takeup.space import UNSEEN, Space


@dataclass(frozen=True, slots=True)
class Target:
    """A function of (a, y).

    Attributes:
        name: what it is called.
        values: of each decision, (.., n); NaN where what it needs was not seen.
        low: the least that it may be.
        high: the most.
        two_valued: whether it is always one of these. Others have a range that may be far from what is met, so that
            nothing is expected of them before the first is known.
    """

    name: str
    values: Callable[[Log], FloatArray]
    low: float = 0.0
    high: float = 1.0
    two_valued: bool = True

    @property
    def middle(self) -> float:
        """Halfway."""
        return (self.low + self.high) / 2

    @property
    def start(self) -> float | None:
        """What is expected before anything is known: halfway, or nothing."""
        return self.middle if self.two_valued else None


def outcome(space: Space) -> Target:
    """What came of it, in the outcome's own units: for levels what each is worth."""
    if not space.outcome.valued:
        raise UnsuitableError(f"a {space.outcome.kind} that may be censored has no value of its own")
    shown = space.outcome.shown
    values = shown.sign * space.reward
    low, high = float(values.min()), float(values.max())
    return Target(shown.what, lambda log: _known(values[log.outcome], log.outcome), low, high, values.size == 2)


def events(space: Space) -> Target:
    """How many events there were: of a time one, or none where it is censored."""
    outcome = _counted(space)
    most = float(outcome.most) if isinstance(outcome, Count) else 1.0
    return Target("events", lambda log: _known(_sums(log)[..., 0], log.outcome), 0.0, most, most == 1)


def exposure(space: Space) -> Target:
    """Over how long events were counted, in its own unit: of a time how long it was watched."""
    outcome = _counted(space)
    return Target(
        "exposure", lambda log: _known(_sums(log)[..., 1] * outcome.step, log.outcome), 0.0, outcome.longest, False
    )


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
        of.two_valued and 0.0 in (of.low, of.high),
    )


def _counted(space: Space) -> Count | Time:
    if not isinstance(space.outcome, Count | Time):
        raise UnsuitableError(f"the outcome is a {space.outcome.kind}; a rate is of a count, or of a time to an event")
    return space.outcome


def _sums(log: Log) -> IntArray:
    """Events and steps of exposure of each decision, along a new last axis."""
    return _counted(log.space).parts_of(np.maximum(log.outcome, 0))[1]


def _known(values: ArrayLike, code: object) -> FloatArray:
    return np.where(np.asarray(code) == UNSEEN, np.nan, values)
