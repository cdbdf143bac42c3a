"""A chart of what is left of an effect, over what is promised of those who refuse."""

from textwrap import wrap

from takeup.charts.extra import required
from takeup.charts.plans import LOW, PLAIN, WIDE
from takeup.charts.records import Records, rows
from takeup.charts.style import INK, Chart, dressed
from takeup.charts.trial import ARMS

LETTERS = LOW // 6
"""How many letters of a title fit beside the chart."""
REFUTED = "#D55E00"
"""The colour of what the data contradict."""


def over_difference(
    points: Records, *, falls_at: float | None = None, least_promise: float = 0.0, title: str = "difference"
) -> Chart:
    """Estimate and interval over Δ, where the conclusion falls, and the promises that the data contradict.

    Args:
        points: records with promise, value, low and high.
        falls_at: the promise at which the conclusion falls.
        least_promise: what the data contradict lies below.
        title: of the effect, with its unit.
    """
    alt = required("altair")
    records = rows("points", points, "promise", "value", "low", "high")
    x = alt.X("promise:Q", title="Δ: takers and refusers differ by at most", axis=PLAIN, scale={"nice": False})
    base = alt.Chart(alt.Data(values=records)).encode(x=x)
    y = alt.Y("low:Q", title=wrap(title, LETTERS), axis=PLAIN)
    layers = [
        base.mark_area(opacity=0.25, strokeWidth=0, color=ARMS[0]).encode(y=y, y2="high:Q"),
        base.mark_line(strokeWidth=1.6, color=ARMS[0]).encode(y="value:Q"),
        alt.Chart(alt.Data(values=[{"none": 0}])).mark_rule(color=INK, strokeWidth=1).encode(y="none:Q"),
    ]
    if least_promise > 0:
        most = max(record["promise"] for record in records)
        span = alt.Data(values=[{"from": 0, "to": min(least_promise, most), "say": "contradicted by the data"}])
        layers = [
            alt.Chart(span).mark_rect(color=REFUTED, opacity=0.12).encode(x="from:Q", x2="to:Q"),
            *layers,
            alt.Chart(span).mark_text(align="left", dx=5, dy=LOW / 2 - 8, color=INK).encode(x="from:Q", text="say:N"),
        ]
    if falls_at:
        mark = alt.Chart(alt.Data(values=[{"at": falls_at, "say": f"falls at {falls_at:.3g}"}])).encode(x="at:Q")
        late = 2 * falls_at > max(record["promise"] for record in records)
        side = {"align": "right", "dx": -5} if late else {"align": "left", "dx": 5}
        layers += [
            mark.mark_rule(color=INK, strokeDash=[5, 4]),
            mark.mark_text(dy=8 - LOW / 2, color=INK, **side).encode(text="say:N"),
        ]
    return dressed(alt.layer(*layers).properties(width=WIDE, height=LOW))
