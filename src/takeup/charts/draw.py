"""Charts as SVG and PNG, without a browser and without a network."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from io import BytesIO
from types import ModuleType

from takeup.charts.extra import required
from takeup.charts.style import Chart

PAPER = "white"
_EMPTY = re.compile(r'(<g class="mark-[^"]*") role="graphics-[^"]*"[^>/]*(?=/>|></g>)')
"""A layer without a mark, which would be a picture that says nothing to screen readers."""


def svg(chart: Chart) -> str:
    """The chart as an SVG file, on white."""
    return _svg(chart.properties(background=PAPER))


def png(chart: Chart, scale: float = 2) -> bytes:
    """The chart as a PNG file, on white, with `scale` pixels per point."""
    required("vl_convert")
    file = BytesIO()
    chart.properties(background=PAPER).save(file, format="png", scale_factor=scale)
    return file.getvalue()


def inline(chart: Chart, name: str, alternative: str) -> str:
    """The chart as an element of an HTML page, in the colour of the page's text.

    Args:
        chart: the chart.
        name: a prefix for its element ids, which must be unique on the page.
        alternative: what it shows in words, for screen readers.
    """
    drawn = _EMPTY.sub(r"\1", re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", _svg(chart)))
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(alternative)}" ', 1)


@contextmanager
def unchecked() -> Iterator[None]:
    """Make charts without checking them against Vega-Lite's schema, which takes longer than drawing them."""
    required("altair")
    with _schema().debug_mode(False):
        yield


def _svg(chart: Chart) -> str:
    version = "_".join(required("altair").SCHEMA_VERSION.split(".")[:2])
    spec = json.dumps(chart.to_dict(validate=_schema().DEBUG_MODE))
    return str(required("vl_convert").vegalite_to_svg(spec, vl_version=version))


def _schema() -> ModuleType:
    return required("altair.utils.schemapi")
