"""What estimates say, in the words of those who will act on them."""

import math

from takeup.analysis.estimate import Estimate, Measure
from takeup.analysis.results import Analysis, Entry, TestEntry
from takeup.log import Log
from takeup.outcomes import Levels
from takeup.space import Space

SMALL = 0.001
"""p-values below this are told as such."""
RATIOS: tuple[Measure, ...] = ("ratio", "odds ratio", "rate ratio", "hazard ratio")
CONVENTION = (
    "No plan was given, so nothing here was planned: intention to treat leads by convention, and everything else is "
    "under what was explored."
)


def answers(analysis: Analysis) -> list[str]:
    """The answer of each planned comparison, a sentence each."""
    return [answer(entry, analysis.log.space, analysis.planned.control) for entry in analysis.primary]


def answer(entry: Entry, space: Space, control: int) -> str:
    """What one comparison says, in a sentence."""
    estimate = entry.estimate
    one, other = space.proposals[entry.one], space.proposals[control]
    offer = f"Offering {one} rather than {other}"
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
    """The interval, or the region where it is none, in words."""
    level = f"{100 * estimate.level:g} %"
    if estimate.region:
        parts = [_part(low, high, estimate, space) for low, high in estimate.region]
        if all(math.isinf(end) for end in estimate.region[0]):
            return f"the {level} region is the whole line: the data say nothing of it"
        return f"{level} region {' or '.join(parts)}"
    if math.isnan(estimate.low) and math.isnan(estimate.high):
        return "no interval"
    return f"{level} interval {_part(estimate.low, estimate.high, estimate, space)}"


def p_value(p: float) -> str:
    """A p-value for people."""
    return f"p < {SMALL:g}" if p < SMALL else f"p = {p:.3f}"


def test_sentence(entry: TestEntry, space: Space, control: int) -> str:
    """What a test says, in a sentence."""
    tested, pair = entry.tested, f"{space.proposals[entry.one]} against {space.proposals[control]}"
    if tested.refused:
        return f"{tested.test}, {pair}: not done, as {tested.refused}"
    e = "" if tested.e is None else f", e-value {tested.e:.3g}"
    return f"{tested.test}, {pair}: {p_value(tested.p)}{e}"


def survives(estimate: Estimate) -> str:
    """What an interval survives, in a few words."""
    if estimate.withheld and not estimate.region:
        return "withheld"
    if not estimate.survives_adaptation:
        return "naive: wrong after adaptive allocation"
    drift = "and drift" if estimate.survives_drift else "but not drift"
    looks = ", at any number of looks" if estimate.any_time else ""
    return f"survives adaptation {drift}{looks}"


def flow_words(log: Log) -> str:
    """How many decisions there are."""
    return f"{len(log):,} decisions"


def _part(low: float, high: float, estimate: Estimate, space: Space) -> str:
    if math.isinf(low) and math.isinf(high):
        return "the whole line"
    if math.isinf(low):
        return f"up to {figure(high, estimate, space)}"
    if math.isinf(high):
        return f"from {figure(low, estimate, space)} on"
    return f"{figure(low, estimate, space)} to {figure(high, estimate, space)}"


def _direction(more: bool, space: Space) -> str:
    """Whether outcomes are better or worse, and what that is."""
    if is_share(space):
        assert isinstance(space.outcome, Levels)
        return f"makes {'more' if more else 'fewer'} of them {space.outcome.names[1]}"
    better = more == (space.outcome.shown.sign > 0)
    return f"makes outcomes {'better' if better else 'worse'}"
