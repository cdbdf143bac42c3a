"""The charts of outcomes that have no levels: where they lie, or how long it took, by what was proposed and done."""

from collections.abc import Sequence
from typing import Any

from takeup import charts
from takeup.checks import IntArray
from takeup.live.findings import Findings
from takeup.outcomes import Count, Number, Time
from takeup.outcomes.distribution import average, quantiles, survival
from takeup.outcomes.grid import decimals
from takeup.service.pages.page_chart import PageChart, Rows, drawn
from takeup.service.pages.templates import count, decimal, percent

LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
WARNING = "They say what an action does only where compliance is ignorable."
PROPOSED = "Without a correction for the adaptive allocation."


def outcome_charts(found: Findings, *, by_action: bool) -> list[PageChart]:
    """A chart by proposal, and one by action where that may be shown."""
    evidence, outcome, space = found.evidence, found.space.outcome, found.space
    groups: list[tuple[str, str, str, Sequence[str], IntArray]] = [
        ("proposed", "what was proposed", PROPOSED, space.proposals, evidence.proposed_outcomes.sum(axis=0))
    ]
    if by_action:
        done = evidence.implemented_outcomes.sum(axis=0)
        groups.append(("done", "what was done", WARNING, space.implemented, done))
    if isinstance(outcome, Time):
        return [_survival(outcome, *group) for group in groups]
    if isinstance(outcome, Number | Count):
        return [_quantiles(outcome, *group) for group in groups]
    return []


def _quantiles(
    outcome: Number | Count, name: str, by: str, note: str, labels: Sequence[str], statistics: IntArray
) -> PageChart:
    """The middle half of the outcomes, and their median; the table has the mean as well."""
    records: list[dict[str, Any]] = []
    rows = []
    for label, statistic in zip(labels, statistics, strict=True):
        cells = statistic[: outcome.cells]
        n, at = int(cells.sum()), quantiles(outcome, cells, LEVELS)
        mean = decimal(average(outcome, statistic), outcome.shown.digits)
        rows.append((label, count(n), *((mean, *map(decimal, at)) if n else ["-"] * (1 + len(LEVELS)))))
        if n:
            say = f"{label}: half of {count(n)} outcomes are from {decimal(at[1])} to {decimal(at[3])}"
            spread = {"mean": float(at[2]), "low": float(at[1]), "high": float(at[3])}
            records.append({"label": label, "kind": "outcomes", **spread, "say": say})
    title = f"outcome, {outcome.unit}" if outcome.unit else "outcome"
    told = "; ".join(str(record["say"]) for record in records)
    return PageChart(
        f"outcomes-{name}",
        f"Outcomes by {by}",
        f"The median and the middle half, to within a bin. {note}",
        drawn(charts.intervals(records, title), f"outcomes-{name}", f"{told}."),
        ("arm", "outcomes", "mean" if isinstance(outcome, Number) else outcome.shown.title, *map(percent, LEVELS)),
        rows,
    )


def _survival(time: Time, name: str, by: str, note: str, labels: Sequence[str], statistics: IntArray) -> PageChart:
    """The share who have had no event yet, over time."""
    records: list[dict[str, Any]] = []
    rows: Rows = []
    ends = []
    for label, statistic in zip(labels, statistics, strict=True):
        cells = statistic[: time.cells]
        steps = survival(time, cells)
        say = f"{label}: all of {count(int(cells.sum()))} without the event at the start"
        records.append({"time": 0.0, "label": label, "share": 1.0, "say": say})
        for step in steps:
            at = f"{decimal(step.time, decimals(time.step))} {time.unit}".rstrip()
            say = f"{label}: {percent(step.share)} without the event after {at}, {count(step.at_risk)} at risk before"
            records.append({"time": step.time, "label": label, "share": step.share, "say": say})
            rows.append((label, at, count(step.at_risk), count(step.events), percent(step.share)))
        last = steps[-1].share if steps else 1.0
        records.append({"time": time.longest, "label": label, "share": last, "say": f"{label}: {percent(last)}"})
        ends.append(f"{label} {percent(last)}")
    chart = charts.survival_curves(records, list(labels), f"time, {time.unit}" if time.unit else "time")
    return PageChart(
        f"outcomes-{name}",
        f"Time to the event by {by}",
        f"The share without the event so far (Kaplan-Meier, to within a bin). {note}",
        drawn(chart, f"outcomes-{name}", f"At the end: {'; '.join(ends)}."),
        ("arm", "time", "at risk", "events", "without the event"),
        rows,
    )
