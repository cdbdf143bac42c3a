"""What an engine is: it runs one policy in some environments and hands back arrays."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.policies import Policy
from takeup.simulation.setup import Setup
from takeup.space import Space

Progress: TypeAlias = Callable[[int], object]
"""Called with the number of decisions made since the last call."""


def silent(decisions: int) -> None:
    """Progress that nobody watches."""


class Part(NamedTuple):
    """What an engine hands back for some replications of one policy.

    Attributes:
        regret: the cumulative regret at the steps; (environments, replications, S).
        pulls: how often each proposal was made in each context; (environments, replications, X, Kz).
        decisions: every (x, z, a, y), packed into its index in the table; (environments, replications, T), or T = 0
            where they were not kept.
    """

    regret: FloatArray
    pulls: IntArray
    decisions: NDArray[np.unsignedinteger[Any]]


class Engine(Protocol):
    """Runs replications of one policy of a setup in all its environments; how they are split changes nothing."""

    def __call__(self, setup: Setup, policy: Policy[Any], replications: range, progress: Progress = silent) -> Part:
        """Run them."""


def packed_type(space: Space) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest type that holds a packed decision."""
    return np.min_scalar_type(int(np.prod(space.shape)) - 1)
