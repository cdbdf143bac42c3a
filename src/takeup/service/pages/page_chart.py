"""A chart on a page, with a table and a sentence that say the same."""

from dataclasses import dataclass

from markupsafe import Markup

from takeup import charts
from takeup.charts.style import Chart

Rows = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class PageChart:
    """A chart on a page.

    Attributes:
        name: what its parts are called.
        title: what it shows.
        note: what to know about it.
        svg: the chart.
        columns: of its table.
        rows: of its table.
    """

    name: str
    title: str
    note: str
    svg: Markup
    columns: tuple[str, ...]
    rows: Rows


def drawn(chart: Chart, name: str, alternative: str) -> Markup:
    """The chart as SVG, with its sentence for those who do not see it."""
    return Markup(charts.inline(chart, name, alternative))  # vl-convert escapes what labels say
