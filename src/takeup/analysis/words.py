"""What estimates say, in the words of those who will act on them."""

import math

from takeup.analysis.effects import COMPLETE
from takeup.analysis.estimate import Estimate
from takeup.analysis.results import Analysis, Entry, has_region
from takeup.analysis.telling import RATIOS as RATIOS
from takeup.analysis.telling import amount, decimals, direction, is_share, measured, of_people, rounded, significant
from takeup.analysis.telling import p_value as p_value
from takeup.analysis.telling import quantity as quantity
from takeup.space import Space

OFFERED = "Offering {one} rather than {other}"
SUBJECTS = {
    "complier effect": "For those who take it because it is offered, {one} rather than {other}",
    "per protocol": "Among people who chose to do as they were told, which nobody drew, {one} rather than {other}",
}
"""Who is told of, where it is not everybody who was offered something."""


def answer(entry: Entry, space: Space, control: int) -> str:
    """What one comparison says, which way is better, and how many it leaves out."""
    return f"{_said(entry, space, control)}{_one_side(entry.estimate)}{_left_out(entry.estimate)}"


def figure(number: float, estimate: Estimate, space: Space, *, end: bool = False) -> str:
    """A figure as tables have it: differences of shares in points of per cent.

    An end of an interval has as many digits as tell on which side of no effect it is.
    """
    if not math.isfinite(number):
        return "without end" if math.isinf(number) else "none"
    if estimate.measure in RATIOS:
        return f"{number:.{significant(number) if end else 3}g}"
    if is_share(space) or estimate.reading.startswith("compliance"):
        if estimate.measure == "mean":
            return f"{100 * number:.1f} %"
        return f"{rounded(100 * number, decimals(100 * number, 1) if end else 1, signed=True)} points"
    digits = space.outcome.shown.digits
    if estimate.measure == "mean":
        return rounded(number, digits, signed=False)
    return rounded(number, decimals(number, digits) if end else digits, signed=True)


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
        label = f"{entry.label} in {entry.context}" if entry.context else entry.label
        if entry.estimate.withheld and label not in found.setdefault(entry.estimate.withheld, []):
            found[entry.estimate.withheld].append(label)
    apart = "; " if any("," in label for labels in found.values() for label in labels) else ", "
    return [(apart.join(labels), why) for why, labels in found.items()]


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
    apart = f" {estimate.left_out}." if estimate.left_out else ""
    if not estimate.missing or not estimate.n:
        return apart
    total = estimate.n + estimate.missing
    if estimate.any_time and COMPLETE not in estimate.assumes:
        return f" It rests on {estimate.n:,} of {total:,}: the others wait for outcomes that are not known yet.{apart}"
    return f" It rests on {estimate.n:,} of {total:,}: of {estimate.missing:,} what it needs is not known.{apart}"


def _part(low: float, high: float, estimate: Estimate, space: Space) -> str:
    if math.isinf(low) and math.isinf(high):
        return "anything at all"
    if math.isinf(low):
        return f"{figure(high, estimate, space, end=True)} or less"
    if math.isinf(high):
        return f"{figure(low, estimate, space, end=True)} or more"
    first, last = (figure(each, estimate, space, end=True) for each in (low, high))
    return f"{first.removesuffix(' points').removesuffix(' %')} to {last}"
