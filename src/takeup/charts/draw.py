"""Charts as SVG and PNG, without a browser and without a network."""

import re
from html import escape
from io import BytesIO, StringIO

from takeup.charts.extra import required
from takeup.charts.style import Chart

PAPER = "white"


def svg(chart: Chart) -> str:
    """The chart as an SVG file, on white."""
    return _svg(chart.properties(background=PAPER))


def png(chart: Chart, scale: float = 2) -> bytes:
    """The chart as a PNG file, on white; `scale` pixels a point."""
    required("vl_convert")
    file = BytesIO()
    chart.properties(background=PAPER).save(file, format="png", scale_factor=scale)
    return file.getvalue()


def inline(chart: Chart, name: str, alternative: str) -> str:
    """The chart as an element of an HTML page, in the colour of the page's text.

    Args:
        chart: the chart.
        name: tells its parts from those of other charts of the page.
        alternative: what it shows, for those who do not see it.
    """
    drawn = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", _svg(chart))
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(alternative)}" ', 1)


def _svg(chart: Chart) -> str:
    required("vl_convert")
    file = StringIO()
    chart.save(file, format="svg")
    return file.getvalue()
