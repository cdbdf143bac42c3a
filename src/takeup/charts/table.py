"""Published figures beside measured ones."""

from typing import Any

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.style import INK, Chart, colour, dressed, ordered


def distances(cells: Records, limit: float) -> Chart:
    """How far each measured figure lies from the published one, one panel per environment.

    Args:
        cells: records with environment, policy, statistic and distance, in standard errors of both sides together.
        limit: the largest distance that counts as agreement.
    """
    alt = required("altair")
    records = rows("cells", cells, "environment", "policy", "statistic", "distance")
    names = ordered(record["policy"] for record in records)
    statistics = list(dict.fromkeys(record["statistic"] for record in records))
    edge = max(limit + 1.0, *(abs(record["distance"]) + 0.5 for record in records))
    for record in records:
        record |= {"limit": limit, "below": -limit, "zero": 0.0}
    x = alt.X("distance:Q", title="errors", scale={"domain": [-edge, edge], "nice": False})
    y = alt.Y("policy:N", sort=names, title=None)
    base = alt.Chart()
    band = base.mark_rect(opacity=0.08, color=INK).encode(x=alt.X("min(below):Q", title="errors"), x2="max(limit):Q")
    zero = base.mark_rule(color=INK, opacity=0.4).encode(x=alt.X("min(zero):Q", title="errors"))
    marks = base.mark_point(filled=True, size=58, opacity=1).encode(
        x=x,
        y=y,
        yOffset=alt.YOffset("statistic:N", sort=statistics),
        color=colour(names, legend=None),
        shape=alt.Shape("statistic:N", sort=statistics, title=None),
    )
    panel = alt.layer(band, zero, marks, data=alt.Data(values=records)).properties(width=150, height=200)
    return dressed(panel.facet(column=alt.Column("environment:N", title=None, header=_header())))


def distributions(cells: Records) -> Chart:
    """The distribution of regret, 5 to 95 and 25 to 75 %, and medians, measured and published; a panel per environment.

    Args:
        cells: records with environment, policy, q05, q25, median, q75, q95 and published, the published median.
    """
    alt = required("altair")
    records = rows("cells", cells, "environment", "policy", "q05", "q25", "median", "q75", "q95", "published")
    names = ordered(record["policy"] for record in records)

    def x(field: str) -> Any:
        axis = {"values": [0, 3, 10, 30, 100, 300], "labelOverlap": False}
        return alt.X(f"{field}:Q", title="regret", scale={"type": "symlog", "constant": 3}, axis=axis)

    base = alt.Chart().encode(y=alt.Y("policy:N", sort=names, title=None))
    tinted = base.encode(color=colour(names, legend=None))
    panel = alt.layer(
        tinted.mark_rule(strokeWidth=1.2).encode(x=x("q05"), x2="q95:Q"),
        tinted.mark_bar(height=9, opacity=0.55).encode(x=x("q25"), x2="q75:Q"),
        tinted.mark_tick(thickness=3, height=18).encode(x=x("median")),
        base.mark_point(size=60, shape="diamond", color=INK, strokeWidth=1.4).encode(x=x("published")),
        data=alt.Data(values=records),
    ).properties(width=150, height=200)
    return dressed(panel.facet(column=alt.Column("environment:N", title=None, header=_header())))


def _header() -> dict[str, str]:
    return {"labelExpr": "'environment ' + datum.value"}
