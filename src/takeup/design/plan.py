"""A plan: a trial's spec with its looks, its stopping rules and the scenarios in which it shall be tried."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import Field

from takeup import checks, specfile
from takeup.checks import FloatArray
from takeup.design.scenarios import Scenario, ScenarioTable
from takeup.errors import InputError
from takeup.policies.judging import Rules
from takeup.policies.limits import ControlShare, Limits, Rule
from takeup.specfile import Table, at
from takeup.trial.design import Design
from takeup.trial.looks import Looks, LooksTable, Threshold, Thresholds
from takeup.trial.spec import Label, LimitsTable, Share, StoppingTable, TrialSpec

TABLES = ("looks", "scenarios")
"""What a plan has and a trial's spec has not."""


class MarginTable(Table):
    """A probability above which something is concluded, and the margin that it is about, in units of the outcome."""

    probability: Thresholds
    margin: Annotated[float, Field(gt=0)]


class BoundedTable(Table):
    """A reading that holds while takers and refusers differ by at most so much without what they are offered."""

    bounded: Annotated[float, Field(ge=0)]


PlanReading: TypeAlias = Literal["intention to treat", "policy", "compliers"] | BoundedTable


class PlanStoppingTable(StoppingTable):
    """`[stopping]` of a plan.

    Attributes:
        reading: what the rules read: what proposing is worth ("intention to treat"), the policy's own model, the effect
            of the action among compliers, or a bounded reading.
        superiority: above which probability a proposal is called superior.
        inferiority: below which probability it is dropped.
        equivalence: above which probability proposals are called equivalent, and within which margin.
        futility: above which probability a proposal is dropped that exceeds the control by less than the margin.
        control: the proposal that all others are compared with; the best of all where left out.
        replace: whether a superior proposal becomes the control; else the trial ends.
        control_share: the probability of the control.
    """

    reading: PlanReading = "intention to treat"  # type: ignore[assignment]  # more than a trial without looks has
    superiority: Thresholds | None = None
    inferiority: Thresholds | None = None
    equivalence: MarginTable | None = None
    futility: MarginTable | None = None
    control: Label | None = None
    replace: Annotated[bool, Field(strict=True)] = True
    control_share: Literal["match", "sqrt"] | Threshold | None = None


class PlanLimitsTable(LimitsTable):
    """`[limits]` of a plan.

    Attributes:
        rule: how probabilities are brought within the limits: shifted by one amount, or by one factor.
        soften: the power of the probabilities, one for all looks or one for each; "i/2n" rises to a half at the last.
    """

    rule: Rule = "shift"
    soften: Share | list[Share] | Literal["i/2n"] = 1.0


class PlanSpec(TrialSpec):
    """A whole plan."""

    limits: PlanLimitsTable = PlanLimitsTable()
    stopping: PlanStoppingTable = PlanStoppingTable()
    looks: LooksTable
    scenarios: Annotated[dict[str, ScenarioTable], Field(min_length=1)]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A plan that was checked.

    Attributes:
        name: what people call the trial.
        design: what it decides from.
        looks: when it is looked at.
        rules: when it ends.
        reading: what the rules read.
        limits: of the probabilities of proposals.
        soften: the power of the probabilities at each look.
        control_share: the probability of the control.
        scenarios: by name.
        content: what was written down.
        source: where, as errors call it.
    """

    name: str
    design: Design
    looks: Looks
    rules: Rules
    reading: PlanReading
    limits: Limits
    soften: FloatArray
    control_share: ControlShare | None
    scenarios: Mapping[str, Scenario]
    content: Mapping[str, Any]
    source: str = "plan"

    @classmethod
    def of(cls, content: Mapping[str, Any], source: str = "plan") -> "Plan":
        """Check a plan; every error names `source`, the key and the value."""
        spec = specfile.validated(PlanSpec, content, source)
        design = Design.of(_trial(spec, source), source)
        with at(source, "looks"):
            looks = spec.looks.build()
        with at(source, "stopping"):
            rules = _rules(spec.stopping, looks, design)
        with at(source, "limits"):
            limits = replace(design.limits, rule=spec.limits.rule)
            _check_dropping(limits, design, rules)
            soften = _soften(spec.limits.soften, looks)
        scenarios = {}
        for name, table in spec.scenarios.items():
            with at(source, f"scenarios.{name}"):
                scenarios[name] = table.build(design.space, rules.control or 0)
        shared = spec.stopping.control_share
        reading = spec.stopping.reading
        return cls(spec.name, design, looks, rules, reading, limits, soften, shared, scenarios, dict(content), source)

    @classmethod
    def load(cls, path: str | Path) -> "Plan":
        """Read a TOML or JSON file."""
        return cls.of(specfile.read(path), Path(path).name)

    def with_thresholds(self, superiority: float, inferiority: float | None) -> "Plan":
        """The same with other thresholds, at all looks alike."""
        stopping = {**self.content.get("stopping", {}), "superiority": superiority}
        if inferiority is not None:
            stopping["inferiority"] = inferiority
        return Plan.of({**self.content, "stopping": stopping}, self.source)


def _trial(spec: PlanSpec, source: str) -> TrialSpec:
    """The trial's own spec: what a plan adds is left out."""
    content = spec.model_dump(exclude={*TABLES}, exclude_unset=True)
    content["limits"] = {
        name: value for name, value in content.get("limits", {}).items() if name in ("floor", "ceiling")
    }
    kept = StoppingTable.model_fields
    stopping = {name: value for name, value in content.get("stopping", {}).items() if name in kept}
    if stopping.get("reading") not in (None, "intention to treat", "policy"):
        stopping.pop("reading")
    content["stopping"] = stopping
    return specfile.validated(TrialSpec, content, source)


