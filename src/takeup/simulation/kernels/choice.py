"""Which kernel runs a policy in a space. It depends on these two alone, so every engine makes the same choice."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from takeup.errors import UnsuitableError
from takeup.policies import (
    EXP3,
    KLUCB,
    TS,
    UCB1,
    UCBAT,
    UCBITT,
    BayesUCB,
    CausalTS,
    EpsilonGreedy,
    Forgetting,
    Hierarchical,
    IntentTS,
    Policy,
    Protocol,
    ThompsonBounded,
    TopTwo,
    TSCheck,
    TSLat,
    TSObs,
    TSRobust,
    TwoStage,
    Uniform,
    WarmTSLat,
)
from takeup.simulation.kernels import (
    bandits,
    composite,
    forgetting,
    gibbs,
    host,
    latent,
    observed,
    proposed,
    robust,
    rows,
    small,
    two_arm,
    two_by_two,
    two_stage,
    uniform,
)
from takeup.simulation.kernels.compile import Plain
from takeup.space import Space

_LEAST_SHAPE = 0.1
"""Below this the recurrence has no start: quadrature does not reach there."""

_LEAST_H = 1e-200
"""Below this the recurrence could lose its way back: h would pass through numbers that are not normal."""

_FUNCTIONS = ("begin", "propose", "learn", "reveal")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A policy's file, ready to be bound to the driver.

    Attributes:
        file: the module with `begin`, `propose`, `learn`, `reveal`, `size` and `parameters` (see `uniform`).
        real: the type of the state's real numbers.
        registers: how many a thread may take on a GPU; more threads then run at once. None leaves it to the compiler.
        inside: functions that stand in for others in what the file itself is made of.
        at_once: whether it needs everything to be reported at once.
    """

    file: ModuleType
    real: type[np.float32] | type[np.float64]
    registers: int | None = None
    inside: Mapping[Plain, Plain] = field(default_factory=dict)
    at_once: bool = False

    def size(self, policy: Policy[Any], space: Space) -> tuple[int, int]:
        """Rows of counts and of reals; `room(policy, space)` says where they depend on the policy's parameters."""
        own = hasattr(self.file, "room")
        rows_: tuple[int, int] = self.file.room(policy, space) if own else self.file.size(*space.shape)
        return rows_

    def parameters(self, policy: Policy[Any], space: Space) -> Any:
        """The policy's numbers as the kernel takes them, a NamedTuple."""
        return self.file.parameters(policy, space)

    def switches(self, policy: Policy[Any], space: Space) -> dict[str, bool]:
        """What is switched on and off in this file: its optional function `constants(policy, space)` says."""
        given: dict[str, bool] = self.file.constants(policy, space) if hasattr(self.file, "constants") else {}
        return given

    def bound(self, parameters: Any) -> dict[Plain, Plain]:
        """What stands in for what: this file's functions for those of `uniform`, `small`'s for those of `rows`."""
        own: dict[Plain, Plain] = {getattr(uniform, name): getattr(self.file, name) for name in _FUNCTIONS}
        bind = {name: self.inside.get(one, one) for name, one in own.items()} | dict(self.inside)
        if has_small_shapes(parameters):
            bind |= {rows.end: small.end, rows.put: small.put, rows.weigh: small.weigh}
        return bind


def has_small_shapes(parameters: Any) -> bool:
    """Whether gammas of shapes below one will be drawn."""
    prior = getattr(parameters, "prior", None)
    return prior is not None and host.least(prior) < 1


def _two_arm(policy: Policy[Any], space: Space) -> bool:
    """Whether the recurrence has a start."""
    _, proposals, _, levels = space.shape
    assert isinstance(policy, TS)
    if (proposals, levels) != (2, 2) or np.min(policy.prior(space).outcome) < _LEAST_SHAPE:
        return False
    return bool(two_arm.parameters(policy, space).start.reshape(-1, 6)[:, 5].min() > _LEAST_H)


def _two_by_two(policy: Policy[Any], space: Space) -> bool:
    """Whether both recurrences have a start."""
    assert isinstance(policy, TSObs)
    prior = policy.prior(space)
    assert prior.compliance is not None
    if space.shape[1:] != (2, 2, 2) or min(prior.outcome.min(), prior.compliance.min()) < _LEAST_SHAPE:
        return False
    return bool(two_by_two.parameters(policy, space).start.reshape(-1, 6)[:, 5].min() > _LEAST_H)


