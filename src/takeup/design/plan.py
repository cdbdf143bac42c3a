"""A plan: a trial's design with the scenarios in which it shall be tried."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from takeup import specfile
from takeup.checks import FloatArray
from takeup.design.covariate_truths import EFFECTS
from takeup.design.scenarios import Scenario, ScenarioTable
from takeup.design.who import with_people
from takeup.errors import NOTHING
from takeup.policies import Uniform
from takeup.policies.judging import Rules
from takeup.policies.limits import ControlShare, Limits
from takeup.space import Space
from takeup.specfile import SpecError, Table, at
from takeup.trial.design import Design
from takeup.trial.looks import Looks
from takeup.trial.rules import Reading
from takeup.trial.spec import parse


class ScenariosTable(Table):
    """The scenarios of a plan, by name."""

    scenarios: dict[str, ScenarioTable]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A plan that was checked.

    Attributes:
        design: what the trial decides from, looks and rules included.
        scenarios: by name.
        content: what was written down.
        source: where, as errors call it.
    """

    design: Design
    scenarios: Mapping[str, Scenario]
    content: Mapping[str, Any]
    source: str = "plan"

    @classmethod
    def of(cls, content: Mapping[str, Any], source: str = "plan") -> "Plan":
        """Check a plan; every error names `source`, the key and the value."""
        content = _looked_up(content, source)
        spec = parse(content, source)
        design = Design.of(spec, source)
        if design.looks is None:
            raise SpecError(f"{source}: looks", NOTHING, "when the trial is looked at, such as last = 100")
        if not spec.scenarios:
            allowed = 'at least one table such as [scenarios.null] with role = "null"'
            raise SpecError(f"{source}: scenarios", NOTHING, allowed)
        tables = specfile.validated(ScenariosTable, {"scenarios": spec.scenarios}, source).scenarios
        scenarios = {}
        for name, table in tables.items():
            with at(source, f"scenarios.{name}"):
                scenarios[name] = table.build(design.space, design.rules.control or 0, design.looks)
        return cls(design, scenarios, dict(content), source)

    @classmethod
    def load(cls, path: str | Path) -> "Plan":
        """Read a TOML or JSON file, and the CSV files of people that its scenarios name."""
        source = Path(path).name
        with at(source, "scenarios"):
            content = with_people(specfile.read(path), Path(path).parent)
        return cls.of(content, source)

    @property
    def space(self) -> Space:
        """What is proposed, done and comes of it, without covariates: what rules and reports are about."""
        return self.design.space.without_covariates()

    @property
    def name(self) -> str:
        """What people call the trial."""
        return self.design.spec.name

    @property
    def looks(self) -> Looks:
        """When it is looked at."""
        assert self.design.looks is not None  # `of` refuses a plan without
        return self.design.looks

    @property
    def rules(self) -> Rules:
        """When it ends."""
        return self.design.rules

    @property
    def reading(self) -> Reading:
        """What the rules read."""
        return self.design.spec.stopping.reading

    @property
    def limits(self) -> Limits:
        """Of the probabilities of proposals."""
        return self.design.limits

    @property
    def soften(self) -> FloatArray:
        """The power of the probabilities at each look."""
        assert self.design.soften is not None  # it has looks
        return self.design.soften

    @property
    def control_share(self) -> ControlShare | None:
        """The probability of the control."""
        return self.design.control_share

    @property
    def adaptive(self) -> bool:
        """Whether probabilities change."""
        return not isinstance(self.design.policy, Uniform)

    @property
    def by_unit(self) -> bool:
        """Whether they do so after every outcome."""
        return self.adaptive and self.looks.update == "patient"

    @property
    def changes(self) -> str | None:
        """When they do, in words; None where they never do."""
        return ("after every outcome" if self.by_unit else "at looks alone") if self.adaptive else None

    def with_thresholds(self, superiority: float, inferiority: float | None) -> "Plan":
        """The same with other thresholds, at all looks alike."""
        stopping = {**self.content.get("stopping", {}), "superiority": superiority}
        if inferiority is not None:
            stopping["inferiority"] = inferiority
        return self.changed(stopping=stopping)

    def changed(self, **tables: Any) -> "Plan":
        """The same with other tables, and without what was said of its error."""
        content = {**self.content, **tables}
        if "stopping" in content:
            content["stopping"] = {name: each for name, each in content["stopping"].items() if name != "error"}
        return Plan.of(content, self.source)


def _looked_up(content: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The plan with what other scenarios say of who comes, where one names another."""
    scenarios = content.get("scenarios")
    if not isinstance(scenarios, Mapping):
        return dict(content)
    found = dict(scenarios)
    for name, table in scenarios.items():
        named = [key for key in ("who", *EFFECTS) if isinstance(table, Mapping) and isinstance(table.get(key), str)]
        for key in named:
            where = f"{source}: scenarios.{name}.{key}"
            found[name] = {**found[name], key: _named(scenarios, table[key], where, key)}
    return {**content, "scenarios": found}


def _named(scenarios: Mapping[str, Any], named: str, where: str, key: str) -> Any:
    other = scenarios.get(named)
    if not isinstance(other, Mapping) or isinstance(other.get(key), str | None):
        allowed = f"a table, or the name of a scenario that has one of its own; {', '.join(scenarios)} are there"
        hint = "takeup design and Plan.load read a CSV file of people; a spec has them listed" if key == "who" else ""
        raise SpecError(where, repr(named), allowed, hint)
    return other[key]
