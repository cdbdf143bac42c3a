"""What estimates say, in the words of those who will act on them."""

import math

from takeup.analysis.compliance_checks import IGNORABLE
from takeup.analysis.effects import COMPLETE
from takeup.analysis.estimate import Estimate
from takeup.analysis.results import Analysis, Entry, has_region
from takeup.analysis.telling import RATIOS as RATIOS
from takeup.analysis.telling import amount, direction, is_share, measured, of_people, rounded
from takeup.analysis.telling import p_value as p_value
from takeup.analysis.telling import quantity as quantity
from takeup.space import Space

ALWAYS = {"intention to treat": "By what was offered, whoever took it", "bounded reading": "Within the promise"}
"""What stands beside the answer where it is not the answer, and how it is introduced."""
OFFERED = "Offering {one} rather than {other}"
SUBJECTS = {
    "complier effect": "For those who take it because it is offered, {one} rather than {other}",
    "per protocol": "Among people who chose to do as they were told, which nobody drew, {one} rather than {other}",
}
"""Who is told of, where it is not everybody who was offered something."""
CONVENTION = (
    "No plan was given, so nothing here was planned: intention to treat leads by convention, and everything else is "
    "under what was explored."
)
APART = (
    "Two looks at the same question differ: {check}, while the interval above {interval}. The check takes all groups"
    " together and outcomes as they came; the interval is of one group at a time and weighs outcomes by the probability"
    " of what was offered. Do not promise that takers and refusers are alike on the strength of either."
)


def answers(analysis: Analysis) -> list[str]:
    """The answer of each planned comparison, a sentence or two each."""
    return [answer(entry, analysis.log.space, analysis.planned.control) for entry in analysis.primary]


def beside(analysis: Analysis) -> list[str]:
    """What belongs beside the answer: intention to treat where it is another, and what a promise would change."""
    space, control = analysis.log.space, analysis.planned.control
    said = []
    for entry in analysis.entries:
        if entry.label in ALWAYS and entry.kind == "explored" and not entry.context:
            said.append(f"{ALWAYS[entry.label]}: {answer(entry, space, control)}")
    for found in analysis.tippings.values():
        said.append(f"{found.contrast}: {' '.join(found.leading())}")
    return [*said, *_apart(analysis)]


def answer(entry: Entry, space: Space, control: int) -> str:
    """What one comparison says, which way is better, and how many it leaves out."""
    return f"{_said(entry, space, control)}{_one_side(entry.estimate)}{_left_out(entry.estimate)}"


def figure(number: float, estimate: Estimate, space: Space) -> str:
    """A figure as tables have it: differences of shares in points of per cent."""
    if not math.isfinite(number):
        return "without end" if math.isinf(number) else "none"
    if estimate.measure in RATIOS:
        return f"{number:.3g}"
    if is_share(space) or estimate.reading.startswith("compliance"):
        return (
            f"{100 * number:.1f} %" if estimate.measure == "mean" else f"{rounded(100 * number, 1, signed=True)} points"
        )
    return rounded(number, space.outcome.shown.digits, signed=estimate.measure != "mean")


def ranged(estimate: Estimate, space: Space) -> str:
    """The interval with its level; of a region that is none, what it allows."""
    level = f"{100 * estimate.level:g} %"
    return f"{level} interval {interval(estimate, space)}"


def interval(estimate: Estimate, space: Space) -> str:
    """The interval, or the region where it is none, in words."""
    parts = estimate.region or ((estimate.low, estimate.high),)
    if any(math.isnan(low) and math.isnan(high) for low, high in parts):
        return "none"
    return " or ".join(_part(low, high, estimate, space) for low, high in parts)


def reasons(analysis: Analysis) -> list[tuple[str, str]]:
    """Why intervals are withheld, or not to be relied upon: which ones, and the reason, each once."""
    found: dict[str, list[str]] = {}
    for entry in analysis.entries:
        if entry.estimate.withheld and entry.label not in found.setdefault(entry.estimate.withheld, []):
            found[entry.estimate.withheld].append(entry.label)
    return [(", ".join(labels), why) for why, labels in found.items()]


