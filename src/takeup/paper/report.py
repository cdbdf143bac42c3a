"""The report: one self-contained HTML page, with its charts as files beside it."""

from collections.abc import Callable
from pathlib import Path

from takeup import folders
from takeup.charts import document
from takeup.charts.extra import required
from takeup.paper.reproduction import Reproduction

PAGE = "report.html"


def check(directory: Path) -> None:
    """Raise an error if no report could be written there: before hours of work, not after."""
    for module in ("altair", "vl_convert", "jinja2"):
        required(module)
    folders.check(directory)


def write(made: Reproduction, directory: Path, drawn: Callable[[float], object] = lambda _: None) -> Path:
    """Write page and charts, all of them or none; returns the page.

    Args:
        made: what was measured.
        directory: is made if it does not exist; files of the same names in it are replaced.
        drawn: called after each chart with its share of all drawing.
    """
    with folders.filled(directory, PAGE) as folder:
        chapters = made.chapters()
        figures = [figure for chapter in chapters.values() for figure in chapter.figures]
        images = {}
        for figure in figures:
            images[figure.name] = document.drawn(figure, folder)
            drawn(1 / len(figures))
        written = document.page("paper/report.html.jinja", chapters=chapters, images=images, about=made.about())
        (folder / PAGE).write_text(written, encoding="utf-8")
    return directory / PAGE
