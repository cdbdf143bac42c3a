"""What was to be reported, as a plan's `[analysis]` says it: the primary reading, test and level."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from takeup import checks
from takeup.analysis.estimate import Measure
from takeup.analysis.weights import Weights
from takeup.errors import InputError
from takeup.log import Log
from takeup.policies.bounded_reading import BoundedReading
from takeup.space import Label, Space
from takeup.trial.design import Design
from takeup.trial.planned_analysis import of_intervals, problems
from takeup.trial.rules import BoundedTable
from takeup.trial.spec import AnalysisTable

Reading: TypeAlias = Literal["intention to treat", "compliers", "per protocol", "bounded", "policy"]
"""What the data are read by; "policy" is a policy's own model, which has no interval here."""


HowMissing: TypeAlias = Literal["complete", "weighted"]
"""Whether those whose outcome is missing are left out, or others like them count for them, too."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The primary analysis.

    Attributes:
        reading: of the data.
        measure: how proposals are compared.
        level: of intervals; where an effect is looked for on one side, of each end by itself.
        sided: 1 or 2.
        test: of no effect; empty where none was named.
        any_time: whether intervals hold at any number of looks.
        promise: by how much takers and refusers may differ, of the bounded reading.
        control: the proposal that others are compared with.
        named: whether a plan says so.
        looks: at how many looks the trial could have ended.
        size: for how many decisions the trial was planned; None where nobody says.
        weights: how decisions count in intention to treat.
        missing: whether others count for those whose outcome is missing.
        changed: in what it is another analysis than the plan's, a sentence each; it is then no planned one.
        refused: why what was planned gives no answer, a sentence each.
        moved: the bounded reading with the weights that were fixed before the trial; None where they were not.
        stored: whether that plan is the trial's own, which it began with; of another nobody knows when it was written.
        control_named: whether the plan names the control.
        until: up to when times are compared; None where nobody says.
    """

    reading: Reading = "intention to treat"
    measure: Measure = "difference"
    level: float = 0.95
    sided: Literal[1, 2] = 2
    test: str = ""
    any_time: bool = False
    promise: float | None = None
    control: int = 0
    named: bool = False
    looks: int = 1
    size: int | None = None
    weights: Weights = "uniform"
    missing: HowMissing = "complete"
    changed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    moved: BoundedReading | None = None
    stored: bool = False
    control_named: bool = False
    until: float | None = None

    @property
    def two_sided_level(self) -> float:
        """The level of an interval with two ends each of which has the level that was asked for."""
        return self.level if self.sided == 2 else 2 * self.level - 1

    @property
    def leads(self) -> Literal["planned", "by convention", "explored"]:
        """What kind of answer it gives: what was changed after the plan is explored."""
        return "planned" if self.named else "explored" if self.changed else "by convention"

    @property
    def by_plan(self) -> str:
        """By which plan something is so: "as planned" where it was written down before the trial for sure."""
        return "as planned" if self.stored else "by the plan that was given"

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "planned": self.named,
            "changed": list(self.changed),
            "reading": self.reading,
            "measure": self.measure,
            "level": self.level,
            "sided": self.sided,
            "test": self.test or None,
            "any_time": self.any_time,
            "promise": self.promise,
            "weights": self.weights,
            "missing": self.missing,
            "until": self.until,
        }


