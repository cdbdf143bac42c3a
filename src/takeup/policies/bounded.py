"""Thompson sampling that lends its undecided rounds to a bandit without a guarantee."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.evidence import Event, Index, at_context
from takeup.policies.arms import Tally, added, gain, here, one_hot
from takeup.policies.base import Carded
from takeup.policies.beliefs import drawn
from takeup.policies.card import SWITCH, Card, OneOf, Variant
from takeup.policies.conjugate import TS
from takeup.policies.hierarchical import Hierarchical, Hierarchy, cell
from takeup.policies.protocol import PENNA, Protocol
from takeup.randomness import Random
from takeup.space import UNSEEN, Space

Weight: TypeAlias = Literal["one", "means"]
"""What a reward counts for the certified sampler: one, or one over Σ m², the squared posterior means of the arms."""

UNDRAWN, LENT = -2, -1
"""A round that has not been drawn yet, and one that is lent; else it is the arm that the certified sampler plays."""


_CERTIFIED, _PAPERS = TS(), Hierarchical()


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """What ThompsonBounded remembers.

    Attributes:
        space: the finite sets.
        certified: the table of the certified sampler.
        uncertified: the state of the other.
        turn: what happens at the next decision of each context: UNDRAWN, LENT or an arm.
        pending: how many decisions of each context and proposal wait for their outcome: certified ones, lent ones.
        cache: outcomes by context and proposal of lent rounds.
    """

    space: Space
    certified: FloatArray
    uncertified: Hierarchy | Tally
    turn: IntArray
    pending: FloatArray
    cache: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThompsonBounded(Carded):
    """Thompson sampling with a bound that nobody can break: Della Penna, Reid & Balduzzi (2016).

    A certified sampler, TS that credits the proposal, is asked twice. Where both draws agree a third one is played and
    learnt from; where they do not, the round is lent to an uncertified bandit, which may be as clever or as wrong as it
    likes. As TS grows sure it lends less: regret is at most three times that of TS.

    Turns are drawn and remembered as in Hierarchical. It depends on the path, so it runs in simulations alone.

    Attributes:
        uncertified: a Hierarchical, as in the paper, or a Protocol, as in the first author's thesis.
        recycle: whether rewards of lent rounds are kept, by proposal, and given to the certified sampler in place of a
            round of its own, which is then lent as well.
        weight: what a reward counts for the certified sampler: "one", or "means" as in the authors' code.
    """

    card: ClassVar[Card] = Card(
        name="TS-Bounded",
        family="protocols",
        source=PENNA,
        compliance="used where seen",
        variants=(Variant("Thompson sampling that lends its undecided rounds to a bandit without a guarantee."),),
        parameters={"recycle": SWITCH, "weight": OneOf(get_args(Weight))},
        kernels=("takeup.simulation.kernels.composite",),
    )
    uncertified: Hierarchical | Protocol = _PAPERS
    recycle: bool = True
    weight: Weight = "one"

    def __post_init__(self) -> None:
        Carded.__post_init__(self)
        if not isinstance(self.uncertified, Hierarchical | Protocol):
            raise InputError("uncertified", repr(self.uncertified), "a Hierarchical or a Protocol")

    @property
    def name(self) -> str:
        """TS-Bounded, and the uncertified one where it is not the paper's."""
        plain = self.uncertified.name == "Hierarchical"
        return "TS-Bounded" if plain else f"TS-Bounded {self.uncertified.name}"

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Bounded:
        """Nothing learnt; refuses a space that does not say what complying means."""
        self.suits(space)
        contexts, proposals, _, levels = space.shape
        other = self.uncertified
        if isinstance(other, Hierarchical):
            state: Hierarchy | Tally = other.start(space, batch)
        else:
            other.start(space)
            state = Tally(other.base, other.credit, space, other.base.blank(space, batch))
        return Bounded(
            space,
            _CERTIFIED.blank(space, batch),
            state,
            np.full((*batch, contexts), UNDRAWN),
            np.zeros((*batch, contexts, proposals, 2)),
            np.zeros((*batch, contexts, proposals, levels)),
        )

    def propose(self, state: Bounded, context: Index, rng: Random) -> IntArray:
        """The certified sampler's arm where its draws agreed, else what the other one proposes."""
        turn = self._turn(state, context, rng)
        other, table = self.uncertified, state.uncertified
        if isinstance(other, Hierarchical):
            assert isinstance(table, Hierarchy)
            lent = other.propose(table, context, rng)
        else:
            assert isinstance(table, Tally)
            lent = other.base.choose(table.table, state.space, context, rng)
        return np.where(turn == LENT, lent, turn)

    def learn(self, state: Bounded, event: Event, rng: Random) -> Bounded:
        """Whoever played learns, and the protocols without a guarantee always do."""
        lent = np.asarray(self._turn(state, event.context, rng) == LENT)
        waits = np.asarray(event.outcome) == UNSEEN
        pending = added(state.pending, waits, event.context, event.proposal, lent.astype(np.int64))
        other, table = self.uncertified, state.uncertified
        if isinstance(other, Hierarchical):
            assert isinstance(table, Hierarchy)
            table = other.learn_if(table, event, lent, rng)
        else:
            assert isinstance(table, Tally)
            table = table.record(event)
        state = replace(state, pending=pending, uncertified=table)
        return self._next(self._absorb(state, event, lent), event.context, rng)

    def report(self, state: Bounded, before: Event, after: Event, rng: Random) -> Bounded:
        """An outcome that comes late; compliance that comes later than the outcome is not used."""
        news = (np.asarray(before.outcome) == UNSEEN) & (np.asarray(after.outcome) != UNSEEN)
        whose = drawn(cell(state.pending, after.context, after.proposal), rng)
        pending = added(state.pending, -1.0 * news, after.context, after.proposal, whose)
        lent = np.asarray(whose == 1)
        other, table = self.uncertified, state.uncertified
        if isinstance(other, Hierarchical):
            assert isinstance(table, Hierarchy)
            table = other.report_if(table, before, after, lent, rng)
        else:
            assert isinstance(table, Tally)
            table = table.move(before, after)
        known = Event(after.context, after.proposal, after.implemented, np.where(news, after.outcome, UNSEEN))
        state = replace(state, pending=pending, uncertified=table)
        return self._next(self._absorb(state, known, lent), after.context, rng)

    def _turn(self, state: Bounded, context: Index, rng: Random) -> IntArray:
        """What happens at this decision, drawn where it has not been; nothing can be in the cache then."""
        draws = [_CERTIFIED.choose(state.certified, state.space, context, rng) for _ in range(3)]
        fresh = np.where(draws[0] == draws[1], draws[2], LENT)
        kept = here(state.turn[..., np.newaxis], context, axes=2)[..., 0]
        return np.where(kept == UNDRAWN, fresh, kept)

    def _absorb(self, state: Bounded, event: Event, lent: NDArray[np.bool_]) -> Bounded:
        """The certified sampler learns from its own rounds; the cache keeps those of the others."""
        x, z, y = event.context, event.proposal, event.outcome
        certified = self._credit(state, x, z, np.where(lent, UNSEEN, y))
        kept = np.where(lent & (np.asarray(y) != UNSEEN), 1.0, 0.0)
        return replace(state, certified=certified, cache=added(state.cache, kept, x, z, np.maximum(y, 0)))

    def _next(self, state: Bounded, context: Index, rng: Random) -> Bounded:
        """What happens at the next decision: two draws, and a third where they agree."""
        draws = [_CERTIFIED.choose(state.certified, state.space, context, rng) for _ in range(3)]
        agree, arm = draws[0] == draws[1], draws[2]
        if self.recycle:
            kept = cell(state.cache, context, arm)
            fed = agree & (kept.sum(axis=-1) > 0)
            y = drawn(kept, rng)
            certified = self._credit(state, context, arm, np.where(fed, y, UNSEEN))
            state = replace(state, certified=certified, cache=added(state.cache, -1.0 * fed, context, arm, y))
            agree = agree & ~fed
        turn = np.where(agree, arm, LENT)
        at_hand = np.arange(len(state.space.contexts)) == np.asarray(context)[..., np.newaxis]
        return replace(state, turn=np.where(at_hand, turn[..., np.newaxis], state.turn))

    def _credit(self, state: Bounded, context: Index, arm: Index, outcome: Index) -> FloatArray:
        """The certified table after an outcome of an arm."""
        space = state.space
        share = one_hot(arm, len(space.proposals))
        weight = np.ones(share.shape[:-1])
        if self.weight == "means":
            prior = _CERTIFIED.prior(space).at(context).plus(at_context(state.certified, context, trailing=3))
            mean = prior.mean().outcome[..., 0, :, :] @ gain(space)
            weight = 1 / (mean**2).sum(axis=-1)
        return _CERTIFIED.absorb(state.certified, space, context, share, outcome, weight)