def _one_start(policy: Policy[Any], space: Space) -> bool:
    """Whether a mean-field fit starts once; the best of several is for the reference."""
    return isinstance(policy, TSLat) and policy.inference == "meanfield" and policy.restarts == 1


def _gibbs(policy: Policy[Any], space: Space) -> bool:
    return isinstance(policy, TSLat) and policy.inference == "gibbs"


def _no_small_shapes(policy: Policy[Any], space: Space) -> bool:
    """Whether all gammas are of shapes of at least one."""
    assert isinstance(policy, TSRobust)
    prior = policy.prior(space)
    assert prior.compliance is not None
    return bool(min(prior.outcome.min(), prior.compliance.min()) >= 1)


def _forgets(*bases: type) -> "Applies":
    """Whether it is one of these that forgets."""
    return lambda policy, space: isinstance(policy, Forgetting) and type(policy.base) in bases


def _always(policy: Policy[Any], space: Space) -> bool:
    return True


Applies = Callable[[Policy[Any], Space], bool]

_SEE: dict[Plain, Plain] = {rows.see: forgetting.see}
_OBSERVED: dict[Plain, Plain] = {getattr(proposed, name): getattr(observed, name) for name in _FUNCTIONS}
_BANDITS = (EpsilonGreedy, UCB1, KLUCB, BayesUCB, TopTwo, EXP3, Protocol, CausalTS, UCBITT, UCBAT)

KERNELS: list[tuple[type, Applies, Kernel]] = [
    (Uniform, _always, Kernel(uniform, np.float32)),
    (TS, _two_arm, Kernel(two_arm, np.float64)),
    (TSCheck, _two_arm, Kernel(two_arm, np.float64)),
    (IntentTS, _two_arm, Kernel(two_arm, np.float64)),
    (TSObs, _two_by_two, Kernel(two_by_two, np.float64)),
    (TS, _always, Kernel(proposed, np.float32)),
    (TSCheck, _always, Kernel(proposed, np.float32)),
    (IntentTS, _always, Kernel(proposed, np.float32)),
    (TSObs, _always, Kernel(observed, np.float32)),
    (TSLat, _one_start, Kernel(latent, np.float64, registers=96)),
    (TSLat, _gibbs, Kernel(gibbs, np.float64)),
    (WarmTSLat, _always, Kernel(latent, np.float64, registers=96)),
    (TSRobust, _no_small_shapes, Kernel(robust, np.float64)),
    (Forgetting, _forgets(TS, TSCheck), Kernel(forgetting, np.float32, inside=_SEE, at_once=True)),
    (Forgetting, _forgets(TSObs), Kernel(forgetting, np.float32, inside=_SEE | _OBSERVED, at_once=True)),
    (Hierarchical, _always, Kernel(composite, np.float64)),
    (ThompsonBounded, _always, Kernel(composite, np.float64)),
    (TwoStage, _always, Kernel(two_stage, np.float64)),
    *((kind, _always, Kernel(bandits, np.float64)) for kind in _BANDITS),
]
"""Policies by their exact type, where the kernel applies, and the kernel: the first that fits is taken."""


def choose(policy: Policy[Any], space: Space, *, waiting: bool = False, recurrence: bool = True) -> Kernel:
    """The kernel of a policy in a space.

    Args:
        policy: the policy.
        space: the space.
        waiting: whether anything is reported later than at once.
        recurrence: False leaves out the kernels that draw nothing.
    """
    policy.start(space)
    for kind, applies, kernel in KERNELS:
        if type(policy) is kind and applies(policy, space) and (recurrence or kernel.file not in (two_arm, two_by_two)):
            if waiting and kernel.at_once:
                raise UnsuitableError(f"{policy.name} has no kernel for reports that wait; use engine='reference'")
            return kernel
    known = ", ".join(sorted({kind.__name__ for kind, _, _ in KERNELS}))
    raise UnsuitableError(f"{policy.name} has no kernel (there are: {known}); use engine='reference'")
