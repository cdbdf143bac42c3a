"""Charts of what a policy has learnt about whom: the difference that proposals make, over one covariate."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.style import INK, Chart, dressed
from takeup.charts.trial import ARMS, QUIET, SHAPES, WIDTH

HEIGHT = 220
ROOM, BARS = 0.22, 0.16
"""The parts of the height that are kept free for the bars of decisions, and that the highest of them takes."""
DASH = [4, 4]
_BANDS = (("low", "high", 0.14), ("inner_low", "inner_high", 0.24))
"""The 95 % and the 80 % credible interval, and how opaque each is."""


_SIGNED = "datum.value === 0 ? '0' : datum.label"


def difference_over_measure(
    points: Records, decisions: Records, proposals: Sequence[str], arms: Sequence[str], title: str, unit: str
) -> Chart:
    """Lines with bands over a measure, dashed where few were decided about, over bars of how many that were.

    Args:
        points: records with value, proposal, mean, low, high, inner_low, inner_high, sparse and say.
        decisions: records with value, decisions and say.
        proposals: those that are compared with the first, in their order.
        arms: all proposals, in the order of their colours.
        title: of the measure.
        unit: of the difference.
    """
    alt = required("altair")
    records = rows("points", points, "value", "proposal", "mean", *_ends(), "sparse", "say")
    segments = [each for proposal in proposals for each in _segments(_of(records, proposal))]
    low, high = min(each["value"] for each in records), max(each["value"] for each in records)
    x = alt.X("value:Q", title=title, scale={"domain": [low, high], "nice": False}, axis=_axis(alt))
    colour = _arm(alt, "Color", proposals, arms)
    line = alt.Chart(alt.Data(values=segments)).encode(x=x, color=colour, detail="segment:N")
    layers = [
        line.transform_filter(f"datum.sparse === {'true' if sparse else 'false'}")
        .mark_area(opacity=opaque / (2 if sparse else 1), aria=False)
        .encode(y=_y(alt, bottom, records, unit), y2=top)
        for sparse in (False, True)
        for bottom, top, opaque in _BANDS
    ]
    layers += [
        line.transform_filter("!datum.sparse").mark_line(strokeWidth=2.2, aria=False).encode(y="mean:Q"),
        line.transform_filter("datum.sparse")
        .mark_line(strokeWidth=1.6, strokeDash=DASH, aria=False)
        .encode(y="mean:Q"),
    ]
    marks = (
        alt.Chart(alt.Data(values=records))
        .mark_point(filled=True, size=26)
        .encode(
            x=x,
            y="mean:Q",
            color=colour,
            shape=_arm(alt, "Shape", proposals, arms),
            description="say:N",
            opacity=alt.condition("datum.sparse", alt.value(0.35), alt.value(1)),
        )
    )
    apart = (high - low) / max(len({each["value"] for each in records}) - 1, 1)
    bars = _bars(alt, decisions, x, size=max(2.0, 0.6 * (WIDTH - 60) * apart / (high - low)))
    return _sized(alt, [_none(alt), *layers, marks], bars)


def difference_by_level(
    points: Records, decisions: Records, proposals: Sequence[str], arms: Sequence[str], title: str, unit: str
) -> Chart:
    """Points with bars for each level of a category; as `difference_over_measure`, the values being labels."""
    alt = required("altair")
    records = rows("points", points, "value", "proposal", "mean", *_ends(), "sparse", "say")
    levels = list(dict.fromkeys(each["value"] for each in records))
    axis = alt.Axis(**QUIET, labelAngle=0, labelLimit=max(30, (WIDTH - 60) // len(levels) - 6), grid=False)
    x = alt.X("value:N", sort=levels, title=title, axis=axis)
    base = alt.Chart(alt.Data(values=records)).encode(x=x, color=_arm(alt, "Color", proposals, arms))
    if len(proposals) > 1:
        base = base.encode(xOffset=alt.XOffset("proposal:N", sort=list(proposals), scale={"paddingOuter": 0.4}))
    dash = alt.condition("datum.sparse", alt.value(DASH), alt.value([1, 0]))
    layers = [
        base.mark_rule(strokeWidth=width, opacity=0.65, aria=False).encode(
            y=_y(alt, bottom, records, unit), y2=top, strokeDash=dash
        )
        for (bottom, top, _), width in zip(_BANDS, (1.6, 4.5), strict=True)
    ]
    marks = base.mark_point(filled=True, size=64).encode(
        y="mean:Q",
        shape=_arm(alt, "Shape", proposals, arms),
        description="say:N",
        opacity=alt.condition("datum.sparse", alt.value(0.5), alt.value(1)),
    )
    bars = _bars(alt, decisions, x, size=min(30.0, 0.5 * (WIDTH - 60) / len(levels)))
    return _sized(alt, [_none(alt), *layers, marks], bars)


def _ends() -> list[str]:
    return [end for bottom, top, _ in _BANDS for end in (bottom, top)]


def _of(records: Sequence[dict[str, Any]], proposal: str) -> list[dict[str, Any]]:
    return sorted((each for each in records if each["proposal"] == proposal), key=lambda each: float(each["value"]))


def _segments(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points of a line again, in pieces that are all dashed or all not; what ends at a sparse point is dashed."""
    found: list[dict[str, Any]] = []
    number, before = 0, None
    for one, other in pairwise(points):
        sparse = one["sparse"] or other["sparse"]
        if sparse != before:
            number += 1
            found.append({**one, "sparse": sparse, "segment": f"{one['proposal']} {number}"})
        found.append({**other, "sparse": sparse, "segment": f"{one['proposal']} {number}"})
        before = sparse
    return found


