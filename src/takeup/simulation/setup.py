"""What is simulated: all that two parts of one simulation have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from takeup.checks import IntArray
from takeup.environment import Environment
from takeup.errors import MismatchError
from takeup.policies import Policy
from takeup.policies.description import describe, environment_of
from takeup.policies.registry import policy_of
from takeup.populations import CovariateEnvironment
from takeup.simulation.reporting import Reporting
from takeup.space import Space
from takeup.version import __version__

AnyEnvironment: TypeAlias = Environment | CovariateEnvironment
"""A truth, without covariates or with them."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Setup:
    """A simulation but for its replications.

    Attributes:
        environments: the truths by name, all of one shape, utility and intended actions.
        policies: the policies by name.
        engines: whose streams each policy runs on: "reference", "cpu" or "gpu".
        horizon: T, how many units are met.
        reporting: how much the policies see, and when.
        steps: after how many units the regret is recorded, rising.
        full: whether every decision is kept.
        seed: the seed.
        version: the version of takeup.
    """

    environments: Mapping[str, AnyEnvironment]
    policies: Mapping[str, Policy[Any]]
    engines: tuple[str, ...]
    horizon: int
    reporting: Reporting
    steps: IntArray
    full: bool
    seed: int
    version: str = __version__

    @property
    def space(self) -> Space:
        """The space of the first environment; the others differ from it in names at most."""
        return next(iter(self.environments.values())).space

    def spec(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {field.name: describe(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> "Setup":
        """What `spec` gave."""
        return cls(
            **dict(spec)
            | {
                "environments": {name: environment_of(each) for name, each in spec["environments"].items()},
                "policies": {name: policy_of(each) for name, each in spec["policies"].items()},
                "engines": tuple(spec["engines"]),
                "reporting": Reporting(**spec["reporting"]),
                "steps": np.array(spec["steps"]),
            }
        )

    def check_same(self, other: "Setup") -> None:
        """A MismatchError that says where the two differ, if they do."""
        mine, theirs = self.spec(), other.spec()
        differing = [name for name in mine if mine[name] != theirs[name]]
        if differing:
            raise MismatchError(f"these are two different simulations; they differ in {', '.join(differing)}")