def survives(estimate: Estimate, *, short: bool = False) -> str:
    """What an interval survives, in a few words; or after what it holds, in fewer."""
    if not has_region(estimate):
        return "withheld"
    if estimate.withheld and not estimate.region:
        return "nothing" if short else "not to be relied upon"
    if not estimate.survives_adaptation:
        return "fixed allocation" if short else "holds with fixed allocation alone"
    looks = ", at any number of looks" if estimate.any_time else ""
    if short:
        return ("adaptation, drift" if estimate.survives_drift else "adaptation") + (", looks" if looks else "")
    return f"survives adaptation {'and drift' if estimate.survives_drift else 'but not drift'}{looks}"


def _said(entry: Entry, space: Space, control: int) -> str:
    estimate, measure = entry.estimate, entry.estimate.measure
    one, other = space.proposals[entry.one], space.proposals[control]
    offer = SUBJECTS.get(estimate.reading, OFFERED).format(one=one, other=other)
    way, what = direction(space, measure), measured(space, measure)
    value = "" if math.isnan(estimate.value) else figure(estimate.value, estimate, space)
    if estimate.withheld and not estimate.region:
        alone = f" The estimate by itself is {value}; {way.good}." if value else ""
        return f"{offer}: no conclusion, as {estimate.withheld}.{alone}"
    if len(estimate.region) > 1:
        left, right = (_part(low, high, estimate, space) for low, high in estimate.region)
        level = f"{100 * estimate.level:g} %"
        return f"{offer}: at a level of {level} {what} is {left} or {right}, and nothing in between; {way.good}."
    none = 1.0 if measure in RATIOS else 0.0
    ends = f"{ranged(estimate, space)}; {way.good}"
    above = estimate.low > none
    if not above and not estimate.high < none:
        told = f"{what} is {value} ({ends})" if value else f"{what} is not to be had ({ends})"
        return f"{offer} may be better, worse or neither: {told}."
    if estimate.sided == 1 and above != way.better_up:
        told = f": {what} is {value}" if value else ""
        return f"{offer} is not shown to be better{told} ({ends})."
    if measure in RATIOS or not value:
        told = f"; {what} is {value}" if value else ""
        return f"{offer} {way.verdict(above)}{told} ({ends})."
    people = f", {of_people(estimate.value)}" if is_share(space) else ""
    size = amount(abs(estimate.value), space, signed=False)
    return f"{offer} {way.verdict(above)} by {size}{people} ({ends})."


def _one_side(estimate: Estimate) -> str:
    """What an interval is for where the plan looks on one side, as a sentence of its own."""
    if estimate.sided == 2 or not has_region(estimate):
        return ""
    return f" The plan looks for better alone: each end of the interval has {50 * (1 + estimate.level):g} % by itself."


def _left_out(estimate: Estimate) -> str:
    """How many an estimate leaves out, as a sentence of its own."""
    if not estimate.missing or not estimate.n:
        return ""
    total = estimate.n + estimate.missing
    if estimate.any_time and COMPLETE not in estimate.assumes:
        return f" It rests on {estimate.n:,} of {total:,}: the others wait for outcomes that are not known yet."
    return f" It rests on {estimate.n:,} of {total:,}: of {estimate.missing:,} what it needs is not known."


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


def _part(low: float, high: float, estimate: Estimate, space: Space) -> str:
    if math.isinf(low) and math.isinf(high):
        return "anything at all"
    if math.isinf(low):
        return f"{figure(high, estimate, space)} or less"
    if math.isinf(high):
        return f"{figure(low, estimate, space)} or more"
    first, last = figure(low, estimate, space), figure(high, estimate, space)
    return f"{first.removesuffix(' points').removesuffix(' %')} to {last}"


def unplanned(analysis: Analysis) -> list[str]:
    """What is to be said beside an answer that was not planned: nothing was, or something else."""
    if analysis.planned.changed:
        return ["This is not the analysis that was planned: all of it is explored.", *analysis.planned.changed]
    return [] if analysis.planned.named else [CONVENTION]
