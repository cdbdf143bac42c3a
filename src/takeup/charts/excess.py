"""Excess successes over uniform exploration."""

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.style import INK, Chart, colour, dressed, ordered


def excess(bars: Records) -> Chart:
    """Excess successes with intervals of two Monte Carlo errors, one panel per outcome.

    Args:
        bars: records with parameters (what the simulation draws from), outcome, policy, mean and mcse.
    """
    alt = required("altair")
    records = rows("bars", bars, "parameters", "outcome", "policy", "mean", "mcse")
    for record in records:
        record |= {"low": record["mean"] - 2 * record["mcse"], "high": record["mean"] + 2 * record["mcse"]}
    names = ordered(record["policy"] for record in records)
    sources, outcomes = (
        list(dict.fromkeys(record[field] for record in records)) for field in ("parameters", "outcome")
    )
    base = alt.Chart().encode(
        x=alt.X("parameters:N", sort=sources, title=None, axis={"labelAngle": -30}),
        xOffset=alt.XOffset("policy:N", sort=names),
    )
    title = "excess successes over uniform exploration"
    panel = alt.layer(
        base.mark_bar().encode(y=alt.Y("mean:Q", title=title), color=colour(names)),
        base.mark_rule(color=INK, strokeWidth=1.4).encode(y="low:Q", y2="high:Q"),
        data=alt.Data(values=records),
    ).properties(width=210, height=240)
    return dressed(panel.facet(column=alt.Column("outcome:N", sort=outcomes, title=None)))
