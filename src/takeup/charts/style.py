"""How charts look: a colour and a shape for each policy, and axes in the text colour of the page."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from takeup.charts.extra import required

Chart: TypeAlias = Any
"""An Altair chart of any kind. Altair is an extra, imported when a chart is made."""

INK = "currentColor"
"""Text and axes take the text colour of the page around them; in a file of its own a chart has black ones."""

FONT = "Helvetica, Arial, sans-serif"

POLICIES = {
    "Uniform": ("#767676", "square"),
    "TS": ("#0072B2", "circle"),
    "TS-Check": ("#D55E00", "triangle-up"),
    "TS-Obs": ("#009E73", "square"),
    "TS-Lat": ("#B14E8C", "diamond"),
    "TS-Lat-0": ("#B14E8C", "diamond"),
    "TS-Lat-40": ("#A8780C", "triangle-down"),
}
"""Colour and shape by policy: the colours of Okabe and Ito (2008), darkened where they would be pale on white."""

OTHERS = ("#5B6FB5", "#7A5C3E", "#3E8E9E", "#8C6BB1")
"""For policies that have no colour of their own, in the order in which they come."""


def ordered(policies: Iterable[str]) -> list[str]:
    """Known policies in the usual order, then the others as they come; each once."""
    given = list(dict.fromkeys(policies))
    return [name for name in POLICIES if name in given] + [name for name in given if name not in POLICIES]


def look(policies: Iterable[str]) -> tuple[list[str], list[str], list[str]]:
    """Policies in order, their colours and their shapes."""
    names = ordered(policies)
    strangers = iter(OTHERS * len(names))
    pairs = [POLICIES[name] if name in POLICIES else (next(strangers), "circle") for name in names]
    return names, [colour for colour, _ in pairs], [shape for _, shape in pairs]


def colour(policies: Iterable[str], **options: Any) -> Any:
    """The colour channel of the field `policy`."""
    names, colours, _ = look(policies)
    scale = {"domain": names, "range": colours}
    return required("altair").Color("policy:N", scale=scale, sort=names, title=None, **options)


def shape(policies: Iterable[str], **options: Any) -> Any:
    """The shape channel of the field `policy`."""
    names, _, shapes = look(policies)
    scale = {"domain": names, "range": shapes}
    return required("altair").Shape("policy:N", scale=scale, sort=names, title=None, **options)


def dressed(chart: Chart) -> Chart:
    """The chart in takeup's theme."""
    quiet = {"labelColor": INK, "titleColor": INK, "labelFont": FONT, "titleFont": FONT}
    return chart.properties(background="transparent", padding=8).configure(
        font=FONT,
        axis=quiet
        | {
            "gridColor": INK,
            "gridOpacity": 0.12,
            "domainColor": INK,
            "domainOpacity": 0.5,
            "tickColor": INK,
            "tickOpacity": 0.5,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 8,
        },
        legend=quiet
        | {
            "labelFontSize": 12,
            "titleFontSize": 12,
            "orient": "top",
            "symbolSize": 90,
            "symbolOpacity": 1,
            "labelLimit": 320,
        },
        header=quiet | {"labelFontSize": 12, "labelFontWeight": "bold", "titleFontSize": 12},
        title={"color": INK, "font": FONT, "fontSize": 14, "anchor": "start", "subtitleColor": INK},
        view={"stroke": None},
    )
