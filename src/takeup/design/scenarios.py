"""Scenarios: the truths in which a plan is tried, with the role that each plays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from takeup.checks import FloatArray
from takeup.design.covariate_truths import EFFECTS, affected, averaged, by_unit, modelled, unaffected
from takeup.design.falling import Changing, FallingTable, TakeUp, phases
from takeup.design.truths import KEYS, Truth, truth_of
from takeup.design.who import who_comes
from takeup.environment import MOST_CELLS, Environment
from takeup.errors import NOTHING, InputError
from takeup.outcomes import Number
from takeup.populations import CovariateEnvironment
from takeup.simulation.spec import EnvironmentTable, Nested
from takeup.space import Space
from takeup.trial.looks import Looks

Role: TypeAlias = Literal["null", "alternative"]
NEARLY = 1e-9
"""By how much of the greatest worth values may differ and still be the same."""
Part = Annotated[float, Field(ge=0, le=1)]
Effects: TypeAlias = str | dict[str, Any]
"""By covariate; or the name of the scenario that says it."""
Who: TypeAlias = str | dict[str, Any] | list[dict[str, Any]]
"""The distribution of each covariate, or people; or the name of the scenario that says it."""


class ScenarioTable(EnvironmentTable):
    """`[scenarios.NAME]`: an environment as in a simulation, or outcomes and how many take what they are offered.

    Attributes:
        role: whether it is one in which nothing is to be found.
        mean: of each action, where outcomes are numbers.
        sd: their standard deviation, of all actions or of each.
        rate: events by unit of exposure, where outcomes are counts.
        hazard: events by unit of time, where outcomes are times.
        median: the time at which half have had their event, instead.
        take_up: the share of those offered anything but the control (or the first proposal) who take it; the others do
            as if they had been offered that. `{ from = 0.9, to = 0.6 }` changes it in ten equal steps over a whole
            trial, a list gives one for those who are randomised before each look.
        two_sided: the share of those offered the control who take the second action all the same.
        confounded: by how much the rates (means, mean times within the watch) of those who take what they are offered
            exceed those of the others, with any action; all together have what is written. What proposing is worth
            stays, so that with two outcomes it changes nothing for who looks at proposals alone; other outcomes vary
            more.
        who: who comes, where there are covariates: the distribution of each, or a list of people.
        prognostic: what covariates make of outcomes, with any action: log odds of success, or means.
        modifiers: what they make beside that with any action but the control's, or by action.
        taking: what they make of the log odds of taking what is offered. Any of these four may name another scenario
            instead, whose own it is then.
    """

    role: Role = "alternative"
    compliance: Nested | dict[str, Any] | None = None  # type: ignore[assignment]  # a model too, with covariates
    who: Who | None = None
    prognostic: Effects | None = None
    modifiers: Effects | None = None
    taking: Effects | None = None
    mean: list[float] | None = None
    sd: float | list[float] | None = None
    rate: list[float] | None = None
    hazard: list[float] | None = None
    median: list[float] | None = None
    take_up: TakeUp | Changing | None = None
    two_sided: Part = 0.0
    confounded: float = 0.0

    def build(  # type: ignore[override]  # a truth with its role
        self, space: Space, control: int = 0, looks: Looks | None = None
    ) -> "Scenario":
        """The scenario, in the space of a plan."""
        changing = isinstance(self.take_up, list | FallingTable)
        steps = [(0, self)]
        if isinstance(self.take_up, list | FallingTable):
            assert looks is not None  # a plan has them
            each = phases(self.take_up, looks)
            steps = [(start, self.model_copy(update={"take_up": share})) for start, share in each]
        parts = [(start, *table._truth(space, control)) for start, table in steps]
        for _, plain, _ in parts:
            self._check_null(plain)
        (_, environment, _), *later = parts
        for start, plain, _ in later:
            environment = environment.switch(start, plain)
        people = tuple((start, each) for start, _, each in parts if each is not None)
        assert looks is not None or not changing
        units = int(looks.at[-1]) if changing and looks is not None else 0
        return Scenario(self.role, environment, units, people)

    def _check_null(self, plain: Environment) -> None:
        """A null is one in every phase."""
        found = Scenario(self.role, plain)
        if self.role == "null" and found.apart:
            labelled = zip(plain.space.proposals, found.values, strict=True)
            shown = ", ".join(f"{label} {value:.6g}" for label, value in labelled)
            raise InputError(
                "role", f"'null', where proposing is worth {shown}", "values that are all the same in a null"
            )

    def _truth(self, space: Space, control: int) -> tuple[Environment, CovariateEnvironment | None]:
        """What there is to whoever leaves covariates out, and people with covariates where there are any."""
        own = [name for name in ("who", *EFFECTS) if getattr(self, name) is not None]
        models = [name for name in ("compliance", "outcome") if _is_model(getattr(self, name))]
        if space.covariates is None:
            if own or models:
                hint = "[space.covariates] says what is known of people before a decision"
                raise InputError((own + models)[0], "something", "nothing: the space has no covariates", hint)
            return self._environment(space, control), None
        assert not isinstance(self.who, str)  # which `Plan.of` has looked up
        population, effects = who_comes(self.who, space), [name for name in own if name != "who"]
        if models:
            self._alone(effects, models)
            people = modelled(self.model_dump(include={"compliance", "outcome", "share"}), space, population)
            return averaged(people), people
        if not effects:
            plain = self._environment(space.without_covariates(), control)
            return plain, unaffected(plain, space, population)
        people = affected(self._short(space, effects), space, population, control)
        return averaged(people), people

    def _alone(self, effects: list[str], models: list[str]) -> None:
        """Models say everything."""
        more = self.model_fields_set & {"take_up", "two_sided", "confounded", "sd", "success", "response", *KEYS}
        if effects or more:
            told = ", ".join(sorted({*effects, *more}))
            raise InputError(
                "keys", f"{told} beside a model of {models[0]}", "models of compliance and of outcome alone"
            )

    def _short(self, space: Space, effects: list[str]) -> dict[str, Any]:
        """What is written beside effects of covariates, checked."""
        key = "mean" if isinstance(space.outcome, Number) else "success"
        if not (isinstance(space.outcome, Number) or space.outcome.size == 2):
            hint = "or say it with models: outcome = { logit = [..] }"
            raise InputError(effects[0], "something", "two outcomes, or numbers, where covariates change them", hint)
        if self.confounded:
            hint = "with taking and prognostic effects those who take it differ from the others by their covariates"
            raise InputError("confounded", self.confounded, f"nothing beside {effects[0]}", hint)
        for name in ("compliance", "share", "response", "outcome", "context"):
            if getattr(self, name) is not None:
                raise InputError(name, "something", f"{key} and perhaps take_up, beside {effects[0]}")
        if isinstance(self.sd, list):
            raise InputError("sd", self.sd, f"one number, around the means that covariates make, beside {effects[0]}")
        if len(space.implemented) != len(space.proposals):
            found = f"{len(space.implemented)} actions for {len(space.proposals)} proposals"
            raise InputError("keys", found, "an action for each proposal, in a short form")
        given = self.model_dump(include={"outcome", "sd", *KEYS})
        truth_of(given, space)  # which says what is wrong with it
        if "taking" in effects and self.take_up is None:
            raise InputError("take_up", NOTHING, "the share of all who take what is offered, which taking is about")
        take_up = 1.0 if self.take_up is None else self.take_up
        if self.two_sided + (1 - take_up) > 1:  # type: ignore[operator]  # a number by now
            raise InputError("two_sided", self.two_sided, f"at most the take-up, {take_up}")
        more = {name: getattr(self, name) for name in effects}
        return {**given, **more, "take_up": take_up, "two_sided": self.two_sided}

    def _environment(self, space: Space, control: int) -> Environment:
        if self.compliance is not None or self.share is not None:
            short = self.model_fields_set & {"take_up", "two_sided", "confounded", "sd", *KEYS} - {"success"}
            if short:
                allowed = "either these, or a whole environment as takeup simulate takes it"
                raise InputError("keys", ", ".join(sorted(short)), allowed)
            return super().build(space)
        for name in ("response", "context"):
            if getattr(self, name) is not None:
                raise InputError(
                    name, "something", "nothing in a short form; a whole environment has compliance or share"
                )
        if len(space.implemented) != len(space.proposals):
            found = f"{len(space.implemented)} actions for {len(space.proposals)} proposals"
            raise InputError("keys", found, "an action for each proposal, in a short form")
        written = self.model_dump(include={"outcome", "sd", *KEYS})
        return _taken(space, truth_of(written, space), self, control)


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A truth in which a plan is tried.

    Attributes:
        role: whether it is one in which nothing is to be found.
        environment: the truth; with covariates, that of all who come together.
        units: of a whole trial, where the truth changes within it.
        people: with covariates, the truth of each, and from which unit on it holds.
    """

    role: Role
    environment: Environment
    units: int = 0
    people: tuple[tuple[int, CovariateEnvironment], ...] = ()

    @property
    def values(self) -> FloatArray:
        """What proposing each is worth, on average over a whole trial where that changes; shape (Kz,)."""
        return self._over([one.value()[0] for _, one in self.environment.phases])

    @property
    def by_unit(self) -> tuple[FloatArray, FloatArray]:
        """With covariates: to which share of all each proposal is the best, and what it costs to propose it to all."""
        best, cost = zip(*(by_unit(one, self.nearly) for _, one in self.people), strict=True)
        return self._over(best), self._over(cost)

    def _over(self, each: Sequence[FloatArray]) -> FloatArray:
        """The average over a whole trial of what each phase has."""
        starts = [start for start, _ in self.environment.phases]
        lengths = np.diff([*starts, max(self.units, starts[-1] + 1)])
        return np.asarray(np.average(each, axis=0, weights=lengths))

    @property
    def nearly(self) -> float:
        """By how much values may differ and still be the same."""
        outcome = self.environment.space.outcome
        return NEARLY * max(outcome.highest - outcome.lowest, abs(outcome.highest), abs(outcome.lowest))

    @property
    def apart(self) -> bool:
        """Whether some proposals are worth more than others."""
        return bool(np.ptp(self.values) > self.nearly)

    def better(self, control: int | None) -> NDArray[np.bool_]:
        """Which proposals are rightly called better: than this control, or else the best where not all are."""
        values = self.values
        bar = values.max() - self.nearly if control is None else values[control] + self.nearly
        return np.asarray((values >= bar) & self.apart)


def _is_model(given: Any) -> bool:
    """Whether a key has a model of people with covariates, and no family of distributions."""
    return isinstance(given, dict) and "kind" not in given


def _taken(space: Space, truth: Truth, table: ScenarioTable, control: int) -> Environment:
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
    if proposals**2 * space.outcome.size > MOST_CELLS:
        found = f"{proposals**2 * space.outcome.size:,} probabilities"
        raise InputError("space.outcomes.step", found, f"at most {MOST_CELLS:,}", "plan with a larger step")
    if apart and truth.key == "outcome":
        raise InputError("confounded", apart, "nothing beside outcome", "say so with share, response and outcome")
    some = share > 0
    rise = np.array([apart * (1 - takers), -apart * takers, apart * (1 - takers)])[some]
    response: Any = np.stack([complies, refuses, insists])[some]
    return Environment.from_types(space, share[some], response, truth.shifted(rise, apart))
