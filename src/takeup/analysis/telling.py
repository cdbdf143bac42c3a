"""How outcomes are told to people: as shares or as means, in which unit, and which way is better."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from takeup.analysis.estimate import Measure
from takeup.outcomes import Count, Outcome, Time
from takeup.space import Space

RATIOS: tuple[Measure, ...] = ("ratio", "odds ratio", "rate ratio", "hazard ratio")
SMALL = 0.001
"""p-values below this are told as such."""
MORE = 9
"""How many more digits a figure has at most to be told from no effect."""
HUNDRED = 100
"""Of how many people a difference of shares is told."""


@dataclass(frozen=True, slots=True)
class Direction:
    """What it means that a figure is above or below that of no effect.

    Attributes:
        up: what is done where it is above, as in "raises the mean".
        down: what is done where it is below.
        better_up: whether above is the good side.
        good: which side is the good one, as in "lower is better".
    """

    up: str
    down: str
    better_up: bool
    good: str

    def verdict(self, above: bool) -> str:
        """Better or worse, and why, as the rest of a sentence."""
        return f"is {self._worth(above)}: it {self.up if above else self.down}"

    def told(self, above: bool) -> str:
        """The same as part of a sentence: "raises the mean, which is better"."""
        return f"{self.up if above else self.down}, which is {self._worth(above)}"

    def _worth(self, above: bool) -> str:
        return "better" if above == self.better_up else "worse"


def direction(space: Space, measure: Measure) -> Direction:
    """Which way a measure of this outcome goes.

    Differences and ratios are of the outcome in its own units: higher numbers, more events, later ones. A hazard ratio,
    and a ratio of rates of a time, are of the event itself: above one it comes sooner.
    """
    outcome = space.outcome
    higher_is_better = outcome.shown.sign > 0
    ratio = measure in RATIOS
    if isinstance(outcome, Time) and measure in ("hazard ratio", "rate ratio"):
        sooner = not higher_is_better
        good = "above 1 is better" if sooner else "below 1 is better"
        return Direction("makes the event come sooner", "makes the event come later", sooner, good)
    verbs = ("lengthens", "shortens") if isinstance(outcome, Time) else ("raises", "lowers")
    up, down = (f"{verb} {quantity(space)}" for verb in verbs)
    words = ("above 1", "below 1") if ratio else _comparatives(outcome)
    return Direction(up, down, higher_is_better, f"{words[0] if higher_is_better else words[1]} is better")


def measured(space: Space, measure: Measure) -> str:
    """What is compared, and how: "the difference in the share whose outcome is well"."""
    if measure == "hazard ratio" or (measure == "rate ratio" and isinstance(space.outcome, Time)):
        return f"the {measure} of the event"
    between = {"mean": "", "difference": "the difference in "}.get(measure, f"the {measure} of ")
    return between + quantity(space)


def axis(space: Space, measures: Iterable[Measure]) -> str:
    """What an axis of such figures is called: "hazard ratio of the event: below 1 it comes later"."""
    names = list(dict.fromkeys(measures))
    said = measured(space, names[0]).removeprefix("the ").replace(names[0], " or ".join(names), 1)
    return f"{said}: below 1 it comes later" if said.endswith("of the event") else said


def quantity(space: Space) -> str:
    """What an outcome is told as: the share of the better of two levels, or a mean."""
    outcome = space.outcome
    if isinstance(outcome, Count):
        what = outcome.unit or "events"
        return f"the rate of {what}" if outcome.exposure else f"the mean number of {what}"
    if isinstance(outcome, Time):
        return "the mean time to the event within the watch"
    return f"the {outcome.shown.what}"


def unit(space: Space) -> str:
    """What figures are in, with a space before it; empty where there is none, and for shares."""
    outcome = space.outcome
    if isinstance(outcome, Count) and not outcome.exposure:
        return ""  # that of which events is said by the quantity
    return f" {outcome.shown.unit}" if outcome.shown.unit else ""


def is_share(space: Space) -> bool:
    """Whether outcomes are told as shares: two levels, one of which is worth 0 and the other 1."""
    return space.outcome.shown.share


def amount(number: float, space: Space, *, signed: bool = True) -> str:
    """A difference, or a size of one, as it is told: of shares in points of per cent."""
    if is_share(space):
        return f"{rounded(100 * number, 1, signed=signed)} points"
    return f"{rounded(number, space.outcome.shown.digits, signed=signed)}{unit(space)}"


def mean_of(number: float, space: Space) -> str:
    """A mean as it is told: of shares in per cent."""
    return f"{100 * number:.1f} %" if is_share(space) else rounded(number, space.outcome.shown.digits, signed=False)


def span(low: float, high: float, space: Space) -> str:
    """From where to where a difference is; "not known" where there is neither."""
    if math.isnan(low) or math.isnan(high):
        return "not known"
    first, last = amount(low, space), amount(high, space)
    return f"{first.removesuffix(' points' if is_share(space) else unit(space))} to {last}"


def p_value(p: float) -> str:
    """A p-value for people."""
    return f"p < {SMALL:g}" if p < SMALL else f"p = {p:.3f}"


def rounded(number: float, digits: int, *, signed: bool) -> str:
    """With so many digits; nothing is not less than nothing."""
    return f"{round(number, digits) + 0.0:{'+' if signed else ''}.{digits}f}"


def decimals(number: float, digits: int) -> int:
    """So many digits after the point, or as many more as tell a number from nothing."""
    more = (each for each in range(digits, digits + MORE) if round(number, each))
    return next(more, digits)


def significant(number: float, digits: int = 3) -> int:
    """So many digits in all, or as many more as tell a ratio from one."""
    more = (each for each in range(digits, digits + MORE) if float(f"{number:.{each}g}") != 1)
    return next(more, digits)


def of_people(number: float) -> str:
    """A difference of shares, in people: "about 16 more in 100"; of small ones in 1,000 or 10,000."""
    size, many = abs(number), HUNDRED
    while size * many < 1.5 and many < 100 * HUNDRED:
        many *= 10
    return f"about {size * many:.0f} {'more' if number > 0 else 'fewer'} in {many:,}"


def _comparatives(outcome: Outcome) -> tuple[str, str]:
    if isinstance(outcome, Count):
        return "more", "fewer"
    return ("longer", "shorter") if isinstance(outcome, Time) else ("higher", "lower")
