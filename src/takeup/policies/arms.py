"""Bandits that see arms alone: what they remember of each arm, and to which arm a reward goes.

A proposal is an arm, and so is the action that it intends. Where people do not comply the two differ, and a reward may
go to either: Della Penna, Reid & Balduzzi (2016) call the ways to decide it protocols.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.evidence import Event, Evidence, Index, Scalar, at_context
from takeup.policies.base import Carded
from takeup.policies.beliefs import Beliefs
from takeup.randomness import Random
from takeup.space import Space

Credit: TypeAlias = Literal["chosen", "actual", "comply"]
"""Which arm a reward goes to: the one that was proposed, the one that was implemented, or the one that was both."""

CREDITS: tuple[Credit, ...] = get_args(Credit)

BANDITS = ("takeup.simulation.kernels.bandits",)
"""The kernel of every bandit under every credit."""

INDICES = (*BANDITS, "takeup.simulation.kernels.bandits_numbers")
"""Those of the bandits that need no more of an arm than its pulls and its mean."""


class Bandit(Carded, ABC):
    """An algorithm for arms: what it remembers is a table that any rewards can be put into, with any weight.

    `takeup.policies.Protocol` and the policies built on it run any bandit under any credit.

    Attributes:
        weighted: whether a reward may count more than once; a bandit that has no use for it counts each once.
    """

    __slots__ = ()
    weighted: ClassVar[bool] = False

    @abstractmethod
    def start(self, space: Space, batch: tuple[int, ...] = ()) -> "Evidence | Tally":
        """The state of the policy that it is by itself."""

    @abstractmethod
    def blank(self, space: Space, batch: tuple[int, ...] = ()) -> FloatArray:
        """The table before the first reward; its axes after the batch begin with context and arm."""

    @abstractmethod
    def absorb(
        self, table: FloatArray, space: Space, context: Index, share: FloatArray, outcome: Index, weight: FloatArray
    ) -> FloatArray:
        """The table after an outcome of which each arm gets a share; outcomes that are UNSEEN change nothing."""

    @abstractmethod
    def believe(self, table: FloatArray, space: Space, context: Index) -> Beliefs:
        """What it makes of a table, for a unit with this context."""

    def choose(self, table: FloatArray, space: Space, context: Index, rng: Random) -> IntArray:
        """The arm for a unit with this context."""
        return self.believe(table, space, context).propose(rng)


class Rows(Bandit):
    """A bandit that remembers the outcomes of each arm, with levels n[x, arm, y]."""

    __slots__ = ()

    def blank(self, space: Space, batch: tuple[int, ...] = ()) -> FloatArray:
        """Nothing seen."""
        contexts, proposals, _, _ = space.shape
        return np.zeros((*batch, contexts, proposals, space.outcome.width))

    def absorb(
        self, table: FloatArray, space: Space, context: Index, share: FloatArray, outcome: Index, weight: FloatArray
    ) -> FloatArray:
        """n[x, arm, y] += share[arm] weight."""
        counted = share * np.asarray(weight)[..., np.newaxis] if self.weighted else share
        here, came = one_hot(context, len(space.contexts)), space.outcome.amounts(outcome)[..., :-1]
        return np.asarray(table + np.einsum("...x,...z,...y->...xzy", here, counted, came))


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """A bandit's table as the state of a policy: it records and moves decisions as Evidence does.

    What it holds may depend on the order in which outcomes came, so it cannot run a live trial.

    Attributes:
        bandit: whose table it is.
        credit: which arm a reward goes to.
        space: the finite sets.
        table: the table.
    """

    bandit: Bandit
    credit: Credit
    space: Space
    table: FloatArray

    def record(self, event: Event) -> "Tally":
        """With one more decision; it counts once its outcome is seen."""
        return replace(self, table=self._after(self.table, event, 1.0))

    def move(self, before: Event, after: Event) -> "Tally":
        """With more known of a decision: what it earns now, less what it has earned already."""
        return replace(self, table=self._after(self._after(self.table, before, -1.0), after, 1.0))

    def _after(self, table: FloatArray, event: Event, sign: float) -> FloatArray:
        share = sign * shares(self.space, self.credit, event)
        return self.bandit.absorb(table, self.space, event.context, share, event.outcome, np.ones(share.shape[:-1]))


def shares(space: Space, credit: Credit, event: Event) -> FloatArray:
    """The share of an event's reward that goes to each arm; shape (.., Kz).

    The proposed arm gets it by "chosen". By "actual" every arm gets it that intends what was implemented, and by
    "comply" the proposed one if it is among these. Nobody gets it where compliance is needed and unseen.
    """
    proposals = len(space.proposals)
    chosen = one_hot(event.proposal, proposals)
    if credit == "chosen":
        return chosen
    intended = np.array(space.complying(f'credit="{credit}"'))
    done: FloatArray = (np.asarray(event.implemented)[..., np.newaxis] == intended).astype(np.float64)
    return done if credit == "actual" else done * chosen


def credited(evidence: Evidence, credit: Credit) -> FloatArray:
    """n[x, arm, y], the outcomes by the arm that gets the credit: what `shares` gives, summed over decisions."""
    if credit == "chosen":
        return evidence.proposed_outcomes.astype(np.float64)
    if credit == "comply":
        return evidence.complied_outcomes.astype(np.float64)
    intended = list(evidence.space.complying('credit="actual"'))
    return evidence.implemented_outcomes[..., intended, :].astype(np.float64)


def gain(space: Space) -> FloatArray:
    """What each outcome is worth, rescaled to [0, 1], which is what bandits for bounded rewards need."""
    return space.outcome.gains()


def here(table: NDArray[Scalar], context: Index, axes: int) -> NDArray[Scalar]:
    """The part of a table that is about a context; `axes` is how many the table has from the context on."""
    return np.squeeze(at_context(table, context, trailing=axes), axis=-axes)


def one_hot(index: Index, size: int) -> FloatArray:
    """One at the index and zero elsewhere, along a new last axis; all zero where it is UNSEEN."""
    return np.asarray(np.asarray(index)[..., np.newaxis] == np.arange(size), dtype=np.float64)


def added(table: FloatArray, amount: FloatArray | float, *indices: Index) -> FloatArray:
    """The table with an amount more at a cell of its last axes, another one in each replication."""
    batch = table.shape[: table.ndim - len(indices)]
    place = (*np.indices(batch, sparse=True), *(np.broadcast_to(i, batch) for i in indices))
    new = table.copy()
    new[place] += amount
    return new
