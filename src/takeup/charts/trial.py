"""Charts of a running trial. They are drawn narrow, so that their text can be read on a phone and grows on a projector.

Every mark carries a description, which pages show beside the pointer: the field `say` of its record.
"""

from collections.abc import Sequence
from typing import Any

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.style import INK, Chart, dressed

WIDTH, HEIGHT = 345, 190
LABEL = 92
"""The most pixels of a label beside an axis."""

ARMS = ("#0072B2", "#D55E00", "#009E73", "#B14E8C", "#A8780C", "#767676", "#5B6FB5", "#3E8E9E")
"""Colours of arms, in their order: after Okabe and Ito (2008), darkened; each also stands out from a dark page."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
MOST_ARMS = len(ARMS)
MOST_MARKED = 12
"""How many points of a line are marked; the line itself goes through all."""

QUIET: dict[str, Any] = {"aria": False}
"""What axes say to screen readers would else pop up beside the pointer."""
_PERCENT = {**QUIET, "format": "%", "values": [0, 0.25, 0.5, 0.75, 1]}


def probability_best_over_time(points: Records, arms: Sequence[str]) -> Chart:
    """The probability that each proposal is best, over the decisions.

    Args:
        points: records with decision, proposal, probability and say.
        arms: the proposals, in the order of their colours.
    """
    alt = required("altair")
    records = rows("points", points, "decision", "proposal", "probability", "say")
    places = sorted({record["decision"] for record in records})
    marked = set(places[:: -(-len(places) // MOST_MARKED)]) | {places[-1]}
    for record in records:
        record["marked"] = record["decision"] in marked
    y = alt.Y("probability:Q", title=None, scale={"domain": [0, 1]}, axis=alt.Axis(**_PERCENT))
    base = alt.Chart(alt.Data(values=records)).encode(
        x=_decisions(alt), y=y, color=_arm(alt, "Color", "proposal", arms)
    )
    lines = base.mark_line(strokeWidth=2, aria=False)
    marks = base.transform_filter("datum.marked").mark_point(filled=True, size=44, opacity=1)
    described = marks.encode(shape=_arm(alt, "Shape", "proposal", arms), description="say:N")
    return _sized(alt.layer(lines, described), HEIGHT)


def allocation_over_time(stretches: Records, arms: Sequence[str]) -> Chart:
    """The share of each proposal in every stretch of decisions, stacked.

    Args:
        stretches: records with first and last (decisions), proposal, share and say.
        arms: the proposals, in the order of their colours.
    """
    alt = required("altair")
    records = rows("stretches", stretches, "first", "last", "proposal", "share", "say")
    below: dict[int, float] = {}
    for record in sorted(records, key=lambda each: arms.index(each["proposal"])):
        low = below.get(record["first"], 0.0)
        below[record["first"]] = low + record["share"]
        record |= {"from": record["first"] - 0.5, "to": record["last"] + 0.5, "low": low, "high": low + record["share"]}
    y = alt.Y("low:Q", title=None, scale={"domain": [0, 1]}, axis=alt.Axis(**_PERCENT))
    bars = (
        alt.Chart(alt.Data(values=records))
        .mark_rect(strokeWidth=0)
        .encode(
            x=_decisions(alt, "from"),
            x2="to:Q",
            y=y,
            y2="high:Q",
            color=_arm(alt, "Color", "proposal", arms, symbolType="square"),
            description="say:N",
        )
    )
    return _sized(bars, HEIGHT)


def intervals(estimates: Records, title: str, *, share: bool = False) -> Chart:
    """Estimates with their intervals, a row each; those of one row that belong to different kinds stand below another.

    Args:
        estimates: records with label, kind, mean, low, high and say; kinds get their colours in the order they come.
        title: of the axis.
        share: whether the axis is from 0 to 100 %.
    """
    alt = required("altair")
    records = rows("estimates", estimates, "label", "kind", "mean", "low", "high", "say")
    labels, kinds = (list(dict.fromkeys(record[field] for record in records)) for field in ("label", "kind"))
    scale: dict[str, Any] = {"domain": [0, 1]} if share else {"zero": False, "nice": True}
    axis = alt.Axis(**(_PERCENT if share else {**QUIET, "tickCount": 4}))
    y: dict[str, Any] = {"y": _rows(alt, "label", labels)}
    if len(kinds) > 1:
        y["yOffset"] = alt.YOffset("kind:N", sort=kinds, scale={"paddingOuter": 0.35})
    legend: dict[str, Any] = {} if len(kinds) > 1 else {"legend": None}
    colour = _arm(alt, "Color", "kind", kinds, **legend)
    base = alt.Chart(alt.Data(values=records)).encode(**y, color=colour, description="say:N")
    ranges = base.mark_rule(strokeWidth=3, opacity=0.65).encode(
        x=alt.X("low:Q", title=title, scale=scale, axis=axis), x2="high:Q"
    )
    marks = base.mark_point(filled=True, size=64, opacity=1).encode(
        x="mean:Q", shape=_arm(alt, "Shape", "kind", kinds, **legend)
    )
    return _sized(alt.layer(ranges, marks), len(labels) * max(30, 13 * len(kinds) + 12))


def survival_curves(steps: Records, labels: Sequence[str], title: str, least: float = 0.0) -> Chart:
    """The share who have had no event yet, over time: a step after each event.

    Args:
        steps: records with time, label, share and say.
        labels: the arms, in the order of their colours.
        title: of the axis of time.
        least: where the axis of shares begins.
    """
    alt = required("altair")
    records = rows("steps", steps, "time", "label", "share", "say")
    axis = {**QUIET, "format": "%", "tickCount": 5} if least else _PERCENT
    y = alt.Y("share:Q", title=None, scale={"domain": [least, 1]}, axis=alt.Axis(**axis))
    x = alt.X("time:Q", title=title, axis=alt.Axis(**QUIET, tickCount=5, grid=False))
    base = alt.Chart(alt.Data(values=records)).encode(x=x, y=y, color=_arm(alt, "Color", "label", labels))
    lines = base.mark_line(strokeWidth=2, interpolate="step-after", aria=False)
    marks = base.mark_point(filled=True, size=20, opacity=1).encode(
        shape=_arm(alt, "Shape", "label", labels), description="say:N"
    )
    return _sized(alt.layer(lines, marks), HEIGHT)


def compliance_matrix(cells: Records) -> Chart:
    """What was done after each proposal: shares as counted, and what is believed of them; what was proposed is framed.

    Args:
        cells: records with proposal, implemented, mean, low, high, count, total, intended and say.
    """
    alt = required("altair")
    columns = ("proposal", "implemented", "mean", "low", "high", "count", "total", "intended", "say")
    records = rows("cells", cells, *columns)
    proposals, actions = (
        list(dict.fromkeys(record[field] for record in records)) for field in ("proposal", "implemented")
    )
    for record in records:
        record["share"] = f"{100 * record['count'] / record['total']:.0f} %" if record["total"] else "none yet"
        record["range"] = f"{100 * record['low']:.0f}-{100 * record['high']:.0f} %"
        record["of"] = f"{record['count']:,} of {record['total']:,}"
        record["shade"] = 0.06 + 0.44 * record["mean"]
    across = {"labelAngle": 0, "labelLimit": max(30, (WIDTH - LABEL - 20) // len(actions) - 6), "orient": "top"}
    x = alt.X(
        "implemented:N",
        sort=actions,
        title="what was done",
        axis=alt.Axis(**QUIET, **across, domain=False, ticks=False),
        scale={"paddingInner": 0.04, "paddingOuter": 0},
    )
    y = _rows(alt, "proposal", proposals, title=None, scale={"paddingInner": 0.06, "paddingOuter": 0})
    base = alt.Chart(alt.Data(values=records)).encode(x=x, y=y)
    tiles = base.mark_rect(color=ARMS[0], cornerRadius=3).encode(
        opacity=alt.Opacity("shade:Q", scale=None, legend=None), description="say:N"
    )
    frames = base.transform_filter("datum.intended").mark_rect(
        filled=False, stroke=INK, strokeWidth=1.6, cornerRadius=3, strokeOpacity=0.75, aria=False
    )
    few = len(actions) <= 4
    texts: list[tuple[str, int, float, str]] = [
        ("share", -13 if few else -6 if len(actions) <= 6 else 0, 14 if few else 12, "bold")
    ]
    if len(actions) <= 6:
        texts.append(("range", 3 if few else 9, 10.5 if few else 9, "normal"))
    if few:
        texts.append(("of", 17, 10 if len(actions) < 4 else 9, "normal"))
    words = [
        base.mark_text(color=INK, dy=dy, fontSize=size, fontWeight=weight, aria=False).encode(text=f"{field}:N")
        for field, dy, size, weight in texts
    ]
    return _sized(alt.layer(tiles, frames, *words), len(proposals) * (58 if few else 42))


def _sized(chart: Chart, height: int) -> Chart:
    """All charts are equally wide, labels included, so that their text is of one size on a page."""
    return dressed(chart).properties(width=WIDTH, height=height, autosize={"type": "fit-x", "contains": "padding"})


def _decisions(alt: Any, field: str = "decision") -> Any:
    axis = alt.Axis(**QUIET, tickCount=5, format="~s", grid=False)
    return alt.X(f"{field}:Q", title="decision", scale={"zero": False, "nice": False}, axis=axis)


def _rows(alt: Any, field: str, labels: Sequence[str], **options: Any) -> Any:
    axis = alt.Axis(**QUIET, labelLimit=LABEL, labelPadding=8, ticks=False, domain=False)
    return alt.Y(f"{field}:N", sort=list(labels), axis=axis, **{"title": None, **options})


def _arm(alt: Any, channel: str, field: str, labels: Sequence[str], **legend: Any) -> Any:
    """A colour or a shape for each label, with one legend for both."""
    names = list(labels)
    looks = ARMS if channel == "Color" else SHAPES
    scale = {"domain": names, "range": [looks[i % len(looks)] for i in range(len(names))]}
    if "legend" in legend:
        shown = legend["legend"]
    else:
        # Readers may have a wider font than the one that labels are measured with.
        columns = 2 if max(map(len, names)) <= 14 or len(names) > 4 else 1
        shown = alt.Legend(
            **QUIET, columns=columns, labelLimit=105 if columns == 2 else 220, columnPadding=28, **legend
        )
    return getattr(alt, channel)(f"{field}:N", scale=scale, sort=names, title=None, legend=shown)
