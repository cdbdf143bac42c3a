"""EXP3: weights that need no assumption about where rewards come from."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.evidence import Event, Index
from takeup.policies.arms import BANDITS, Bandit, Tally, gain, here, one_hot
from takeup.policies.beliefs import Beliefs, Exact
from takeup.policies.card import Card, Real, Variant
from takeup.randomness import Random
from takeup.space import UNSEEN, Space

LEAST = 1e-9
"""No reward is divided by a probability below this: without mixing they would fall to zero."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EXP3(Bandit):
    """Exponential weights for exploration and exploitation: Auer, Cesa-Bianchi, Freund & Schapire (2002).

    An arm is played with probability p = (1 - γ) w / Σ w + γ / K, and a reward r, rescaled to [0, 1], multiplies its
    weight by exp(η r / p). Its guarantee holds against any sequence of rewards, an adversary's too, and is paid for
    where they are as random as they usually are. The weights depend on the order of the rewards, so it runs in
    simulations alone; an outcome that comes late is divided by the probability of the day that it comes.

    Attributes:
        mixing: γ, the share of proposals that are made at random.
        rate: η; γ / K where left out.
    """

    card: ClassVar[Card] = Card(
        name="EXP3",
        outcomes="valued",
        family="bandits",
        source="Auer, Cesa-Bianchi, Freund & Schapire (2002)",
        compliance="not used",
        variants=(Variant("Exponential weights, which need no assumption about where rewards come from."),),
        parameters={"mixing": Real(least=0, most=1), "rate": Real(above=0, optional=True)},
        kernels=BANDITS,
    )
    mixing: float = 0.1
    rate: float | None = None
    weighted: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Bandit.__post_init__(self)
        if self.rate is None and self.mixing == 0:
            raise InputError("rate", "none", "a number above 0 where mixing is 0", "else nothing would be learnt")

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Tally:
        """Equal weights."""
        self.suits(space)
        return Tally(self, "chosen", space, self.blank(space, batch))

    def propose(self, state: Tally, context: Index, rng: Random) -> IntArray:
        """An arm by its probability, every proposal being an arm."""
        return self.choose(state.table, state.space, context, rng)

    def learn(self, state: Tally, event: Event, rng: Random) -> Tally:
        """The weights after one more decision."""
        return state.record(event)

    def report(self, state: Tally, before: Event, after: Event, rng: Random) -> Tally:
        """The weights after more became known of a decision."""
        return state.move(before, after)

    def blank(self, space: Space, batch: tuple[int, ...] = ()) -> FloatArray:
        """Equal weights; their logarithms, of shape (.., X, K)."""
        return np.zeros((*batch, len(space.contexts), len(space.proposals)))

    def absorb(
        self, table: FloatArray, space: Space, context: Index, share: FloatArray, outcome: Index, weight: FloatArray
    ) -> FloatArray:
        """The log weight grows by η r / p."""
        reward = np.where(np.asarray(outcome) == UNSEEN, 0.0, gain(space)[outcome]) * weight
        step = self.step(share.shape[-1]) * share * reward[..., np.newaxis]
        step = step / np.maximum(self.probability(table, context), LEAST)
        return np.asarray(table + one_hot(context, table.shape[-2])[..., np.newaxis] * step[..., np.newaxis, :])

    def believe(self, table: FloatArray, space: Space, context: Index) -> Beliefs:
        """An arm by its probability."""
        return Exact(self.probability(table, context))

    def probability(self, table: FloatArray, context: Index) -> FloatArray:
        """P of each arm."""
        log = here(table, context, axes=2)
        weight = np.exp(log - log.max(axis=-1, keepdims=True))
        arms = weight.shape[-1]
        return np.asarray((1 - self.mixing) * weight / weight.sum(axis=-1, keepdims=True) + self.mixing / arms)

    def step(self, arms: int) -> float:
        """η."""
        return self.mixing / arms if self.rate is None else self.rate
