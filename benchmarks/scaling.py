"""What scales how: how many decisions a second each way of asking bears, beside what three trials need.

python benchmarks/scaling.py [--out docs/images/scaling.svg]

Draws the chart of docs/edge.md, and prints its tables. The figures below that are measured come from the benchmark that
is named beside each; run it again, and put the new figure here. The others are products of measured ones, and say so.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from takeup.charts.draw import svg
from takeup.charts.extra import required

DAY = 86_400
PEAK = 5
"""How many times the mean the busiest minutes of an app are taken to have: an assumption."""


class Way(NamedTuple):
    """A way to have decisions made, and how many a second it bears, each with its report."""

    name: str
    rate: float
    measured: bool
    source: str


class Trial(NamedTuple):
    """What a trial needs a second: on average, and in its busiest minutes."""

    name: str
    mean: float
    peak: float


EDGE = 260_000.0
WAYS = (
    Way("asked over HTTP, two servers on PostgreSQL", 400, True, "benchmarks/service.py: p99 157 to 345 ms"),
    Way("asked over HTTP, one server on SQLite", 500, True, "benchmarks/service.py: p99 45 ms"),
    Way("leases, taken in by PostgreSQL", 38_100, True, "benchmarks/ingest.py"),
    Way("leases, taken in by SQLite", 49_900, True, "benchmarks/ingest.py"),
    Way("leases, drawn by one core", EDGE, True, "benchmarks/edge.py"),
    Way("leases, drawn by a hundred cores", 100 * EDGE, False, "100 times one core: they share nothing but leases"),
)
TRIALS = (
    Trial("one clinic, 100 a day", 100 / DAY, 0.1),
    Trial("a hundred sites, 5,000 a day", 5_000 / DAY, 1.0),
    Trial("an app with 100 million users, each once a day", 1e8 / DAY, PEAK * 1e8 / DAY),
)


def chart() -> Any:
    """Bars for what each way bears, lines for what each trial needs."""
    alt = required("altair")
    order = [way.name for way in WAYS]
    ways = [
        {"way": way.name, "rate": way.rate, "from": 0.0005, "figure": "measured" if way.measured else "extrapolated"}
        for way in WAYS
    ]
    trials = [{"trial": each.name, "mean": each.mean, "peak": each.peak} for each in TRIALS]
    scale = alt.Scale(type="log", domain=[0.0005, 1e8])
    axis = alt.Axis(
        values=[10.0**power for power in range(-3, 9)],
        labelExpr="datum.value < 1 ? format(datum.value, '~r') : format(datum.value, '~s')",
    )
    title = "decisions a second"
    bars = (
        alt.Chart(alt.Data(values=ways))
        .mark_bar(height=16)
        .encode(
            x=alt.X("from:Q", scale=scale, axis=axis, title=title),
            x2="rate:Q",
            y=alt.Y("way:N", sort=order, title=None, axis=alt.Axis(labelLimit=320)),
            color=alt.Color(
                "figure:N",
                title=None,
                scale=alt.Scale(domain=["measured", "extrapolated"], range=["#4c78a8", "#b8cbe0"]),
                legend=alt.Legend(orient="top"),
            ),
        )
    )
    names = [each.name for each in TRIALS]
    needs = (
        alt.Chart(alt.Data(values=trials))
        .mark_bar(height=8, color="#e45756")
        .encode(
            x=alt.X("mean:Q", scale=scale, axis=axis, title=title),
            x2="peak:Q",
            y=alt.Y("trial:N", sort=names, title=None, axis=alt.Axis(labelLimit=320)),
        )
    )
    return alt.vconcat(
        bars.properties(width=460, height=24 * len(WAYS), title="What each way bears"),
        needs.properties(width=460, height=24 * len(TRIALS), title="What each trial needs, from its mean to its peak"),
    ).resolve_scale(x="shared")


def main() -> None:
    """Print the table and draw the chart."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("docs/images/scaling.svg"))
    out = parser.parse_args().out
    print("| way | decisions a second, each with its report | from |\n|---|---|---|")
    for way in WAYS:
        print(f"| {way.name} | {way.rate:,.0f} | {'measured' if way.measured else 'extrapolated'}, `{way.source}` |")
    print("\n| trial | on average | at its peak | what bears it |\n|---|---|---|---|")
    for trial in TRIALS:
        bearing = [way.name for way in WAYS if way.rate >= trial.peak and "drawn" not in way.name]
        print(f"| {trial.name} | {trial.mean:,.4g} | {trial.peak:,.4g} | {'; '.join(bearing)} |")
    out.write_text(svg(chart()))


if __name__ == "__main__":
    main()
