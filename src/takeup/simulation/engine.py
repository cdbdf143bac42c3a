"""What an engine is: it runs one policy in some environments and hands back arrays."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.policies import Policy
from takeup.policies.base import Met
from takeup.randomness import Streams
from takeup.simulation.setup import Setup
from takeup.space import Space

Form: TypeAlias = Literal["auto", "plain", "lanes"]
"""How the CPU runs a kernel: in SIMD lanes where there is such a form, or one replication after the other."""

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


class Choice(NamedTuple):
    """What runs a policy.

    Attributes:
        engine: its name.
        form: of the CPU's kernel, where the engine is the CPU; lanes or plain.
        seconds: about how long the work takes; None where that was not measured.
    """

    engine: str
    form: Form = "auto"
    seconds: float | None = None


class Engine(Protocol):
    """Runs replications of one policy of a setup in all its environments; how they are split changes nothing."""

    def __call__(self, setup: Setup, policy: Policy[Any], replications: range, progress: Progress = silent) -> Part:
        """Run them."""


def proposed(policy: Policy[Any], state: Any, unit: Met, rng: Streams, batch: tuple[int, ...], many: int) -> IntArray:
    """What a policy proposes, checked: it may be anybody's."""
    if state is None:
        raise InputError(policy.name, "no state", "that start, learn and report return the state")
    z = np.asarray(policy.propose(state, unit, rng))
    if z.shape != batch or z.dtype.kind not in "iu":
        allowed = f"whole numbers in the shape of the context, {batch}"
        raise InputError(f"{policy.name}.propose", f"{z.dtype} of shape {z.shape}", allowed)
    if z.min() < 0 or z.max() >= many:
        raise InputError(f"{policy.name}.propose", f"{z.min()} to {z.max()}", f"indices from 0 to {many - 1}")
    return z


def packed_type(space: Space) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest type that holds a packed decision."""
    return np.min_scalar_type(int(np.prod(space.shape)) - 1)
