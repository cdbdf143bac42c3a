"""Regret over the share of decisions whose compliance is seen."""

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.style import Chart, colour, dressed, ordered, shape


def regret_over_audits(points: Records) -> Chart:
    """Mean regret over the fraction audited, with bars of two Monte Carlo errors; one panel per environment.

    Args:
        points: records with environment, fraction, policy, mean and mcse.
    """
    alt = required("altair")
    records = rows("points", points, "environment", "fraction", "policy", "mean", "mcse")
    names = ordered(record["policy"] for record in records)
    for record in records:
        record |= {"low": max(record["mean"] - 2 * record["mcse"], 0), "high": record["mean"] + 2 * record["mcse"]}
    axis = {"format": "%"}
    base = alt.Chart().encode(
        x=alt.X("fraction:Q", title="share of decisions whose compliance is seen", axis=axis),
        color=colour(names),
    )
    panel = alt.layer(
        base.mark_rule(strokeWidth=1.2, opacity=0.55).encode(y=alt.Y("low:Q", title="mean regret"), y2="high:Q"),
        base.mark_line(strokeWidth=1.5).encode(y="mean:Q"),
        base.mark_point(filled=True, size=48, opacity=1).encode(y="mean:Q", shape=shape(names)),
        data=alt.Data(values=records),
    ).properties(width=330, height=260)
    header = {"labelExpr": "'environment ' + datum.value"}
    return dressed(panel.facet(column=alt.Column("environment:N", title=None, header=header)))
