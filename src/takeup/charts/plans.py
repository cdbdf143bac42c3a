"""Charts of plans: what a design does before anybody is asked. Ranges and bands are of two Monte Carlo errors."""

from collections.abc import Iterable, Sequence
from typing import Any

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.style import INK, Chart, dressed
from takeup.charts.trial import ARMS, SHAPES

ENDS = {
    "superior": "#0072B2",
    "equivalent": "#009E73",
    "futile": "#A8780C",
    "maximum": "#8A8A8A",
}
"""How trials end, from the bottom of a stack to its top, each with its colour."""
WIDE, HALF, LOW = 560, 245, 190
SHARE = {"format": "%", "tickCount": 5, "labelFlush": False}
PLAIN = {"labelFlush": False, "tickCount": 6}


def over_take_up(points: Records) -> Chart:
    """Power, or error where nothing is to be found, and size, over the share who take what they are offered.

    Args:
        points: records with scenario, take_up, claimed, claimed_error, size and size_error.
    """
    alt = required("altair")
    records = rows("points", points, "scenario", "take_up", "claimed", "claimed_error", "size", "size_error")
    names = _once(record["scenario"] for record in records)
    for record in records:
        for field in ("claimed", "size"):
            apart = 2 * record[f"{field}_error"]
            record |= {f"{field}_low": max(record[field] - apart, 0), f"{field}_high": record[field] + apart}
    data = alt.Data(values=records)
    x = alt.X(
        "take_up:Q", title="share who take what they are offered", axis=SHARE, scale={"zero": False, "nice": False}
    )
    base = alt.Chart(data).encode(x=x, color=_named("Color", "scenario", names))

    def panel(field: str, title: str, **options: Any) -> Chart:
        y = alt.Y(f"{field}_low:Q", title=title, **options)
        return alt.layer(
            base.mark_area(opacity=0.25, strokeWidth=0).encode(y=y, y2=f"{field}_high:Q"),
            base.mark_line(strokeWidth=1.6).encode(y=f"{field}:Q"),
            base.mark_point(filled=True, size=44, opacity=1).encode(
                y=f"{field}:Q", shape=_named("Shape", "scenario", names)
            ),
        ).properties(width=HALF, height=LOW)

    called = panel("claimed", "power, or error in a null", axis=SHARE, scale={"domain": [0, 1], "clamp": True})
    return dressed(alt.hconcat(called, panel("size", "mean size", scale={"zero": True}), spacing=26))


def ends_by_look(bars: Records) -> Chart:
    """How trials have ended by each look, stacked; what is left above goes on. One panel per scenario.

    Args:
        bars: records with scenario, outcomes (known at the look), end and share (of trials that have ended so by then).
    """
    alt = required("altair")
    records = rows("bars", bars, "scenario", "outcomes", "end", "share")
    ends = [end for end in ENDS if any(record["end"] == end for record in records)]
    below: dict[tuple[str, int], float] = {}
    for record in sorted(records, key=lambda each: ends.index(each["end"])):
        key = (record["scenario"], record["outcomes"])
        record["low"] = below.get(key, 0.0)
        below[key] = record["high"] = record["low"] + record["share"]
    scale = {"domain": ends, "range": [ENDS[end] for end in ends]}
    panel = (
        alt.Chart()
        .mark_bar()
        .encode(
            x=alt.X("outcomes:O", title="outcomes known at the look", axis={"labelAngle": 0, "labelOverlap": True}),
            y=alt.Y("low:Q", title="share of trials that have ended", axis=SHARE, scale={"domain": [0, 1]}),
            y2="high:Q",
            color=alt.Color("end:N", scale=scale, sort=ends, title=None, legend={"symbolType": "square"}),
        )
        .properties(width=HALF, height=150)
    )
    return _panels(panel, records)


