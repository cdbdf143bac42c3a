"""Documents: tables and charts under captions, and pages of HTML that need nothing else to be read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from takeup.charts.draw import inline, png, svg
from takeup.charts.extra import required


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure with its verdict."""

    text: str
    holds: bool


Entry: TypeAlias = str | Judged
"""A cell of a table."""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows under a caption; the first `words` columns hold words, the last `sentences` longer ones, others figures."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    words: int = 1
    sentences: int = 0


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A chart that has yet to be drawn: the name of its files, a caption, and a text alternative to the picture.

    `draw` makes the chart and needs the extra `report`; or it is the picture itself, as SVG.
    """

    name: str
    caption: str
    alternative: str
    draw: Callable[[], Any]


class Picture(NamedTuple):
    """A chart and its table."""

    figure: ReportFigure
    table: ReportTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report.

    Attributes:
        name: of its place on the page.
        title: of the part.
        text: paragraphs.
        pictures: charts with their tables.
        tables: other tables.
        notes: paragraphs after all of these.
        code: what is to be copied as it stands.
    """

    name: str
    title: str
    text: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()


def drawn(figure: ReportFigure, folder: Path | None = None) -> str:
    """A chart as part of a page; where there is a folder, its files are written there too."""
    chart = figure.draw()
    if isinstance(chart, str):
        if folder is not None:
            (folder / f"{figure.name}.svg").write_text(chart, encoding="utf-8")
        return chart
    if folder is not None:
        (folder / f"{figure.name}.svg").write_text(svg(chart), encoding="utf-8")
        (folder / f"{figure.name}.png").write_bytes(png(chart))
    return inline(chart, figure.name, figure.alternative)


def drawn_all(sections: Iterable[Section], folder: Path | None = None) -> dict[str, str]:
    """The charts of all sections, by their names."""
    figures = [picture.figure for section in sections for picture in section.pictures]
    return {figure.name: drawn(figure, folder) for figure in figures}


def page(template: str, **content: Any) -> str:
    """A page from a template, by its path in this package; all values are escaped, and an unknown name is an error."""
    jinja2 = required("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("takeup", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return str(environment.get_template(template).render(**content))
