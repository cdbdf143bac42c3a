"""The charts of an analysis, each with a caption, the same in words, and the same in a table."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from takeup import charts
from takeup.analysis import targets
from takeup.analysis.assumed import Assumed
from takeup.analysis.flow import Flow
from takeup.analysis.results import Analysis, Entry, has_region
from takeup.analysis.telling import amount, axis, span
from takeup.analysis.tested import Tested
from takeup.analysis.words import RATIOS, figure, interval, p_value, quantity, survives
from takeup.charts.document import Picture, ReportFigure, ReportTable
from takeup.charts.flow import flow_diagram, sentence
from takeup.evidence import Evidence
from takeup.log import Log

ESTIMATES = ("reading", "comparison", "estimate", "interval", "decisions", "missing", "what it survives", "assumes")
STRETCHES = 4
"""Into how many parts the trial is cut to see whether outcomes change."""


def estimates_table(
    caption: str, entries: Sequence[Entry], analysis: Analysis, tests: Sequence[Tested] = ()
) -> ReportTable:
    """Estimates, a row each, and tests below them; what they assume by letters."""
    space, assumed = analysis.log.space, Assumed.by(analysis)
    rows = tuple(
        (
            f"{each.label}, {each.context}" if each.context else each.label,
            each.estimate.contrast,
            figure(each.estimate.value, each.estimate, space),
            interval(each.estimate, space),
            f"{each.estimate.n:,}",
            f"{each.estimate.missing:,}",
            survives(each.estimate),
            assumed.letters(each.estimate.assumes),
        )
        for each in entries
    )
    rows += tuple(
        (
            f"test: {each.test}",
            each.contrast,
            "not done" if each.refused else p_value(each.p),
            "",
            "",
            "",
            each.refused or _tested(each),
            assumed.letters(each.assumes),
        )
        for each in tests
    )
    return ReportTable(caption, ESTIMATES, rows, 2, 2)


def _tested(found: Tested) -> str:
    """What a test survives."""
    kept = [name for name, held in (("adaptation", found.survives_adaptation), ("drift", found.survives_drift)) if held]
    return f"survives {' and '.join(kept)}" if kept else "holds with fixed allocation alone"


def forest_pictures(analysis: Analysis) -> tuple[Picture, ...]:
    """Differences, and ratios where there are any."""
    compared = [each for each in analysis.entries if not each.of_one]
    found = []
    for ratio, name in ((False, "forest"), (True, "ratios")):
        entries = [each for each in compared if (each.estimate.measure in RATIOS) == ratio]
        if entries and any(_drawable(each) for each in entries):
            title = axis(analysis.log.space, (each.estimate.measure for each in entries))
            found.append(_forest(analysis, entries, name, title, ratio=ratio))
    return tuple(found)


def _forest(analysis: Analysis, entries: Sequence[Entry], name: str, title: str, *, ratio: bool) -> Picture:
    space, control = analysis.log.space, analysis.log.space.proposals[analysis.planned.control]
    records = [
        record
        for each in sorted(entries, key=lambda each: each.one)
        for record in _records(each, f"{space.proposals[each.one]} against {control}")
    ]
    words = "; ".join(
        f"{each.label}{' in ' + each.context if each.context else ''}, {each.estimate.contrast}:"
        f" {figure(each.estimate.value, each.estimate, space)}, {interval(each.estimate, space)}"
        for each in entries
    )
    caption = (
        "Every reading with its interval. Arrows: without end on that side. Grey: what would be computed as if"
        " nothing had been adapted and everybody were alike, shown for comparison. Crosses: the interval is"
        " withheld, and the table of what is withheld says why."
    )
    table = estimates_table("The same in figures", entries, analysis)
    return Picture(ReportFigure(name, caption, words, partial(charts.forest, records, title, ratio=ratio)), table)


def _drawable(entry: Entry) -> bool:
    return math.isfinite(entry.estimate.value) or has_region(entry.estimate)


def _records(entry: Entry, group: str) -> list[dict[str, Any]]:
    """A record a part of the region; the first has the value."""
    estimate, naive = entry.estimate, entry.kind == "naive"
    parts: list[tuple[float, float]] = list(estimate.region) or [(estimate.low, estimate.high)]
    relied = not estimate.withheld or bool(estimate.region) or naive
    kind = entry.kind if relied else "no interval to rely upon"
    label = f"{entry.label}, {entry.context}" if entry.context else entry.label
    return [
        {"group": group, "label": label, "kind": kind, "value": math.nan if number else estimate.value}
        | {"low": low if relied else math.nan, "high": high if relied else math.nan}
        for number, (low, high) in enumerate(parts)
    ]


def compliance_picture(analysis: Analysis) -> Picture | None:
    """What was done after each proposal: shares of those of whom it is known."""
    log, space = analysis.log, analysis.log.space
    counts = Evidence.from_log(log.without_covariates()).compliance.sum(axis=0)
    if not counts.any():
        return None
    records, rows = [], []
    for z, label in enumerate(space.proposals):
        total = int(counts[z].sum())
        for a, action in enumerate(space.implemented):
            low, high = wilson(int(counts[z, a]), total)
            share = counts[z, a] / total if total else 0.0
            intended = space.intended is not None and space.intended[z] == a
            said = f"{counts[z, a]:,} of {total:,} who were offered {label} took {action}"
            records.append(
                {"proposal": label, "implemented": action, "mean": share, "low": low, "high": high}
                | {"count": int(counts[z, a]), "total": total, "intended": intended, "say": said}
            )
            rows.append((label, action, f"{counts[z, a]:,}", f"{total:,}", f"{share:.1%}", f"{low:.1%} to {high:.1%}"))
    known = int(counts.sum())
    caption = (
        f"What was done after each proposal, of the {known:,} decisions of which it is known; what was meant is framed."
        " Ranges are Wilson's 95 % intervals of plain shares."
    )
    words = "; ".join(str(record["say"]) for record in records)
    columns = ("offered", "done", "people", "of", "share", "range")
    table = ReportTable("The same in figures", columns, tuple(rows), 2)
    return Picture(ReportFigure("compliance", caption, words, partial(charts.compliance_matrix, records)), table)


def tipping_pictures(analysis: Analysis) -> tuple[Picture, ...]:
    """What is left of each effect over what may be promised of takers and refusers."""
    found, space = [], analysis.log.space
    for one, tipping in analysis.tippings.items():
        if not tipping.points:
            continue
        points, title = tipping.records(), axis(space, ["difference"])
        falls, least = tipping.falls_at, tipping.least_promise
        caption = (
            f"{tipping.contrast}: estimate and {100 * tipping.level:g} % interval if those who take and those who"
            " refuse would differ by at most Δ without what they are offered. Left: they are alike. Right: intention to"
            f" treat{f', of the {tipping.n:,} of whom it is known what they took' if tipping.missing else ''}."
        )
        draw = partial(charts.over_difference, points, falls_at=falls, least_promise=least, title=title)
        rows = tuple(
            (amount(each.promise, space, signed=False), amount(each.value, space), span(each.low, each.high, space))
            for each in tipping.points[:: max(1, len(tipping.points) // 8)]
        )
        table = ReportTable(f"{tipping.contrast}: the same in figures", ("Δ", "estimate", "interval"), rows, 0)
        words = " ".join(tipping.sentences())
        found.append(Picture(ReportFigure(f"tipping-{one}", caption, words, draw), table))
    return tuple(found)


def flow_picture(flow: Flow) -> Picture:
    """Who went where, as CONSORT asks for."""
    plain = flow.plain()
    rows = tuple(
        (
            arm.proposal,
            f"{arm.allocated:,}",
            "" if arm.complied is None else f"{arm.complied:,}",
            f"{arm.not_reported:,}",
            f"{arm.followed_up:,}",
            f"{arm.awaited + arm.lost:,}",
        )
        for arm in flow.arms
    )
    without = "outcome awaited" if any(arm.awaited for arm in flow.arms) else "lost"
    columns = ("offered", "allocated", "did as offered", "not known what was done", "followed up", without)
    figure = ReportFigure(
        "flow",
        "Who was allocated, took what, and was followed up.",
        sentence(plain),
        partial(flow_diagram, plain, took="took"),
    )
    return Picture(figure, ReportTable("The same in figures", columns, rows))


def stretches_table(log: Log) -> ReportTable | None:
    """Outcomes of each proposal in each part of the trial; None where they have no value of their own."""
    if not log.space.outcome.valued:
        return None
    value, n = targets.outcome(log.space).values(log), len(log)
    part = np.arange(n) * STRETCHES // max(n, 1)
    rows = []
    for k in range(STRETCHES):
        row = [f"{int((part < k).sum()) + 1:,} to {int((part <= k).sum()):,}"]
        for z in range(len(log.space.proposals)):
            own = value[(part == k) & (log.proposal == z)]
            seen = own[~np.isnan(own)]
            row.append(f"{seen.mean():.3g} of {seen.size:,}" if seen.size else "nobody")
        rows.append(tuple(row))
    caption = f"Plain means of {quantity(log.space)} over the trial, and of how many"
    return ReportTable(caption, ("decisions", *log.space.proposals), tuple(rows))


def wilson(hits: int, n: int, errors: float = 1.959964) -> tuple[float, float]:
    """Wilson's interval of a share."""
    if n == 0:
        return 0.0, 1.0
    centre = (hits + errors**2 / 2) / (n + errors**2)
    half = errors / (n + errors**2) * math.sqrt(hits * (n - hits) / n + errors**2 / 4)
    return max(0.0, centre - half), min(1.0, centre + half)