def allocation_ranges(ranges: Records) -> Chart:
    """The share of each proposal over trials: 5 to 95 and 25 to 75 %, and the mean.

    Args:
        ranges: records with scenario, proposal, q05, q25, mean, q75 and q95.
    """
    alt = required("altair")
    records = rows("ranges", ranges, "scenario", "proposal", "q05", "q25", "mean", "q75", "q95")
    scenarios, proposals = (_once(record[field] for record in records) for field in ("scenario", "proposal"))

    def x(field: str) -> Any:
        return alt.X(f"{field}:Q", title="share of the units", axis=SHARE, scale={"domain": [0, 1]})

    base = alt.Chart(alt.Data(values=records)).encode(
        y=alt.Y("scenario:N", sort=scenarios, title=None, axis={"labelLimit": 150}),
        yOffset=alt.YOffset("proposal:N", sort=proposals, scale={"paddingOuter": 0.3}),
        color=_named("Color", "proposal", proposals),
    )
    return dressed(
        alt.layer(
            base.mark_rule(strokeWidth=1.2).encode(x=x("q05"), x2="q95:Q"),
            base.mark_bar(height=8, opacity=0.5).encode(x=x("q25"), x2="q75:Q"),
            base.mark_point(filled=True, size=52, opacity=1).encode(
                x=x("mean"), shape=_named("Shape", "proposal", proposals)
            ),
        ).properties(width=WIDE - 160, height=len(scenarios) * (14 * len(proposals) + 16))
    )


def size_distribution(bars: Records) -> Chart:
    """How many units trials need: the share of them at each size. One panel per scenario.

    Args:
        bars: records with scenario, first and last (sizes that a bar stands for), share and error.
    """
    alt = required("altair")
    records = rows("bars", bars, "scenario", "first", "last", "share", "error")
    for record in records:
        apart = 2 * record["error"]
        record |= {"low": max(record["share"] - apart, 0), "high": record["share"] + apart, "zero": 0.0}
        record["middle"] = (record["first"] + record["last"]) / 2
    y = alt.Y("zero:Q", title="share of trials", axis={**SHARE, "tickCount": 3})
    base = alt.Chart()
    panel = alt.layer(
        base.mark_rect(color=ARMS[0], opacity=0.75, stroke=None).encode(
            x=alt.X("first:Q", title="units", axis=PLAIN, scale={"zero": False}), x2="last:Q", y=y, y2="share:Q"
        ),
        base.mark_rule(color=INK, strokeWidth=1.2).encode(x="middle:Q", y="low:Q", y2="high:Q"),
    ).properties(width=HALF, height=110)
    return _panels(panel, records)


def over_promise(points: Records) -> Chart:
    """Size against what is promised of refusers, and the error where the promise is broken twofold.

    Args:
        points: records with promise, size, error and alpha, the error that was asked for.
    """
    alt = required("altair")
    records = rows("points", points, "promise", "size", "error", "alpha")
    x = alt.X("promise:Q", title="Δ: takers and refusers differ by at most", axis=PLAIN, scale={"nice": False})
    base = alt.Chart(alt.Data(values=records)).encode(x=x)

    def panel(field: str, title: str, colour: str, **options: Any) -> Chart:
        y = alt.Y(f"{field}:Q", title=title, **options)
        lines = base.mark_line(strokeWidth=1.6, color=colour).encode(y=y)
        return lines + base.mark_point(filled=True, size=44, color=colour, opacity=1).encode(y=y)

    sizes = panel("size", "units in both arms", ARMS[0], scale={"zero": True})
    errors = panel("error", "error where they differ by 2 Δ", ARMS[1], scale={"zero": True}, axis={"format": ".1%"})
    alpha = alt.Data(values=[{"alpha": records[0]["alpha"]}])
    asked = alt.Chart(alpha).mark_rule(color=INK, strokeDash=[5, 4]).encode(y="alpha:Q")
    both = (each.properties(width=HALF, height=LOW) for each in (sizes, errors + asked))
    return dressed(alt.hconcat(*both, spacing=26))


def _panels(panel: Chart, records: Sequence[dict[str, Any]]) -> Chart:
    """A panel for each scenario, two in a row."""
    alt = required("altair")
    names = _once(record["scenario"] for record in records)
    facet = alt.Facet("scenario:N", sort=names, title=None, header={"labelLimit": HALF})
    return dressed(panel.properties(data=alt.Data(values=list(records))).facet(facet, columns=2))


def _named(channel: str, field: str, names: Sequence[str]) -> Any:
    """A colour or a shape for each name, with one legend for both."""
    looks = ARMS if channel == "Color" else SHAPES
    scale = {"domain": list(names), "range": [looks[i % len(looks)] for i in range(len(names))]}
    return getattr(required("altair"), channel)(f"{field}:N", scale=scale, sort=list(names), title=None)


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
