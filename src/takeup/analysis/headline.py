"""How a trial stands by the reading that was planned, in sentences that are true however often they are read."""

from dataclasses import replace

from takeup.analysis.estimate import Estimate
from takeup.analysis.planned import Planned, planned_of
from takeup.analysis.readings import ITT, Readings
from takeup.analysis.results import Entry
from takeup.analysis.words import answer, survives
from takeup.log import Log
from takeup.trial.design import Design

MODEL = "the policy's own model"
CALLED = {"compliers": "the complier effect", "bounded": "the bounded reading", "policy": MODEL}
"""What readings are called in a sentence, where it is not by their names."""


def headline(log: Log, design: Design, *, finished: bool, most: int | None = None) -> list[str]:
    """What the planned reading says of each comparison, a sentence each.

    While decisions or outcomes are to come it is intention to treat with an interval that holds at any time: no other
    reading has one, which is then said.

    Args:
        log: of a single trial.
        design: the trial's own; where it has no `[analysis]`, intention to treat leads by convention.
        finished: whether nothing is pending any more.
        most: how many comparisons are told; all where left out.
    """
    planned = planned_of(log, design)
    now = _now(planned, finished)
    readings = Readings(log, now, finished)
    others = readings.others[:most]
    told = [_told(readings, one, readings.primary(one), finished) for one in others]
    left = len(readings.others) - len(others)
    more = [f"{left} more comparison{'s are' if left > 1 else ' is'} under Analysis."] if left else []
    return [f"{_lead(planned, now)}: {told[0]}", *told[1:], *more] if told else []


def _now(planned: Planned, finished: bool) -> Planned:
    """What can be read now in the place of what was planned."""
    if finished and planned.reading != "policy":
        return planned
    plain = Planned()
    return replace(
        planned,
        reading=plain.reading,
        measure=plain.measure,
        weights=plain.weights,
        missing=plain.missing,
        refused=(),
        any_time=planned.any_time or not finished,
    )


def _lead(planned: Planned, now: Planned) -> str:
    """Which reading leads, and why."""
    if (planned.reading, planned.measure) == (now.reading, now.measure):
        return f"{_called(now)}, {'as planned' if planned.named else 'which leads by convention'}"
    lacks = "survives adaptation" if planned.reading == "policy" else "holds while the trial runs"
    what = f"the {planned.measure} by {ITT}" if planned.reading == ITT else _called(planned).lower()
    return f"Planned is {what}, which has no interval that {lacks}. {_called(now)}"


def _called(planned: Planned) -> str:
    name = CALLED.get(planned.reading, f"by {planned.reading}" if planned.reading == ITT else planned.reading)
    return (name if planned.measure == "difference" else f"{name}, the {planned.measure}").capitalize()


def _told(readings: Readings, one: int, entry: Entry | None, finished: bool) -> str:
    space, control = readings.log.space, readings.planned.control
    if entry is not None and (finished or not entry.estimate.withheld or entry.estimate.region):
        return f"{answer(entry, space, control)} {_holds(entry.estimate)}".rstrip()
    why = entry.estimate.withheld if entry is not None else "; ".join(each.why for each in readings.left_out)
    said = "no conclusion" if finished else "too early to say"
    return f"Offering {space.proposals[one]} rather than {space.proposals[control]}: {said}, as {why}."


def _holds(estimate: Estimate) -> str:
    """After what the interval holds."""
    if estimate.withheld and not estimate.region:
        return ""
    if not estimate.survives_adaptation:
        return "This interval is naive: it holds with fixed allocation alone."
    return f"This interval {survives(estimate)}{'' if estimate.any_time else ', at one look'}."
