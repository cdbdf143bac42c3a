"""A bandit over bandits: which protocol to follow is learnt, too."""

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.evidence import Event, Index
from takeup.policies.arms import CREDITS, Bandit, added, here, one_hot, shares
from takeup.policies.base import Carded
from takeup.policies.beliefs import drawn
from takeup.policies.card import SWITCH, Card, Variant
from takeup.policies.conjugate import TS
from takeup.policies.exp3 import EXP3, LEAST
from takeup.policies.protocol import PENNA, checked_base
from takeup.randomness import Random
from takeup.space import UNSEEN, Space

UNDRAWN = -1
"""No bandit's turn yet: all three are alike before the first reward, so it may be drawn after the fact."""


_BASE, _TOP = TS(), EXP3(mixing=0.0, rate=0.0085)


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """What a hierarchical bandit remembers.

    Attributes:
        space: the finite sets.
        tables: of the three bandits, in the order of CREDITS.
        top: the log weights of the three, by context.
        turn: whose turn it is at the next decision of each context.
        pending: how many decisions of each context and proposal wait for their outcome, by whose turn it was.
        cache: outcomes by context and proposal that the chosen one has not heard of, as it was not its turn.
    """

    space: Space
    tables: tuple[FloatArray, FloatArray, FloatArray]
    top: FloatArray
    turn: IntArray
    pending: FloatArray
    cache: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hierarchical(Carded):
    """EXP3 over three copies of a bandit, one a protocol: Della Penna, Reid & Balduzzi (2016).

    Each round EXP3 names one of the three, which proposes. The ones that credit what was implemented, or those who
    complied, learn from every round; the one that credits the proposal only from its own, each reward weighted by one
    over the probability of its turn, so that it keeps its guarantee. Regret against the first two grows as sqrt(T),
    and against any fixed proposal as sqrt(T K log K).

    Whose turn it is next is drawn as soon as something was learnt, and kept until then. Of decisions that wait for
    their outcome it is remembered by count whose turn they were; which one an outcome belongs to is drawn among those
    of its context and proposal. It depends on the path, so it runs in simulations alone.

    Attributes:
        base: the bandit of which there are three copies.
        top: the EXP3 over them, without mixing and with the rate of the authors' code.
        recycle: whether rewards of other turns are kept, by proposal, and given to the first bandit, one at a time and
            none twice, in rounds that are not its own, while there is one for every proposal.
    """

    card: ClassVar[Card] = Card(
        name="Hierarchical",
        family="protocols",
        source=PENNA,
        compliance="used where seen",
        variants=(Variant("EXP3 over three bandits, each of which credits another arm: learns whom to follow."),),
        parameters={"recycle": SWITCH},
        kernels=("takeup.simulation.kernels.composite",),
    )
    base: Bandit = _BASE
    top: EXP3 = _TOP
    recycle: bool = True

    def __post_init__(self) -> None:
        Carded.__post_init__(self)
        checked_base(self.base)
        if not isinstance(self.top, EXP3):
            raise InputError("top", repr(self.top), "an EXP3")

    @property
    def name(self) -> str:
        """Hierarchical, and the base where it is not TS."""
        return "Hierarchical" if type(self.base) is TS else f"Hierarchical {self.base.name}"

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Hierarchy:
        """Nothing learnt; refuses a space that does not say what complying means."""
        self.suits(space)
        space.complying(self.name)
        self.base.start(space)
        contexts, proposals, _, levels = space.shape
        blank = self.base.blank(space, batch)
        return Hierarchy(
            space,
            (blank, blank, blank),
            self.top.blank(top_space(space), batch),
            np.full((*batch, contexts), UNDRAWN),
            np.zeros((*batch, contexts, proposals, len(CREDITS))),
            np.zeros((*batch, contexts, proposals, levels)),
        )

    def propose(self, state: Hierarchy, context: Index, rng: Random) -> IntArray:
        """What the bandit proposes whose turn it is."""
        turn = self._turn(state, context, rng)
        choices = [self.base.choose(table, state.space, context, rng) for table in state.tables]
        return np.asarray(np.choose(turn, choices))

    def learn(self, state: Hierarchy, event: Event, rng: Random) -> Hierarchy:
        """All three learn what is theirs, EXP3 how the one fared whose turn it was."""
        return self.learn_if(state, event, np.ones(np.shape(event.context), dtype=bool), rng)

    def report(self, state: Hierarchy, before: Event, after: Event, rng: Random) -> Hierarchy:
        """An outcome that comes late; compliance that comes later than the outcome is not used."""
        return self.report_if(state, before, after, np.ones(np.shape(after.context), dtype=bool), rng)

    def learn_if(self, state: Hierarchy, event: Event, played: NDArray[np.bool_], rng: Random) -> Hierarchy:
        """The same where it was not this policy that proposed everywhere: what it played, it learns from in full."""
        turn = np.where(played, self._turn(state, event.context, rng), UNDRAWN)
        waits = played & (np.asarray(event.outcome) == UNSEEN)
        pending = added(state.pending, waits, event.context, event.proposal, np.maximum(turn, 0))
        return self._next(self._absorb(replace(state, pending=pending), event, turn), event.context, rng)

    def report_if(
        self, state: Hierarchy, before: Event, after: Event, played: NDArray[np.bool_], rng: Random
    ) -> Hierarchy:
        """The same for an outcome that comes late."""
        news = (np.asarray(before.outcome) == UNSEEN) & (np.asarray(after.outcome) != UNSEEN)
        turn = drawn(cell(state.pending, after.context, after.proposal), rng)
        pending = added(state.pending, -1.0 * (news & played), after.context, after.proposal, turn)
        known = Event(after.context, after.proposal, after.implemented, np.where(news, after.outcome, UNSEEN))
        turn = np.where(played, turn, UNDRAWN)
        return self._next(self._absorb(replace(state, pending=pending), known, turn), after.context, rng)

    def _turn(self, state: Hierarchy, context: Index, rng: Random) -> IntArray:
        """Whose turn it is, drawn where it has not been."""
        fresh = self.top.choose(state.top, top_space(state.space), context, rng)
        kept = here(state.turn[..., np.newaxis], context, axes=2)[..., 0]
        return np.where(kept == UNDRAWN, fresh, kept)

    def _absorb(self, state: Hierarchy, event: Event, turn: IntArray) -> Hierarchy:
        """Everyone's table after an event of one's turn."""
        space, x, y = state.space, event.context, event.outcome
        own = np.asarray(turn == 0)
        weight = 1 / np.maximum(self.top.probability(state.top, x), LEAST)
        once = np.ones(own.shape)
        share = [shares(space, credit, event) for credit in CREDITS]
        share[0] = share[0] * own[..., np.newaxis]
        tables = (
            self.base.absorb(state.tables[0], space, x, share[0], y, weight[..., 0]),
            self.base.absorb(state.tables[1], space, x, share[1], y, once),
            self.base.absorb(state.tables[2], space, x, share[2], y, once),
        )
        top = self.top.absorb(state.top, top_space(space), x, one_hot(turn, len(CREDITS)), y, once)
        kept = np.where(own | (np.asarray(y) == UNSEEN), 0.0, 1.0)
        return replace(
            state, tables=tables, top=top, cache=added(state.cache, kept, x, event.proposal, np.maximum(y, 0))
        )

    def _next(self, state: Hierarchy, context: Index, rng: Random) -> Hierarchy:
        """Whose turn it is next; the first bandit may get a reward from the cache if it is another's."""
        space = state.space
        turn = self.top.choose(state.top, top_space(space), context, rng)
        at_hand = np.arange(len(space.contexts)) == np.asarray(context)[..., np.newaxis]
        state = replace(state, turn=np.where(at_hand, turn[..., np.newaxis], state.turn))
        if not self.recycle:
            return state
        enough = (here(state.cache, context, axes=3).sum(axis=-1) > 0).all(axis=-1) & (turn != 0)
        arm = self.base.choose(state.tables[0], space, context, rng)
        y = drawn(cell(state.cache, context, arm), rng)
        weight = 1 / np.maximum(self.top.probability(state.top, context)[..., 0], LEAST)
        share = one_hot(arm, len(space.proposals))
        first = self.base.absorb(state.tables[0], space, context, share, np.where(enough, y, UNSEEN), weight)
        cache_ = added(state.cache, -1.0 * enough, context, arm, y)
        return replace(state, tables=(first, *state.tables[1:]), cache=cache_)


def cell(table: FloatArray, context: Index, proposal: Index) -> FloatArray:
    """The part of a table over (context, proposal, anything) that is about both."""
    return here(here(table, context, axes=3), proposal, axes=2)


@cache
def top_space(space: Space) -> Space:
    """The space of the bandit over bandits: the three credits are its arms."""
    return Space(
        list(CREDITS), contexts=list(space.contexts), outcomes=list(space.outcomes), utility=list(space.utility)
    )
