"""A simulation written down in TOML: environments, policies, horizon."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from takeup import checks, specfile
from takeup.environment import Environment
from takeup.errors import InputError
from takeup.families import Family, family_of
from takeup.families.base import Parametric
from takeup.families.named import FAMILIES
from takeup.outcomes import Outcome
from takeup.policies.registry import policy_of
from takeup.simulation.reporting import Reporting
from takeup.simulation.run import Record
from takeup.space import Space
from takeup.specfile import SpaceTable, SpecError, Table
from takeup.world import World

__all__ = ["Simulation", "Spec", "SpecError", "load"]

Nested = list[Any]
Listed = Annotated[list[dict[str, Any]], Field(min_length=1)]
Named = Annotated[dict[str, dict[str, Any]], Field(min_length=1)]
"""Policies under their own names, `[[policies]]`, or by name, `[policies.NAME]`."""


class EnvironmentTable(Table):
    """`[environments.NAME]`: a world (compliance with success or outcome) or types (share, response, outcome).

    The outcome of a world is a table of probabilities or, where outcomes are no levels, a family of distributions.
    """

    compliance: Nested | None = None
    success: Nested | None = None
    outcome: Nested | dict[str, Any] | None = None
    share: Nested | None = None
    response: Nested | None = None
    context: list[float] | None = None

    def build(self, space: Space | None) -> Environment:
        """The environment, in this space if there is one."""
        if self.share is not None and self.response is not None and self.outcome is not None:
            if space is None:
                raise InputError("share", "types without a [space]", "a [space] table that says what can be proposed")
            if isinstance(self.outcome, dict):
                allowed = "the probability of each outcome by type and action, as types have no families"
                raise InputError("outcome", checks.shown(self.outcome), allowed)
            return Environment.from_types(space, self.share, self.response, self.outcome, context=self.context)
        if self.compliance is None or (self.success is None) == (self.outcome is None):
            given = ", ".join(sorted(self.model_fields_set)) or "nothing"
            raise InputError(
                "keys", given, "compliance with success, compliance with outcome, or share with response and outcome"
            )
        if self.success is not None:
            world = World.bernoulli(self.compliance, self.success)
        elif isinstance(self.outcome, dict):
            with checks.inside("outcome"):
                family = family_of(self.outcome)
                utility = _outcome_of(family, self.outcome["kind"], space)
            world = World(checks.real("compliance", self.compliance), family, utility)
        else:
            compliance, outcome = checks.real("compliance", self.compliance), checks.real("outcome", self.outcome or [])
            world = World(compliance, outcome, space.reward) if space else World(compliance, outcome)
        return Environment.from_world(world, context=self.context, space=space)


def _outcome_of(family: Family, name: str, space: Space | None) -> Outcome:
    """The outcome of the space, if this family can be of it."""
    of = family.of if isinstance(family, Parametric) else Outcome
    if space is not None and isinstance(space.outcome, of):
        return space.outcome
    hint = f'say so under [space]: outcomes = {{kind = "{of.kind}", ..}}' if of is not Outcome else ""
    if space is None:
        raise InputError("kind", f"{name!r} without a [space]", "a [space] table that says what outcomes are", hint)
    kind = type(space.outcome)
    suited = [each for each, made in FAMILIES.items() if issubclass(kind, getattr(made, "of", kind))]
    allowed = f"one of {', '.join(suited)}, as an outcome is a {kind.kind}"
    raise InputError("kind", repr(name), allowed, f"where it is a {of.kind}, {hint}")


class ReportingTable(Table):
    """`[reporting]`: how much the policies see, and when."""

    compliance: float = 1.0
    delay: int = 0
    batch: int = 1


class Spec(Table):
    """A whole file."""

    horizon: int = Field(ge=1)
    replications: int = Field(default=100, ge=1)
    seed: int = Field(default=0, ge=0)
    record: Record = "summary"
    steps: list[int] | None = None
    space: SpaceTable | None = None
    environments: dict[str, EnvironmentTable] = Field(min_length=1)
    policies: Listed | Named
    reporting: ReportingTable = ReportingTable()


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """What a file says.

    Attributes:
        replications: how many runs.
        seed: the seed.
        arguments: the other arguments of `simulate` and `plan`.
    """

    replications: int
    seed: int
    arguments: dict[str, Any]


def load(path: str | Path) -> Simulation:
    """Read a TOML (or JSON) file; every error names the file, the key and the value."""
    content = specfile.read(path)
    name = Path(path).name
    spec = specfile.validated(Spec, content, name)
    at = partial(specfile.at, name)
    with at("space"):
        space = None if spec.space is None else spec.space.build()
    environments = {}
    for key, table in spec.environments.items():
        with at(f"environments.{key}"):
            environments[key] = table.build(space)
    given = spec.policies
    tables = given if isinstance(given, dict) else {str(i): table for i, table in enumerate(given)}
    policies = {}
    for key, described in tables.items():
        with at(f"policies.{key}"):
            policies[key] = policy_of(described)
    with at("reporting"):
        reporting = Reporting(**spec.reporting.model_dump())
    arguments = {
        "environment": environments,
        "policies": policies if isinstance(given, dict) else list(policies.values()),
        "reporting": reporting,
        "horizon": spec.horizon,
        "record": spec.record,
        "steps": spec.steps,
    }
    return Simulation(spec.replications, spec.seed, arguments)
