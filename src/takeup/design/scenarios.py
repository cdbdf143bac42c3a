"""Scenarios: the truths in which a plan is tried, with the role that each plays."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from takeup import checks
from takeup.checks import FloatArray
from takeup.design.falling import Changing, FallingTable, TakeUp, phases
from takeup.environment import Environment
from takeup.errors import InputError
from takeup.simulation.spec import EnvironmentTable
from takeup.space import Space
from takeup.trial.looks import Looks

Role: TypeAlias = Literal["null", "alternative"]
NEARLY = 1e-9
"""By how much values may differ and still be the same."""
Part = Annotated[float, Field(ge=0, le=1)]


class ScenarioTable(EnvironmentTable):
    """`[scenarios.NAME]`: an environment as in a simulation, or rates and how many take what they are offered.

    Attributes:
        role: whether it is one in which nothing is to be found.
        take_up: the share of those offered anything but the control (or the first proposal) who take it; the others do
            as if they had been offered that. `{ from = 0.9, to = 0.6 }` changes it in ten equal steps over a whole
            trial, a list gives one for those who are randomised before each look.
        two_sided: the share of those offered the control who take the second action all the same.
        confounded: by how much the rates of those who take what they are offered exceed those of the others, with any
            action; all together have the rates of `success`. What proposing is worth stays, so that it changes
            nothing for who looks at proposals alone.
    """

    role: Role = "alternative"
    take_up: TakeUp | Changing | None = None
    two_sided: Part = 0.0
    confounded: float = 0.0

    def build(  # type: ignore[override]  # a truth with its role
        self, space: Space, control: int = 0, looks: Looks | None = None
    ) -> "Scenario":
        """The scenario, in the space of a plan."""
        if isinstance(self.take_up, list | FallingTable):
            assert looks is not None  # a plan has them
            return self._changing(space, control, looks)
        environment = self._environment(space, control)
        values = environment.value()[0]
        if self.role == "null" and np.ptp(values) > NEARLY:
            shown = ", ".join(f"{label} {value:.6g}" for label, value in zip(space.proposals, values, strict=True))
            raise InputError(
                "role", f"'null', where proposing is worth {shown}", "values that are all the same in a null"
            )
        return Scenario(self.role, environment)

    def _changing(self, space: Space, control: int, looks: Looks) -> "Scenario":
        """The same with one take-up after the other; a null is one in every phase."""
        assert isinstance(self.take_up, list | FallingTable)
        (_, first), *later = phases(self.take_up, looks)
        environment = self.model_copy(update={"take_up": first}).build(space, control).environment
        for start, share in later:
            other = self.model_copy(update={"take_up": share}).build(space, control)
            environment = environment.switch(start, other.environment)
        return Scenario(self.role, environment, int(looks.at[-1]))

    def _environment(self, space: Space, control: int) -> Environment:
        short = self.model_fields_set & {"take_up", "two_sided", "confounded"}
        if self.compliance is not None or self.share is not None:
            if short:
                allowed = "either these, or a whole environment as takeup simulate takes it"
                raise InputError("keys", ", ".join(sorted(short)), allowed)
            return super().build(space)
        for name in ("outcome", "response", "context"):
            if getattr(self, name) is not None:
                raise InputError(
                    name, "something", "nothing beside success; a whole environment has compliance or share"
                )
        if self.success is None:
            given = ", ".join(sorted(self.model_fields_set)) or "nothing"
            raise InputError("keys", given, "success, perhaps with take_up; or what takeup simulate takes")
        rates = checks.rates("success", self.success)
        if rates.shape != (len(space.proposals),):
            raise InputError("success", self.success, f"a rate for each of the {len(space.proposals)} proposals")
        if len(space.outcomes) != 2 or len(space.implemented) != len(space.proposals):
            raise InputError("success", self.success, "two outcomes, and an action for each proposal")
        return _taken(space, rates, self, control)


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A truth in which a plan is tried.

    Attributes:
        role: whether it is one in which nothing is to be found.
        environment: the truth.
        units: of a whole trial, where the truth changes within it.
    """

    role: Role
    environment: Environment
    units: int = 0

    @property
    def values(self) -> FloatArray:
        """What proposing each is worth, on average over a whole trial where that changes; shape (Kz,)."""
        starts, each = zip(*self.environment.phases, strict=True)
        lengths = np.diff([*starts, max(self.units, starts[-1] + 1)])
        return np.average([one.value()[0] for one in each], axis=0, weights=lengths)

    @property
    def apart(self) -> bool:
        """Whether some proposals are worth more than others."""
        return bool(np.ptp(self.values) > NEARLY)

    def better(self, control: int | None) -> NDArray[np.bool_]:
        """Which proposals are rightly called better: than this control, or else the best where not all are."""
        values = self.values
        bar = values.max() - NEARLY if control is None else values[control] + NEARLY
        return np.asarray((values >= bar) & self.apart)


def _taken(space: Space, rates: FloatArray, table: ScenarioTable, control: int) -> Environment:
    """Compliers, those who always have the control, and those who never do."""
    assert not isinstance(table.take_up, list | FallingTable)  # which have been taken apart
    take_up = 1.0 if table.take_up is None else table.take_up
    proposals = len(space.proposals)
    always, second = table.two_sided, (control + 1) % proposals
    if always + (1 - take_up) > 1:
        raise InputError("two_sided", always, f"at most the take-up, {take_up}")
    complies = np.arange(proposals)
    refuses = np.full(proposals, control)
    insists = np.where(complies == control, second, complies)
    share = np.array([take_up - always, 1 - take_up, always])
    takers = 1 - share[1]
    apart = table.confounded
    rise = np.array([apart * (1 - takers), -apart * takers, apart * (1 - takers)])
    each = rates + rise[:, np.newaxis]
    if each.min() < 0 or each.max() > 1:
        raise InputError(
            "confounded", apart, f"a difference that leaves all rates in 0 to 1; they are {each.round(4).tolist()}"
        )
    good = int(np.argmax(space.utility))
    outcome = np.empty((3, proposals, 2))
    outcome[..., good], outcome[..., 1 - good] = each, 1 - each
    some = share > 0
    response: Any = np.stack([complies, refuses, insists])[some]
    return Environment.from_types(space, share[some], response, outcome[some])
