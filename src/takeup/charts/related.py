"""Figures of several papers beside ours."""

from takeup.charts.extra import required
from takeup.charts.records import Records, rows
from takeup.charts.style import INK, Chart, dressed

_AGREES, _APART = "agrees", "lies apart"


def agreement(figures: Records) -> Chart:
    """How far each measured figure lies from its published one, as a share of what the rule allows; a panel per paper.

    Args:
        figures: records with paper, experiment and distance, which is within -1 and 1 where they agree.
    """
    alt = required("altair")
    records = rows("figures", figures, "paper", "experiment", "distance")
    for record in records:
        record |= {"low": -1.0, "high": 1.0, "verdict": _AGREES if abs(record["distance"]) <= 1 else _APART}
    papers, experiments = (list(dict.fromkeys(r[field] for r in records)) for field in ("paper", "experiment"))
    edge = max(2.0, *(1.2 * abs(record["distance"]) for record in records))
    title = "ours less theirs, over what the rule allows"
    scale = {"type": "symlog", "constant": 1, "domain": [-edge, edge], "nice": False}
    ticks = [t for t in (-30, -10, -3, -1, 0, 1, 3, 10, 30) if abs(t) <= edge]
    x = alt.X("distance:Q", title=title, scale=scale, axis={"values": ticks})
    y = alt.Y("experiment:N", sort=experiments, title=None, axis={"labelLimit": 260})
    look = {"domain": [_AGREES, _APART], "range": ["#0072B2", "#D55E00"]}
    shapes = {"domain": [_AGREES, _APART], "range": ["circle", "triangle-up"]}
    base = alt.Chart()
    band = base.mark_rect(opacity=0.08, color=INK).encode(x=alt.X("min(low):Q", title=title), x2="max(high):Q")
    marks = base.mark_point(filled=True, size=46, opacity=0.75).encode(
        x=x,
        y=y,
        color=alt.Color("verdict:N", scale=look, title=None),
        shape=alt.Shape("verdict:N", scale=shapes, title=None),
    )
    panel = alt.layer(band, marks, data=alt.Data(values=records)).properties(width=460, height={"step": 24})
    rowed = panel.facet(row=alt.Row("paper:N", sort=papers, title=None, header={"labelAngle": 0, "labelAlign": "left"}))
    return dressed(rowed.resolve_scale(y="independent"))
