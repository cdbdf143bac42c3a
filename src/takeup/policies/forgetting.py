"""Forgetting: any policy that works from evidence, in a world that changes."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Likelihood
from takeup.epochs import Epochs
from takeup.errors import InputError
from takeup.evidence import Event, Index
from takeup.policies.allocation import Allocation
from takeup.policies.base import Carded, FromEvidence
from takeup.policies.beliefs import Beliefs
from takeup.policies.card import Card, Compliance, Variant, Whole
from takeup.policies.conjugate import TS
from takeup.policies.protocol import Protocol
from takeup.policies.refitting import Refitting
from takeup.prior import Prior
from takeup.randomness import Random
from takeup.space import Space

KEPT = 8
"""How many half-lives are kept apart; what is older has a weight below 1/256 and counts nothing."""


MOST_EPOCHS = 10_000
"""How many epochs may be kept apart."""

MOST_COUNTS = 500_000
"""How many counts all epochs may have together; a live decision reads them."""

_BASE = TS()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forgetting(Carded):
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

    card: ClassVar[Card] = Card(
        name="Forgetting",
        family="Thompson sampling",
        source="takeup",
        compliance="not used",
        outcomes="all",
        variants=(Variant("Thompson sampling to which old decisions count less, for a world that changes."),),
        parameters={"half_life": Whole(1, 10**9), "epoch": Whole(1, 10**9)},
        kernels=("takeup.simulation.kernels.forgetting",),
    )
    base: FromEvidence | Protocol = _BASE
    half_life: int = 1_000
    epoch: int = 200

    def __post_init__(self) -> None:
        Carded.__post_init__(self)
        allowed = "a policy that works from the evidence alone, as TS does"
        works = isinstance(self.base, Carded) and (self.base.live or isinstance(self.base, FromEvidence))
        if not works or isinstance(self.base, Refitting):
            raise InputError("base", getattr(self.base, "name", repr(self.base)), allowed)
        if not self.base.fractional:
            raise InputError("base", self.base.name, f"{allowed}, and from decisions that count less than one")
        if KEPT * self.half_life > MOST_EPOCHS * self.epoch:
            least = math.ceil(KEPT * self.half_life / MOST_EPOCHS)
            raise InputError("epoch", self.epoch, f"at least {least} for a half-life of {self.half_life}")

    @property
    def compliance(self) -> Compliance:
        """What the base makes of it."""
        return self.base.compliance

    @property
    def ignorable(self) -> bool:
        """Whether the base takes it so."""
        return self.base.ignorable

    @property
    def borrows(self) -> bool:
        """Whether the base does."""
        return self.base.borrows

    @property
    def covariates(self) -> bool:
        """Whether the base learns from covariates."""
        return self.base.covariates

    @property
    def live(self) -> bool:
        """As the base may: a live trial keeps the evidence by epoch."""
        return self.base.live

    @property
    def fractional(self) -> bool:
        """It weighs decisions itself."""
        return False

    @property
    def likelihood(self) -> Likelihood | None:
        """That of the base, where it has one."""
        return getattr(self.base, "likelihood", None)

    def informed(self, prior: Prior) -> Self:
        """The base with what a pilot taught; that is not forgotten."""
        return replace(self, base=self.base.informed(prior))

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
        """No evidence yet; an error where the base cannot work in this space, or so many epochs of it are too much."""
        self.suits(space)
        self.base.start(space)
        cells, fits = math.prod(space.table), max(MOST_COUNTS // math.prod(space.table) - 2, 1)
        if math.ceil(KEPT * self.half_life / self.epoch) > fits:
            least, table = math.ceil(KEPT * self.half_life / fits), f"a table of {cells} cells for each epoch"
            raise InputError("epoch", self.epoch, f"at least {least} for a half-life of {self.half_life} and {table}")
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

    def beliefs(self, state: Epochs, context: Index, rng: Random) -> Beliefs:
        """What the base believes, given the evidence that is left."""
        return self.base.beliefs(state.weighted(self.weights), context, rng)

    def allocation(self, state: Epochs, context: int, rng: np.random.Generator, draws: int = 10_000) -> Allocation:
        """The probability of each proposal, given the evidence that is left."""
        return self.beliefs(state, context, rng).allocation(rng, draws)
