"""What estimates say, in the words of those who will act on them."""

import math

from takeup.analysis.estimate import Estimate, Measure
from takeup.analysis.results import Analysis, Entry, has_region
from takeup.outcomes import Levels
from takeup.space import Space

SMALL = 0.001
"""p-values below this are told as such."""
RATIOS: tuple[Measure, ...] = ("ratio", "odds ratio", "rate ratio", "hazard ratio")
ALWAYS = ("intention to treat", "bounded reading")
"""What stands beside the answer where it is not the answer."""
SUBJECTS = {
    "complier effect": "For those who take it because it is offered, {one} rather than {other}",
    "per protocol": "Comparing people who chose to do as they were told, which nobody drew, {one} rather than {other}",
}
"""Who is told of, where it is not everybody who was offered something."""
CONVENTION = (
    "No plan was given, so nothing here was planned: intention to treat leads by convention, and everything else is "
    "under what was explored."
)


def answers(analysis: Analysis) -> list[str]:
    """The answer of each planned comparison, a sentence each."""
    return [answer(entry, analysis.log.space, analysis.planned.control) for entry in analysis.primary]


def beside(analysis: Analysis) -> list[str]:
    """What belongs beside the answer: intention to treat where it is another, and what a promise would change."""
    space, control = analysis.log.space, analysis.planned.control
    said = []
    for entry in analysis.entries:
        if entry.label in ALWAYS and entry.kind == "explored" and not entry.context:
            said.append(f"By {entry.label}: {answer(entry, space, control)}")
    for found in analysis.tippings.values():
        sentences = found.sentences()
        told = sentences[0] if found.least_promise <= 0 else f"{sentences[0]} {sentences[-1]}"
        said.append(f"{found.contrast}: {told}")
    return said


def answer(entry: Entry, space: Space, control: int) -> str:
    """What one comparison says, in a sentence."""
    estimate = entry.estimate
    one, other = space.proposals[entry.one], space.proposals[control]
    offer = SUBJECTS.get(estimate.reading, "Offering {one} rather than {other}").format(one=one, other=other)
    if estimate.withheld and not estimate.region:
        value = (
            ""
            if math.isnan(estimate.value)
            else f" (the estimate by itself is {figure(estimate.value, estimate, space)})"
        )
        return f"{offer}: no conclusion, as {estimate.withheld}{value}."
    if estimate.region and len(estimate.region) != 1:
        return f"{offer}: {ranged(estimate, space)}."
    none = 1.0 if estimate.measure in RATIOS else 0.0
    value, ends = figure(estimate.value, estimate, space), ranged(estimate, space)
    what = measured(space, estimate.measure)
    if estimate.low > none or estimate.high < none:
        return f"{offer} {_direction(estimate.low > none, space)}: {what} is {value} ({ends})."
    return f"{offer} may change outcomes in either direction, or not at all: {what} is {value} ({ends})."


def measured(space: Space, measure: Measure) -> str:
    """What is compared, and how."""
    return {"mean": "the mean", "difference": "the difference"}.get(
        measure, f"the {measure}"
    ) + f" in {quantity(space)}"


def quantity(space: Space) -> str:
    """What an outcome is told as: the share of the better of two levels, or a mean in units."""
    outcome = space.outcome
    if is_share(space):
        assert isinstance(outcome, Levels)
        return f"the share who are {outcome.names[1]}"
    return outcome.shown.title


def is_share(space: Space) -> bool:
    """Whether outcomes are told as shares: two levels, worth 0 and 1."""
    return isinstance(space.outcome, Levels) and space.outcome.utility == (0.0, 1.0)


def figure(number: float, estimate: Estimate, space: Space) -> str:
    """A figure as it is told: differences of shares in points of per cent."""
    if not math.isfinite(number):
        return "without end" if math.isinf(number) else "none"
    if estimate.measure in RATIOS:
        return f"{number:.3g}"
    if is_share(space) or estimate.reading.startswith("compliance"):
        return f"{100 * number:.1f} %" if estimate.measure == "mean" else f"{100 * number:+.1f} points"
    digits = space.outcome.shown.digits
    return f"{number:.{digits}f}" if estimate.measure == "mean" else f"{number:+.{digits}f}"


def ranged(estimate: Estimate, space: Space) -> str:
    """The interval with its level."""
    what = "region" if estimate.region else "interval"
    return f"{100 * estimate.level:g} % {what} {interval(estimate, space)}"


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


def p_value(p: float) -> str:
    """A p-value for people."""
    return f"p < {SMALL:g}" if p < SMALL else f"p = {p:.3f}"


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


def _part(low: float, high: float, estimate: Estimate, space: Space) -> str:
    if math.isinf(low) and math.isinf(high):
        return "the whole line, so that the data say nothing of it"
    if math.isinf(low):
        return f"up to {figure(high, estimate, space)}"
    if math.isinf(high):
        return f"from {figure(low, estimate, space)} on"
    first, last = figure(low, estimate, space), figure(high, estimate, space)
    return f"{first.removesuffix(' points').removesuffix(' %')} to {last}"


def _direction(more: bool, space: Space) -> str:
    """Whether outcomes are better or worse, and what that is."""
    if is_share(space):
        assert isinstance(space.outcome, Levels)
        return f"makes {'more' if more else 'fewer'} of them {space.outcome.names[1]}"
    better = more == (space.outcome.shown.sign > 0)
    return f"makes outcomes {'better' if better else 'worse'}"


def unplanned(analysis: Analysis) -> list[str]:
    """What is to be said beside an answer that was not planned: nothing was, or something else."""
    if analysis.planned.changed:
        return ["This is not the analysis that was planned: all of it is explored.", *analysis.planned.changed]
    return [] if analysis.planned.named else [CONVENTION]
