"""A trial over time, and whether its proposals came in the proportions that its log promises."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from takeup.trial.book import Book
from takeup.trial.rollup import BUCKETS, Row, first_of, step_of

ALARM = 1e-3
"""The sample-ratio check sounds below this p-value: once in a thousand trials by chance."""


@dataclass(frozen=True, slots=True)
class TimePoint:
    """A stretch of consecutive decisions.

    Attributes:
        first: the number of the first.
        last: the number of the last.
        until: when the last was decided, in microseconds since 1970, UTC.
        proposed: how often each proposal was made.
        probability: the mean probability of each.
        best: the mean probability that each is best, before limits and burn-in.
    """

    first: int
    last: int
    until: int
    proposed: tuple[int, ...]
    probability: tuple[float, ...]
    best: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Allocation and probability best over the decisions, in at most 128 points.

    Attributes:
        proposals: the labels.
        overall: all contexts together.
        contexts: each by itself, by label; stretches without a decision in the context are left out.
    """

    proposals: tuple[str, ...]
    overall: tuple[TimePoint, ...]
    contexts: dict[str, tuple[TimePoint, ...]]


@dataclass(frozen=True, slots=True)
class SampleRatio:
    """Whether proposals were made as often as their logged probabilities say.

    Σ (1[z_i = z] - p_i[z]) is a martingale, whatever the probabilities depended on; divided by the root of
    Σ p_i[z] (1 - p_i[z]) it is close to a standard normal variable. A chi-square test against fixed shares would be
    wrong here, as the shares adapt.

    Attributes:
        z: the score of each proposal, by label; None where its probability was always 0 or 1.
        p_value: two-sided, for the largest score, times the number of scores; two proposals have but one.
        alarm: whether it is below one in a thousand.
    """

    z: dict[str, float | None]
    p_value: float
    alarm: bool


def time_series_of(book: Book, most: int = BUCKETS) -> TimeSeries:
    """The time series of a book with all its rows, in at most `most` points, all of one number of decisions."""
    space, step = book.design.space, step_of(max(book.decisions, 1))
    while book.decisions > most * step:
        step *= 2
    overall: dict[int, Row] = {}
    contexts: dict[str, dict[int, Row]] = {label: {} for label in space.contexts}
    for (first, context), row in sorted(book.rollup.rows.items()):
        for rows in (overall, contexts[space.contexts[context]]):
            rows.setdefault(first_of(first, step), Row.empty(len(space.proposals))).merge(row)

    def points(rows: dict[int, Row]) -> tuple[TimePoint, ...]:
        return tuple(_point(first, row, min(first + step - 1, book.decisions)) for first, row in rows.items())

    return TimeSeries(space.proposals, points(overall), {label: points(rows) for label, rows in contexts.items()})


def sample_ratio_of(book: Book) -> SampleRatio:
    """The check, from a book with its whole time series."""
    proposals = book.design.space.proposals
    total = Row.empty(len(proposals))
    for row in book.rollup.rows.values():
        total.merge(row)
    return _ratio(proposals, total.proposed, total.probability, total.variance)


def fallback_ratio_of(book: Book) -> SampleRatio | None:
    """The same of what clients drew by themselves, against the agreed probabilities; None where they drew nothing."""
    if not book.draws:
        return None
    drawn = [sum(some) for some in zip(*(each.proposals for each in book.draws.values()), strict=True)]
    share, many = book.design.fallback, sum(drawn)
    return _ratio(book.design.space.proposals, drawn, [many * p for p in share], [many * p * (1 - p) for p in share])


def _ratio(
    proposals: Sequence[str], made: Sequence[int], probability: Sequence[float], variance: Sequence[float]
) -> SampleRatio:
    scores = [(n - p) / math.sqrt(v) if v > 1e-9 else None for n, p, v in zip(made, probability, variance, strict=True)]
    found = [abs(score) for score in scores if score is not None]
    apart = 1 if len(found) == 2 else len(found)
    p_value = min(1.0, apart * math.erfc(max(found) / math.sqrt(2))) if found else 1.0
    return SampleRatio(dict(zip(proposals, scores, strict=True)), p_value, p_value < ALARM)


def _point(first: int, row: Row, last: int) -> TimePoint:
    n = sum(row.proposed)
    return TimePoint(
        first,
        last,
        row.until,
        tuple(row.proposed),
        tuple(p / n for p in row.probability),
        tuple(b / n for b in row.best),
    )
