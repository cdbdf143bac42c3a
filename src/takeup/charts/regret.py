"""Regret over noncompliance."""

from typing import Any

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.style import Chart, colour, dressed, ordered, shape

SHIFT = 0.007
"""The distance between policies along p, so that their bars do not cover each other."""


def regret_over_noncompliance(points: Records, apart: str = "TS-Check") -> Chart:
    """Mean regret over p with bars of one standard deviation, cut at zero.

    Args:
        points: records with policy, p, mean and sd.
        apart: the policy that has an axis of its own beyond p = 0.5, where it fails.
    """
    records = rows("points", points, "policy", "p", "mean", "sd")
    names = ordered(record["policy"] for record in records)
    for record in records:
        record["side"] = (record["p"] > 0.5) - (record["p"] < 0.5)
        record["at"] = record["p"] + SHIFT * (names.index(record["policy"]) - (len(names) - 1) / 2)
        record["low"], record["high"] = max(record["mean"] - record["sd"], 0), record["mean"] + record["sd"]
    failing = [record for record in records if record["policy"] == apart and record["side"] > 0]
    others = [record for record in records if record not in failing]
    panels = [_panel(others, names, "mean regret, with one sd", 470, [0, 1], legend=True)]
    if failing:
        title = f"{apart} beyond p = 0.5"
        panels.append(_panel(failing, names, title, 200, [0.5, 1], legend=False))
    both = required("altair").hconcat(*panels, spacing=28)
    return dressed(both.resolve_scale(color="independent", shape="independent"))


def _panel(
    records: list[dict[str, Any]], names: list[str], title: str, width: int, domain: list[float], legend: bool
) -> Chart:
    alt = required("altair")
    shown: dict[str, Any] = {} if legend else {"legend": None}
    scale = {"domain": domain, "nice": False, "padding": 12}
    x = alt.X("at:Q", title="p, the probability of the other arm", scale=scale)
    base = alt.Chart(alt.Data(values=records)).encode(x=x, color=colour(names, **shown))
    bars = base.mark_rule(strokeWidth=1.2, opacity=0.55).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    lines = base.mark_line(strokeWidth=1.5).encode(y="mean:Q", detail="side:N")
    marks = base.mark_point(filled=True, size=48, opacity=1).encode(y="mean:Q", shape=shape(names, **shown))
    return alt.layer(bars, lines, marks).properties(width=width, height=300)
