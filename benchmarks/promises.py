"""The README's picture: how many patients a trial needs against what is promised about those who refuse.

Rates .25 against .35, even allocation, one-sided .025, 80 % power, take-up of 60 % and 80 %; by formula. `make
promises` writes docs/images/promises.svg.
"""

from pathlib import Path
from typing import Any

import numpy as np

from takeup.charts import svg
from takeup.charts.extra import required
from takeup.charts.style import INK, Chart, dressed
from takeup.design import Cells, promise_curve, two_rates

alt: Any = required("altair")
CONTROL, TREATED = 0.25, 0.35
COLOURS = {0.6: "#0072B2", 0.8: "#D55E00"}
PROMISES = np.linspace(0, 0.12, 61).round(4)
TARGET = Path(__file__).parents[1] / "docs" / "images" / "promises.svg"


def records(take_up: float) -> list[dict[str, Any]]:
    """The curve of one take-up, with its name."""
    found = promise_curve(Cells.rates(CONTROL, TREATED, take_up), PROMISES.tolist())
    return [{**each, "taken": name(take_up)} for each in found]


def name(take_up: float) -> str:
    """As the legend has it."""
    return f"{take_up:.0%} take what they are offered"


def picture() -> Chart:
    """Sizes on the left, errors of broken promises on the right."""
    every = [record for take_up in COLOURS for record in records(take_up)]
    scale = {"domain": [name(each) for each in COLOURS], "range": list(COLOURS.values())}
    colour = alt.Color("taken:N", scale=scale, title=None)
    x = alt.X(
        "promise:Q",
        title="Δ: without treatment, takers and refusers differ by at most",
        axis={"format": ".0%", "tickCount": 6},
        scale={"nice": False},
    )
    base = alt.Chart(alt.Data(values=every)).encode(x=x, color=colour)
    plain = {"format": ",d"}
    sizes = base.mark_line(strokeWidth=2).encode(y=alt.Y("size:Q", title="patients in both arms", axis=plain))
    errors = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("error:Q", title="error if they differ by 2 Δ", axis={"format": ".1%"}, scale={"zero": True})
    )
    asked = alt.Chart(alt.Data(values=[{"error": 0.025, "promise": 0.12, "text": "asked for: 2.5 %"}]))
    rule = asked.mark_rule(strokeDash=[5, 4], color=INK).encode(y="error:Q")
    said = asked.mark_text(align="right", dy=12, color=INK, fontSize=11).encode(x=x, y="error:Q", text="text:N")
    left = alt.layer(*(_offered(each) for each in COLOURS), sizes, *(_ends(each, x) for each in COLOURS))
    panels = (each.properties(width=330, height=230) for each in (left, alt.layer(errors, rule, said)))
    return dressed(alt.hconcat(*panels, spacing=30))


def _offered(take_up: float) -> Chart:
    """By intention to treat, with the usual test of two rates."""
    at = [{"size": two_rates(CONTROL, TREATED, take_up=take_up).units}]
    rule = alt.Chart(alt.Data(values=at)).mark_rule(strokeDash=[5, 4], color=COLOURS[take_up], opacity=0.7)
    return rule.encode(y="size:Q")


def _ends(take_up: float, x: Any) -> Chart:
    """What both ends are called, and how many they need."""
    curve = records(take_up)
    offered = two_rates(CONTROL, TREATED, take_up=take_up).whole
    ends = [
        {**curve[-1], "text": f"intention to treat: {offered:,}", "side": "right", "up": -9},
        {
            **curve[0],
            "text": f"apart: {curve[0]['size']:,.0f}",
            "side": "left",
            "up": 16 if take_up > min(COLOURS) else -16,
        },
    ]
    marks = []
    for end in ends:
        chart = alt.Chart(alt.Data(values=[end]))
        text = chart.mark_text(align=end["side"], dx=4 if end["side"] == "left" else 0, dy=end["up"], fontSize=11)
        marks.append(text.encode(x=x, y="size:Q", text="text:N", color=alt.value(COLOURS[take_up])))
    return alt.layer(*marks)


if __name__ == "__main__":
    TARGET.write_text(svg(picture()))
    print(f"{TARGET.relative_to(TARGET.parents[2])}: {TARGET.stat().st_size:,} bytes")
