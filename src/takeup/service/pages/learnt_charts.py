"""The charts of what a policy has learnt about whom, each with a table and sentences that say the same."""

from collections.abc import Iterator, Sequence
from typing import Any

from takeup import charts
from takeup.live.learnt import BelievedDifference, Learnt, LearntContext, LearntCovariate, Stretch
from takeup.outcomes import Shown
from takeup.service.pages.page_chart import PageChart, Rows, drawn
from takeup.service.pages.templates import count, decimal, plural
from takeup.space import Space
from takeup.trial.spec import WordsTable

MOST_CHARTS = 8
"""How many covariates are drawn, over all groups; the service's `learnt` has them all."""
MOST_COMPARED = 3
"""How many proposals are drawn in one chart; its table has them all."""
NOT_KNOWN = "not known"
BELIEVED = (
    "It is what the model believes, with 80 % and 95 % credible bands, and no effect that was shown; it is not"
    " corrected for adaptive allocation."
)
ASSUMED = "What is drawn there, dashed, rests on what the model assumes."


def learnt_charts(
    learnt: Learnt, space: Space, how: Shown, decisions: int, words: WordsTable = WordsTable()
) -> list[PageChart]:
    """A chart for each covariate, of the groups with the most decisions first.

    Args:
        learnt: what was learnt.
        space: of the trial.
        how: what values are called.
        decisions: how many the trial has by now.
        words: of the trial.
    """
    places = [(here, covariate) for here in learnt.contexts for covariate in here.covariates]
    told = _Told(learnt, space, how, decisions, words)
    left = len(places) - MOST_CHARTS
    more = f" {count(left)} more are not drawn; the service's learnt has them." if left > 0 else ""
    made = [told.chart(number, *place) for number, place in enumerate(places[:MOST_CHARTS])]
    return [*made[:-1], told.noted(made[-1], more)] if made else []


