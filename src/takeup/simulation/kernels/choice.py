"""Which kernel runs a policy in a space. It depends on these two alone, so every engine makes the same choice.

A kernel is a module; `uniform` says what is in it. A policy names its kernels, and the first that applies is taken.
"""

from importlib import import_module
from types import ModuleType
from typing import Any

from takeup import policies
from takeup.errors import UnsuitableError
from takeup.policies import Policy
from takeup.simulation.kernels import host, rows, small, uniform
from takeup.simulation.kernels.compile import Plain
from takeup.space import Space

_HERE = "takeup.simulation.kernels."
_BANDIT, _ROWS = (f"{_HERE}bandits",), (f"{_HERE}two_arm", f"{_HERE}proposed")
_KERNELS: dict[type, tuple[str, ...]] = {
    policies.Uniform: (f"{_HERE}uniform",),
    policies.TS: _ROWS,
    policies.TSCheck: _ROWS,
    policies.IntentTS: _ROWS,
    policies.TSObs: (f"{_HERE}two_by_two", f"{_HERE}observed"),
    policies.TSLat: (f"{_HERE}latent", f"{_HERE}gibbs"),
    policies.WarmTSLat: (f"{_HERE}latent",),
    policies.TSRobust: (f"{_HERE}robust",),
    policies.Forgetting: (f"{_HERE}forgetting",),
    policies.Hierarchical: (f"{_HERE}composite",),
    policies.ThompsonBounded: (f"{_HERE}composite",),
    policies.TwoStage: (f"{_HERE}two_stage",),
    policies.EpsilonGreedy: _BANDIT,
    policies.UCB1: _BANDIT,
    policies.KLUCB: _BANDIT,
    policies.BayesUCB: _BANDIT,
    policies.TopTwo: _BANDIT,
    policies.EXP3: _BANDIT,
    policies.Protocol: _BANDIT,
    policies.CausalTS: _BANDIT,
    policies.UCBITT: _BANDIT,
    policies.UCBAT: _BANDIT,
}


def kernels_of(policy: Policy[Any]) -> tuple[str, ...]:
    """The modules of a policy's kernels, by its exact type: a subclass may decide otherwise than its kernel knows."""
    return _KERNELS.get(type(policy), ())


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
        kernel = import_module(name)
        applies = not hasattr(kernel, "applies") or kernel.applies(policy, space)
        if applies and (recurrence or not getattr(kernel, "RECURRENCE", False)):
            if waiting and getattr(kernel, "AT_ONCE", False):
                raise UnsuitableError(f"{policy.name} has no kernel for reports that wait; use engine='reference'")
            return kernel
    raise UnsuitableError(f"{policy.name} has no kernel in this space; use engine='reference'")


def bound(kernel: ModuleType, policy: Policy[Any], parameters: Any) -> dict[Plain, Plain]:
    """What stands in for what: this kernel's functions for those of `uniform`, `small`'s for those of `rows`."""
    inside: dict[Plain, Plain] = kernel.stand_ins(policy) if hasattr(kernel, "stand_ins") else {}
    own = {getattr(uniform, name): getattr(kernel, name) for name in ("begin", "propose", "learn", "reveal")}
    bind = {name: inside.get(one, one) for name, one in own.items()} | inside
    if host.has_small_shapes(parameters):
        bind |= {rows.end: small.end, rows.put: small.put, rows.weigh: small.weigh}
    return bind
