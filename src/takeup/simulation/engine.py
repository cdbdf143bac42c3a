"""What an engine is: it runs one policy in some environments and hands back arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.environment import Environment
from takeup.policies import Policy
from takeup.simulation.reporting import Reporting
from takeup.space import Space

Progress: TypeAlias = Callable[[int], object]
"""Called with the number of decisions made since the last call."""


def silent(decisions: int) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One policy in some environments of one shape.

    Attributes:
        environments: the truths.
        policy: what proposes.
        horizon: T.
        seed: the seed.
        reporting: how much the policy sees, and when.
        steps: when to record the regret, as numbers of decisions made so far, rising.
        full: whether to keep every decision.
    """

    environments: Sequence[Environment]
    policy: Policy[Any]
    horizon: int
    seed: int
    reporting: Reporting
    steps: IntArray
    full: bool


class Part(NamedTuple):
    """What an engine hands back for some replications of a job.

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
    """Runs these replications of a job; the result does not depend on how the replications are split."""

    def __call__(self, job: Job, replications: range, progress: Progress = silent) -> Part:
        """Run them."""


def packed_type(space: Space) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest type that holds a packed decision."""
    return np.min_scalar_type(int(np.prod(space.shape)) - 1)