def planned_of(
    log: Log,
    plan: Design | None,
    *,
    own: Design | None = None,
    control: Label | None = None,
    promise: float | None = None,
    level: float | None = None,
    weights: Weights | None = None,
    missing: HowMissing | None = None,
    until: float | None = None,
) -> Planned:
    """What a design plans, or intention to treat by convention; what is given wins, and is then not what was planned.

    Args:
        log: whose proposals it is about.
        plan: what is to be reported; that of the trial's own design where left out.
        own: the trial's own design, where there is one: a plan that says another analysis was not made before it.
        control: what the others are compared with; that of the plan, or else the first proposal.
        promise: of a bounded reading beside the primary one.
        level: of intervals.
        weights: how decisions count in intention to treat.
        missing: what becomes of those whose outcome is missing.
        until: up to when times are compared.
    """
    plan = own if plan is None else plan
    for each in (plan, own):
        if each is not None and each.space.proposals != log.space.proposals:
            there, here = (", ".join(some.space.proposals) for some in (each, log))
            raise InputError("plan", f"proposals {there}", f"those of the log, {here}")
    table = None if plan is None else plan.spec.analysis
    given = AnalysisTable() if table is None else table
    usual = _control(plan)
    place = log.space.index("proposal", usual if control is None else control)
    bound = given.reading.bounded if isinstance(given.reading, BoundedTable) else None
    most = log.space.outcome.highest - log.space.outcome.lowest
    if promise is not None and not 0 <= (promise := float(promise)) <= most:
        raise InputError("promise", f"{promise:g}", f"a difference from 0 to {most:g}, the range of outcomes")
    chosen = given.confidence if level is None else checks.share("level", level)
    changed = []
    if plan is not None and own is not None and plan is not own:
        changed += _differences(plan, own)
    if table is not None:
        names = log.space.proposals
        if place != usual:
            changed.append(f"The plan compares with {names[usual]}, and this is compared with {names[place]}.")
        if chosen != given.confidence:
            changed.append(f"The plan's level is {given.confidence:g}, and this is of {chosen:g}.")
        if bound is not None and promise not in (None, bound):
            changed.append(f"The plan's promise is {bound:g}, and this is of {promise:g}.")
        if weights not in (None, given.weights):
            changed.append(f"The plan's weights are {given.weights}, and these are {weights}.")
        if missing not in (None, given.missing):
            changed.append(f"The plan says {given.missing} of what is missing, and this is {missing}.")
        if until not in (None, given.until):
            said = "as long as all were watched" if given.until is None else f"up to {given.until:g}"
            changed.append(f"The plan compares times {said}, and this is up to {until:g}.")
    given = _asked(log, given, weights=weights, missing=missing, until=until)
    return Planned(
        "bounded" if bound is not None else given.reading,  # type: ignore[arg-type]  # a name where it is no table
        given.contrast,
        chosen,
        given.sided,
        given.test or "",
        given.any_time,
        bound if promise is None else promise,
        place,
        table is not None and not changed,
        1 if plan is None or plan.looks is None else int(plan.looks.at.size),
        _size(plan),
        given.weights,
        given.missing,
        tuple(changed),
        () if plan is None or table is None else tuple(f"{key}: {why}" for key, _, why in problems(plan, table)),
        None if bound is None or changed or plan is None else _moved(plan, given, log.space, place),
        own is not None and not changed,
        plan is not None and plan.spec.stopping.control is not None and place == usual,
        given.until,
    )


def _moved(plan: Design, table: AnalysisTable, space: Space, control: int) -> BoundedReading | None:
    """A bounded reading with its planned weights: those of `[analysis]`, or of a stopping rule with that promise."""
    readings = [each for each in (table.reading, plan.spec.stopping.reading) if isinstance(each, BoundedTable)]
    for reading in readings:
        if reading.moved is not None and reading.bounded == readings[0].bounded:
            return reading.read(space, control)
    return None


def _asked(log: Log, table: AnalysisTable, **options: Any) -> AnalysisTable:
    """The table with what is asked for in its place, if its reading has such."""
    asked = {name: value for name, value in options.items() if value is not None}
    for name, known in (("weights", Weights), ("missing", HowMissing)):
        if name in asked:
            checks.one_of(name, asked[name], get_args(known))
    found = table.model_copy(update=asked)
    for name, got, allowed in of_intervals(log.space, found):
        if name in asked:
            raise InputError(name, repr(got), allowed)
    return found


def _control(plan: Design | None) -> int:
    """The proposal that a plan compares others with: the first where it names none."""
    named = None if plan is None else plan.spec.stopping.control
    return 0 if plan is None or named is None else plan.space.index("proposal", named)


def _differences(plan: Design, own: Design) -> list[str]:
    """In what a plan says another analysis than the trial's own design did before the trial, a sentence each."""
    if own.spec.analysis is None:
        return ["The trial began without a plan of its analysis: what was given was written down later, or elsewhere."]
    given, stored = (_full(each.spec.analysis or AnalysisTable()) for each in (plan, own))
    found = [
        f"The trial was planned with {key} = {_told(stored[key])}, and what was given says {_told(given[key])}."
        for key in given
        if given[key] != stored[key]
    ]
    if _control(plan) != _control(own):
        names = own.space.proposals
        ours, theirs = names[_control(own)], names[_control(plan)]
        found.append(f"The trial was planned to compare with {ours}, and what was given compares with {theirs}.")
    return found


def _full(table: AnalysisTable) -> dict[str, Any]:
    """All that a table says, with what it leaves to defaults."""
    return {name: AnalysisTable.model_fields[name].default for name in table.newer} | table.model_dump()


def _told(value: object) -> str:
    if isinstance(value, dict):
        return f"{{ bounded = {value['bounded']:g} }}"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _size(plan: Design | None) -> int | None:
    """How many decisions a plan is for."""
    if plan is None:
        return None
    return plan.spec.stopping.maximum if plan.looks is None else int(plan.looks.randomised[-1])
