"""Shares of the proposals and regret over the course of a trial."""

from typing import Any

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.style import Chart, colour, dressed, ordered

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#B14E8C", "#A8780C", "#767676", *("#5B6FB5", "#7A5C3E", "#3E8E9E"))
"""The colours of the proposals, in order: those of Okabe and Ito (2008), darkened where they would be pale on white."""

WIDE = 560


def shares(points: Records, title: str, *, percent: bool = False, of: str = "share of proposals") -> Chart:
    """The share of each proposal over time, one panel per scenario.

    Args:
        points: records with panel, proposal, people (or the elapsed share of the trial) and share.
        title: of the time axis.
        percent: whether time is a share too.
        of: what the shares are.
    """
    alt = required("altair")
    records = rows("points", points, "panel", "proposal", "people", "share")
    names = list(dict.fromkeys(record["proposal"] for record in records))
    panels = list(dict.fromkeys(record["panel"] for record in records))
    axis: dict[str, Any] = {"format": "%"} if percent else {}
    lines = (
        alt.Chart()
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("people:Q", title=title, axis={**axis, "tickCount": 4}),
            y=alt.Y("share:Q", title=of, scale={"domain": [0, 1]}, axis={"format": "%"}),
            color=_proposals(names),
        )
        .properties(width=(WIDE - 60 * (len(panels) - 1)) // len(panels), height=190)
    )
    if len(panels) == 1:
        return dressed(lines.properties(data=alt.Data(values=records)))
    header = {"labelLimit": 175, "labelFontSize": 11}
    column = alt.Column("panel:N", sort=panels, title=None, header=header)
    return dressed(lines.properties(data=alt.Data(values=records)).facet(column=column))


def regret_over_people(points: Records) -> Chart:
    """The regret of policies over the people met.

    Args:
        points: records with policy, people and regret.
    """
    alt = required("altair")
    records = rows("points", points, "policy", "people", "regret")
    names = ordered(record["policy"] for record in records)
    return dressed(
        alt.Chart(alt.Data(values=records))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("people:Q", title="people"),
            y=alt.Y("regret:Q", title="regret so far"),
            color=colour(names),
            strokeDash=alt.StrokeDash(
                "policy:N", sort=names, title=None, scale={"domain": names, "range": [[1, 0], [6, 4]]}
            ),
        )
        .properties(width=WIDE, height=190)
    )


def _proposals(names: list[str]) -> Any:
    """The colour of each proposal; long names are cut in the legend."""
    alt = required("altair")
    scale = {"domain": names, "range": [COLOURS[i % len(COLOURS)] for i in range(len(names))]}
    return alt.Color("proposal:N", scale=scale, sort=names, title=None, legend={"labelLimit": 180, "columns": 3})