def _rules(table: PlanStoppingTable, looks: Looks, design: Design) -> Rules:
    for name in ("probability_best", "maximum"):
        if getattr(table, name) is not None:
            raise InputError(name, getattr(table, name), "nothing: a plan has superiority, and looks.last")
    labels = design.space.proposals
    if table.control is not None and table.control not in labels:
        raise InputError("control", repr(table.control), f"one of {', '.join(labels)}")
    control = None if table.control is None else labels.index(table.control)
    if table.futility is not None and control is None:
        raise InputError(
            "futility", table.futility.probability, "a control, which futility is about", 'say control = ".."'
        )
    if control is None and isinstance(table.reading, BoundedTable):
        raise InputError("reading", "bounded", "a control, which others are compared with", 'say control = ".."')
    if control is None and table.reading == "compliers":
        raise InputError("reading", "'compliers'", "a control, which others are compared with", 'say control = ".."')
    if table.control_share is not None and control is None:
        raise InputError("control_share", table.control_share, "a control", 'say control = ".."')
    _check_margins(table, design.space.outcome.highest - design.space.outcome.lowest)
    above, below = looks.each("superiority", table.superiority), looks.each("inferiority", table.inferiority)
    if above is not None and below is not None and (above <= below).any():
        raise InputError("superiority", above.tolist(), f"numbers above those of inferiority, {below.tolist()}")
    if below is not None and control is None and below.max() >= 1 / len(labels):
        allowed = f"below 1 / {len(labels)}, which every proposal has where all are alike"
        raise InputError("inferiority", float(below.max()), allowed)
    equal, futile = table.equivalence, table.futility
    return Rules(
        above,
        below,
        None if equal is None else looks.each("equivalence.probability", equal.probability),
        0.0 if equal is None else equal.margin,
        None if futile is None else looks.each("futility.probability", futile.probability),
        0.0 if futile is None else futile.margin,
        control,
        table.replace,
    )


def _check_margins(table: PlanStoppingTable, most: float) -> None:
    for name in ("equivalence", "futility"):
        given: MarginTable | None = getattr(table, name)
        if given is not None and given.margin >= most:
            raise InputError(f"{name}.margin", given.margin, f"less than outcomes can differ, {most:g}")


def _check_dropping(limits: Limits, design: Design, rules: Rules) -> None:
    """Whatever is dropped, the others must be able to share all of the probability."""
    labels = design.space.proposals
    if len(labels) < 3 or (rules.inferiority is None and rules.futility is None and rules.control is None):
        return
    ceiling = np.broadcast_to(checks.real("ceiling", limits.ceiling), len(labels))
    low = np.sort(ceiling)[:2]
    if low.sum() < 1:
        left = f"{low.sum():g} where two proposals are left"
        raise InputError("ceiling", left, "ceilings that sum to 1 or more whatever is dropped", "raise them")


def _soften(given: float | Sequence[float] | str, looks: Looks) -> FloatArray:
    """The power after each look, or after each outcome where probabilities change then.

    "i/2n" is i / (2 n) where i of n outcomes are known.
    """
    every = looks.at if looks.update == "look" else np.arange(looks.at[-1])
    if given == "i/2n":
        return np.asarray(every / (2 * looks.at[-1]))
    if looks.update == "look":
        found = looks.each("soften", given)  # type: ignore[arg-type]  # shares are thresholds, ends included
        assert found is not None  # something is given
        return found
    if not isinstance(given, float | int):
        raise InputError("soften", given, 'a number, or "i/2n", where probabilities change after every outcome')
    return np.full(every.size, float(given))
