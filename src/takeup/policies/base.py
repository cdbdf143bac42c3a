"""What a policy is, and what those share that takeup brings along."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeGuard, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Conjugate, Dirichlet, Likelihood, likelihood_for
from takeup.epochs import Epochs
from takeup.errors import InputError, UnsuitableError
from takeup.evidence import Event, Evidence, Index
from takeup.outcomes import Levels
from takeup.policies.allocation import Allocation
from takeup.policies.beliefs import Beliefs, Blocks
from takeup.policies.card import Card, Compliance
from takeup.policies.fitted import Fitted
from takeup.policies.taking import check_outcome
from takeup.posterior import Posterior
from takeup.prior import Prior
from takeup.randomness import Random
from takeup.space import Space

State = TypeVar("State")

Met: TypeAlias = Any
"""What is met before a decision: an Index, the context; or a Profile, for policies whose `covariates` is true."""

FUNCTIONS = ("name", "start", "propose", "learn", "report")
"""What every policy has."""


@runtime_checkable
class Policy(Protocol[State]):
    """A name and four pure functions: how to begin, what to propose and what to remember.

    A policy holds parameters, never data and never a random generator: what it has learnt is the state that is
    threaded through it. Every function works on many replications side by side: `batch` is the shape of the state's
    leading axes, and contexts, proposals and events are arrays of that shape (single numbers where it is empty).
    """

    @property
    def name(self) -> str:
        """What people call it."""

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> State:
        """The state before the first decision; an UnsuitableError where the policy cannot work in this space."""

    def propose(self, state: State, context: Met, rng: Random) -> IntArray:
        """The proposal for a unit with this context; of a policy that uses covariates, with this profile."""

    def learn(self, state: State, event: Event, rng: Random) -> State:
        """The state after one more decision, as far as it is known."""

    def report(self, state: State, before: Event, after: Event, rng: Random) -> State:
        """The state after more became known of a decision that it has learnt as `before`."""


@runtime_checkable
class LivePolicy(Policy[Any], Protocol):
    """A policy that may run a live trial.

    Its state is Evidence, Epochs where it matters when a decision was made, or Fitted where models are fitted to the
    decisions; what it believes is a function of the state and the stream alone, so that any decision can be derived
    again.
    """

    @property
    def compliance(self) -> Compliance:
        """What it makes of compliance."""

    @property
    def ignorable(self) -> bool:
        """Whether it takes those who comply to be like those who do not."""

    @property
    def borrows(self) -> bool:
        """Whether what it believes of a context depends on what is known of the others."""

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Any:
        """The state before the first decision; which counts it has is what a live trial keeps for it."""

    def beliefs(self, state: Any, context: Met, rng: Random, /) -> Beliefs:
        """What it believes of a context; `rng` is for cold starts."""

    def allocation(self, state: Any, context: Met, rng: np.random.Generator, /, draws: int = ...) -> Allocation:
        """The probability of each proposal."""


class Registered(Policy[Any], Protocol):
    """A policy that says everything about itself, so that lists, forms and spec files can know it."""

    card: ClassVar[Card]

    @property
    def compliance(self) -> Compliance:
        """What it makes of compliance."""

    @property
    def live(self) -> bool:
        """Whether it may run a live trial."""


def is_live(policy: Policy[Any], space: Space) -> TypeGuard[LivePolicy]:
    """Whether a policy may run a live trial: its functions and its state say so, and it does not say otherwise."""
    if not isinstance(policy, LivePolicy) or not getattr(policy, "live", True):
        return False
    return isinstance(policy.start(space), Evidence | Epochs | Fitted)


class Carded:
    """What every policy of takeup has: a card, by which its parameters are checked, and a name.

    Attributes:
        card: everything that it says about itself.
    """

    __slots__ = ()
    card: ClassVar[Card]

    def __post_init__(self) -> None:
        for name, bound in self.card.parameters.items():
            bound.check(name, getattr(self, name))

    @property
    def name(self) -> str:
        """What people call it."""
        return self.card.name

    @property
    def compliance(self) -> Compliance:
        """What it makes of compliance."""
        return self.card.compliance

    @property
    def ignorable(self) -> bool:
        """Whether it takes those who comply to be like those who do not."""
        return self.card.ignorable

    def suits(self, space: Space) -> None:
        """An UnsuitableError where it does not take the outcomes of this space, or needs covariates that it lacks."""
        check_outcome(self.name, self.card.outcomes, space.outcome)
        if self.covariates and space.covariates is None:
            raise UnsuitableError(
                f"{self.name} learns from covariates, and the space has none; give it"
                " covariates={'age': Measure(18, 100)}, or choose a policy without"
            )

    @property
    def covariates(self) -> bool:
        """Whether it learns from covariates."""
        return self.card.covariates

    @property
    def borrows(self) -> bool:
        """Whether what it believes of a context depends on what is known of the others; then it is shown all of it."""
        return False

    @property
    def fractional(self) -> bool:
        """Whether it works from evidence in which decisions count less than one, as one that forgets shows it."""
        return True

    @property
    def live(self) -> bool:
        """Whether it may run a live trial, as those may whose state is the evidence."""
        return isinstance(self, FromEvidence)

    def informed(self, prior: Prior) -> Self:
        """The policy with what a pilot taught added to its own prior."""
        raise UnsuitableError(f"{self.name} does not take a prior from a pilot")


class FromEvidence(Carded, ABC):
    """A policy whose state is the evidence: it says what it believes, and the rest follows."""

    __slots__ = ()

    @abstractmethod
    def beliefs(self, evidence: Evidence, context: Met, rng: Random) -> Beliefs:
        """What it believes of a context, or of a profile, which may be another one in each replication."""

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet."""
        self.suits(space)
        return Evidence.empty(space, batch)

    def propose(self, state: Evidence, context: Met, rng: Random) -> IntArray:
        """What follows from what it believes."""
        return self.beliefs(state, context, rng).propose(rng)

    def learn(self, state: Evidence, event: Event, rng: Random) -> Evidence:
        """The evidence with one more decision."""
        return state.record(event)

    def report(self, state: Evidence, before: Event, after: Event, rng: Random) -> Evidence:
        """The evidence with a decision moved."""
        return state.move(before, after)

    def allocation(self, evidence: Evidence, context: Met, rng: np.random.Generator, draws: int = 10_000) -> Allocation:
        """The probability of each proposal for a unit with this context: Stirn & Jebara (2019), eq. 2.

        Exact where there is a quadrature or the rule gives it, else from this many draws.
        """
        return self.beliefs(evidence, context, rng).allocation(rng, draws)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Thompson(FromEvidence):
    """The Thompson sampling framework: Stirn & Jebara (2019), algorithm 1.

    A priori variables X_t are the context x, controls A_t are the proposal z, a posteriori variables R_t are the
    implemented action a and the outcome y. The data buffer D is Evidence, the latent θ is a World, and q(θ) is a
    Posterior. Each round samples one World from the posterior and proposes what is best in it. A member of the family
    says what its prior is and how evidence updates it; the rest is here.

    Attributes:
        alpha: the prior of the outcomes: one number for all, or an array over (y), (a, y) or (x, a, y).
        likelihood: the distribution that outcomes other than levels are taken to have, and its prior; what suits the
            kind of outcome where left out.
    """

    alpha: ArrayLike = 1.0
    likelihood: Likelihood | None = None

    @abstractmethod
    def prior(self, space: Space) -> Posterior:
        """The blocks before any data."""

    @abstractmethod
    def update(self, prior: Posterior, evidence: Evidence, rng: Random) -> Posterior:
        """The blocks after this evidence; context by context, so that both may be slices at one context."""

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet; checks that the priors fit the space."""
        self.suits(space)
        self.prior(space)
        return Evidence.empty(space, batch)

    def posterior(self, evidence: Evidence, rng: Random) -> Posterior:
        """The blocks of every context, given the evidence."""
        return self.update(self.prior(evidence.space), evidence, rng)

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """The blocks of one context."""
        return Blocks(self.update(prior_at(self, evidence.space, context), evidence.at(context), rng))


class HasPrior(Hashable, Protocol):
    """A policy with Dirichlet blocks before any data."""

    def prior(self, space: Space) -> Posterior:
        """The blocks."""


def prior_at(policy: HasPrior, space: Space, context: Index) -> Posterior:
    """The prior of one context, which may be another one in each replication."""
    return _prior(policy, space).at(context)


@lru_cache(maxsize=256)
def _prior(policy: HasPrior, space: Space) -> Posterior:
    """A live trial asks for it at every decision."""
    return policy.prior(space)


class HasOutcomes(Protocol):
    """A policy with a prior of outcomes."""

    @property
    def alpha(self) -> ArrayLike:
        """Of levels."""

    @property
    def likelihood(self) -> Likelihood | None:
        """Of others."""


def outcome_block(policy: HasOutcomes, space: Space, arms: int, axes: str) -> Conjugate:
    """What is believed of the outcomes of so many arms before any data; `axes` names those of `alpha`."""
    contexts, outcome = len(space.contexts), space.outcome
    if isinstance(outcome, Levels):
        if policy.likelihood is not None:
            allowed = "nothing: outcomes with levels have the prior alpha"
            raise InputError("likelihood", policy.likelihood.kind, allowed)
        shape = (contexts, arms, outcome.size)
        return Dirichlet(prior_block("alpha", policy.alpha, shape, axes), outcome.worths)
    if np.ndim(policy.alpha) or policy.alpha != 1.0:
        allowed = f"nothing: an outcome that is a {outcome.kind} has a likelihood with its prior"
        raise InputError("alpha", policy.alpha, allowed, "give likelihood= instead")
    with checks.inside("likelihood"):
        return (policy.likelihood or likelihood_for(outcome)).prior(outcome, (contexts, arms))


def prior_of(policy: HasOutcomes, space: Space, block: Conjugate) -> dict[str, Any]:
    """The parameters of a policy that make this block its prior."""
    if isinstance(space.outcome, Levels):
        assert isinstance(block, Dirichlet)
        return {"alpha": block.alpha}
    return {"likelihood": (policy.likelihood or likelihood_for(space.outcome)).informed(block)}


def prior_block(argument: str, given: ArrayLike, shape: tuple[int, ...], axes: str) -> FloatArray:
    """A prior's parameters in their full shape."""
    parameters = checks.positive(argument, given)
    try:
        return np.broadcast_to(parameters, shape)
    except ValueError:
        raise InputError(
            argument,
            f"shape {parameters.shape}",
            f"a number or an array of shape {shape}, the axes being {axes}",
        ) from None
