"""What stands for the policy of a stored spec that this version refuses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup.epochs import Epochs
from takeup.evidence import Evidence, Index
from takeup.policies.base import FromEvidence
from takeup.policies.beliefs import Beliefs, Exact
from takeup.policies.card import Card, Compliance
from takeup.randomness import Random
from takeup.space import Space


@dataclass(frozen=True, slots=True, eq=False)
class RefusedPolicy(FromEvidence):
    """A policy with parameters that an older version allowed: its trial can be read, and makes no more decisions.

    Attributes:
        of: the card of its kind.
        description: as it was stored.
        why: what is wrong with it.
    """

    of: Card
    description: Mapping[str, Any]
    why: str

    def __post_init__(self) -> None:
        """Its parameters are not checked again: it is known that they are refused."""

    @property
    def name(self) -> str:
        """What people call it."""
        return self.of.name

    @property
    def compliance(self) -> Compliance:
        """What it makes of compliance."""
        return self.of.compliance

    @property
    def ignorable(self) -> bool:
        """Whether it takes those who comply to be like those who do not."""
        return self.of.ignorable

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Any:
        """No evidence yet, kept by epoch where it was; nobody asks whether the policy suits the space."""
        epoch = self.description.get("epoch")
        return Evidence.empty(space, batch) if epoch is None else Epochs.empty(space, 2, epoch, batch)

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """None: no proposal is better than another, and there is no model to show."""
        proposals = len(evidence.space.proposals)
        return Exact(np.full(proposals, 1 / proposals))
