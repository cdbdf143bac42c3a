"""What a policy is, and the Thompson sampling framework that most of them share."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError, UnsuitableError
from takeup.evidence import Event, Evidence, Index
from takeup.policies.allocation import Allocation, allocate
from takeup.posterior import Posterior
from takeup.prior import Prior
from takeup.randomness import Random
from takeup.space import Space

State = TypeVar("State")


@runtime_checkable
class Policy(Protocol[State]):
    """Four pure functions: a frozen value that says how to begin, what to propose and what to remember.

    A policy holds parameters, never data and never a random generator: what it has learnt is the state that is
    threaded through it. Every function works on many replications side by side: `batch` is the shape of the state's
    leading axes, and contexts, proposals and events are arrays of that shape (single numbers where it is empty).

    Attributes:
        name: what people call it.
        live: whether it may run a live trial: its state is Evidence, and what it proposes is a function of the
            evidence and the stream alone, so that any decision can be derived again.
    """

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def live(self) -> bool:
        """Whether it may run a live trial."""

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> State:
        """The state before the first decision; an UnsuitableError where the policy cannot work in this space."""

    def propose(self, state: State, context: Index, rng: Random) -> IntArray:
        """The proposal for a unit with this context."""

    def learn(self, state: State, event: Event, rng: Random) -> State:
        """The state after one more decision, as far as it is known."""

    def report(self, state: State, before: Event, after: Event, rng: Random) -> State:
        """The state after more became known of a decision that it has learnt as `before`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Thompson(ABC):
    """The Thompson sampling framework: Stirn & Jebara (2019), algorithm 1.

    A priori variables X_t are the context x, controls A_t are the proposal z, a posteriori variables R_t are the
    implemented action a and the outcome y. The data buffer D is Evidence, the latent θ is a World, and q(θ) is a
    Posterior. Each round samples one World from the posterior and proposes what is best in it. A member of the family
    says what its prior is and how evidence updates it; the rest is here.

    Attributes:
        alpha: the prior of the outcomes: one number for all, or an array over (y), (a, y) or (x, a, y).
    """

    alpha: ArrayLike = 1.0
    live: ClassVar[bool] = True

    @property
    @abstractmethod
    def name(self) -> str:
        """What people call it."""

    @abstractmethod
    def prior(self, space: Space) -> Posterior:
        """The blocks before any data."""

    @abstractmethod
    def update(self, prior: Posterior, evidence: Evidence, rng: Random) -> Posterior:
        """The blocks after this evidence; context by context, so that both may be slices at one context."""

    def informed(self, prior: Prior) -> Self:
        """The policy with what a pilot taught added to its own prior; its alpha, and beta, are then full arrays."""
        raise UnsuitableError(f"{self.name} does not take a prior from a pilot")

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet; checks that the priors fit the space."""
        self.prior(space)
        return Evidence.empty(space, batch)

    def posterior(self, evidence: Evidence, rng: Random) -> Posterior:
        """What the policy believes, given the evidence."""
        return self.update(self.prior(evidence.space), evidence, rng)

    def propose(self, state: Evidence, context: Index, rng: Random) -> IntArray:
        """argmax_z of E[r given x, z, θ] in a draw θ from the posterior."""
        value = self._at(state, context, rng).sample(rng).value()
        return np.asarray(value[..., 0, :].argmax(axis=-1))

    def learn(self, state: Evidence, event: Event, rng: Random) -> Evidence:
        """The evidence with one more decision."""
        return state.record(event)

    def report(self, state: Evidence, before: Event, after: Event, rng: Random) -> Evidence:
        """The evidence with a decision moved."""
        return state.move(before, after)

    def allocation(self, evidence: Evidence, context: int, rng: np.random.Generator, draws: int = 10_000) -> Allocation:
        """The probability of each proposal for a unit with this context: Stirn & Jebara (2019), eq. 2.

        Exact where the integral is one-dimensional (see `takeup.policies.allocation`), else from this many draws.
        """
        return allocate(self._at(evidence, context, rng), rng, draws)

    def _at(self, evidence: Evidence, context: Index, rng: Random) -> Posterior:
        """The posterior of one context."""
        return self.update(_prior(self, evidence.space).at(context), evidence.at(context), rng)


@lru_cache(maxsize=256)
def _prior(policy: Thompson, space: Space) -> Posterior:
    """A live trial asks for it at every decision."""
    return policy.prior(space)


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
