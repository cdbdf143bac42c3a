"""The four regrets of Kallus (2018): what a proposal costs, against four standards.

Each gives, for every context and proposal, the expected loss of proposing it once; shape (X, Kz). Sums over
decisions are `Trace.cost`. All four are the same where everyone complies.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from takeup.checks import FloatArray
from takeup.environment import Environment, Types
from takeup.errors import UnsuitableError

Kind: TypeAlias = Literal["proposals", "static", "latent class", "compliers"]
"""Which regret; each has a function of its name."""


def proposals(environment: Environment) -> FloatArray:
    """Intention-to-treat regret: against the best proposal, max_z v[x, z] - v[x, z]."""
    return environment.regret()


def static(environment: Environment) -> FloatArray:
    """Static treatment regret: against the action that would be best if everyone took it.

    max_a E[Y(a)] - v[x, z]. It is negative where those who choose for themselves choose well.
    """
    types, mean = _types(environment, "static")
    best: FloatArray = np.einsum("xu,xua->xa", types.share, mean).max(axis=1, keepdims=True)
    return best - environment.value()


def latent_class(environment: Environment) -> FloatArray:
    """Latent class regret: against the action that is best for each class, those who respond alike.

    Σ_c p_c max_a E[Y(a) | c] - v[x, z]. It grows with time whatever one proposes, unless all classes agree.
    """
    types, mean = _types(environment, "latent class")
    _, group = np.unique(types.response, axis=0, return_inverse=True)
    member = np.eye(group.max() + 1)[group.ravel()]
    best: FloatArray = np.einsum("xu,xua,uc->xca", types.share, mean, member).max(axis=2).sum(axis=1)
    return best[:, np.newaxis] - environment.value()


def compliers(environment: Environment) -> FloatArray:
    """Compliers' regret: that of the units who do whatever is proposed, against the action that is best for them."""
    types, mean = _types(environment, "compliers")
    intended = np.array(environment.space.complying("compliers' regret"))
    complies = (types.response == intended).all(axis=1)
    share = types.share * complies
    value: FloatArray = np.einsum("xu,xua->xa", share, mean)
    return np.asarray(value.max(axis=1, keepdims=True) - value[:, intended])


KINDS: dict[Kind, Callable[[Environment], FloatArray]] = {
    "proposals": proposals,
    "static": static,
    "latent class": latent_class,
    "compliers": compliers,
}
"""All of them by name."""


def _types(environment: Environment, kind: str) -> tuple[Types, FloatArray]:
    """The types and the mean of their potential rewards, E[Y(a) | x, u]; shape (X, U, Ka)."""
    if environment.types is None:
        raise UnsuitableError(
            f"{kind} regret is about potential outcomes, which this environment does not have; build it with from_types"
        )
    return environment.types, environment.types.outcome @ environment.space.reward
