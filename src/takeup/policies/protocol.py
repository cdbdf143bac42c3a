"""Bandits under a protocol: which arm gets the reward when people do not comply."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from takeup.checks import IntArray
from takeup.errors import InputError, UnsuitableError
from takeup.evidence import Event, Evidence, Index
from takeup.policies.allocation import Allocation
from takeup.policies.arms import BANDITS, CREDITS, Bandit, Credit, Rows, Tally, credited
from takeup.policies.base import Carded
from takeup.policies.beliefs import Beliefs
from takeup.policies.card import Card, Compliance, OneOf, Variant
from takeup.policies.conjugate import TS
from takeup.policies.exp3 import EXP3
from takeup.policies.indices import KLUCB, UCB1, BayesUCB, EpsilonGreedy
from takeup.policies.toptwo import TopTwo
from takeup.prior import Prior
from takeup.randomness import Random
from takeup.space import Space

PENNA = "Della Penna, Reid & Balduzzi (2016)"

BASES: tuple[type[Bandit], ...] = (TS, UCB1, KLUCB, BayesUCB, EpsilonGreedy, TopTwo, EXP3)
"""The bandits that a protocol can be put around."""


_BASE = TS()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Protocol(Carded):
    """A bandit whose rewards go to the arm that a protocol names: Della Penna, Reid & Balduzzi (2016).

    "chosen" credits the proposal, and keeps whatever guarantee the bandit has. "actual" credits the arm that was
    implemented, and learns faster where those who comply are like those who do not; where they differ its regret can
    grow without limit. "comply" leaves out those who did not comply; it can be wrong for ever, too. With TS as the
    base, "chosen" is TS and "comply" is TS-Check. Decisions whose compliance is unseen are left out by the latter two.

    Attributes:
        base: TS, UCB1, KLUCB, BayesUCB, EpsilonGreedy, TopTwo or EXP3.
        credit: "chosen", "actual" or "comply".
    """

    card: ClassVar[Card] = Card(
        name="Protocol",
        family="protocols",
        source=PENNA,
        compliance="needed",
        ignorable=True,
        variants=(
            Variant("Thompson sampling that credits what was done. Misled where those who refuse are other people."),
            Variant("EXP3 on those who complied.", {"base": {"kind": "EXP3"}, "credit": "comply"}),
        ),
        parameters={"credit": OneOf(CREDITS)},
        kernels=BANDITS,
    )
    base: Bandit = _BASE
    credit: Credit = "actual"

    def __post_init__(self) -> None:
        Carded.__post_init__(self)
        checked_base(self.base)

    @property
    def name(self) -> str:
        """The base's name and the credit."""
        return f"{self.base.name} {self.credit}"

    @property
    def compliance(self) -> Compliance:
        """Needed, unless it credits the proposal."""
        return "not used" if self.credit == "chosen" else "needed"

    @property
    def ignorable(self) -> bool:
        """So it takes it, unless it credits the proposal."""
        return self.credit != "chosen"

    @property
    def live(self) -> bool:
        """Whether the base works from the evidence alone."""
        return self.base.live

    def informed(self, prior: Prior) -> Self:
        """With TS or TopTwo as the base, whose prior gets the pilot's outcomes by the arm that gets the credit."""
        if not isinstance(self.base, TS):
            return Carded.informed(self, prior)
        credit = prior.discount * credited(prior.evidence, self.credit)
        return replace(self, base=replace(self.base, alpha=self.base.prior(prior.space).outcome + credit))

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence | Tally:
        """No evidence yet; refuses a space that does not say what complying means, where that is needed."""
        self.suits(space)
        if self.credit != "chosen":
            space.complying(self.name)
        state: Evidence | Tally = self.base.start(space, batch)
        return state if isinstance(state, Evidence) else Tally(self.base, self.credit, space, state.table)

    def propose(self, state: Evidence | Tally, context: Index, rng: Random) -> IntArray:
        """What the base proposes, given the rewards that were credited to each arm."""
        table = credited(state, self.credit) if isinstance(state, Evidence) else state.table
        proposal: IntArray = self.base.choose(table, state.space, context, rng)
        return proposal

    def learn(self, state: Evidence | Tally, event: Event, rng: Random) -> Evidence | Tally:
        """The state with one more decision."""
        return state.record(event)

    def report(self, state: Evidence | Tally, before: Event, after: Event, rng: Random) -> Evidence | Tally:
        """The state with a decision moved."""
        return state.move(before, after)

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """What the base makes of the rewards that were credited to each arm, where it works from evidence."""
        if not isinstance(self.base, Rows):
            raise UnsuitableError(f"{self.name} depends on the path, so evidence does not give its probabilities")
        return self.base.believe(credited(evidence, self.credit), evidence.space, context)

    def allocation(self, evidence: Evidence, context: int, rng: np.random.Generator, draws: int = 10_000) -> Allocation:
        """The probability of each proposal, where the base works from evidence."""
        return self.beliefs(evidence, context, rng).allocation(rng, draws)


def checked_base(base: object) -> None:
    """An InputError unless it is a bandit."""
    if type(base) not in BASES:
        allowed = ", ".join(kind.__name__ for kind in BASES)
        raise InputError("base", repr(base), f"one of the bandits {allowed}")
