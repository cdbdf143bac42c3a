"""The layouts of a policy's numbers, on the host's side."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from takeup.policies import TS, TSCheck
from takeup.simulation.kernels.machine import UNSEEN
from takeup.space import Space

Scalar = TypeVar("Scalar", bound=np.generic)

BLOCKS = 3
"""How many reals a slot may take: d, c and the boost of shapes below one (see `small`)."""


def even(width: int) -> int:
    """The next even number."""
    return width + width % 2


def padded_rows(block: NDArray[Scalar]) -> NDArray[Scalar]:
    """The block with its last axis padded with zeros to an even width."""
    return np.pad(block, [(0, 0)] * (block.ndim - 1) + [(0, even(block.shape[-1]) - block.shape[-1])])


def weights(space: Space) -> NDArray[np.float32]:
    """w_y in [0, 1], the utilities rescaled, and 1 - w_y, each padded to an even width."""
    utility = space.reward
    gain = (utility - utility.min()) / (utility.max() - utility.min())
    return np.concatenate([padded_rows(gain), padded_rows(1 - gain)]).astype(np.float32)


def is_success(space: Space) -> bool:
    """Whether there are two outcomes, of which the second is worth more: a success."""
    return len(space.reward) == 2 and bool(space.reward[0] < space.reward[1])


def intended(policy: TS, space: Space) -> NDArray[np.int32]:
    """The action that complying with each proposal means to TS-Check; UNSEEN, for any, to TS."""
    if isinstance(policy, TSCheck):
        return np.array(space.complying(policy.name), dtype=np.int32)
    return np.full(len(space.proposals), UNSEEN, dtype=np.int32)


def has_small_shapes(parameters: Any) -> bool:
    """Whether gammas of shapes below one will be drawn from these parameters, of which padding is 0."""
    prior = getattr(parameters, "prior", None)
    return prior is not None and bool(prior[prior > 0].min() < 1)
