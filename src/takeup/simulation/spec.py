"""A simulation written down in TOML: environments, policies, horizon."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from takeup import checks
from takeup.environment import Environment
from takeup.errors import InputError, TakeupError
from takeup.simulation.description import policy_of
from takeup.simulation.reporting import Reporting
from takeup.simulation.run import Record
from takeup.space import Space
from takeup.world import World

Value = TypeVar("Value")
Nested = list[Any]


class SpecError(InputError):
    """Something in a spec file: names the file, the key and the value."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SpaceTable(_Table):
    """`[space]`: names and utilities; left out, everything is numbered and outcomes are failure and success."""

    proposals: int | list[str]
    implemented: int | list[str] | None = None
    contexts: int | list[str] = 1
    outcomes: int | list[str] = 2
    utility: list[float] | None = None
    intended: list[int | str] | dict[str, int | str] | None = None


class EnvironmentTable(_Table):
    """`[environments.NAME]`: a world (compliance with success or outcome) or types (share, response, outcome)."""

    compliance: Nested | None = None
    success: Nested | None = None
    outcome: Nested | None = None
    share: Nested | None = None
    response: Nested | None = None
    context: list[float] | None = None

    def build(self, space: Space | None) -> Environment:
        """The environment, in this space if there is one."""
        if self.share is not None and self.response is not None and self.outcome is not None:
            if space is None:
                raise InputError("share", "types without a [space]", "a [space] table that says what can be proposed")
            return Environment.from_types(space, self.share, self.response, self.outcome, context=self.context)
        if self.compliance is None or (self.success is None) == (self.outcome is None):
            given = ", ".join(sorted(self.model_fields_set)) or "nothing"
            raise InputError(
                "keys", given, "compliance with success, compliance with outcome, or share with response and outcome"
            )
        if self.success is not None:
            world = World.bernoulli(self.compliance, self.success)
        else:
            compliance, outcome = checks.real("compliance", self.compliance), checks.real("outcome", self.outcome or [])
            world = World(compliance, outcome, space.reward) if space else World(compliance, outcome)
        return Environment.from_world(world, context=self.context, space=space)


class ReportingTable(_Table):
    """`[reporting]`: how much the policies see, and when."""

    compliance: float = 1.0
    delay: int = 0
    batch: int = 1


class Spec(_Table):
    """A whole file."""

    horizon: int = Field(ge=1)
    replications: int = Field(default=100, ge=1)
    seed: int = Field(default=0, ge=0)
    record: Record = "summary"
    steps: list[int] | None = None
    space: SpaceTable | None = None
    environments: dict[str, EnvironmentTable] = Field(min_length=1)
    policies: list[dict[str, Any]] = Field(min_length=1)
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
    """Read a file; every error names the file, the key and the value."""
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        spec = Spec.model_validate(content)
    except OSError as error:
        raise SpecError(str(path), error.strerror, "a TOML file that can be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(str(path), error, "TOML") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        absent = first["type"] == "missing"
        value, allowed = ("nothing", "a value") if absent else (repr(first["input"]), first["msg"])
        raise SpecError(f"{file.name}: {key}", value, allowed.removeprefix("Input should be ")) from None

    def at(key: str, make: Callable[[], Value]) -> Value:
        try:
            return make()
        except InputError as error:
            raise SpecError(f"{file.name}: {key}.{error.argument}", error.value, error.allowed, error.hint) from None
        except TakeupError as error:
            raise SpecError(f"{file.name}: {key}", "what is there", f"something else: {error}") from None

    table = spec.space
    space = None if table is None else at("space", partial(Space, **table.model_dump()))
    environments = {n: at(f"environments.{n}", partial(each.build, space)) for n, each in spec.environments.items()}
    arguments = {
        "environment": environments,
        "policies": [at(f"policies.{i}", partial(policy_of, each)) for i, each in enumerate(spec.policies)],
        "reporting": at("reporting", partial(Reporting, **spec.reporting.model_dump())),
        "horizon": spec.horizon,
        "record": spec.record,
        "steps": spec.steps,
    }
    return Simulation(spec.replications, spec.seed, arguments)
