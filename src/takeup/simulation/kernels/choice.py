"""Which kernel runs a policy in a space. It depends on these two alone, so every engine makes the same choice.

A kernel is a module; `uniform` says what is in it. A policy names its kernels, and the first that applies is taken.
"""

from importlib import import_module
from types import ModuleType
from typing import Any

from takeup.errors import EngineError, UnsuitableError
from takeup.outcomes import Levels
from takeup.policies import Card, Policy
from takeup.policies.meeting import uses_covariates
from takeup.simulation.kernels import host, rows, small, uniform
from takeup.simulation.kernels.compile import Plain
from takeup.space import Space


def kernels_of(policy: Policy[Any]) -> tuple[str, ...]:
    """The modules on the policy's own card; a subclass may decide otherwise than the kernels of its parent know."""
    card = vars(type(policy)).get("card")
    return card.kernels if isinstance(card, Card) else ()


def choose(policy: Policy[Any], space: Space, *, waiting: bool = False, recurrence: bool = True) -> ModuleType:
    """The kernel of a policy in a space.

    Args:
        policy: the policy.
        space: the space.
        waiting: whether anything is reported later than at once.
        recurrence: False leaves out the kernels that draw nothing.
    """
    policy.start(space)
    for name in kernels_of(policy):
        try:
            kernel = import_module(name)
        except ImportError as error:
            raise EngineError(f"{policy.name} names the kernel {name}, which cannot be imported: {error}") from error
        takes = space.outcome.kind in getattr(kernel, "OUTCOMES", (Levels.kind,))
        takes = takes and getattr(kernel, "COVARIATES", False) == uses_covariates(policy)
        applies = takes and (not hasattr(kernel, "applies") or kernel.applies(policy, space))
        if applies and (recurrence or not getattr(kernel, "RECURRENCE", False)):
            if waiting and getattr(kernel, "AT_ONCE", False):
                raise UnsuitableError(f"{policy.name} has no kernel for reports that wait; use engine='reference'")
            return kernel
    outcome = "" if isinstance(space.outcome, Levels) else f", whose outcome is a {space.outcome.kind}"
    raise UnsuitableError(f"{policy.name} has no kernel in this space{outcome}; use engine='reference'")


def bound(kernel: ModuleType, policy: Policy[Any], parameters: Any) -> dict[Plain, Plain]:
    """What stands in for what: this kernel's functions for those of `uniform`, `small`'s for those of `rows`."""
    inside: dict[Plain, Plain] = kernel.stand_ins(policy) if hasattr(kernel, "stand_ins") else {}
    own = {getattr(uniform, name): getattr(kernel, name) for name in ("begin", "propose", "learn", "reveal")}
    bind = {name: inside.get(one, one) for name, one in own.items()} | inside
    if host.has_small_shapes(parameters):
        bind |= {
            rows.end: small.end,
            rows.put: small.put,
            rows.put_positive: small.put,
            rows.weigh_rows: small.weigh_rows,
        }
    return bind
