"""Forest plots: estimates with their intervals, a row each, and what kind of answer each is."""

import math
from typing import Any

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.style import INK, Chart, dressed
from takeup.charts.trial import ARMS

KINDS = {
    "planned": (ARMS[0], "square", 1.0),
    "by convention": (ARMS[0], "square", 1.0),
    "explored": (ARMS[2], "circle", 1.0),
    "by itself": (ARMS[2], "circle", 1.0),
    "drawn towards the others": (ARMS[3], "diamond", 1.0),
    "naive": (ARMS[5], "diamond", 0.75),
    "no interval to rely upon": (ARMS[1], "cross", 0.45),
}
"""What kinds of answers there are, each with its colour, its shape, and how opaque its interval is."""

WIDE, ROW, PAD, ROOM = 400, 26, 0.06, 24
"""The width of a panel, the height of a row, the part of an axis that is free at either end, and the room at the sides:
browsers may have wider letters than those that labels were measured with."""
END = 60
"""The size of the arrow of an interval without end."""


def forest(estimates: Records, title: str, *, ratio: bool = False) -> Chart:
    """Estimates by group and row, with a line where there is no effect; intervals without end have arrows.

    Where there is no interval, the row says "withheld".

    Args:
        estimates: records with group, label, kind (one of KINDS), value, low and high; ends may be infinite, and
            estimates without an interval, or without a value, have NaN. A region of several parts has a record each.
        title: of the axis.
        ratio: whether it is of ratios, on a scale of logarithms, where no effect is one.
    """
    alt = required("altair")
    records = rows("estimates", estimates, "group", "label", "kind", "value", "low", "high")
    none = 1.0 if ratio else 0.0
    low, high = _range(records, none, ratio=ratio)
    ends: list[dict[str, Any]] = []
    for record in records:
        sides = {"left": (low, record["low"] < low), "right": (high, record["high"] > high)}
        nowhere = {"value": None, "low": None, "high": None}
        ends += [{**record, **nowhere, "side": side, "at": at} for side, (at, beyond) in sides.items() if beyond]
        if math.isnan(record["low"]) and math.isnan(record["high"]):
            record["withheld"] = _within(none if math.isnan(record["value"]) else record["value"], low, high)
        record["opaque"] = KINDS[record["kind"]][2]
        nowhere_to_be_seen = _anything(record, ratio=ratio) and not low <= record["value"] <= high
        record["value"] = None if nowhere_to_be_seen else _within(record["value"], low, high)
        record["low"], record["high"] = (_within(record[end], low, high) for end in ("low", "high"))
    kinds = [kind for kind in KINDS if any(record["kind"] == kind for record in records)]
    labels = list(dict.fromkeys(record["label"] for record in records))
    scale: dict[str, Any] = {"domain": [low, high], "nice": False, "zero": False, "clamp": True}
    x = alt.X("low:Q", title=title, scale=scale | ({"type": "log"} if ratio else {}), axis={"tickCount": 6})
    axis = {"labelLimit": 280, "ticks": False, "domain": False, "labelPadding": 12}
    base = alt.Chart().encode(
        y=alt.Y("label:N", sort=labels, title=None, axis=axis),
        color=_kind("Color", kinds, [KINDS[kind][0] for kind in kinds]),
    )
    shape = _kind("Shape", kinds, [KINDS[kind][1] for kind in kinds])
    ranges = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2.2)
    marks = base.transform_filter("isValid(datum.value)").mark_point(filled=True, size=62, opacity=1)
    layers = [
        alt.Chart(alt.Data(values=[{"none": none}])).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="none:Q"),
        ranges.encode(x=x, x2="high:Q", opacity=alt.Opacity("opaque:Q", scale=None)),
        marks.encode(x=alt.X("value:Q", title=title), shape=shape),
        base.transform_filter("isValid(datum.withheld)")
        .mark_text(align="left", dx=9, fontSize=11)
        .encode(x="withheld:Q", text=alt.value("withheld"), color=alt.value(INK)),
    ]
    for side in ("left", "right"):
        arrow = base.transform_filter(f"datum.side === '{side}'").mark_point(
            filled=True, shape=f"triangle-{side}", size=END, opacity=1
        )
        layers.append(arrow.encode(x="at:Q"))
    data = alt.Data(values=[*records, *ends])
    groups = list(dict.fromkeys(record["group"] for record in records))
    header = {"labelAngle": 0, "labelAnchor": "start", "labelOrient": "top", "labelPadding": 0}
    row = alt.Row("group:N", sort=groups, title=None, header=header)
    panel = alt.layer(*layers).properties(width=WIDE, height={"step": ROW})
    faceted = panel.properties(data=data).facet(row=row, spacing=14).resolve_scale(y="independent")
    left = max(ROOM, max(map(len, labels)))  # the longer a label, the more its letters may exceed what was measured
    return dressed(faceted).properties(padding={"left": left, "right": ROOM, "top": 8, "bottom": 8})


def _kind(channel: str, kinds: list[str], looks: list[Any]) -> Any:
    """A colour or a shape for each kind, with one legend."""
    scale = {"domain": kinds, "range": looks}
    legend = {"columnPadding": ROOM}
    return getattr(required("altair"), channel)("kind:N", scale=scale, sort=kinds, title=None, legend=legend)


def _range(records: list[dict[str, Any]], none: float, *, ratio: bool) -> tuple[float, float]:
    """From the least to the greatest that is to be seen, with some room; no effect is always within."""
    seen = [
        record[name] for record in records if not _anything(record, ratio=ratio) for name in ("value", "low", "high")
    ]
    finite = [number for number in (*seen, none) if math.isfinite(number) and (number > 0 or not ratio)]
    if ratio:
        low, high = math.log(min(finite)), math.log(max(finite))
        room = PAD * max(high - low, 0.1)
        return math.exp(low - room), math.exp(high + room)
    low, high = min(finite), max(finite)
    room = PAD * max(high - low, 1e-9)
    return low - room, high + room


def _anything(record: dict[str, Any], *, ratio: bool) -> bool:
    """Whether the interval has no end on either side: its estimate says nothing, and stretches no axis."""
    return bool(record["low"] <= (0.0 if ratio else -math.inf) and record["high"] == math.inf)


def _within(number: float, low: float, high: float) -> float | None:
    return None if math.isnan(number) else min(max(number, low), high)
