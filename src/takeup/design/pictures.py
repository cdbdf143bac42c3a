"""The charts of a plan, each with a caption that says its errors, the same in words, and the same in a table."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from takeup import charts
from takeup.charts.document import Picture, ReportFigure, ReportTable
from takeup.design.results import ENDS, Figure, Outcomes
from takeup.design.take_up import TakeUpCurve

QUANTILES = {"q05": 0.05, "q25": 0.25, "q75": 0.75, "q95": 0.95}
MOST_BARS = 40
"""More sizes than these are put together."""
MOST_ROWS = 40
"""Of more looks than these a table has some."""


def share(figure: Figure | Mapping[str, Any], digits: int = 3) -> str:
    """A probability with its Monte Carlo error."""
    return plus_minus(figure, f".{digits}f", f".{digits}f")


def number(figure: Figure | Mapping[str, Any]) -> str:
    """A number of units with its Monte Carlo error."""
    return plus_minus(figure, ",.0f", ",.1f")


def plus_minus(figure: Figure | Mapping[str, Any], mean: str, error: str) -> str:
    """A figure with its Monte Carlo error, where it has one, in these formats."""
    plain = figure.plain() if isinstance(figure, Figure) else figure
    return f"{plain['mean']:{mean}}" + ("" if plain["error"] is None else f" ± {plain['error']:{error}}")


def some_looks(looks: int) -> list[int]:
    """The numbers of the looks that a table has: all, or evenly spaced ones and the last."""
    return sorted({*range(0, looks, -(-looks // MOST_ROWS)), looks - 1})


def take_up_picture(curve: TakeUpCurve) -> Picture:
    """Power, or error where nothing is to be found, and size, against take-up."""
    found = [(name, at, each) for name, row in curve.items() for at, each in row.items()]
    claimed = [Figure.of(each.right if each.truth.apart else each.claimed) for _, _, each in found]
    size = [Figure.of(each.size) for _, _, each in found]
    records = [
        {"scenario": name, "take_up": at, "claimed": c.mean, "claimed_error": c.error}
        | {"size": s.mean, "size_error": s.error}
        for (name, at, _), c, s in zip(found, claimed, size, strict=True)
    ]
    words = _listed(
        f"{name} at {at:.0%}: {c.mean:.1%}, {s.mean:,.0f} units"
        for (name, at, _), c, s in zip(found, claimed, size, strict=True)
    )
    rows = tuple(
        (name, f"{at:.0%}", share(c), number(s)) for (name, at, _), c, s in zip(found, claimed, size, strict=True)
    )
    return Picture(
        ReportFigure(
            "take-up",
            "How often a proposal is rightly called better (or wrongly, where none is) and the mean size, against the "
            "share who take what they are offered. Bands are two Monte Carlo errors wide on each side.",
            f"Power, or error where nothing is to be found, and size against take-up. {words}.",
            lambda: charts.over_take_up(records),
        ),
        ReportTable("Against take-up", ("scenario", "take-up", "power or error", "mean size"), rows),
    )


def ends_picture(outcomes: Mapping[str, Outcomes]) -> Picture:
    """How trials have ended by each look."""
    ended = {name: _ended(each) for name, each in outcomes.items()}
    ends = [end for end in ENDS if any(by[end][-1].mean for by in ended.values())]
    at = next(iter(outcomes.values())).plan.looks.at.tolist()
    records = [
        {"scenario": name, "outcomes": known, "end": end, "share": by[end][look].mean}
        for name, by in ended.items()
        for look, known in enumerate(at)
        for end in ends
    ]
    worst = max(figure.error for by in ended.values() for end in ends for figure in by[end])
    words = _listed(
        f"{name}: " + ", ".join(f"{end} {by[end][-1].mean:.1%}" for end in ends) for name, by in ended.items()
    )
    rows = tuple(
        (name, f"{at[look]:,}", *(share(by[end][look]) for end in ends))
        for name, by in ended.items()
        for look in some_looks(len(at))
    )
    return Picture(
        ReportFigure(
            "ends",
            "The share of trials that have ended by each look, and how; the rest goes on. "
            f"The Monte Carlo error of a share is {worst:.4f} at most.",
            f"How trials end in the end. {words}.",
            lambda: charts.ends_by_look(records),
        ),
        ReportTable("Share of trials that have ended so by each look", ("scenario", "outcomes known", *ends), rows),
    )


def allocation_picture(outcomes: Mapping[str, Outcomes]) -> Picture:
    """The share of each proposal, over trials."""
    records: list[dict[str, Any]] = []
    rows = []
    for name, each in outcomes.items():
        shares = each.units / each.size[:, np.newaxis]
        for k, label in enumerate(each.plan.space.proposals):
            mean = Figure.of(shares[:, k])
            spread = {q: float(np.quantile(shares[:, k], at)) for q, at in QUANTILES.items()}
            records.append({"scenario": name, "proposal": label, "mean": mean.mean, **spread})
            rows.append((name, label, share(mean), *(f"{value:.3f}" for value in spread.values())))
    words = _listed(f"{r['scenario']}, {r['proposal']}: {r['mean']:.1%} on average" for r in records)
    columns = ("scenario", "proposal", "mean", *(f"{at:.0%}" for at in QUANTILES.values()))
    return Picture(
        ReportFigure(
            "allocation",
            "The share of the units that is offered each proposal: lines from 5 to 95 % of the trials, bars from 25 to "
            "75 %, and the mean.",
            f"Share of the units. {words}.",
            lambda: charts.allocation_ranges(records),
        ),
        ReportTable("Share of the units on each proposal: mean, and quantiles over trials", columns, tuple(rows), 2),
    )


def sizes_picture(outcomes: Mapping[str, Outcomes]) -> Picture:
    """How large trials are."""
    bars = {name: _bars(each) for name, each in outcomes.items()}
    records = [{"scenario": name, **bar} for name, each in bars.items() for bar in each]
    every = {name: each.metrics()["size"] for name, each in outcomes.items()}
    rows = []
    for name, size in every.items():
        quantiles = (f"{value:,.0f}" for value in size["quantiles"].values())
        rows.append((name, number(size), f"{size['sd']:,.0f}", *quantiles))
    words = _listed(f"{name}: {size['mean']:,.0f} on average" for name, size in every.items())
    columns = ("scenario", "mean", "sd", *(f"{float(q):.0%}" for q in next(iter(every.values()))["quantiles"]))
    return Picture(
        ReportFigure(
            "sizes",
            "How many units trials need, with lines of two Monte Carlo errors on each side.",
            f"Size of trials. {words}.",
            lambda: charts.size_distribution(records),
        ),
        ReportTable("Size: mean, standard deviation and quantiles over trials", columns, tuple(rows)),
    )


def promise_picture(points: Sequence[Mapping[str, float]]) -> Picture:
    """Size against the promise.

    Args:
        points: records with promise, size, error and alpha, as `promise_curve` makes them.
    """
    records = [dict(point) for point in points]
    rows = tuple((f"{r['promise']:g}", f"{r['size']:,.0f}", f"{r['error']:.3f}") for r in records)
    words = _listed(f"{r['promise']:g}: {r['size']:,.0f} units, error {r['error']:.3f}" for r in records)
    return Picture(
        ReportFigure(
            "promise",
            "How many units a trial of fixed size needs by the bounded reading, against the promise Δ, and its error "
            "where takers and refusers differ by twice as much as was promised; the dashed line is the error that was "
            "asked for. By formula (normal approximation), without Monte Carlo error.",
            f"Against the promise. {words}.",
            lambda: charts.over_promise(records),
        ),
        ReportTable("Against the promise Δ", ("Δ", "units", "error at 2 Δ"), rows, 0),
    )


def _ended(outcomes: Outcomes) -> dict[str, list[Figure]]:
    """How often trials have ended in each way by each look."""
    kept, looks = outcomes.kept, range(outcomes.plan.looks.at.size)
    return {
        end: [Figure.of((kept.status == status) & (kept.look <= look)) for look in looks]
        for end, status in ENDS.items()
    }


def _bars(outcomes: Outcomes) -> list[dict[str, float]]:
    """The share of trials at each size, or of sizes put together where there are many."""
    size = outcomes.size
    values = np.unique(size).astype(np.float64)
    if values.size > MOST_BARS:
        edges = np.linspace(values[0], values[-1], MOST_BARS + 1)
        pairs = list(pairwise(edges))
        inside = [(size >= a) & ((size < b) | (b == edges[-1])) for a, b in pairs]
    else:
        half = 0.4 * float(np.diff(values).min()) if values.size > 1 else 0.5
        pairs = [(value - half, value + half) for value in values]
        inside = [size == value for value in values]
    figures = [Figure.of(each) for each in inside]
    return [
        {"first": float(a), "last": float(b), "share": figure.mean, "error": figure.error}
        for (a, b), figure in zip(pairs, figures, strict=True)
    ]


def _listed(parts: Iterable[str]) -> str:
    return "; ".join(parts)
