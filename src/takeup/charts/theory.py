"""Bounds beside measured slopes, and probabilities over the number of arms."""

from typing import Any

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.regret import SHIFT
from takeup.charts.style import Chart, colour, dressed, ordered, shape

TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]


def bounds_and_slopes(bounds: Records, slopes: Records) -> Chart:
    """Regret per ln T over p: what theory says as lines, measured slopes dR / d ln T as points with two errors.

    The ends of the lines, at p = 0 and 1, are short strokes. Values that are not above zero are left out.

    Args:
        bounds: records with policy, kind (what the line is), p and bound.
        slopes: records with policy, p, slope and error.
    """
    alt = required("altair")
    lines = [row for row in rows("bounds", bounds, "policy", "kind", "p", "bound") if row["bound"] > 0]
    marks = [row for row in rows("slopes", slopes, "policy", "p", "slope", "error") if row["slope"] > 0]
    names, kinds = ordered(row["policy"] for row in [*lines, *marks]), list(dict.fromkeys(row["kind"] for row in lines))
    least = min([row["bound"] for row in lines] + [row["slope"] for row in marks]) / 2
    for row in lines:
        row["end"] = row["p"] in (0, 1)
        row["piece"] = f"{row['p'] > 0.5}, {row['end']}"
    for row in marks:
        row["at"] = row["p"] + SHIFT * (names.index(row["policy"]) - (len(names) - 1) / 2)
        row |= {"low": max(row["slope"] - 2 * row["error"], least), "high": row["slope"] + 2 * row["error"]}

    def y(field: str) -> Any:
        scale = {"type": "log", "nice": False, "padding": 10}
        return alt.Y(f"{field}:Q", title="regret per ln T", scale=scale, axis={"values": TICKS})

    x = alt.X(
        "p:Q", title="p, the probability of the other arm", scale={"domain": [0, 1], "nice": False, "padding": 12}
    )
    dash = alt.StrokeDash("kind:N", sort=kinds, title=None, scale={"domain": kinds, "range": [[1, 0], [6, 4], [2, 3]]})
    theory = alt.Chart(alt.Data(values=lines)).encode(x=x, color=colour(names), detail="piece:N")
    ends = alt.Chart(alt.Data(values=[row for row in lines if row["end"]])).encode(x=x, color=colour(names))
    measured = alt.Chart(alt.Data(values=marks)).encode(x=alt.X("at:Q"), color=colour(names))
    return dressed(
        alt.layer(
            theory.mark_line(strokeWidth=1.6).encode(y=y("bound"), strokeDash=dash),
            ends.mark_tick(thickness=2, width=14, orient="horizontal").encode(y=y("bound")),
            measured.mark_rule(strokeWidth=1.4).encode(y=y("low"), y2="high:Q"),
            measured.mark_point(filled=True, size=55, opacity=1).encode(y=y("slope"), shape=shape(names)),
        ).properties(width=470, height=300)
    )


def probabilities(points: Records) -> Chart:
    """A probability over the number of arms, with an interval.

    Args:
        points: records with arms, probability, low and high.
    """
    alt = required("altair")
    records = rows("points", points, "arms", "probability", "low", "high")
    scale = {"zero": False, "nice": False, "padding": 12}
    base = alt.Chart(alt.Data(values=records), height=200, width=470).encode(
        x=alt.X("arms:Q", title="number of arms K", scale=scale), color=alt.value("#0072B2")
    )

    def y(field: str) -> Any:
        return alt.Y(f"{field}:Q", title="probability", scale={"domain": [0, 1]})

    return dressed(
        alt.layer(
            base.mark_rule(strokeWidth=1.6).encode(y=y("low"), y2="high:Q"),
            base.mark_line(strokeWidth=1.2, opacity=0.6).encode(y=y("probability")),
            base.mark_point(filled=True, size=48, opacity=1).encode(y=y("probability")),
        )
    )
