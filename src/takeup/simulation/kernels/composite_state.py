"""Where everything lies in the state of a policy that is made of bandits, and what such a policy is told.

Counts: the ticket; whose turn it is in each context, of the three bandits and between certified and lent; decisions
that wait for their outcome, by whose turn they were; the caches of both. Reals: the tables of the three bandits, in the
order of the credits, that of the certified sampler, and the log weights of the three.
"""

from typing import NamedTuple

from takeup.policies import Hierarchical, Protocol, ThompsonBounded
from takeup.policies.arms import CREDITS
from takeup.policies.conjugate import TS
from takeup.simulation.kernels import arms, bandits
from takeup.simulation.kernels.arms import CHOSEN, rows
from takeup.simulation.kernels.machine import Array, Number, inlined
from takeup.space import Space

UNDRAWN, LENT = -2, -1
"""A turn that has not been drawn, and one that is lent to the bandit without a guarantee."""

BANDITS = 3


class Parameters(NamedTuple):
    """What the policy is told.

    Attributes:
        bandit: what each of its bandits is told.
        hierarchical: whether there are three bandits, or the one of the credit alone.
        bounded: whether a certified sampler lends them its rounds.
        recycling: whether the bandit that credits the proposal gets rewards from the cache.
        feeding: whether the certified sampler does.
        by_means: whether a reward of the certified sampler counts 1 / Σ m², and not one.
        step: η of the bandit over bandits.
        mixing: its γ.
        certified: the table of the certified sampler to begin with.
    """

    bandit: arms.Parameters
    hierarchical: Number
    bounded: Number
    recycling: Number
    feeding: Number
    by_means: Number
    step: Number
    mixing: Number
    certified: Array


def parameters(policy: Hierarchical | ThompsonBounded, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    bounded = isinstance(policy, ThompsonBounded)
    other = policy.uncertified if isinstance(policy, ThompsonBounded) else policy
    credit = CREDITS.index(other.credit) if isinstance(other, Protocol) else CHOSEN
    top = Hierarchical().top if isinstance(other, Protocol) else other.top
    return Parameters(
        bandits.of_bandit(other.base, space, credit),
        isinstance(other, Hierarchical),
        bounded,
        isinstance(other, Hierarchical) and other.recycle,
        policy.recycle,
        isinstance(policy, ThompsonBounded) and policy.weight == "means",
        float(top.step(BANDITS)),
        float(top.mixing),
        bandits.prior(TS(), space).ravel(),
    )


def size(policy: Hierarchical | ThompsonBounded, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    contexts, proposals, _, levels = space.shape
    cells = contexts * proposals
    return 1 + 2 * contexts + 5 * cells + 2 * cells * levels, 4 * cells * levels + BANDITS * contexts


@inlined
def turns(shape: Number, x: Number, lending: Number) -> Number:
    """The count of a context's turn: among the three, or between certified and lent."""
    return 1 + (shape[0] if lending else 0) + x


@inlined
def pending(shape: Number, x: Number, z: Number, lending: Number) -> Number:
    """The first count of what waits in a context and proposal: three of the bandits, or two of certified and lent."""
    start, cell = 1 + 2 * shape[0], x * shape[1] + z
    return start + BANDITS * shape[0] * shape[1] + 2 * cell if lending else start + BANDITS * cell


@inlined
def cached(shape: Number, x: Number, z: Number, lending: Number) -> Number:
    """The first count of a context's and proposal's cache."""
    cells = shape[0] * shape[1]
    return 1 + 2 * shape[0] + 5 * cells + ((cells if lending else 0) + x * shape[1] + z) * shape[3]


@inlined
def table(shape: Number, x: Number, which: Number) -> Number:
    """The first real of a bandit's table in a context; number 3 is that of the certified sampler."""
    return (which * shape[0] + x) * rows(shape)


@inlined
def top(shape: Number, x: Number) -> Number:
    """The first real of a context's weights of the three bandits."""
    return 4 * shape[0] * rows(shape) + BANDITS * x
