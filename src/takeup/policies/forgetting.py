"""Forgetting: any policy that works from evidence, in a world that changes."""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.epochs import Epochs
from takeup.errors import InputError
from takeup.evidence import Event, Evidence, Index
from takeup.policies.allocation import Allocation
from takeup.policies.base import Policy
from takeup.policies.conjugate import TS
from takeup.randomness import Random
from takeup.space import Space

KEPT = 8
"""How many half-lives are kept apart; what is older has a weight below 1/256 and counts nothing."""


class Evidential(Policy[Evidence], Protocol):
    """A policy that works from the evidence alone."""

    def allocation(self, evidence: Evidence, context: int, rng: np.random.Generator, draws: int = ...) -> Allocation:
        """The probability of each proposal."""


_BASE = TS()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forgetting:
    """A policy to which old decisions count less: half as much for each half-life since.

    Where compliance or outcomes drift, evidence from before misleads. The evidence is kept by epoch, in whole numbers;
    when the base policy is asked, a decision that is e epochs old counts 2^(-e epoch / half_life). Late reports still
    find their decision. The price is paid where nothing changes: the base then rests on about half_life / ln 2
    decisions for ever, explores for ever, and its regret grows in proportion to T.

    Attributes:
        base: a policy that works from the evidence alone: TS, TSCheck, TSObs, TSLat, TSRobust.
        half_life: after how many decisions one counts half.
        epoch: how many decisions are forgotten together.
    """

    base: Evidential = _BASE
    half_life: int = 1_000
    epoch: int = 200
    live: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.base.live:
            raise InputError("base", self.base.name, "a policy that works from the evidence alone, as TS does")
        checks.whole("half_life", self.half_life, least=1)
        checks.whole("epoch", self.epoch, least=1)

    @property
    def name(self) -> str:
        """The base's name and the half-life."""
        return f"{self.base.name} half-life {self.half_life}"

    @property
    def weights(self) -> FloatArray:
        """What a decision of each epoch counts, the newest first; the last stands for all that are older."""
        kept = math.ceil(KEPT * self.half_life / self.epoch) + 1
        return np.append(0.5 ** (np.arange(kept) * self.epoch / self.half_life), 0.0)

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Epochs:
        """No evidence yet; an error where the base cannot work in this space."""
        self.base.start(space)
        return Epochs.empty(space, self.weights.size, self.epoch, batch)

    def propose(self, state: Epochs, context: Index, rng: Random) -> IntArray:
        """What the base proposes, given the evidence that is left."""
        return self.base.propose(state.weighted(self.weights), context, rng)

    def learn(self, state: Epochs, event: Event, rng: Random) -> Epochs:
        """The evidence with one more decision."""
        return state.record(event)

    def report(self, state: Epochs, before: Event, after: Event, rng: Random) -> Epochs:
        """The evidence with a decision moved within its epoch."""
        return state.move(before, after)

    def allocation(self, state: Epochs, context: int, rng: np.random.Generator, draws: int = 10_000) -> Allocation:
        """The probability of each proposal by the base, given the evidence that is left."""
        return self.base.allocation(state.weighted(self.weights), context, rng, draws)
