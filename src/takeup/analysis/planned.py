"""What was to be reported, as a plan's `[analysis]` says it: the primary reading, test and level."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from takeup import checks
from takeup.analysis.estimate import Measure
from takeup.errors import InputError
from takeup.log import Log
from takeup.space import Label
from takeup.trial.design import Design
from takeup.trial.rules import BoundedTable
from takeup.trial.spec import AnalysisTable

Reading: TypeAlias = Literal["intention to treat", "compliers", "per protocol", "bounded", "policy"]
"""What the data are read by; "policy" is a policy's own model, which has no interval here."""


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
        named: whether a plan said so before the trial; else it is a convention.
        looks: at how many looks the trial could have ended.
        size: for how many decisions the trial was planned; None where nobody says.
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

    @property
    def two_sided_level(self) -> float:
        """The level of an interval with two ends each of which has the level that was asked for."""
        return self.level if self.sided == 2 else 2 * self.level - 1

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "planned": self.named,
            "reading": self.reading,
            "measure": self.measure,
            "level": self.level,
            "sided": self.sided,
            "test": self.test or None,
            "any_time": self.any_time,
            "promise": self.promise,
        }


def planned_of(
    log: Log,
    plan: Design | None,
    *,
    control: Label | None = None,
    promise: float | None = None,
    level: float | None = None,
) -> Planned:
    """What a design plans, or intention to treat by convention; what is given wins, and is then not what was planned.

    Args:
        log: whose proposals it is about.
        plan: the trial's design.
        control: what the others are compared with; that of the plan, or else the first proposal.
        promise: of a bounded reading beside the primary one.
        level: of intervals.
    """
    table = None if plan is None else plan.spec.analysis
    if plan is not None and plan.space.proposals != log.space.proposals:
        there, here = (", ".join(each.space.proposals) for each in (plan, log))
        raise InputError("plan", f"proposals {there}", f"those of the log, {here}")
    named = None if plan is None else plan.spec.stopping.control
    place = log.space.index("proposal", control if control is not None else named or 0)
    given = AnalysisTable() if table is None else table
    bounded = isinstance(given.reading, BoundedTable)
    own = given.reading.bounded if isinstance(given.reading, BoundedTable) else None
    if promise is not None and (promise := float(promise)) < 0:
        raise InputError("promise", promise, "a difference of at least 0")
    changed = (level not in (None, given.confidence)) or (own is not None and promise not in (None, own))
    return Planned(
        "bounded" if bounded else given.reading,  # type: ignore[arg-type]  # a name where it is no table
        given.contrast,
        given.confidence if level is None else checks.share("level", level),
        given.sided,
        given.test or "",
        given.any_time,
        own if promise is None else promise,
        place,
        table is not None and not changed,
        1 if plan is None or plan.looks is None else int(plan.looks.at.size),
        _size(plan),
    )


def _size(plan: Design | None) -> int | None:
    """How many decisions a plan is for."""
    if plan is None:
        return None
    return plan.spec.stopping.maximum if plan.looks is None else int(plan.looks.randomised[-1])