class _Told:
    """What is told of a trial's covariates."""

    def __init__(self, learnt: Learnt, space: Space, how: Shown, decisions: int, words: WordsTable) -> None:
        self.learnt, self.space, self.how, self.words = learnt, space, how, words
        self.behind = learnt.counted < decisions
        self.proposals = list(space.proposals[1:])

    @staticmethod
    def noted(chart: PageChart, more: str) -> PageChart:
        """The chart with something more to know."""
        return PageChart(chart.name, chart.title, chart.note + more, chart.svg, chart.columns, chart.rows)

    def chart(self, number: int, here: LearntContext, covariate: LearntCovariate) -> PageChart:
        """The chart of one covariate."""
        shown = self.proposals[:MOST_COMPARED]
        measure = covariate.kind == "measure"
        points = [point for point in covariate.points if not measure or point.value is not None]
        records: list[dict[str, Any]] = [
            self._record(covariate, point.value, each)
            for point in points
            for each in point.differences
            if each.proposal in shown
        ]
        bars = [
            {
                "value": point.value if measure else _value(covariate, point.value),
                "decisions": point.decisions,
                "say": f"{_value(covariate, point.value)}: {self._decided(point.decisions)}",
            }
            for point in points
        ]
        make = charts.difference_over_measure if measure else charts.difference_by_level
        title = f"{covariate.name}, {covariate.unit}" if covariate.unit else covariate.name
        name = f"learnt-{number + 1}"
        where = f" in {here.context}" if len(self.space.contexts) > 1 else ""
        svg = make(records, bars, shown, self.space.proposals, title, self._axis)
        sparse = list(self.sentences(covariate, shown))
        say = "; ".join(f"{each['say']}" for each in _ends(records, shown))
        return PageChart(
            name,
            f"Believed difference by {covariate.name}{where}",
            " ".join([self._what(here, covariate), BELIEVED, *sparse, *self._rest(covariate)]),
            drawn(svg, name, f"Believed: {say}."),
            self._columns,
            self._rows(covariate),
        )

    def sentences(self, covariate: LearntCovariate, shown: Sequence[str]) -> Iterator[str]:
        """Where few were decided about."""
        sparse = [stretch for stretch in covariate.sparse if stretch.proposal in shown]
        if not sparse:
            return
        where = ", or ".join(self._stretch(covariate, stretch) for stretch in sparse)
        whose = f"of {self.words.several} whose {covariate.name} is {where}"
        few = f"fewer than {self.learnt.few} decisions were made with one of the two proposals"
        yield f"Near some values {few}: {whose}. {ASSUMED}"

    def _stretch(self, covariate: LearntCovariate, stretch: Stretch) -> str:
        """From where to where, and how many there were."""
        reference, other = stretch.decisions
        counted = f"{self.learnt.reference} {count(reference)}, {stretch.proposal} {count(other)}"
        return f"{_range(covariate, stretch)} ({counted})"

    def _what(self, here: LearntContext, covariate: LearntCovariate) -> str:
        others = [
            f"{name} {_value(each, here.typical[name])}"
            for each in here.covariates
            if (name := each.name) != covariate.name
        ]
        typical = f", of a {self.words.unit} with {', '.join(others)}, as is typical so far" if others else ""
        compared = f"{self.proposals[0]} is proposed" if len(self.proposals) == 1 else "another is proposed"
        where, which = (
            "Above" if self.how.sign > 0 else "Below",
            self.proposals[0] if len(self.proposals) == 1 else "it",
        )
        better = f"{where} 0 {which} is believed better."
        return f"The {self.how.what} where {compared}, minus that where {self.learnt.reference} is{typical}. {better}"

    def _rest(self, covariate: LearntCovariate) -> Iterator[str]:
        if covariate.interacts:
            with_ = " and ".join(covariate.interacts)
            yield f"It interacts with {with_}: of others the picture is another one."
        after = f" after {count(self.learnt.counted)} decisions" if self.behind else ""
        yield f"Bars: how many were decided about{after}."
        if len(self.proposals) > MOST_COMPARED:
            yield f"{count(len(self.proposals) - MOST_COMPARED)} more proposals are in the table."

    @property
    def _axis(self) -> str:
        unit = "points of per cent" if self.how.share else self.how.unit
        return f"difference, {unit}" if unit else "difference"

    @property
    def _columns(self) -> tuple[str, ...]:
        by = [
            (f"{each}: difference", "80 % believed", "95 % believed", "near, first and this") for each in self.proposals
        ]
        return ("value", "decisions", *(name for names in by for name in names))

    def _rows(self, covariate: LearntCovariate) -> Rows:
        return [
            (
                _value(covariate, point.value),
                count(point.decisions),
                *(cell for each in point.differences for cell in self._cells(each)),
            )
            for point in covariate.points
        ]

    def _cells(self, each: BelievedDifference) -> tuple[str, str, str, str]:
        few = ", few" if each.sparse else ""
        near = f"{count(each.decisions[0])}, {count(each.decisions[1])}{few}"
        inner, outer = self._span(each.inner_low, each.inner_high), self._span(each.low, each.high)
        return self.difference(each.mean), inner, outer, near

    def difference(self, number: float) -> str:
        """+2.7 points; in the outcome's own unit where it is no share."""
        return (
            f"{self._signed(number)} points" if self.how.share else f"{self._signed(number)} {self.how.unit}".rstrip()
        )

    def _signed(self, number: float) -> str:
        text = decimal(100 * number, 1) if self.how.share else decimal(number, self.how.digits)
        return text if text.startswith("\u2212") else f"+{text}"

    def _span(self, low: float, high: float) -> str:
        return f"{self._signed(low)} to {self._signed(high)}"

    def _decided(self, number: int) -> str:
        return plural(number, "decision")

    def _record(self, covariate: LearntCovariate, value: object, each: BelievedDifference) -> dict[str, Any]:
        """A mark of the chart, shares in points of per cent."""
        times = 100 if self.how.share else 1
        value = value if covariate.kind == "measure" else _value(covariate, value)
        few = "; few were decided about" if each.sparse else ""
        return {
            "value": value,
            "proposal": each.proposal,
            **{name: times * getattr(each, name) for name in ("mean", "low", "high", "inner_low", "inner_high")},
            "sparse": each.sparse,
            "say": f"{each.proposal} at {_value(covariate, value)}: {self.difference(each.mean)}"
            f" (95 % believed {self._span(each.low, each.high)}){few}",
        }


def _ends(records: Sequence[dict[str, Any]], shown: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The first, the middle and the last mark of each line, in words enough for those who do not see it."""
    for proposal in shown:
        own = [each for each in records if each["proposal"] == proposal]
        yield from (own if len(own) <= 3 else [own[0], own[len(own) // 2], own[-1]])


def _value(covariate: LearntCovariate, value: object) -> str:
    if value is None:
        return NOT_KNOWN
    return f"{value} {covariate.unit}".rstrip() if covariate.kind == "measure" else str(value)


def _range(covariate: LearntCovariate, stretch: Stretch) -> str:
    """From where to where, in words."""
    if stretch.from_low and stretch.to_high:
        return "anything"
    if stretch.first == stretch.last:
        return _value(covariate, stretch.first)
    if stretch.to_high:
        return f"{_value(covariate, stretch.first)} or more"
    if stretch.from_low:
        return f"{_value(covariate, stretch.last)} or less"
    return f"{stretch.first} to {_value(covariate, stretch.last)}"
