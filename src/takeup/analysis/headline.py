"""The first lines of an analysis, the same on the terminal, in the report and on pages: the answer, and what is beside.

They are true however often they are read: while a trial runs, what holds at any time comes first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from takeup.analysis.check import Check
from takeup.analysis.compliance_checks import IGNORABLE
from takeup.analysis.estimate import Estimate
from takeup.analysis.planned import Planned, planned_of
from takeup.analysis.readings import ITT, Readings, leading_label
from takeup.analysis.results import Analysis, Entry, LeftOut
from takeup.analysis.telling import p_value
from takeup.analysis.trial_checks import sample_ratio
from takeup.analysis.units_check import one_each
from takeup.analysis.words import answer, survives
from takeup.log import Log
from takeup.space import Space
from takeup.trial.design import Design
from takeup.trial.wording import Wording

CALLED = {"compliers": "the complier effect", "bounded": "the bounded reading", "policy": "the policy's own model"}
"""What readings are called in a sentence, where it is not by their names."""
ALWAYS = {ITT: "By what was offered, whoever took it", "bounded reading": "Within the promise"}
"""What stands beside the answer where it is not the answer, and how it is introduced."""
RUNS = "The trial still runs."
ONE_LOOK = "At one look, as if it were the last"
CONVENTION = (
    "No plan was given, so nothing here was planned: intention to treat leads by convention, and everything else is "
    "under what was explored."
)
APART = (
    "Two looks at the same question differ: {check}, while the interval above {interval}. The check takes all groups"
    " together and outcomes as they came; the interval is of one group at a time and weighs outcomes by the probability"
    " of what was offered. Do not promise that takers and refusers are alike on the strength of either."
)


@dataclass(frozen=True, slots=True)
class _Led:
    """One comparison by the reading that leads now, why there is none, and the planned test in a sentence."""

    one: int
    entry: Entry | None
    why: str
    tested: str = ""


class Headline(list[str]):
    """Lines, and the answer by itself.

    Attributes:
        brief: what the first comparison says, without which reading it is and after what it holds.
    """

    def __init__(self, lines: Iterable[str], brief: str) -> None:
        super().__init__(lines)
        self.brief = brief


def answers(analysis: Analysis) -> list[str]:
    """The answer of each comparison; of a trial that runs what holds at any time, and then at one look."""
    planned, space, runs = analysis.planned, analysis.log.space, not analysis.finished
    now = _now(planned, space, analysis.finished)
    why = "; ".join(each.why for each in analysis.left_out)
    led = [
        _Led(one, entry, why, "" if runs and not _any_time(planned) else _tested(analysis, one))
        for one, entry in _entries(analysis, now).items()
    ]
    said = _lines(led, planned, now, space, analysis.finished)
    if leading_label(now) != leading_label(planned) and runs:
        once = [(one, each) for one, each in _entries(analysis, planned).items() if each is not None]
        said += [f"{ONE_LOOK}: {answer(each, space, planned.control)}{_tested(analysis, one)}" for one, each in once]
    return analysis.wording.all(said + _doubts(analysis.checks))


def headline(log: Log, design: Design, *, finished: bool, most: int | None = None) -> Headline:
    """The same for the page of a live trial, which cannot wait for a whole analysis.

    While decisions or outcomes are to come it is intention to treat with an interval that holds at any time: no other
    reading has one, which is then said.

    Args:
        log: of a single trial.
        design: the trial's own; where it has no `[analysis]`, intention to treat leads by convention.
        finished: whether nothing is pending any more.
        most: how many comparisons are told; all where left out.
    """
    planned = planned_of(log, None, own=design)
    now = _now(planned, log.space, finished)
    log = log.without_covariates()
    readings = Readings(log, now, finished)
    others = readings.others[:most]
    found = [(one, readings.primary(one)) for one in others]
    led = [_Led(one, entry, "; ".join(each.why for each in readings.left_out)) for one, entry in found]
    left = len(readings.others) - len(others)
    more = [f"{left} more comparison{'s are' if left > 1 else ' is'} under Analysis."] if left else []
    more += [f"The planned test, {planned.test}, is under Analysis."] if planned.test else []
    doubts = _doubts((sample_ratio(log), one_each(log)))
    brief = _told(led[0], log.space, now.control, finished, holds=False) if led and not doubts else "".join(doubts)
    wording = Wording(design.spec.words, log.space)
    lines = [*_lines(led, planned, now, log.space, finished), *more, *doubts]
    return Headline(wording.all(lines), wording.told(brief))


def beside(analysis: Analysis) -> list[str]:
    """What belongs beside the answer: intention to treat where it is another, and what a promise would change."""
    space, planned, runs = analysis.log.space, analysis.planned, not analysis.finished
    said = []
    for entry in analysis.entries:
        if entry.label in ALWAYS and entry.label != leading_label(planned) and not entry.context:
            how = f"{ALWAYS[entry.label]}, {_lowered(ONE_LOOK)}" if runs else ALWAYS[entry.label]
            said.append(f"{how}: {answer(entry, space, planned.control)}")
    for found in analysis.tippings.values():
        said.append(f"{found.contrast}{', at one look' if runs else ''}: {' '.join(found.leading())}")
    return analysis.wording.all([*said, *_apart(analysis)])


def unplanned(analysis: Analysis) -> list[str]:
    """What is to be said beside an answer that was not planned: nothing was, or something else."""
    if analysis.planned.changed:
        return ["This is not the analysis that the plan names: all of it is explored.", *analysis.planned.changed]
    return [] if analysis.planned.named else [CONVENTION]


def leading(analysis: Analysis) -> tuple[Entry, ...]:
    """The estimates that are asked for, planned or not, one a comparison."""
    return tuple(each for each in _entries(analysis, analysis.planned).values() if each is not None)


def _entries(analysis: Analysis, planned: Planned) -> dict[int, Entry | None]:
    """The estimate that leads by this plan, of each proposal that is compared."""
    label = leading_label(planned)
    found = {each.one: each for each in analysis.entries if each.label == label and not each.context}
    return {one: found.get(one) for one in range(len(analysis.log.space.proposals)) if one != planned.control}


def _now(planned: Planned, space: Space, finished: bool) -> Planned:
    """What can be read now in the place of what was planned: outcomes without a mean have nothing for any time."""
    if planned.reading != "policy" and (finished or not space.outcome.valued):
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


def _lines(led: Iterable[_Led], planned: Planned, now: Planned, space: Space, finished: bool) -> list[str]:
    told = [f"{_told(each, space, now.control, finished)}{each.tested}" for each in led]
    return [f"{'' if finished else f'{RUNS} '}{_lead(planned, now, finished)}: {told[0]}", *told[1:]] if told else []


def _lead(planned: Planned, now: Planned, finished: bool) -> str:
    """Which reading leads, and why."""
    if not planned.named and not planned.changed:
        return f"{_called(now)}, which leads by convention"
    if leading_label(planned) == leading_label(now):
        return f"{_called(now)}, {planned.by_plan if planned.named else 'which is not what the plan names'}"
    what = f"the {planned.measure} by {ITT}" if planned.reading == ITT else _lowered(_called(planned))
    asked = "Planned is" if planned.stored else "The plan that was given names" if planned.named else "Asked for is"
    if leading_label(planned) == ITT:
        return f"{asked} {ITT} at its end. {_called(now)}, at any time"
    lacks = "survives adaptation" if planned.reading == "policy" else "holds while the trial runs"
    return f"{asked} {what}, which has no interval that {lacks}. {_called(now)}{'' if finished else ', at any time'}"


def _called(planned: Planned) -> str:
    name = CALLED.get(planned.reading, f"by {planned.reading}" if planned.reading == ITT else planned.reading)
    return (name if planned.measure == "difference" else f"{name}, the {planned.measure}").capitalize()


def _told(led: _Led, space: Space, control: int, finished: bool, *, holds: bool = True) -> str:
    entry = led.entry
    if entry is not None and (finished or not entry.estimate.withheld or entry.estimate.region):
        return f"{answer(entry, space, control)} {_holds(entry.estimate, finished) if holds else ''}".rstrip()
    why = led.why if entry is None else entry.estimate.withheld
    said = "no conclusion" if finished else "too early to say"
    return f"Offering {space.proposals[led.one]} rather than {space.proposals[control]}: {said}, as {why}."


def _holds(estimate: Estimate, finished: bool) -> str:
    """After what the interval holds."""
    if estimate.withheld and not estimate.region:
        return ""
    look = "" if estimate.any_time else ", at one look" if finished else ", at one look, and not at one of many"
    if estimate.survives_adaptation:
        return f"This interval {survives(estimate)}{look}."
    naive = "" if estimate.reading == ITT else "is naive: it "
    return f"This interval {naive}holds with fixed allocation alone{look}."


def _any_time(planned: Planned) -> bool:
    """Whether the planned test may be looked at again and again."""
    return planned.test == "betting"


def _tested(analysis: Analysis, one: int) -> str:
    """What the planned test says, as a sentence after another; nothing where none is named."""
    name = analysis.planned.test
    if not name:
        return ""
    found = next((each.tested for each in analysis.tests if (each.one, each.tested.test) == (one, name)), None)
    the = f" The {'planned test' if analysis.planned.stored else 'test that the plan names'}, {name}"
    if found is None:
        why = _why(analysis.left_out, name)
        return f"{the}, was not done: {why}." if why else f"{the}, is not done yet."
    if found.refused:
        return f"{the}, was not done: {found.refused}."
    return f"{the}{'' if found.two_sided else ', on one side'}: {p_value(found.p)}."


def _why(left_out: Sequence[LeftOut], name: str) -> str:
    return next((each.why for each in left_out if each.what == name), "")


def _doubts(checks: Iterable[Check]) -> list[str]:
    """Alarms that concern everything."""
    return [f"All of this is in doubt: {_lowered(each.sentence)}" for each in checks if each.alarm and each.of_all]


def _apart(analysis: Analysis) -> list[str]:
    """How it can be that the check of ignorable compliance and what intervals say of the promise disagree."""
    alarm = next((each.alarm for each in analysis.checks if each.check == IGNORABLE), None)
    told = [each for each in analysis.tippings.values() if not each.withheld and each.differences]
    shown = any(each.least_promise > 0 for each in told)
    if alarm is None or not told or alarm == shown:
        return []
    if alarm:
        check, ends = "the check says that those who comply differ from those who do not", "does not show it"
    else:
        check, ends = "the check finds no difference between those who comply and those who do not", "shows one"
    return [APART.format(check=check, interval=ends)]


def _lowered(words: str) -> str:
    return words[:1].lower() + words[1:]