def _y(alt: Any, field: str, records: Sequence[dict[str, Any]], unit: str) -> Any:
    """The axis of differences; no difference is always on it, and there is room for the bars below."""
    low, high = min(0.0, *(each["low"] for each in records)), max(0.0, *(each["high"] for each in records))
    span = max(high - low, 1e-9)
    scale = {"domain": [low - (ROOM / (1 - ROOM)) * span, high + 0.04 * span], "nice": False, "zero": False}
    return alt.Y(
        f"{field}:Q", title=unit, scale=scale, axis=alt.Axis(**QUIET, tickCount=5, format="+,~f", labelExpr=_SIGNED)
    )


def _none(alt: Any) -> Chart:
    """The line of no difference."""
    return alt.Chart(alt.Data(values=[{"mean": 0}])).mark_rule(color=INK, opacity=0.6, aria=False).encode(y="mean:Q")


def _bars(alt: Any, decisions: Records, x: Any, size: float) -> Chart:
    """How many were decided about, at the foot of the chart."""
    records = rows("decisions", decisions, "value", "decisions", "say")
    most = max(1, max(each["decisions"] for each in records))
    y = alt.Y("decisions:Q", axis=None, scale={"domain": [0, most / BARS], "nice": False})
    return (
        alt.Chart(alt.Data(values=[each for each in records if each["decisions"]]))
        .mark_bar(color=INK, opacity=0.4, size=size)
        .encode(x=x, y=y, description="say:N")
    )


def _axis(alt: Any) -> Any:
    return alt.Axis(**QUIET, tickCount=5, grid=False)


def _arm(alt: Any, channel: str, proposals: Sequence[str], arms: Sequence[str]) -> Any:
    """The colour or the shape that a proposal has in the other charts."""
    looks = ARMS if channel == "Color" else SHAPES
    scale = {"domain": list(proposals), "range": [looks[arms.index(each) % len(looks)] for each in proposals]}
    legend = None if len(proposals) == 1 else alt.Legend(**QUIET, columns=2, labelLimit=105, columnPadding=28)
    return getattr(alt, channel)("proposal:N", scale=scale, sort=list(proposals), title=None, legend=legend)


def _sized(alt: Any, layers: Sequence[Chart], bars: Chart) -> Chart:
    both = alt.layer(alt.layer(*layers), bars).resolve_scale(y="independent")
    return dressed(both).properties(width=WIDTH, height=HEIGHT, autosize={"type": "fit-x", "contains": "padding"})
