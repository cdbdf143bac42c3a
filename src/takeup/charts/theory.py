"""Bounds beside measured slopes, and probabilities over the number of arms."""

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.style import Chart, colour, dressed, ordered, shape


def bounds_and_slopes(bounds: Records, slopes: Records) -> Chart:
    """Lower bounds on regret per ln T over p as lines, measured slopes dR / d ln T as points with two errors.

    Args:
        bounds: records with policy, p and bound.
        slopes: records with policy, p, slope and error.
    """
    alt = required("altair")
    lines, marks = (
        rows("bounds", bounds, "policy", "p", "bound"),
        rows("slopes", slopes, "policy", "p", "slope", "error"),
    )
    for record in lines:
        record["side"] = (record["p"] > 0.5) - (record["p"] < 0.5)
    for record in marks:
        record |= {"low": record["slope"] - 2 * record["error"], "high": record["slope"] + 2 * record["error"]}
    names = ordered(record["policy"] for record in [*lines, *marks])
    scale = {"domain": [0, 1], "nice": False, "padding": 12}
    x = alt.X("p:Q", title="p, the probability of the other arm", scale=scale)
    axis = {"values": [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]}
    y = alt.Y("bound:Q", title="regret per ln T", scale={"type": "log", "nice": False, "padding": 8}, axis=axis)
    measured = alt.Chart(alt.Data(values=marks)).encode(x=x, color=colour(names))
    return dressed(
        alt.layer(
            alt.Chart(alt.Data(values=lines))
            .mark_line(strokeWidth=1.5)
            .encode(x=x, y=y, color=colour(names), detail="side:N"),
            measured.mark_rule(strokeWidth=1.4).encode(y="low:Q", y2="high:Q"),
            measured.mark_point(filled=True, size=55, opacity=1).encode(y="slope:Q", shape=shape(names)),
        ).properties(width=470, height=300)
    )


def probabilities(points: Records) -> Chart:
    """A probability over the number of arms, with two standard errors.

    Args:
        points: records with arms, probability and error, and kind where there are several curves.
    """
    alt = required("altair")
    records = rows("points", points, "arms", "probability", "error")
    for record in records:
        record.setdefault("kind", "")
        record["low"] = max(record["probability"] - 2 * record["error"], 0)
        record["high"] = min(record["probability"] + 2 * record["error"], 1)
    kinds = list(dict.fromkeys(record["kind"] for record in records))
    legend = {} if len(kinds) > 1 else {"legend": None}
    tint = alt.Color("kind:N", sort=kinds, title=None, scale={"range": ["#D55E00", "#0072B2", "#767676"]}, **legend)
    base = alt.Chart(alt.Data(values=records)).encode(
        x=alt.X("arms:Q", title="arms K", scale={"zero": False, "nice": False, "padding": 12}), color=tint
    )
    y = alt.Y("probability:Q", title="probability", scale={"domain": [0, 1]})
    return dressed(
        alt.layer(
            base.mark_rule(strokeWidth=1.4).encode(y=alt.Y("low:Q"), y2="high:Q"),
            base.mark_line(strokeWidth=1.2, opacity=0.6).encode(y=y),
            base.mark_point(filled=True, size=48, opacity=1).encode(
                y=y, shape=alt.Shape("kind:N", sort=kinds, **legend)
            ),
        ).properties(width=470, height=260)
    )
